"""Finds out which column of a trace means what.

This module owns the names by which public traces call their columns. What a user names is taken as it is; the rest is
found by name and by the first values, and every choice is written down for the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sim.workload.traces.columns import TIMES_ARE, Reading, TimeIs, TraceOptions, choice
from sim.workload.traces.reader import FORMATS, Format, Row, first_rows, sniff_format
from sim.workload.traces.timestamps import (
    LENGTH_UNITS,
    TIME_UNITS,
    LengthUnit,
    TimeUnit,
    guess_unit,
    name_words,
    without_unit,
)
from tollgate.core.errors import ConfigError, nearest

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
    chosen = sniff_format(path) if options.format is None else choice("--format", options.format, FORMATS)
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
        duration_unit = self._duration_unit(duration)
        reading = Reading(
            format=chosen,
            time_column=time_column,
            time_unit=time_unit,
            time_is=time_is,
            tokens_columns=tokens,
            principal_column=principal,
            duration_column=duration,
            duration_unit=duration_unit,
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
                "row 1",
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
        if named is not None:
            told = choice("--time-is", named, TIMES_ARE)
            if told == "end" and duration is None:
                raise ConfigError(
                    "--time-is",
                    named,
                    "start: an arrival is the end minus the duration, and no column of durations was found",
                    hint="name it with --duration-column",
                )
            return told
        if not _END_WORDS.intersection(name_words(time_column)[:1]):
            return "start"
        if duration is not None:
            return "end"
        self.doubts.append(
            f"{time_column!r} looks like the end of a request, but no duration tells when it began:"
            " ends are taken for arrivals"
        )
        return "start"

    def _duration_unit(self, duration: str | None) -> LengthUnit | None:
        named = self.options.duration_unit
        if duration is None:
            if named is not None:
                raise ConfigError("--duration-unit", named, "absent: there is no duration column")
            return None
        unit = self._unit("--duration-unit", named, duration, LENGTH_UNITS, "duration")
        if unit == "date-time":
            raise ConfigError(f"column {duration!r}", "date-times", "lengths of time", file=str(self.path))
        return unit

    def _unit(self, option: str, named: str | None, column: str, allowed: Sequence[TimeUnit], role: str) -> TimeUnit:
        if named is not None:
            unit = choice(option, named, allowed)
            self.taken.append(f"{role}: {column!r} in {unit}, as told")
            return unit
        texts = [cell for row in self.sample if isinstance(cell := row.cells.get(column), str)]
        guess = guess_unit(column, texts)
        self.taken.append(f"{role}: {column!r} in {guess.unit}, because {guess.why}")
        if not guess.certain:
            self.doubts.append(
                f"{column!r} is taken to be in {guess.unit} because {guess.why}; {option} says otherwise"
            )
        return guess.unit

    def _by_name(self, usual: str) -> str | None:
        plain = {without_unit(name): name for name in reversed(self.names)}
        return next((plain[name] for name in usual.split() if name in plain), None)

    def _existing(self, option: str, name: str) -> str:
        if name not in self.names:
            allowed = f"a column of the file: {', '.join(self.names)}"
            raise ConfigError(option, name, allowed, file=str(self.path), hint=nearest(name, self.names))
        return name
