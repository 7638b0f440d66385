"""The statistics of arrivals, each worked out while blocks of columns go by.

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

GRID_STEPS: Final = 1 << 16
"""Steps between arrivals from which the step of a grid is told; all later ones are held against it."""

ZIPF_MAX: Final = 20.0
"""Where the search for an exponent ends: the second then brings a millionth of the first."""

_KEPT_BITS: Final = 11  # an error of at most 2^-10 of the value, a thousandth
_ZIPF_STEPS: Final = 50  # halvings of that range: to the 14th digit

# Times lie on a grid when this share of the steps are whole multiples of the median step, give or take this part of it:
# the 3 s grid of Mooncake has steps of 3.000 and 3.001 s.
_GRID_SHARE: Final = 0.9
_GRID_TOLERANCE: Final = 0.01
_GRID_STEPS_MIN: Final = 3  # fewer steps are alike by chance


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


class WindowCounts:
    """Arrivals in each window ``[k w, (k+1) w)``; the last one is perhaps cut short by the end of the trace.

    Attributes:
        window_ns: Length of a window.
        peak: Most arrivals in one window, the last one included.
        whole: How many windows are whole.
    """

    __slots__ = ("_first", "_last", "_neighbours", "_open", "_open_count", "_squares", "_total", "peak", "window_ns")

    def __init__(self, window_ns: int) -> None:
        self.window_ns = window_ns
        self.peak = 0
        self._open = 0  # number of the window at hand
        self._open_count = 0
        self._last = (-1, 0)  # number and count of the last occupied window before it
        self._first = 0  # count of window 0
        self._total = 0  # of the counts in whole windows
        self._squares = 0
        self._neighbours = 0  # sum of the products of neighbouring counts

    @property
    def whole(self) -> int:
        """How many windows are whole so far: those before the one at hand."""
        return self._open

    def add(self, at_ns: Integers) -> None:
        """Count the arrivals of a block, in order, the first of all at 0, shape ``(n,)``."""
        numbers = at_ns // self.window_ns
        starts = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))
        found = numbers[starts].tolist()
        counts = np.diff(starts, append=len(numbers)).tolist()
        for number, count in zip(found, counts, strict=True):
            if number != self._open:
                self._close()
                self._open, self._open_count = number, 0
            self._open_count += count
            self.peak = max(self.peak, self._open_count)

    def _close(self) -> None:
        number, count = self._open, self._open_count
        if number == 0:
            self._first = count
        if self._last[0] == number - 1:
            self._neighbours += self._last[1] * count
        self._total += count
        self._squares += count * count
        self._last = (number, count)

    def dispersion(self) -> float | None:
        """Return the index of dispersion for counts: variance over mean of the counts in whole windows.

        Returns:
            The index, 1 for Poisson arrivals, or None if there are fewer than two whole windows.

        Source:
            Cox and Lewis, The Statistical Analysis of Series of Events (1966), section 4.5; the variance divides by the
            number of windows.
        """
        if self.whole < 2:
            return None
        return (self.whole * self._squares - self._total**2) / (self.whole * self._total)

    def autocorrelation(self) -> float | None:
        """Return the lag-1 autocorrelation of the counts in whole windows; see :class:`Gaps`."""
        spread = self.whole * self._squares - self._total**2
        if self.whole < 2 or spread == 0:
            return None
        last = self._last[1] if self._last[0] == self.whole - 1 else 0
        # The sum of (c_k - m) (c_k+1 - m) with m = total / whole, times whole squared.
        beside = self.whole**2 * self._neighbours - self.whole * self._total * (2 * self._total - self._first - last)
        return (beside + (self.whole - 1) * self._total**2) / (self.whole * spread)


class Gaps:
    """Times between neighbouring arrivals, and runs of arrivals at one instant.

    Attributes:
        n: How many gaps.
        zero: How many are 0.
        ties_max: Most arrivals at one instant.
        longest: The longest gaps above 0, ns, each with the row that ends it, longest first.
    """

    __slots__ = (
        "_cross",
        "_grid",
        "_kept",
        "_last_ns",
        "_mean",
        "_run",
        "_squares",
        "longest",
        "n",
        "ties_max",
        "zero",
    )

    def __init__(self, longest: int) -> None:
        """Start with no arrival.

        Args:
            longest: How many of the longest gaps are kept.
        """
        self.n = 0
        self.zero = 0
        self.ties_max = 0
        self.longest: list[tuple[int, int]] = []
        self._kept = longest
        self._last_ns: int | None = None
        self._run = 0
        self._mean = 0.0  # of the gaps so far
        self._squares = 0.0  # of their deviations from it
        self._cross = _Cross()
        self._grid = _Grid()

    def add(self, at_ns: Integers, lines: Integers) -> None:
        """Take in a block of arrivals.

        Args:
            at_ns: Instants in order, shape ``(n,)``.
            lines: Their rows, shape ``(n,)``.
        """
        self._count_ties(at_ns)
        if self._last_ns is None:
            gaps, lines = np.diff(at_ns), lines[1:]
        else:
            gaps = np.diff(at_ns, prepend=self._last_ns)
        self._last_ns = int(at_ns[-1])
        if not gaps.size:
            return
        self._keep_longest(gaps, lines)
        self._grid.add(gaps)
        self._cross.add(gaps)
        # Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample variances (1979).
        mean = float(gaps.mean())
        deviations = gaps - mean
        apart, total = mean - self._mean, self.n + gaps.size
        self._squares += float((deviations * deviations).sum()) + apart * apart * self.n * gaps.size / total
        self._mean += apart * gaps.size / total
        self.n = total
        self.zero += int((gaps == 0).sum())

    def _count_ties(self, at_ns: Integers) -> None:
        starts = np.flatnonzero(np.diff(at_ns, prepend=at_ns[0] - 1))
        runs = np.diff(starts, append=len(at_ns))
        if self._last_ns is not None and int(at_ns[0]) == self._last_ns:
            runs[0] += self._run
        self._run = int(runs[-1])
        self.ties_max = max(self.ties_max, int(runs.max()))

    def _keep_longest(self, gaps: Integers, lines: Integers) -> None:
        least = self.longest[-1][0] + 1 if len(self.longest) == self._kept else 1
        places = np.flatnonzero(gaps >= least)
        if not places.size:
            return
        places = places[np.argsort(-gaps[places], kind="stable")][: self._kept]
        self.longest += zip(gaps[places].tolist(), lines[places].tolist(), strict=True)
        self.longest = sorted(self.longest, key=lambda gap: -gap[0])[: self._kept]

    def variation(self) -> float | None:
        """Return standard deviation over mean, or None when the mean is 0 or there are no gaps."""
        return float(np.sqrt(self._squares / self.n)) / self._mean if self._mean else None

    def autocorrelation(self) -> float | None:
        """Return the lag-1 autocorrelation, or None for fewer than two gaps or gaps that are all alike.

        Source:
            Box and Jenkins, Time Series Analysis (1970), section 2.1.5: both sums over deviations from the common mean.
        """
        if self.n < 2 or not self._squares:
            return None
        return self._cross.around(self._mean) / self._squares

    def grid_ns(self) -> int | None:
        """Return the step of the grid on which the arrivals lie, ns, or None when they lie on none."""
        return self._grid.step_ns()


class _Cross:
    """Sum of the products of neighbouring values, around any mean near the first block's, so that no digit is lost."""

    __slots__ = ("_centre", "_first", "_last", "_n", "_products", "_sum")

    def __init__(self) -> None:
        self._centre: float | None = None
        self._first = self._last = self._sum = self._products = 0.0
        self._n = 0

    def add(self, values: Integers) -> None:
        if self._centre is None:
            self._centre = float(values.mean())
        away = values - self._centre
        if self._n == 0:
            self._first = float(away[0])
        else:
            self._products += self._last * float(away[0])
        self._products += float((away[1:] * away[:-1]).sum())
        self._sum += float(away.sum())
        self._last = float(away[-1])
        self._n += len(away)

    def around(self, mean: float) -> float:
        apart = mean - (self._centre or 0.0)
        ends = 2 * self._sum - self._first - self._last
        return self._products - apart * ends + (self._n - 1) * apart * apart


class _Grid:
    """Whether steps are whole multiples of their median, the median of the first :data:`GRID_STEPS`."""

    __slots__ = ("_beside", "_early", "_median", "_n", "_steps")

    def __init__(self) -> None:
        self._early: list[Integers] = []
        self._steps = 0
        self._median: int | None = None
        self._beside = 0  # steps that are such multiples
        self._n = 0

    def add(self, gaps: Integers) -> None:
        steps = gaps[gaps > 0]
        if self._median is not None:
            self._hold(steps)
            return
        self._early.append(steps)
        self._steps += steps.size
        if self._steps >= GRID_STEPS:
            self._settle()

    def step_ns(self) -> int | None:
        if self._median is None:
            if self._steps < _GRID_STEPS_MIN:
                return None
            self._settle()
        return self._median if self._beside >= _GRID_SHARE * self._n else None

    def _settle(self) -> None:
        early = np.concatenate(self._early)
        self._early = []
        self._median = int(np.partition(early, (len(early) - 1) // 2)[(len(early) - 1) // 2])
        self._hold(early)

    def _hold(self, steps: Integers) -> None:
        median = self._median or 1
        over = steps % median  # no sum with the median: it may leave 64 bits
        beside = np.minimum(over, median - over)
        self._beside += int((beside <= median * _GRID_TOLERANCE).sum())
        self._n += steps.size


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
