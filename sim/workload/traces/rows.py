"""From cells to arrivals: integers, in the order of time, with every repair counted.

This module owns what a row of a trace means and what happens to rows that mean nothing. It must not know figures or
manifests. A row goes through as it is, or stops the import with its number, or is dropped, moved or filled in because
the user asked for that; there is no other way.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sim.workload.traces.columns import MAX_SEGMENTS, Reading
from sim.workload.traces.faults import BadCellError, Fault, FaultKind
from sim.workload.traces.lines import Row
from sim.workload.traces.reader import RowReader
from sim.workload.traces.tally import Segment, Tally
from sim.workload.traces.timestamps import MAX_NS, DateTimeParser, LengthParser, seconds_text, time_parser
from tollgate.core.errors import ConfigError
from tollgate.core.units import MAX_SAFE_INTEGER

MAX_PRINCIPALS: Final = 100_000
"""Most principals of one trace, a tenth of what a stream may have; a column with more is rather an id of the request.
"""

_SIZE_ALLOWED: Final = "a whole number from 0 to 2^53-1"
_SIZE_DIGITS: Final = 16  # of 2^53-1
_MISSING: Final = frozenset({"", "-"})  # "-" is how access logs write what a server does not know
_PUSHED_BACK: Final = frozenset({"429", "503"})
_FAR_NS: Final = MAX_NS // 2  # two instants this near to 0 differ by less than 64 bits hold


class TraceRow(NamedTuple):
    """One arrival.

    Attributes:
        line: Physical line of the file on which the row starts, from 1.
        at_ns: Instant of arrival, ns: on the clock of the file, or of its first segment.
        tokens: Size; 0 where the trace has no sizes.
        principal: Number of whom it belongs to, from 0 in the order of first appearance in the file.
        duration_ns: How long it took; -1 where the trace does not say.
    """

    line: int
    at_ns: int
    tokens: int
    principal: int
    duration_ns: int


class ArrivalReader:
    """Iterates once over the arrivals of a trace.

    Attributes:
        source: The reader of the rows; its digest is complete once the arrivals are exhausted.
        tally: Counts so far.
    """

    def __init__(self, path: Path, reading: Reading, *, status_column: str | None = None) -> None:
        """Prepare to read.

        Args:
            path: The file.
            reading: How it is read.
            status_column: Column of the answers' status, to be counted; None to leave it.
        """
        self.source = RowReader(path, reading.format)
        self.tally = Tally()
        self._path = path
        self._reading = reading
        self._status_column = status_column
        self._times = time_parser(reading.time_unit)
        self._durations = LengthParser(reading.duration_unit) if reading.duration_unit is not None else None
        self._numbers: dict[str, int] = {}
        self._latest: TraceRow | None = None  # the kept row with the largest instant
        self._previous: TraceRow | None = None  # the kept row before this one in the file
        self._content: object = None  # of that row
        self._contents: set[object] = set()  # of the rows before it at its instant
        self._shift_ns = 0  # from the clock of the file to that of the first segment
        self._segment = _OpenSegment()

    @property
    def principals(self) -> int:
        """How many principals were met so far."""
        return len(self._numbers)

    def __iter__(self) -> Iterator[TraceRow]:
        """Yield the arrivals, in the order of the file.

        Unless the reading sorts, that is the order of time too.

        Raises:
            ConfigError: At the first row that cannot be used and may not be dropped.
        """
        for row in self.source:
            if isinstance(row, Fault):
                self._refuse_or_drop(row)
                continue
            arrival = self._interpret(row)
            if isinstance(arrival, Fault):
                self._refuse_or_drop(arrival)
            elif arrival is not None:
                self._count(arrival, row)
                yield arrival
        self._finish()

    def _refuse_or_drop(self, fault: Fault) -> None:
        if not self._reading.drop_invalid:
            raise fault.error(str(self._path))
        self.tally.drop(fault)

    def _interpret(self, row: Row) -> TraceRow | Fault | None:
        """Return the arrival a row stands for, or why it stands for none; None if it is of a segment not asked for."""
        reading, cells = self._reading, row.cells
        column, kind = reading.time_column, FaultKind.TIME
        missing = 0
        try:
            cell = cells.get(column)
            at_ns = self._times.parse(cell.strip() if isinstance(cell, str) else "")
            kind, tokens = FaultKind.SIZE, 0
            for column in reading.tokens_columns:
                cell = cells.get(column)
                if isinstance(cell, str) and cell.isdigit() and len(cell) < _SIZE_DIGITS and cell.isascii():
                    tokens += int(cell)
                elif reading.missing_size is not None and _is_missing(cell):
                    tokens += reading.missing_size
                    missing += 1
                else:
                    tokens += _size(cell)
            _check_size(tokens)
            kind, duration_ns = FaultKind.DURATION, -1
            if self._durations is not None and reading.duration_column is not None:
                column = reading.duration_column
                cell = cells.get(column)
                duration_ns = self._durations.parse(cell.strip() if isinstance(cell, str) else "")
                if reading.time_is == "end":
                    at_ns = _start_ns(at_ns, duration_ns)
        except BadCellError as error:
            return Fault(
                row.line, kind, column, cells.get(column), error.allowed, self._way_out(kind, cells.get(column))
            )
        latest = self._latest
        if reading.split_on_step_back:
            at_ns = self._in_segment(row, at_ns)
            if reading.segment not in {None, self._segment.number}:
                self.tally.apart += 1
                return None
        elif latest is not None and at_ns < latest.at_ns and not reading.sort:
            return self._step_back(row, latest.at_ns - at_ns, latest.line)
        self.tally.missing_sizes += missing
        principal = self._principal(row) if reading.principal_column is not None else self._numbers.setdefault("", 0)
        return TraceRow(row.line, at_ns, tokens, principal, duration_ns)

    def _principal(self, row: Row) -> int:
        column = self._reading.principal_column
        cell = row.cells.get(column or "")
        name = cell if isinstance(cell, str) else ""
        if not name:
            self.tally.unnamed += 1
        number = self._numbers.setdefault(name, len(self._numbers))
        if number >= MAX_PRINCIPALS:
            raise ConfigError(
                f"row {row.line}, column {column!r}",
                name,
                f"at most {MAX_PRINCIPALS} principals; a column with more names requests rather than principals",
                file=str(self._path),
            )
        return number

    def _in_segment(self, row: Row, file_ns: int) -> int:
        """Return where a row lies on the clock of the first segment, opening another one at a step back."""
        segment = self._segment
        if file_ns < segment.latest_ns:
            self.tally.segments.append(Segment(segment.line, segment.step_ns, segment.rows))
            if segment.number == MAX_SEGMENTS:
                raise ConfigError(
                    f"row {row.line}",
                    f"{MAX_SEGMENTS} steps back in time so far",
                    f"at most {MAX_SEGMENTS} segments: this many are rows that were written a little late",
                    file=str(self._path),
                    hint="--sort puts them in order",
                )
            if self._reading.segment is None:
                self._shift_ns += segment.latest_ns + self._reading.segment_gap_ns - file_ns
            self._segment = segment = _OpenSegment(segment.number + 1, row.line, segment.latest_ns - file_ns)
        elif segment.rows == 0:
            segment.line = row.line
        segment.latest_ns = file_ns
        segment.rows += 1
        at_ns = file_ns + self._shift_ns
        if at_ns > MAX_NS:
            allowed = f"segments that end to end are shorter than {seconds_text(MAX_NS)} s"
            raise ConfigError(f"row {row.line}", f"{seconds_text(at_ns)} s", allowed, file=str(self._path))
        return at_ns

    def _step_back(self, row: Row, step_ns: int, latest_line: int) -> Fault:
        column = self._reading.time_column
        return Fault(
            row.line,
            FaultKind.ORDER,
            column,
            row.cells.get(column),
            f"a time not before that of row {latest_line}: row {row.line} steps back by {seconds_text(step_ns)} s",
            "--sort merges all rows by time, --drop-invalid leaves out each row that is behind, --split-on-step-back"
            f" takes row {row.line} as the start of another capture and lays it behind the first",
        )

    def _way_out(self, kind: FaultKind, cell: object) -> str:
        """Return what a user may ask for at a row whose size is missing."""
        if kind is not FaultKind.SIZE or not _is_missing(cell):
            return ""
        return (
            '--missing-size N lets it count as N, --drop-invalid leaves the row out, --tokens-columns "" reads no sizes'
        )

    def _count(self, arrival: TraceRow, row: Row) -> None:
        tally, previous = self.tally, self._previous
        tally.rows += 1
        if previous is not None and arrival.at_ns < previous.at_ns:
            tally.steps_back += 1
            if previous.at_ns - arrival.at_ns > tally.largest_step_ns:
                tally.largest_step_ns = previous.at_ns - arrival.at_ns
                tally.largest_step_line = arrival.line
        if self._latest is None or arrival.at_ns >= self._latest.at_ns:
            self._latest = arrival
        else:
            tally.late += 1
        if previous is not None and arrival.at_ns == previous.at_ns:
            self._contents.add(self._content)
            if row.content in self._contents:
                tally.duplicates += 1
        elif self._contents:
            self._contents.clear()
        self._content = row.content
        if self._status_column is not None:
            self._count_status(row.cells.get(self._status_column))
        self._previous = arrival

    def _count_status(self, cell: object) -> None:
        status = cell.strip() if isinstance(cell, str) else ""
        known = len(status) == 3 and status.isascii() and status.isdigit() and status != "000"
        self.tally.statuses[f"{status[0]}xx" if known else "none"] += 1
        self.tally.pushed_back += status in _PUSHED_BACK

    def _finish(self) -> None:
        tally, reading, segment = self.tally, self._reading, self._segment
        tally.cut = self._times.cut + (self._durations.cut if self._durations is not None else 0)
        tally.zoned = self._times.zoned if isinstance(self._times, DateTimeParser) else None
        if segment.rows:
            tally.segments.append(Segment(segment.line, segment.step_ns, segment.rows))
            if reading.segment is not None and reading.segment > segment.number:
                allowed = (
                    f"a segment from 1 to {segment.number}: the file steps back in time {segment.number - 1} times"
                )
                raise ConfigError("segment", reading.segment, allowed, file=str(self._path))
        if tally.rows == 0:
            raise ConfigError("", "no row that can be used", "at least one arrival", file=str(self._path))


class _OpenSegment:
    """The capture at hand: its number from 1, its first row, how far that steps back, the instant of its latest row."""

    __slots__ = ("latest_ns", "line", "number", "rows", "step_ns")

    def __init__(self, number: int = 1, line: int = 0, step_ns: int = 0) -> None:
        self.number = number
        self.line = line
        self.step_ns = step_ns
        self.rows = 0
        self.latest_ns = -MAX_NS


def _start_ns(end_ns: int, duration_ns: int) -> int:
    if end_ns > _FAR_NS or duration_ns > _FAR_NS:
        raise BadCellError(f"an end and a duration below {_FAR_NS} ns")
    return end_ns - duration_ns


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, str) and cell.strip() in _MISSING)


def _check_size(tokens: int) -> None:
    if tokens > MAX_SAFE_INTEGER:
        raise BadCellError(_SIZE_ALLOWED)


def _size(cell: object) -> int:
    text = cell.strip() if isinstance(cell, str) else ""
    # Some exporters turn a column of counts with one hole into floats, "4808.0"; the point loses nothing.
    whole, point, rest = text.partition(".")
    if whole.isascii() and whole.isdigit() and len(whole) <= _SIZE_DIGITS and (not point or not rest.strip("0")):
        return int(whole)
    raise BadCellError(_SIZE_ALLOWED)
