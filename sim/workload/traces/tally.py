"""What was met while a trace was read: counts, and the sentences that tell them.

This module owns what a reader is told of repairs. It must not know how a row is read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from sim.workload.traces.faults import Fault, FaultKind
from sim.workload.traces.timestamps import seconds_text
from tollgate.core.errors import shown

_EXAMPLES: Final = 3  # rows named of each kind of fault: enough to look some up


@dataclass(frozen=True, slots=True)
class Segment:
    """One of several captures in a file.

    Attributes:
        line: Row that starts it.
        step_ns: How far its first row steps back, 0 for the first.
        rows: How many rows it has.
    """

    line: int
    step_ns: int
    rows: int


@dataclass(slots=True)
class Tally:
    """Counts of one reading.

    Attributes:
        rows: Rows kept.
        dropped: Rows left out because they cannot be used, by kind.
        examples: The first of them.
        missing_sizes: Cells without a size, counted as the user asked.
        late: Rows that came after a later one and were moved by sorting.
        steps_back: Places at which the time steps back.
        largest_step_ns: Longest of these steps.
        largest_step_line: Row at which it is.
        segments: Captures into which the file was split, in order; empty where nobody asked.
        apart: Rows left out because they are of another segment than the one asked for.
        cut: Values with digits below one nanosecond, which were cut off.
        duplicates: Rows equal in every cell to another of the same instant (kept: they may well be real).
        unnamed: Rows that name no principal; together they count as one.
        statuses: Rows by the class of their answer, ``2xx`` and so on; ``none`` where there is none.
        pushed_back: Rows answered 429 or 503.
        zoned: Whether date-times carry a zone; None for numbers.
    """

    rows: int = 0
    dropped: Counter[FaultKind] = field(default_factory=Counter)
    examples: dict[FaultKind, list[Fault]] = field(default_factory=dict)
    missing_sizes: int = 0
    late: int = 0
    steps_back: int = 0
    largest_step_ns: int = 0
    largest_step_line: int = 0
    segments: list[Segment] = field(default_factory=list)
    apart: int = 0
    cut: int = 0
    duplicates: int = 0
    unnamed: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    pushed_back: int = 0
    zoned: bool | None = None

    def drop(self, fault: Fault) -> None:
        """Count a row that is left out."""
        self.dropped[fault.kind] += 1
        examples = self.examples.setdefault(fault.kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(fault)

    def repairs(self) -> list[str]:
        """Return what was changed because the user asked for it, one sentence each."""
        found = [
            f"dropped: {count:,} for a {kind} ({self._rows_named(kind, count)})"
            for kind, count in sorted(self.dropped.items())
        ]
        if self.missing_sizes:
            found.append(f"sizes filled in: {self.missing_sizes:,} that are missing in the file")
        if self.late:
            largest = f"{seconds_text(self.largest_step_ns)} s at row {self.largest_step_line}"
            found.append(
                f"sorted: {self.late:,} rows moved; steps back in time: {self.steps_back:,}, the largest {largest}"
            )
        if len(self.segments) > 1:
            found.append(f"split: {len(self.segments)} segments, {', '.join(self._segments_named())}")
        if self.apart:
            found.append(f"left out: {self.apart:,} rows of the other segments")
        return found

    def remarks(self) -> list[str]:
        """Return what was met and left as it is, one sentence each."""
        found = []
        if len(self.segments) == 1:
            found.append("no step back in time: there is one segment, and nothing was split")
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

    def _rows_named(self, kind: FaultKind, count: int) -> str:
        examples = self.examples[kind]
        rows = ", ".join(str(fault.line) for fault in examples)
        first = f"; {examples[0].place!r} was {shown(examples[0].got)}" if examples[0].place else ""
        if count == 1:
            return f"row {rows}{first}"
        more = f" and {count - len(examples):,} more" if count > len(examples) else ""
        return f"rows {rows}{more}{first and f'; in the first {first[2:]}'}"

    def _segments_named(self) -> list[str]:
        named = [
            f"rows from {segment.line} on: {segment.rows:,}"
            + (f" after a step back of {seconds_text(segment.step_ns)} s" if segment.step_ns else "")
            for segment in self.segments[:_EXAMPLES]
        ]
        return [*named, f"and {len(self.segments) - _EXAMPLES} more"] if len(self.segments) > _EXAMPLES else named
