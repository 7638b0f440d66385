"""Figures of sizes, lengths and shares, each worked out while blocks of columns go by.

This module owns definitions, with their sources, and what is kept for each from block to block: nothing that grows
with the number of arrivals. Counts and sums are exact integers. It must not know files or how a figure is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

EXACT_VALUES: Final = 1 << 17
"""Most different values of which each is counted apart; beyond, values that share their first 11 bits are one."""

ZIPF_MAX: Final = 20.0
"""Where the search for an exponent ends: the second then brings a millionth of the first."""

_KEPT_BITS: Final = 11  # an error of at most 2^-10 of the value, a thousandth
_ZIPF_STEPS: Final = 50  # halvings of that range: to the 14th digit


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Order statistics; a quantile is the smallest value with at least ceil(p n) values at or below it."""

    median: int
    p95: int
    p99: int
    max: int


class Values:
    """Non-negative values, counted.

    Attributes:
        n: How many.
        zero: How many are 0.
        total: Their sum.
        max: The largest.
        exact: Whether every value is counted apart; if not, quantiles are at most a thousandth below.
    """

    __slots__ = ("_counts", "exact", "max", "n", "total", "zero")

    def __init__(self) -> None:
        self.n = 0
        self.zero = 0
        self.total = 0
        self.max = 0
        self.exact = True
        self._counts: dict[int, int] = {}

    def add(self, values: Integers) -> None:
        """Count the values of a block, shape ``(n,)``."""
        found, counts = np.unique(values, return_counts=True)
        different, times = found.tolist(), counts.tolist()
        self.n += len(values)
        self.total += sum(value * count for value, count in zip(different, times, strict=True))
        self.max = max(self.max, different[-1])
        self.zero += times[0] if different[0] == 0 else 0
        self._count(different, times)
        if self.exact and len(self._counts) > EXACT_VALUES:
            self.exact = False
            kept, self._counts = self._counts, {}
            self._count(list(kept), list(kept.values()))

    def _count(self, different: list[int], times: list[int]) -> None:
        counts = self._counts
        for value, count in zip(different, times, strict=True):
            key = value if self.exact else _leading(value)
            counts[key] = counts.get(key, 0) + count

    def quantiles(self) -> Quantiles:
        """Return the order statistics of at least one value."""
        ordered = sorted(self._counts.items())
        found, seen, places = [], 0, iter(ordered)
        value = 0
        for percent in (50, 95, 99):
            least = -(-self.n * percent // 100)
            while seen < least:
                value, count = next(places)
                seen += count
            found.append(value)
        median, p95, p99 = found
        return Quantiles(median, p95, p99, self.max)

    def top_share(self) -> float | None:
        """Return the share of the total that the largest 1 % (rounded up) bring, or None if the total is 0."""
        left, brought = -(-self.n // 100), 0
        for value, count in sorted(self._counts.items(), reverse=True):
            taken = min(left, count)
            brought += taken * value
            left -= taken
            if not left:
                break
        return brought / self.total if self.total else None


def _leading(value: int) -> int:
    below = max(0, value.bit_length() - _KEPT_BITS)
    return value >> below << below


def zipf_exponent(counts: Integers) -> float | None:
    """Return the exponent s of the Zipf law under which the k-th busiest brings a share in proportion to k^-s.

    The likeliest one for these counts, ranked by themselves: the s at which the mean logarithm of the rank is the one
    observed. 0 if all bring the same; at most :data:`ZIPF_MAX`.

    Args:
        counts: Rows of each, above 0, shape ``(n,)``.

    Returns:
        The exponent, or None for fewer than two.

    Source:
        Clauset, Shalizi and Newman, Power-law distributions in empirical data (2009), section 3.1, for a law that ends
        at rank n.
    """
    if counts.size < 2:
        return None
    ordered = np.sort(counts)[::-1]
    logs = np.log(np.arange(1, counts.size + 1))
    observed = float(ordered @ logs) / int(ordered.sum())
    low, high = 0.0, ZIPF_MAX
    for _ in range(_ZIPF_STEPS):
        middle = (low + high) / 2
        weights = np.exp(-middle * logs)
        if float(weights @ logs) / float(weights.sum()) > observed:
            low = middle
        else:
            high = middle
    return high if low else 0.0
