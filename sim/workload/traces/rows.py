"""From cells to arrivals: integers, in the order of time, with every repair counted.

This module owns what a row of a trace means and what happens to rows that mean nothing. It must not know figures or
manifests. A row goes through as it is, or stops the import with its number, or is dropped or moved because the user
asked for that; there is no fourth way.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sim.workload.traces.columns import Reading
from sim.workload.traces.faults import BadCellError, Fault, FaultKind
from sim.workload.traces.reader import Row, RowReader
from sim.workload.traces.timestamps import DateTimeParser, LengthParser, seconds_text, time_parser
from tollgate.core.errors import ConfigError
from tollgate.core.units import MAX_SAFE_INTEGER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_PRINCIPALS: Final = 100_000
"""Most principals of one trace, a tenth of what a stream may have; a column with more is rather an id of the request.
"""

_SIZE_ALLOWED: Final = "a whole number from 0 to 2^53-1"


class TraceRow(NamedTuple):
    """One arrival.

    Attributes:
        line: Physical line of the file on which the row starts, from 1.
        at_ns: Instant of arrival, on the clock of the file, ns.
        tokens: Size; 0 where the trace has no sizes.
        principal: Number of whom it belongs to, from 0 in the order of first appearance in the file.
        duration_ns: How long it took; -1 where the trace does not say.
    """

    line: int
    at_ns: int
    tokens: int
    principal: int
    duration_ns: int


@dataclass(slots=True)
class Tally:
    """What was met while reading.

    Attributes:
        rows: Rows kept.
        dropped: Rows left out, by kind.
        first_dropped: Row number of the first of each kind.
        late: Rows that came after a later one and were moved by sorting.
        steps_back: Places at which the time steps back.
        largest_step_ns: Longest of these steps.
        largest_step_line: Row at which it is.
        cut: Values with digits below one nanosecond, which were cut off.
        duplicates: Rows equal in every cell to another of the same instant (kept: they may well be real).
        unnamed: Rows that name no principal; together they count as one.
        zoned: Whether date-times carry a zone; None for numbers.
    """

    rows: int = 0
    dropped: Counter[FaultKind] = field(default_factory=Counter)
    first_dropped: dict[FaultKind, int] = field(default_factory=dict)
    late: int = 0
    steps_back: int = 0
    largest_step_ns: int = 0
    largest_step_line: int = 0
    cut: int = 0
    duplicates: int = 0
    unnamed: int = 0
    zoned: bool | None = None

    def drop(self, fault: Fault) -> None:
        """Count a row that is left out."""
        self.dropped[fault.kind] += 1
        self.first_dropped.setdefault(fault.kind, fault.line)

    def repairs(self) -> list[str]:
        """Return what was changed because the user asked for it, one sentence each."""
        found = [
            f"dropped: {count:,} for a {kind} (the first is row {self.first_dropped[kind]})"
            for kind, count in sorted(self.dropped.items())
        ]
        if self.late:
            largest = f"{seconds_text(self.largest_step_ns)} s at row {self.largest_step_line}"
            found.append(
                f"sorted: {self.late:,} rows moved; steps back in time: {self.steps_back:,}, the largest {largest}"
            )
        return found

    def remarks(self) -> list[str]:
        """Return what was met and left as it is, one sentence each."""
        found = []
        if self.cut:
            found.append(
                f"digits below 1 ns cut off in {self.cut:,} values (towards the past; the order of rows is kept)"
            )
        if self.zoned is False:
            found.append("the times carry no zone and are read as UTC; only their differences are used")
        if self.duplicates:
            found.append(f"rows equal to another of the same instant: {self.duplicates:,}, kept")
        if self.unnamed:
            found.append(f"rows that name no principal: {self.unnamed:,}, put together under one")
        return found


class ArrivalReader:
    """Iterates once over the arrivals of a trace.

    Attributes:
        source: The reader of the bytes; its digest is complete once the arrivals are exhausted.
        tally: Counts so far.
        principals: Number of principals so far.
    """

    def __init__(self, path: Path, reading: Reading) -> None:
        self.source = RowReader(path, reading.format)
        self.tally = Tally()
        self._path = path
        self._reading = reading
        self._times = time_parser(reading.time_unit)
        self._durations = LengthParser(reading.duration_unit) if reading.duration_unit is not None else None
        self._numbers: dict[str, int] = {}
        self._latest: TraceRow | None = None  # the kept row with the largest instant
        self._previous: TraceRow | None = None  # the kept row before this one in the file
        self._contents: set[object] = set()  # of the rows of the instant at hand

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
            arrival = row if isinstance(row, Fault) else self._interpret(row)
            if isinstance(arrival, Fault):
                if not self._reading.drop_invalid:
                    raise arrival.error(str(self._path))
                self.tally.drop(arrival)
                continue
            self._count(arrival, row)
            yield arrival
        self.tally.cut = self._times.cut + (self._durations.cut if self._durations is not None else 0)
        self.tally.zoned = self._times.zoned if isinstance(self._times, DateTimeParser) else None
        if self.tally.rows == 0:
            raise ConfigError("", "no row that can be used", "at least one arrival", file=str(self._path))

    def _interpret(self, row: Row) -> TraceRow | Fault:
        """Return the arrival a row stands for, or why it stands for none."""
        reading, cells = self._reading, row.cells
        column, kind = reading.time_column, FaultKind.TIME
        try:
            at_ns = self._times.parse(_text(cells, column))
            kind, tokens = FaultKind.SIZE, 0
            for column in reading.tokens_columns:
                tokens = _sum(tokens, _text(cells, column))
            kind, duration_ns = FaultKind.DURATION, -1
            if self._durations is not None and reading.duration_column is not None:
                column = reading.duration_column
                duration_ns = self._durations.parse(_text(cells, column))
        except BadCellError as error:
            return Fault(row.line, kind, column, cells.get(column), error.allowed)
        if reading.time_is == "end":
            at_ns -= duration_ns
        if self._latest is not None and at_ns < self._latest.at_ns and not reading.sort:
            return self._step_back(row, self._latest.at_ns - at_ns, self._latest.line)
        return TraceRow(row.line, at_ns, tokens, self._principal(row), duration_ns)

    def _principal(self, row: Row) -> int:
        column = self._reading.principal_column
        name = ""
        if column is not None:
            cell = row.cells.get(column)
            name = cell if isinstance(cell, str) else ""
            self.tally.unnamed += not name
        number = self._numbers.setdefault(name, len(self._numbers))
        if number >= MAX_PRINCIPALS:
            raise ConfigError(
                f"row {row.line}, column {column!r}",
                name,
                f"at most {MAX_PRINCIPALS} principals; a column with more names requests rather than principals",
                file=str(self._path),
            )
        return number

    def _step_back(self, row: Row, step_ns: int, latest_line: int) -> Fault:
        column = self._reading.time_column
        return Fault(
            row.line,
            FaultKind.ORDER,
            column,
            row.cells.get(column),
            f"a time not before that of row {latest_line}: row {row.line} steps back by {seconds_text(step_ns)} s",
            "--sort merges all rows by time, --drop-invalid leaves out each row that is behind;"
            f" if two captures were laid one after the other, split the file before row {row.line}",
        )

    def _count(self, arrival: TraceRow, row: Row | Fault) -> None:
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
        if previous is None or arrival.at_ns != previous.at_ns:
            self._contents.clear()
        if isinstance(row, Row):
            tally.duplicates += row.content in self._contents
            self._contents.add(row.content)
        self._previous = arrival


@dataclass(frozen=True, slots=True, eq=False)
class TraceTable:
    """All arrivals of a trace as columns, in the order of time (rows of one instant in the order of the file).

    Attributes:
        lines: Row numbers in the file, shape ``(n,)``.
        at_ns: Arrivals from the first one, ns, shape ``(n,)``.
        tokens: Sizes, shape ``(n,)``.
        principal: Numbers of the principals, shape ``(n,)``.
        duration_ns: Durations or -1, shape ``(n,)``.
        principals: How many principals there are.
        sha256: Hex digest of the file's bytes.
        tally: What was met while reading.
        remarks: What the bytes looked like.
    """

    lines: NDArray[np.int64]
    at_ns: NDArray[np.int64]
    tokens: NDArray[np.int64]
    principal: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    principals: int
    sha256: str
    tally: Tally
    remarks: tuple[str, ...]


def load_table(path: Path, reading: Reading) -> TraceTable:
    """Read all arrivals of a trace.

    Five integers a row are kept, 40 MB for a million rows; the texts are not.

    Raises:
        ConfigError: See :class:`ArrivalReader`.
    """
    import numpy as np  # noqa: PLC0415 - parsing alone does not need it

    arrivals = ArrivalReader(path, reading)
    columns = [array("q") for _ in TraceRow._fields]
    for arrival in arrivals:
        for column, value in zip(columns, arrival, strict=True):
            column.append(value)
    lines, at_ns, tokens, principal, duration_ns = (np.frombuffer(column, dtype=np.int64) for column in columns)
    if arrivals.tally.late:
        order = np.argsort(at_ns, kind="stable")
        lines, at_ns, tokens, principal, duration_ns = (
            column[order] for column in (lines, at_ns, tokens, principal, duration_ns)
        )
    remarks = (*arrivals.source.remarks(), *arrivals.tally.remarks())
    return TraceTable(
        lines,
        at_ns - at_ns[0],
        tokens,
        principal,
        duration_ns,
        arrivals.principals,
        arrivals.source.sha256,
        arrivals.tally,
        remarks,
    )


def _text(cells: Mapping[str, object], column: str) -> str:
    """Return a cell as text; what is missing or no scalar becomes a text that no parser accepts."""
    cell = cells.get(column)
    return cell.strip() if isinstance(cell, str) else ""


def _sum(tokens: int, text: str) -> int:
    """Return ``tokens`` plus the size in ``text``."""
    tokens += _size(text)
    if tokens > MAX_SAFE_INTEGER:
        raise BadCellError(_SIZE_ALLOWED)
    return tokens


def _size(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 16:
        return int(text)
    # Some exporters turn a column of counts with one hole into floats, "4808.0"; the point loses nothing.
    whole, point, rest = text.partition(".")
    if point and not rest.strip("0") and whole.isascii() and whole.isdigit() and len(whole) <= 16:
        return int(whole)
    raise BadCellError(_SIZE_ALLOWED)
