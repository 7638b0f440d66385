"""Times between neighbouring arrivals: variation, autocorrelation, the longest, ties, and the grid they may lie on.

This module owns what is kept of them from block to block. It must not know what a figure is worth: that is for whoever
shows it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sim.workload.traces.figures import Integers

GRID_STEPS: Final = 1 << 16
"""Steps between arrivals from which the step of a grid is told; all later ones are held against it."""

# Times lie on a grid when this share of the steps are whole multiples of the median step, give or take this part of it:
# the 3 s grid of Mooncake has steps of 3.000 and 3.001 s.
_GRID_SHARE: Final = 0.9
_GRID_TOLERANCE: Final = 0.01
_GRID_STEPS_MIN: Final = 3  # fewer steps are alike by chance


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
