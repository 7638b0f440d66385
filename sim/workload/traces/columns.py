"""How a trace is read: what the user may say about it, and the settled :class:`Reading` that a manifest keeps.

It must not know files, arrivals or figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar, get_args

from sim.manifest.scalars import HORIZON_MAX_NS
from sim.workload.traces.reader import FORMATS, Format
from sim.workload.traces.timestamps import LENGTH_UNITS, TIME_UNITS, LengthUnit, TimeUnit
from tollgate.core.errors import ConfigError, nearest
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_S, fraction

MAX_SEGMENTS: Final = 100
"""Most captures in one file: more steps back than that are the jitter of a writer, which sorting mends."""

TimeIs = Literal["start", "end"]
TIMES_ARE: Final[tuple[TimeIs, ...]] = get_args(TimeIs)

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """What the user says about a trace; None leaves the choice to the file.

    An empty text for a column, or an empty tuple, means that there is none even if a name looks like one.

    Attributes:
        format: ``csv``, ``jsonl`` or ``clf``.
        time_column: Column of the instants.
        time_unit: Their unit.
        time_is: Whether they are the start or the end of a request; an end needs a duration.
        tokens_columns: Columns whose sum is the size of a request, tokens.
        principal_column: Column of whom a request belongs to.
        duration_column: Column of how long a request took.
        duration_unit: Its unit.
        missing_size: What a missing size counts as (counted).
        sort: Put rows that step back in time into order (counted).
        split_on_step_back: Take a step back in time as the start of another capture, and lay the captures end to end.
        segment: Take the capture of that number alone, from 1.
        segment_gap_seconds: Leave that much time between two captures, an exact decimal, s.
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
    missing_size: int | None = None
    sort: bool = False
    split_on_step_back: bool = False
    segment: int | None = None
    segment_gap_seconds: str | None = None
    drop_invalid: bool = False


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a trace is read, with nothing left open. The fields are the keys that a manifest's ``arrivals`` block writes.

    Attributes:
        format: ``csv``, ``jsonl`` or ``clf``, an access log.
        time_column: Column or key of the instants.
        time_unit: ``date-time``, ``s``, ``ms``, ``us`` or ``ns``.
        time_is: ``start``, or ``end``: then the arrival is the instant minus the duration.
        tokens_columns: Their sum is the size of a request; empty when the trace has no sizes.
        principal_column: Whom a request belongs to; None when all belong to one.
        duration_column: How long a request took; None when the trace does not say.
        duration_unit: ``s``, ``ms``, ``us`` or ``ns``; None without a duration column.
        missing_size: What a missing size counts as; None when it is an error.
        sort: Whether rows are put into the order of time; if not, a step back is an error.
        split_on_step_back: Whether a step back starts another capture. Captures are laid end to end: the first row of
            one comes at the instant of the last row before it, ``segment_gap_seconds`` later.
        segment: Number of the only capture that is taken, from 1; None for all.
        segment_gap_seconds: Between two captures, an exact decimal, s; None is 0.
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
    missing_size: int | None = None
    sort: bool = False
    split_on_step_back: bool = False
    segment: int | None = None
    segment_gap_seconds: str | None = None
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
        self._check_repairs()

    def _check_repairs(self) -> None:
        if self.missing_size is not None:
            if not 0 <= self.missing_size <= MAX_SAFE_INTEGER:
                raise ConfigError("missing_size", self.missing_size, "a whole number from 0 to 2^53-1")
            if not self.tokens_columns:
                raise ConfigError("missing_size", self.missing_size, "absent: the trace has no column of sizes")
        if self.split_on_step_back and self.sort:
            allowed = "one of sort and split_on_step_back: rows that step back are merged or laid behind, not both"
            raise ConfigError("sort", True, allowed)
        for key in ("segment", "segment_gap_seconds"):
            value = getattr(self, key)
            if value is not None and not self.split_on_step_back:
                raise ConfigError(key, value, "absent without split_on_step_back")
        if self.segment is not None and not 1 <= self.segment <= MAX_SEGMENTS:
            raise ConfigError("segment", self.segment, f"a whole number from 1 to {MAX_SEGMENTS}")
        if self.segment is not None and self.segment_gap_seconds is not None:
            raise ConfigError(
                "segment_gap_seconds", self.segment_gap_seconds, "absent: one segment has no gap to another"
            )
        _ = self.segment_gap_ns

    @property
    def segment_gap_ns(self) -> int:
        """Time between two captures that are laid end to end, ns.

        Raises:
            ConfigError: If it is no decimal from 0 to 366 days in whole nanoseconds.
        """
        if self.segment_gap_seconds is None:
            return 0
        gap = fraction(self.segment_gap_seconds, "segment_gap_seconds") * NS_PER_S
        if gap.denominator != 1 or not 0 <= gap <= HORIZON_MAX_NS:
            allowed = f"a number of seconds from 0 to {HORIZON_MAX_NS // NS_PER_S}, in whole ns"
            raise ConfigError("segment_gap_seconds", self.segment_gap_seconds, allowed)
        return gap.numerator


def choice(path: str, got: str, allowed: Sequence[_Word]) -> _Word:
    """Return the allowed word that was given.

    Raises:
        ConfigError: If it is none of them.
    """
    for word in allowed:
        if got == word:
            return word
    raise ConfigError(path, got, f"one of {', '.join(allowed)}", hint=nearest(str(got), allowed))
