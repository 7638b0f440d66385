"""How a trace is read: what the user may say about it, and the settled :class:`Reading` that a manifest keeps.

It must not know files, arrivals or figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from sim.workload.traces.reader import FORMATS, Format
from sim.workload.traces.timestamps import LENGTH_UNITS, TIME_UNITS, LengthUnit, TimeUnit
from tollgate.core.errors import ConfigError, nearest

TimeIs = Literal["start", "end"]
TIMES_ARE: Final[tuple[TimeIs, ...]] = get_args(TimeIs)

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """What the user says about a trace; None leaves the choice to the file.

    An empty text for a column, or an empty tuple, means that there is none even if a name looks like one.

    Attributes:
        format: ``csv`` or ``jsonl``.
        time_column: Column of the instants.
        time_unit: Their unit.
        time_is: Whether they are the start or the end of a request; an end needs a duration.
        tokens_columns: Columns whose sum is the size of a request, tokens.
        principal_column: Column of whom a request belongs to.
        duration_column: Column of how long a request took.
        duration_unit: Its unit.
        sort: Put rows that step back in time into order (counted).
        drop_invalid: Leave out rows that cannot be used (counted).
    """

    format: str | None = None
    time_column: str | None = None
    time_unit: str | None = None
    time_is: str | None = None
    tokens_columns: Sequence[str] | None = None
    principal_column: str | None = None
    duration_column: str | None = None
    duration_unit: str | None = None
    sort: bool = False
    drop_invalid: bool = False


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a trace is read, with nothing left open. The fields are the keys that a manifest's ``arrivals`` block writes.

    Attributes:
        format: ``csv`` or ``jsonl``.
        time_column: Column or key of the instants.
        time_unit: ``date-time``, ``s``, ``ms``, ``us`` or ``ns``.
        time_is: ``start``, or ``end``: then the arrival is the instant minus the duration.
        tokens_columns: Their sum is the size of a request; empty when the trace has no sizes.
        principal_column: Whom a request belongs to; None when all belong to one.
        duration_column: How long a request took; None when the trace does not say.
        duration_unit: ``s``, ``ms``, ``us`` or ``ns``; None without a duration column.
        sort: Whether rows are put into the order of time; if not, a step back is an error.
        drop_invalid: Whether rows that cannot be used are left out; if not, each is an error.
    """

    format: Format
    time_column: str
    time_unit: TimeUnit
    time_is: TimeIs = "start"
    tokens_columns: tuple[str, ...] = ()
    principal_column: str | None = None
    duration_column: str | None = None
    duration_unit: LengthUnit | None = None
    sort: bool = False
    drop_invalid: bool = False

    def __post_init__(self) -> None:
        """Refuse what could not be read.

        Raises:
            ConfigError: Naming the field.
        """
        object.__setattr__(self, "tokens_columns", tuple(self.tokens_columns))
        choice("format", self.format, FORMATS)
        choice("time_unit", self.time_unit, TIME_UNITS)
        choice("time_is", self.time_is, TIMES_ARE)
        if (self.duration_column is None) != (self.duration_unit is None):
            raise ConfigError("duration_unit", self.duration_unit, "given exactly when duration_column is")
        if self.duration_unit is not None:
            choice("duration_unit", self.duration_unit, LENGTH_UNITS)
        if self.time_is == "end" and self.duration_column is None:
            raise ConfigError("time_is", "end", "start, unless duration_column says how long a request took")


def choice(path: str, got: str, allowed: Sequence[_Word]) -> _Word:
    """Return the allowed word that was given.

    Raises:
        ConfigError: If it is none of them.
    """
    for word in allowed:
        if got == word:
            return word
    raise ConfigError(path, got, f"one of {', '.join(allowed)}", hint=nearest(str(got), allowed))
