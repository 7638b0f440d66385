"""Merging the arrivals of several streams into one order, a block at a time.

Rows are columns of integers in one array of shape ``(columns, n)``, the first of which is the instant. This module must
not know what the other columns hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
"""Rows of arrivals by column, shape ``(columns, n)``, in order of the instant."""

_NEVER: Final = np.iinfo(np.int64).max


def merged(sources: Sequence[Iterator[Rows]], block_rows: int) -> Iterator[Rows]:
    """Yield all rows of all sources, sorted by instant, then source, then order within the source.

    Memory is a piece of each source and a block of the result.

    Args:
        sources: Each yields pieces of at least one row, in order of the instant.
        block_rows: About how many rows to yield at a time.
    """
    pending: list[Rows] = [next(source, _NO_ROWS) for source in sources]
    first = np.array([rows[0, 0] if rows.size else _NEVER for rows in pending])
    last = np.array([rows[0, -1] if rows.size else _NEVER for rows in pending])
    ready: list[Rows] = []
    count = 0
    while len(last) and (bound := int(last.min())) < _NEVER:
        # Every row before the earliest end of a piece is known. At that very instant more rows may follow.
        taken = []
        for index in np.flatnonzero(first < bound):
            rows = pending[index]
            stop = int(np.searchsorted(rows[0], bound))
            taken.append(rows[:, :stop])
            pending[index] = rows[:, stop:]
            first[index] = pending[index][0, 0] if pending[index].size else _NEVER
        if taken:
            ready.append(_sorted(taken))
            count += ready[-1].shape[1]
        if count >= block_rows:
            yield np.concatenate(ready, axis=1)
            ready, count = [], 0
        short = int(last.argmin())
        more = next(sources[short], None)
        if more is None:
            last[short] = _NEVER
        else:
            pending[short] = np.concatenate([pending[short], more], axis=1) if pending[short].size else more
            first[short], last[short] = pending[short][0, 0], more[0, -1]
    rest = [rows for rows in pending if rows.size]
    if rest:
        ready.append(_sorted(rest))
    if ready:
        yield np.concatenate(ready, axis=1)


def _sorted(parts: list[Rows]) -> Rows:
    """Return the rows of several sources, given in the sources' order, by instant; ties keep that order."""
    if len(parts) == 1:
        return parts[0]
    rows = np.concatenate(parts, axis=1)
    return rows[:, np.argsort(rows[0], kind="stable")]


_NO_ROWS: Final = np.empty((0, 0), dtype=np.int64)
