"""Counting rows by several columns at once, without a loop over rows and without a table of every combination.

Owns packed keys and their counts. It must not know what the columns mean.
"""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tollgate.core.errors import InvariantViolation

Ints = NDArray[np.int64]
"""A one-dimensional array of integers."""

_KEYS_MAX: Final = 1 << 62  # stays clear of the sign bit


class Packing:
    """Several small non-negative integers in one key, the first one most significant."""

    __slots__ = ("_sizes",)

    def __init__(self, *sizes: int) -> None:
        """Take how many values each column can have.

        Raises:
            InvariantViolation: If the keys would not fit 62 bits.
        """
        if prod(sizes) > _KEYS_MAX:
            raise InvariantViolation(f"columns of {sizes} values do not fit one 62-bit key")
        self._sizes = sizes

    def pack(self, first: Ints, *columns: Ints | int) -> Ints:
        """Return one key a row; an integer stands for a column of it."""
        key = first.copy()
        for size, column in zip(self._sizes[1:], columns, strict=True):
            key *= size
            key += column
        return key

    def unpack(self, keys: Ints) -> tuple[Ints, ...]:
        """Return the columns of the keys."""
        columns = []
        for size in reversed(self._sizes[1:]):
            keys, column = np.divmod(keys, size)
            columns.append(column)
        return keys, *reversed(columns)


class Tally:
    """How often each key was seen. Memory follows the number of different keys, not the number of rows."""

    __slots__ = ("_counts", "_keys", "_pending", "_pending_rows")

    _PENDING_ROWS_MIN: Final = 1 << 16  # below this, merging costs more calls than it saves memory

    def __init__(self) -> None:
        """Start empty."""
        self._keys: Ints = np.empty(0, np.int64)
        self._counts: Ints = np.empty(0, np.int64)
        self._pending: list[tuple[Ints, Ints]] = []
        self._pending_rows = 0

    def add(self, keys: Ints) -> None:
        """Count every key once for each time it stands in ``keys``."""
        unique, counts = np.unique(keys, return_counts=True)
        self._pending.append((unique, counts))
        self._pending_rows += len(unique)
        # Waiting for as many keys as there are already keeps the cost a row constant while the table grows.
        if self._pending_rows > max(self._PENDING_ROWS_MIN, len(self._keys)):
            self._merge()

    def counts(self) -> tuple[Ints, Ints]:
        """Return the different keys, ascending, and how often each was seen."""
        self._merge()
        return self._keys, self._counts

    def _merge(self) -> None:
        if not self._pending:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._pending)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._pending)])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        self._keys, self._counts = keys[starts], np.add.reduceat(counts, starts)
        self._pending, self._pending_rows = [], 0
