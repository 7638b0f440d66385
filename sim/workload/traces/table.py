"""All arrivals of a trace at once, as columns.

This module owns that table and what it costs to keep. It must not know what a row means or what the columns are for.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.workload.traces.columns import Reading
from sim.workload.traces.rows import ArrivalReader, TraceRow
from sim.workload.traces.tally import Tally

_CHUNK_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class TraceTable:
    """All arrivals of a trace, in the order of time (rows of one instant in the order of the file).

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


def load_table(path: Path, reading: Reading, *, status_column: str | None = None) -> TraceTable:
    """Read all arrivals of a trace.

    Five integers a row are kept, 40 MB for a million rows; the texts are not.

    Args:
        path: The file.
        reading: How it is read.
        status_column: Column of the answers' status, to be counted; None to leave it.

    Raises:
        ConfigError: See :class:`ArrivalReader`.
    """
    arrivals = ArrivalReader(path, reading, status_column=status_column)
    columns = [array("q") for _ in TraceRow._fields]
    rows = iter(arrivals)
    while chunk := list(islice(rows, _CHUNK_ROWS)):
        for column, values in zip(columns, zip(*chunk, strict=True), strict=True):
            column.extend(values)
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
