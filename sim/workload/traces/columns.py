"""Which column of a trace means what.

This module owns the names by which public traces call their columns, and the :class:`Reading` that a manifest keeps.
What a user names is taken as it is; the rest is found by name, and every choice is written down for the output. It must
not know arrivals or figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from sim.workload.traces.reader import FORMATS, Format, Row, first_rows, sniff_format
from sim.workload.traces.timestamps import (
    LENGTH_UNITS,
    TIME_UNITS,
    LengthUnit,
    TimeUnit,
    UnitGuess,
    guess_unit,
    name_words,
    without_unit,
)
from tollgate.core.errors import ConfigError, nearest

TimeIs = Literal["start", "end"]

SAMPLE_ROWS: Final = 1_000
"""Rows looked at before the columns are settled; more could only matter to a JSON key that appears later than that."""

# Names without case, separators and unit, the surest first, in one text each. Seen in: Azure LLM and Functions traces,
# Mooncake, RAGPulse, BurstGPT, vLLM and LiteLLM logs, nginx JSON logs, k6, OTLP.
_TIME_NAMES: Final = (
    "timestamp time ts arrivaltimestamp arrivaltime arrival arrivedat starttimestamp starttimeunix "
    "starttime startedat start requesttimestamp createdat datetime timeiso8601 msec endtimestamp "
    "endtimeunix endtime endedat end finishedat completedat"
)
_END_WORDS: Final = frozenset({"end", "ended", "finished", "completed"})
_INPUT_NAMES: Final = (
    "contexttokens inputtokens inputlength inputlen prompttokens promptlength promptlen requesttokens tokensin"
)
_OUTPUT_NAMES: Final = "generatedtokens outputtokens outputlength outputlen completiontokens responsetokens tokensout"
_TOTAL_NAMES: Final = "totaltokens tokens tokencount size"
_PRINCIPAL_NAMES: Final = (
    "tenant tenantid principal principalid account accountid organisation organization organisationid "
    "organizationid org orgid team teamid project projectid customer customerid user userid client "
    "clientid apikey app appid session sessionid"
)
_DURATION_NAMES: Final = (
    "duration servicetime elapsed elapsedtime requesttime responsetime latency e2elatency httpreqduration"
)


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
        _choice("format", self.format, FORMATS)
        _choice("time_unit", self.time_unit, TIME_UNITS)
        _choice("time_is", self.time_is, get_args(TimeIs))
        if (self.duration_column is None) != (self.duration_unit is None):
            raise ConfigError("duration_unit", self.duration_unit, "given exactly when duration_column is")
        if self.duration_unit is not None:
            _choice("duration_unit", self.duration_unit, LENGTH_UNITS)
        if self.time_is == "end" and self.duration_column is None:
            raise ConfigError("time_is", "end", "start, unless duration_column says how long a request took")


@dataclass(frozen=True, slots=True)
class Detection:
    """The reading of a file and how it came about.

    Attributes:
        reading: What was settled on.
        taken: One sentence for each choice.
        ignored: Columns that are not used.
        doubts: What was guessed by custom and is worth a look, one sentence each.
    """

    reading: Reading
    taken: tuple[str, ...]
    ignored: tuple[str, ...]
    doubts: tuple[str, ...]


def detect(path: Path, options: TraceOptions) -> Detection:
    """Settle how a trace is read.

    Args:
        path: The file.
        options: What the user said; what is missing is found by name and by the first rows.

    Raises:
        ConfigError: If a named column does not exist, no column looks like a time, or the options contradict each
            other.
    """
    if options.format is not None:
        _choice("--format", options.format, FORMATS)
    chosen: Format = "jsonl" if options.format == "jsonl" else "csv" if options.format == "csv" else sniff_format(path)
    names, sample = first_rows(path, chosen, SAMPLE_ROWS)
    return _Detector(path, names, sample, options).detect(chosen)


@dataclass(slots=True)
class _Detector:
    """The state of one detection."""

    path: Path
    names: tuple[str, ...]
    sample: list[Row]
    options: TraceOptions
    taken: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def detect(self, chosen: Format) -> Detection:
        options = self.options
        time_column = self._time_column()
        tokens = self._tokens_columns()
        principal = self._optional("--principal-column", options.principal_column, _PRINCIPAL_NAMES)
        duration = self._optional(
            "--duration-column", options.duration_column, _DURATION_NAMES, besides=(time_column, *tokens)
        )
        time_is = self._time_is(time_column, duration)
        time_unit = self._unit(
            "--time-unit", options.time_unit, time_column, TIME_UNITS, f"time ({time_is} of the request)"
        )
        self.taken.append(f"tokens: {' + '.join(map(repr, tokens))}" if tokens else "tokens: none; sizes are unknown")
        self.taken.append(f"principal: {principal!r}" if principal else "principal: none; all rows belong to one")
        duration_unit = None
        if duration is not None:
            duration_unit = self._unit("--duration-unit", options.duration_unit, duration, LENGTH_UNITS, "duration")
        elif options.duration_unit is not None:
            raise ConfigError("--duration-unit", options.duration_unit, "absent: there is no duration column")
        reading = Reading(
            format=chosen,
            time_column=time_column,
            time_unit=time_unit,
            time_is=time_is,
            tokens_columns=tokens,
            principal_column=principal,
            duration_column=duration,
            duration_unit=duration_unit,  # type: ignore[arg-type]  # __post_init__ refuses a date-time
            sort=options.sort,
            drop_invalid=options.drop_invalid,
        )
        used = {time_column, principal, duration, *tokens}
        return Detection(reading, tuple(self.taken), tuple(n for n in self.names if n not in used), tuple(self.doubts))

    def _time_column(self) -> str:
        named = self.options.time_column
        if named is not None:
            return self._existing("--time-column", named)
        found = self._by_name(_TIME_NAMES)
        if found is None:
            raise ConfigError(
                "row 1" if self.options.format == "csv" or self.names else "",
                ", ".join(self.names),
                "a column of times under a usual name (timestamp, time, ts, arrival, ...)",
                file=str(self.path),
                hint="name it with --time-column, and mind that a CSV file needs a header row",
            )
        return found

    def _tokens_columns(self) -> tuple[str, ...]:
        named = self.options.tokens_columns
        if named is not None:
            for index, name in enumerate(named):
                self._existing("--tokens-columns", name)
                if name in named[:index]:
                    raise ConfigError("--tokens-columns", name, "each column once")
            return tuple(named)
        parts = tuple(name for name in map(self._by_name, (_INPUT_NAMES, _OUTPUT_NAMES)) if name is not None)
        if parts:
            return parts
        total = self._by_name(_TOTAL_NAMES)
        return (total,) if total is not None else ()

    def _optional(self, option: str, named: str | None, usual: str, besides: tuple[str, ...] = ()) -> str | None:
        if named is not None:
            return self._existing(option, named) if named else None
        found = self._by_name(usual)
        return None if found in besides else found

    def _time_is(self, time_column: str, duration: str | None) -> TimeIs:
        named = self.options.time_is
        ends = name_words(time_column)[:1] != [] and name_words(time_column)[0] in _END_WORDS
        if named is not None:
            _choice("--time-is", named, get_args(TimeIs))
            if named == "end" and duration is None:
                raise ConfigError(
                    "--time-is",
                    named,
                    "start: an arrival is the end minus the duration, and no column of durations was found",
                    hint="name it with --duration-column",
                )
            return "end" if named == "end" else "start"
        if ends and duration is not None:
            return "end"
        if ends:
            self.doubts.append(
                f"{time_column!r} looks like the end of a request, but no duration tells when it began:"
                " ends are taken for arrivals"
            )
        return "start"

    def _unit(self, option: str, named: str | None, column: str, allowed: Sequence[TimeUnit], role: str) -> TimeUnit:
        if named is not None:
            _choice(option, named, allowed)
            unit: TimeUnit = next(known for known in allowed if known == named)
            self.taken.append(f"{role}: {column!r} in {unit}, as told")
            return unit
        texts = [cell for row in self.sample if isinstance(cell := row.cells.get(column), str)]
        guess: UnitGuess = guess_unit(column, texts)
        self.taken.append(f"{role}: {column!r} in {guess.unit}, because {guess.why}")
        if not guess.certain:
            self.doubts.append(
                f"{column!r} is taken to be in {guess.unit} because {guess.why}; {option} says otherwise"
            )
        return guess.unit

    def _by_name(self, usual: str) -> str | None:
        plain: Mapping[str, str] = {without_unit(name): name for name in reversed(self.names)}
        return next((plain[name] for name in usual.split() if name in plain), None)

    def _existing(self, option: str, name: str) -> str:
        if name not in self.names:
            allowed = f"a column of the file: {', '.join(self.names)}"
            raise ConfigError(option, name, allowed, file=str(self.path), hint=nearest(name, self.names))
        return name


def _choice(path: str, got: str, allowed: Sequence[str]) -> None:
    if got not in allowed:
        raise ConfigError(path, got, f"one of {', '.join(allowed)}", hint=nearest(str(got), allowed))
