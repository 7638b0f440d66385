"""The arrivals of a trace as columns, a block of rows after the other in the order of time.

This module owns how many rows are kept at a time: a block, however long the trace is, unless it has to be sorted. It
must not know what a row means or what the columns are for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from sim.workload.traces.columns import Reading
from sim.workload.traces.figures import Integers
from sim.workload.traces.rows import ArrivalReader, TraceRow
from sim.workload.traces.tally import Tally

BLOCK_ROWS: Final = 8_192
"""Most rows of a block: numpy's cost a call no longer matters, and five columns of them fit a processor's cache."""


class Columns(NamedTuple):
    """Consecutive arrivals in the order of time (rows of one instant in the order of the file).

    Attributes:
        lines: Row numbers in the file, shape ``(n,)``.
        at_ns: Arrivals from the first one of the trace, ns, shape ``(n,)``.
        tokens: Sizes, shape ``(n,)``.
        principal: Numbers of the principals, shape ``(n,)``.
        duration_ns: Durations or -1, shape ``(n,)``.
    """

    lines: Integers
    at_ns: Integers
    tokens: Integers
    principal: Integers
    duration_ns: Integers


class TraceBlocks:
    """Iterates once over the arrivals of a trace.

    A trace that is sorted is kept as a whole, 48 bytes a row; any other goes through block by block.

    Attributes:
        tally: What was met so far; complete once the blocks are exhausted.
    """

    def __init__(
        self, path: Path, reading: Reading, *, status_column: str | None = None, block_rows: int = BLOCK_ROWS
    ) -> None:
        """Prepare to read.

        Args:
            path: The file.
            reading: How it is read.
            status_column: Column of the answers' status, to be counted; None to leave it.
            block_rows: Most rows of a block.
        """
        self._arrivals = ArrivalReader(path, reading, status_column=status_column)
        self._sort = reading.sort
        self._block_rows = block_rows

    @property
    def tally(self) -> Tally:
        """What was met so far."""
        return self._arrivals.tally

    @property
    def principals(self) -> int:
        """How many principals were met so far."""
        return self._arrivals.principals

    @property
    def sha256(self) -> str:
        """Hex digest of the file's bytes, once the blocks are exhausted."""
        return self._arrivals.source.sha256

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the bytes and rows looked like, for people."""
        return (*self._arrivals.source.remarks(), *self.tally.remarks())

    def __iter__(self) -> Iterator[Columns]:
        """Yield the blocks, none of them empty.

        Raises:
            ConfigError: See :class:`ArrivalReader`.
        """
        blocks = self._sorted() if self._sort else self._in_order()
        first_ns: np.int64 | None = None
        for block in blocks:
            if first_ns is None:
                first_ns = block.at_ns[0]
            yield block._replace(at_ns=block.at_ns - first_ns)

    def _in_order(self) -> Iterator[Columns]:
        rows = iter(self._arrivals)
        while chunk := list(islice(rows, self._block_rows)):
            yield Columns(*(np.array(values, dtype=np.int64) for values in zip(*chunk, strict=True)))

    def _sorted(self) -> Iterator[Columns]:
        kept = [array("q") for _ in TraceRow._fields]
        rows = iter(self._arrivals)
        while chunk := list(islice(rows, BLOCK_ROWS)):
            for column, values in zip(kept, zip(*chunk, strict=True), strict=True):
                column.extend(values)
        columns = Columns(*(np.frombuffer(column, dtype=np.int64) for column in kept))
        order = np.argsort(columns.at_ns, kind="stable")
        for start in range(0, len(order), self._block_rows):
            places = order[start : start + self._block_rows]
            yield Columns(*(column[places] for column in columns))
