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
    """How often each combination of columns was seen. Memory follows the number of combinations, not of rows."""

    __slots__ = ("_columns", "_counts", "_keys", "_packing", "_pending", "_pending_keys")

    _PENDING_KEYS_MIN: Final = 1 << 16  # below this, merging costs more calls than it saves memory

    def __init__(self, *sizes: int) -> None:
        """Start empty, for columns that can have this many values each."""
        self._packing = Packing(*sizes)
        self._keys: Ints = np.empty(0, np.int64)
        self._counts: Ints = np.empty(0, np.int64)
        self._pending: list[tuple[Ints, Ints]] = []
        self._pending_keys = 0
        self._columns: tuple[Ints, ...] | None = None

    def add(self, first: Ints, *columns: Ints | int) -> None:
        """Count each row of the columns once; an integer stands for a column of it."""
        keys, counts = np.unique(self._packing.pack(first, *columns), return_counts=True)
        self._pending.append((keys, counts))
        self._pending_keys += len(keys)
        self._columns = None
        # Waiting for as many keys as there are already keeps the cost a row constant while the table grows.
        if self._pending_keys > max(self._PENDING_KEYS_MIN, len(self._keys)):
            self._merge()

    def table(self) -> tuple[tuple[Ints, ...], Ints]:
        """Return the columns of the different combinations, in ascending order, and how often each was seen."""
        if self._columns is None:
            self._merge()
            self._columns = self._packing.unpack(self._keys)
        return self._columns, self._counts

    def halve(self, times: int) -> None:
        """Divide the first column by ``2 ** times``, rounding down; what then agrees is counted together."""
        (first, *rest), counts = self.table()
        self._pending.append((self._packing.pack(first >> times, *rest), counts))
        self._pending_keys = len(counts)
        self._keys, self._counts = self._keys[:0], self._counts[:0]
        self._columns = None

    def _merge(self) -> None:
        if not self._pending:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._pending)])
        counts = np.concatenate([self._counts, *(counts for _, counts in self._pending)])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        self._keys, self._counts = keys[starts], np.add.reduceat(counts, starts)
        self._pending, self._pending_keys = [], 0
