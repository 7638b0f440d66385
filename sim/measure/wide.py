"""Sums of 64-bit integers that may not fit 64 bits themselves, by cell, exact.

Owns how such a sum is kept: its terms are split at bit 32 and both parts are added up apart, so that neither can wrap
around before 2^30 terms, when the lower part hands its surplus on. It must not know what is summed. A queue of 10^5
waiting for a week has an integral of 6 * 10^19 ns, seven times what 64 bits hold.
"""

from __future__ import annotations

from typing import Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.int64]
"""Integers in an array of any shape."""

Whole = TypeVar("Whole", int, NDArray[np.int64])

_BITS: Final = 32
_MASK: Final = (1 << _BITS) - 1
_TERMS_MAX: Final = 1 << 30  # of at most 2^32 each, on top of a remainder below 2^32: half of what 64 bits hold


def halves(values: Whole) -> tuple[Whole, Whole]:
    """Return ``high`` and ``low`` with ``values = high * 2^32 + low`` and ``0 <= low < 2^32``; shapes as given."""
    return values >> _BITS, values & _MASK


class WideSums:
    """One exact sum a cell, for cells in an array of a given shape.

    Attributes:
        high: Multiples of 2^32.
        low: The rest; it may stand above 2^32 until it is carried over.
    """

    __slots__ = ("_terms", "high", "low")

    def __init__(self, high: Cells, low: Cells) -> None:
        """Take both parts; :meth:`zeros` makes the usual start."""
        self.high = high
        self.low = low
        self._terms = 0

    @classmethod
    def zeros(cls, *shape: int) -> Self:
        """Return sums of nothing."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    def add_at(self, cells: Cells, values: Cells) -> None:
        """Add each value to its cell; both of shape ``(n,)``, cells as places in the flattened array."""
        self.expect(len(values))
        high, low = halves(values)
        np.add.at(self.high.reshape(-1), cells, high)
        np.add.at(self.low.reshape(-1), cells, low)

    def add_product(self, column: int, factors: Cells, value: int) -> None:
        """Add ``factors * value`` to one column of cells in two dimensions.

        Args:
            column: Which.
            factors: Below 2^30, shape as the column.
            value: Within 64 bits; its products need not be.
        """
        self.carry()
        self.high[:, column] += factors * (value >> _BITS)
        self.low[:, column] += factors * (value & _MASK)
        self.carry()

    def expect(self, terms: int) -> None:
        """Announce that so many terms are about to be added to any one cell."""
        self._terms += terms
        if self._terms > _TERMS_MAX:
            self.carry()
            self._terms = terms

    def at(self, *cell: int) -> int:
        """Return the sum of one cell."""
        return (int(self.high[cell]) << _BITS) + int(self.low[cell])

    def total(self, mask: NDArray[np.bool_]) -> int:
        """Return the sum over the cells for which ``mask``, shaped as the cells, is true."""
        high: list[int] = self.high[mask].tolist()
        low: list[int] = self.low[mask].tolist()
        return (sum(high) << _BITS) + sum(low)

    def carry(self) -> None:
        """Move what the lower parts hold above 2^32 to the higher ones; no sum changes."""
        self.high += self.low >> _BITS
        self.low &= _MASK

    def integers(self) -> list[int]:
        """Return every sum of the flattened array."""
        high, low = (part.ravel().tolist() for part in (self.high, self.low))
        return [(upper << _BITS) + lower for upper, lower in zip(high, low, strict=True)]
