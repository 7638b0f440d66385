"""Quantiles: the rule, exact samples, and the histogram that stands in for them when there are too many.

Owns what "p99" means here. It must not know which times are put in.

The rule: the quantile of order p of n values is the smallest value with at least ceil(p n) values at or below it, so
it is always one of the values, and min <= p50 <= p99 <= max. Nothing is rounded before it is compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, chain
from typing import Final, Self, cast

import numpy as np
from numpy.typing import NDArray

from sim.measure.tally import Ints, Tally
from sim.measure.wide import WideSums
from tollgate.core.errors import CallerError, EvidenceError, shown

Mask = NDArray[np.bool_]
"""Which of several are meant, shape ``(n,)``."""

SUB_BITS: Final = 7
"""Each octave has 2^7 bins, so a bin's upper edge is less than 2^-7 (0.8 %) above any value in it."""

BINS: Final = 64 << SUB_BITS
"""More than there are bins up to 2^63."""

EXACT_VALUES_MAX: Final = 200_000
"""Values kept before bins stand in for them: 3.2 MB, and ten times the longest of the seed's manifests needs."""

# The bits of a double are its exponent and mantissa, so their leading bits number octave and bin in one shift.
_SHIFT: Final = 52 - SUB_BITS
_FIRST: Final = (1023 << SUB_BITS) - 1  # value 1 gets bin 1, value 0 bin 0
_EXACT_IN_DOUBLE: Final = 1 << 53

_JSON_KEYS: Final = frozenset({"bins", "count", "maximum", "minimum", "sub_bits", "total"})


def rank(p: Fraction, n: int) -> int:
    """Return ceil(p n), the 1-based place of the quantile of order ``p`` among ``n`` values in ascending order.

    Raises:
        CallerError: If ``p`` is not in (0, 1] or ``n`` is not positive.
    """
    if not 0 < p <= 1 or n < 1:
        raise CallerError(f"no quantile of order {p} among {n} values")
    return -(-p.numerator * n // p.denominator)


def bin_of(values: Ints) -> Ints:
    """Return the bin of each value; values are 0 or more."""
    if values.max(initial=0) >= _EXACT_IN_DOUBLE:
        # A conversion could round up into the next bin; the bits dropped here are below a bin's width.
        values = np.where(values < _EXACT_IN_DOUBLE, values, values & ~np.int64(2047))
    bins: Ints = np.maximum((values.astype(np.float64).view(np.int64) >> _SHIFT) - _FIRST, 0)
    return bins


def bin_edges(index: int) -> tuple[int, int]:
    """Return the smallest and the largest integer of a bin."""
    if index == 0:
        return 0, 0
    octave, step = divmod(index - 1, 1 << SUB_BITS)
    per_octave = 1 << SUB_BITS
    lower = -(-((per_octave + step) << octave) // per_octave)
    upper = -(-((per_octave + step + 1) << octave) // per_octave) - 1
    return lower, upper


@dataclass(slots=True)
class LogLinearHistogram:
    """Counts of non-negative integers in bins of a relative width below 2^-7; count, sum, minimum and maximum exact.

    Merging is associative and commutative, and loses nothing against adding all values to one histogram.

    Attributes:
        bins: Count by bin, bins as :func:`bin_of` numbers them.
        count: Number of values.
        total: Their exact sum.
        minimum: Smallest value, 0 if there is none.
        maximum: Largest value, 0 if there is none.
    """

    bins: dict[int, int] = field(default_factory=dict)
    count: int = 0
    total: int = 0
    minimum: int = 0
    maximum: int = 0

    @classmethod
    def of(cls, values: Ints) -> Self:
        """Return the histogram of ``values``."""
        if not len(values):
            return cls()
        indices, counts = np.unique(bin_of(values), return_counts=True)
        bins = dict(zip(indices.tolist(), counts.tolist(), strict=True))
        return cls(bins, len(values), sum(values.tolist()), int(values.min()), int(values.max()))

    def merged(self, other: LogLinearHistogram) -> LogLinearHistogram:
        """Return the histogram of both sets of values."""
        if not self.count or not other.count:
            source = self if self.count else other
            return LogLinearHistogram(dict(source.bins), source.count, source.total, source.minimum, source.maximum)
        bins = dict(self.bins)
        for index, count in other.bins.items():
            bins[index] = bins.get(index, 0) + count
        return LogLinearHistogram(
            bins,
            self.count + other.count,
            self.total + other.total,
            min(self.minimum, other.minimum),
            max(self.maximum, other.maximum),
        )

    def with_zeros(self, zeros: int) -> LogLinearHistogram:
        """Return the histogram with ``zeros`` more values of 0."""
        return self.merged(LogLinearHistogram({0: zeros}, zeros)) if zeros else self

    def at_rank(self, place: int) -> int:
        """Return the upper edge of the bin that holds this 1-based place, or the maximum if that is lower.

        That is at most 2^-7 above the value in this place, and never below it.
        """
        if not 1 <= place <= self.count:
            raise CallerError(f"no place {place} among {self.count} values")
        indices = sorted(self.bins)
        reached = list(accumulate(self.bins[index] for index in indices))
        return min(bin_edges(indices[bisect_left(reached, place)])[1], self.maximum)

    def histogram(self) -> LogLinearHistogram:
        """Return itself, as :meth:`SortedSamples.histogram` returns its values in bins."""
        return self

    def to_json(self) -> dict[str, object]:
        """Return plain integers; the sum is a text, because it may exceed what JSON keeps exactly."""
        return {
            "bins": [[index, self.bins[index]] for index in sorted(self.bins)],
            "count": self.count,
            "maximum": self.maximum,
            "minimum": self.minimum,
            "sub_bits": SUB_BITS,
            "total": str(self.total),
        }

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            EvidenceError: If it is nothing of the kind, or was made with other bins.
        """
        try:
            found = cast("dict[str, object]", document)
            if found["sub_bits"] != SUB_BITS:
                raise EvidenceError(f"histogram.sub_bits: got {shown(found['sub_bits'])}; allowed: {SUB_BITS}")
            pairs = [(index, count) for index, count in cast("Iterable[tuple[int, int]]", found["bins"])]
            count, minimum, maximum = (cast("int", found[key]) for key in ("count", "minimum", "maximum"))
            read = cls(dict(pairs), count, int(cast("str", found["total"])), minimum, maximum)
        except (KeyError, TypeError, ValueError) as error:
            raise EvidenceError(f"histogram: not what to_json writes ({error!r})") from error
        numbers = (count, minimum, maximum, *chain.from_iterable(pairs))
        if (
            not all(type(number) is int for number in numbers)
            or str(read.total) != found["total"]
            or found.keys() != _JSON_KEYS
        ):
            raise EvidenceError(f"histogram: got {shown(document)}; allowed: the keys and integers that to_json writes")
        if len(read.bins) != len(pairs) or not read._is_possible:
            raise EvidenceError(f"histogram: got {shown(document)}; allowed: counts by bin that fit their own figures")
        return read

    @property
    def _is_possible(self) -> bool:
        """Whether some values give these bins, this sum and these extremes."""
        if not self.bins:
            return (self.count, self.total, self.minimum, self.maximum) == (0, 0, 0, 0)
        if min(self.bins) < 0 or max(self.bins) >= BINS or min(self.bins.values()) < 1:
            return False
        edges = [(*bin_edges(index), count) for index, count in sorted(self.bins.items())]
        (lowest, lowest_last, _), (highest_first, highest, _) = edges[0], edges[-1]
        return (
            self.count == sum(self.bins.values())
            and lowest <= self.minimum <= lowest_last
            and highest_first <= self.maximum <= highest
            and sum(low * n for low, _, n in edges) <= self.total <= sum(high * n for _, high, n in edges)
        )


class SortedSamples:
    """Exact values in ascending order."""

    __slots__ = ("_values",)

    def __init__(self, values: Ints) -> None:
        """Take the values in any order."""
        self._values = np.sort(values)

    @property
    def count(self) -> int:
        """How many values."""
        return len(self._values)

    @property
    def total(self) -> int:
        """Their exact sum."""
        return sum(self._values.tolist())

    @property
    def maximum(self) -> int:
        """The largest value, 0 if there is none."""
        return int(self._values[-1]) if len(self._values) else 0

    def at_rank(self, place: int) -> int:
        """Return the value at a 1-based place in ascending order."""
        if not 1 <= place <= len(self._values):
            raise CallerError(f"no place {place} among {len(self._values)} values")
        return int(self._values[place - 1])

    def histogram(self) -> LogLinearHistogram:
        """Return the values in bins."""
        return LogLinearHistogram.of(self._values)


Samples = SortedSamples | LogLinearHistogram
"""Values of which any place can be asked: every one kept, or in bins."""


class SampleStore:
    """Positive values by cell: every one of them up to a stated number in all, bins beyond it.

    A cell is a small integer (a combination of labels). Memory is ``exact_values_max`` values, or one counter for each
    bin in use and three integers a cell.
    """

    __slots__ = ("_binned", "_blocks", "_cells", "_exact_values_max", "_kept", "_maxima", "_minima", "_totals")

    def __init__(self, cells: int, *, exact_values_max: int = EXACT_VALUES_MAX) -> None:
        """Start empty, with cells numbered below ``cells``."""
        self._exact_values_max = exact_values_max
        self._blocks: list[tuple[Ints, Ints]] = []
        self._kept = 0
        self._cells = cells
        self._binned: Tally | None = None
        self._totals = WideSums.zeros(cells)
        self._maxima = np.zeros(cells, np.int64)
        self._minima = np.full(cells, np.iinfo(np.int64).max)

    @property
    def is_exact(self) -> bool:
        """Whether every value is still there."""
        return self._binned is None

    def add(self, cells: Ints, values: Ints) -> None:
        """Take positive values, each with its cell; both of shape ``(n,)``."""
        if self._binned is not None:
            self._fold(self._binned, cells, values)
            return
        self._blocks.append((cells, values))
        self._kept += len(values)
        if self._kept > self._exact_values_max:
            self._binned = Tally(self._cells, BINS)
            for block in self._blocks:
                self._fold(self._binned, *block)
            self._blocks.clear()

    def select(self, mask: Mask) -> Samples:
        """Return the values of the cells for which ``mask``, of shape ``(cells,)``, is true."""
        if self._binned is None:
            cells, values = self._joined()
            return SortedSamples(values[mask[cells]])
        (cells, indices), counts = self._binned.table()
        chosen = mask[cells]
        if not chosen.any():
            return LogLinearHistogram()
        by_bin = np.bincount(indices[chosen], weights=counts[chosen], minlength=BINS).astype(np.int64)
        bins = {int(index): int(by_bin[index]) for index in np.flatnonzero(by_bin)}
        return LogLinearHistogram(
            bins,
            sum(bins.values()),
            self._totals.total(mask),
            int(self._minima[mask].min()),
            int(self._maxima[mask].max()),
        )

    def _joined(self) -> tuple[Ints, Ints]:
        """Return all exact values, and keep them as one block from now on."""
        if len(self._blocks) != 1:
            empty = np.empty(0, np.int64)
            cells, values = zip(*self._blocks, strict=True) if self._blocks else ((empty,), (empty,))
            self._blocks = [(np.concatenate(cells), np.concatenate(values))]
        return self._blocks[0]

    def _fold(self, binned: Tally, cells: Ints, values: Ints) -> None:
        binned.add(cells, bin_of(values))
        self._totals.add_at(cells, values)
        np.maximum.at(self._maxima, cells, values)
        np.minimum.at(self._minima, cells, values)
