"""The statistics of arrivals, each a pure function of columns of integers.

This module owns definitions, with their sources. It must not know files or how a figure is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

# Times lie on a grid when this share of the steps are whole multiples of the median step, give or take this part of it:
# the 3 s grid of Mooncake has steps of 3.000 and 3.001 s.
_GRID_SHARE: Final = 0.9
_GRID_TOLERANCE: Final = 0.01
ZIPF_MAX: Final = 20.0
"""Where the search for an exponent ends: the second then brings a millionth of the first."""

_ZIPF_STEPS: Final = 50  # halvings of that range: to the 14th digit
_GRID_STEPS_MIN: Final = 3  # fewer steps are alike by chance


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Order statistics; a quantile is the smallest value with at least ceil(p n) values at or below it."""

    median: int
    p95: int
    p99: int
    max: int


def quantiles(values: Integers) -> Quantiles:
    """Return the order statistics of at least one value, shape ``(n,)``."""
    ordered = np.sort(values)
    median, p95, p99 = (int(ordered[-(-len(ordered) * percent // 100) - 1]) for percent in (50, 95, 99))
    return Quantiles(median, p95, p99, int(ordered[-1]))


def window_counts(at_ns: Integers, window_ns: int) -> Integers:
    """Return the arrivals in each window ``[k w, (k+1) w)``, the last one perhaps cut short by the end of the trace.

    Args:
        at_ns: Instants in order, the first at 0, shape ``(n,)``.
        window_ns: Length of a window; windows without arrivals are counted up to the last arrival.
    """
    return np.bincount(at_ns // window_ns)


def dispersion(at_ns: Integers, window_ns: int) -> float | None:
    """Return the index of dispersion for counts: variance over mean of the counts in whole windows.

    Args:
        at_ns: Instants in order, the first at 0, shape ``(n,)``.
        window_ns: Length of a window.

    Returns:
        The index, 1 for Poisson arrivals, or None if the trace is shorter than two windows.

    Source:
        Cox and Lewis, The Statistical Analysis of Series of Events (1966), section 4.5; the variance divides by the
        number of windows.
    """
    whole = int(at_ns[-1]) // window_ns
    if whole < 2:
        return None
    counts = window_counts(at_ns, window_ns)[:whole]
    return float(counts.var() / counts.mean())


def variation(gaps: Integers) -> float | None:
    """Return standard deviation over mean, or None when the mean is 0 or there are no gaps."""
    return float(gaps.std() / gaps.mean()) if gaps.any() else None


def autocorrelation(values: Integers) -> float | None:
    """Return the lag-1 autocorrelation, or None for fewer than two values or values that are all alike.

    Source:
        Box and Jenkins, Time Series Analysis (1970), section 2.1.5: both sums over deviations from the common mean.
    """
    deviations = values - values.mean() if values.size > 1 else np.zeros(1)
    squares = float(deviations @ deviations)
    return float(deviations[1:] @ deviations[:-1]) / squares if squares else None


def longest_gaps(gaps: Integers, count: int) -> Integers:
    """Return the places of the longest gaps, longest first and the earlier of equals first.

    Args:
        gaps: Between neighbouring arrivals, shape ``(n,)``.
        count: How many, at most.
    """
    least = np.partition(gaps, gaps.size - count)[gaps.size - count] if gaps.size > count else 0
    places = np.flatnonzero(gaps >= max(1, int(least)))
    return places[np.argsort(-gaps[places], kind="stable")][:count]


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


def longest_run(at_ns: Integers) -> int:
    """Return the most arrivals at one instant; the instants are in order, shape ``(n,)``."""
    starts = np.flatnonzero(np.diff(at_ns, prepend=at_ns[0] - 1))
    return int(np.diff(starts, append=len(at_ns)).max())


def grid_step(gaps: Integers) -> int | None:
    """Return the step of the grid on which the arrivals lie, ns, or None when they lie on none.

    Args:
        gaps: Between neighbouring arrivals, ns, shape ``(n,)``.
    """
    steps = gaps[gaps > 0]
    if steps.size < _GRID_STEPS_MIN:
        return None
    median = int(np.sort(steps)[(len(steps) - 1) // 2])
    beside = (steps + median // 2) % median - median // 2
    share = (np.abs(beside) <= median * _GRID_TOLERANCE).mean()
    return median if share >= _GRID_SHARE else None


def sliding_peak(at_ns: Integers, window_ns: int, weights: Integers | None = None) -> int:
    """Return the largest sum of weights in any half-open window of the given length.

    Args:
        at_ns: Instants in order, shape ``(n,)``.
        window_ns: Length of the window.
        weights: Not negative, shape ``(n,)``; by default every arrival weighs 1.
    """
    sums = np.concatenate(([0], np.cumsum(np.ones_like(at_ns) if weights is None else weights)))
    ends = np.searchsorted(at_ns, at_ns + window_ns, side="left")
    return int((sums[ends] - sums[:-1]).max())


def most_in_service(at_ns: Integers, service_ns: Integers) -> int:
    """Return how many requests are served at once at most if none has to wait.

    Args:
        at_ns: Arrivals in order, shape ``(n,)``.
        service_ns: How long each is served, shape ``(n,)``; at one instant, ends come before starts.
    """
    ended = np.searchsorted(np.sort(at_ns + service_ns), at_ns, side="right")
    return int((np.arange(1, len(at_ns) + 1) - ended).max())


def top_share(values: Integers) -> float | None:
    """Return the share of the total that the largest 1 % (rounded up) bring, or None if the total is 0."""
    largest = np.sort(values)[len(values) - -(-len(values) // 100) :]
    total = int(values.sum())
    return int(largest.sum()) / total if total else None
