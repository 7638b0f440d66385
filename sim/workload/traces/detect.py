"""Finds out which column of a trace means what.

This module owns the names by which public traces call their columns. What a user names is taken as it is; the rest is
found by name and by the first values, and every choice is written down for the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sim.workload.traces import clf_rows
from sim.workload.traces.columns import TIMES_ARE, Reading, TimeIs, TraceOptions, choice
from sim.workload.traces.foreign import refuse_foreign
from sim.workload.traces.lines import Row
from sim.workload.traces.reader import FORMATS, Format, first_rows, sniff_format
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
    "starttime startedat start requesttimestamp createdat datetime msec timeiso8601 timelocal endtimestamp "
    "endtimeunix endtime endedat end finishedat completedat"
)
_END_NAMES: Final = frozenset({"msec", "timeiso8601", "timelocal"})  # nginx writes its log when a request ends
_END_WORDS: Final = frozenset({"end", "ended", "finished", "completed"})
_INPUT_NAMES: Final = (
    "contexttokens inputtokens inputlength inputlen prompttokens promptlength promptlen requesttokens tokensin"
)
_OUTPUT_NAMES: Final = "generatedtokens outputtokens outputlength outputlen completiontokens responsetokens tokensout"
_TOTAL_NAMES: Final = "totaltokens tokens tokencount size"
_PRINCIPAL_NAMES: Final = (
    "tenant tenantid principal principalid account accountid organisation organization organisationid "
    "organizationid org orgid team teamid project projectid customer customerid user userid client "
    "clientid apikey app appid session sessionid remoteuser"
)
_STATUS_NAMES: Final = "status statuscode httpstatus httpstatuscode responsestatus"
_DURATION_NAMES: Final = (
    "duration servicetime elapsed elapsedtime requesttime responsetime latency e2elatency httpreqduration"
)


@dataclass(frozen=True, slots=True)
class Detection:
    """The reading of a file and how it came about.

    Attributes:
        reading: What was settled on.
        taken: One sentence for each choice.
        status_column: Column of the answers' status; it is counted, and decides nothing.
        ignored: Columns that are not used.
        doubts: What was guessed by custom and is worth a look, one sentence each.
    """

    reading: Reading
    taken: tuple[str, ...]
    status_column: str | None
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
    if options.time_column is None:  # who names one knows what a row is
        refuse_foreign(path, names)
    if chosen == "clf":
        names = tuple(dict.fromkeys((*clf_rows.FIELDS, *names)))
    return _Detector(path, names, sample, options, chosen).detect()


@dataclass(slots=True)
class _Detector:
    """The state of one detection."""

    path: Path
    names: tuple[str, ...]
    sample: list[Row]
    options: TraceOptions
    format: Format
    taken: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def detect(self) -> Detection:
        options = self.options
        time_column = self._time_column()
        tokens = self._tokens_columns()
        principal = self._principal_column()
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
        status = self._by_name(_STATUS_NAMES)
        if self.format == "clf":
            self._tell_of_log(time_column, tokens, principal)
        reading = _settled(
            format=self.format,
            time_column=time_column,
            time_unit=time_unit,
            time_is=time_is,
            tokens_columns=tokens,
            principal_column=principal,
            duration_column=duration,
            duration_unit=duration_unit,
            missing_size=options.missing_size,
            sort=options.sort,
            split_on_step_back=options.split_on_step_back,
            segment=options.segment,
            segment_gap_seconds=options.segment_gap_seconds,
            drop_invalid=options.drop_invalid,
        )
        used = {time_column, principal, duration, status, *tokens}
        ignored = tuple(name for name in self.names if name not in used)
        return Detection(reading, tuple(self.taken), status, ignored, tuple(self.doubts))

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
        total = clf_rows.SIZE if self.format == "clf" else self._by_name(_TOTAL_NAMES)
        return (total,) if total is not None else ()

    def _optional(self, option: str, named: str | None, usual: str, besides: tuple[str, ...] = ()) -> str | None:
        if named is not None:
            return self._existing(option, named) if named else None
        found = self._by_name(usual)
        return None if found in besides else found

    def _principal_column(self) -> str | None:
        named = self.options.principal_column
        if named is None and self.format == "clf":
            return clf_rows.USER if any(clf_rows.USER in row.cells for row in self.sample) else clf_rows.HOST
        return self._optional("--principal-column", named, _PRINCIPAL_NAMES)

    def _tell_of_log(self, time_column: str, tokens: tuple[str, ...], principal: str | None) -> None:
        """Say what an access log is taken for, and what its lines do not tell."""
        combined = any(clf_rows.AGENT in row.cells for row in self.sample)
        self.taken.insert(0, f"access log in the {'combined' if combined else 'common'} form")
        if tokens == (clf_rows.SIZE,) and self.options.tokens_columns is None:
            self.doubts.append(
                "the size of a request is the bytes of its answer, as nothing else tells: limits on tokens count bytes"
            )
        if principal == clf_rows.HOST and self.options.principal_column is None:
            self.doubts.append(
                "addresses stand for principals, as no line names a user: many people may share one or have several"
            )
        if self.options.time_is is None and time_column == clf_rows.TIME:
            self.doubts.append(
                "the times are taken for arrivals: Apache writes when a request came, nginx when its answer was sent"
            )

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
        plain = "".join(name_words(time_column))
        if not _END_WORDS.intersection(name_words(time_column)[:1]) and plain not in _END_NAMES:
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


def _settled(**values: Any) -> Reading:  # noqa: ANN401 - the fields of a reading, each of its own type
    """Return a reading; what it refuses is named by the option that said it."""
    try:
        return Reading(**values)
    except ConfigError as error:
        option = f"--{error.path.replace('_', '-')}"
        raise ConfigError(option, error.got, error.allowed.replace("_", "-"), hint=error.hint) from None
