"""The busiest stretches of a trace, found while blocks of columns go by.

This module owns what is kept for them: the arrivals of the last window, or those still in service. It must not know
what is done with a peak.
"""

from __future__ import annotations

import numpy as np

from sim.workload.traces.figures import Integers

_MAX = 2**63 - 1


class SlidingPeak:
    """The largest sum of weights in any half-open window of one length.

    Looking back from each arrival finds the same sum as any window: one that holds a largest sum may be moved until it
    ends with an arrival.
    """

    __slots__ = ("_kept_at", "_kept_weights", "_new", "_new_rows", "_peak", "_window_ns")

    def __init__(self, window_ns: int) -> None:
        self._window_ns = window_ns
        self._peak = 0
        self._kept_at = np.empty(0, dtype=np.int64)  # of the window that ends with the last arrival seen
        self._kept_weights = np.empty(0, dtype=np.int64)
        self._new: list[tuple[Integers, Integers]] = []
        self._new_rows = 0

    def add(self, at_ns: Integers, weights: Integers | None = None) -> None:
        """Take in a block.

        Args:
            at_ns: Instants in order, shape ``(n,)``.
            weights: Not negative, shape ``(n,)``; by default every arrival weighs 1.
        """
        self._new.append((at_ns, np.ones_like(at_ns) if weights is None else weights))
        self._new_rows += len(at_ns)
        if self._new_rows >= len(self._kept_at):  # so that no row is gone through again and again
            self._look()

    def peak(self) -> int:
        """Return the largest sum so far."""
        if self._new:
            self._look()
        return self._peak

    def _look(self) -> None:
        at_ns = np.concatenate([self._kept_at, *(block for block, _ in self._new)])
        weights = np.concatenate([self._kept_weights, *(block for _, block in self._new)])
        new = len(self._kept_at)
        starts = np.searchsorted(at_ns, at_ns[new:] - self._window_ns, side="right")
        exact = np.int64 if int(weights.max()) * len(weights) <= _MAX else object  # sums beyond 64 bits in Python's
        sums = np.concatenate(([0], np.cumsum(weights, dtype=exact)))
        self._peak = max(self._peak, int((sums[new + 1 :] - sums[starts]).max()))
        left = int(starts[-1])
        self._kept_at, self._kept_weights = at_ns[left:], weights[left:]
        self._new, self._new_rows = [], 0


class MostInService:
    """How many requests are served at once at most if none has to wait; at one instant, ends come before starts."""

    __slots__ = ("_ends", "_new", "_new_rows", "_peak")

    def __init__(self) -> None:
        self._peak = 0
        self._ends = np.empty(0, dtype=np.int64)  # of the requests in service
        self._new: list[tuple[Integers, Integers]] = []
        self._new_rows = 0

    def add(self, at_ns: Integers, service_ns: Integers) -> None:
        """Take in a block.

        Args:
            at_ns: Arrivals in order, shape ``(n,)``.
            service_ns: How long each is served, shape ``(n,)``; an end beyond 64 bits is taken to lie at their end.
        """
        self._new.append((at_ns, at_ns + np.minimum(service_ns, _MAX - at_ns)))
        self._new_rows += len(at_ns)
        if self._new_rows >= len(self._ends):
            self._look()

    def peak(self) -> int:
        """Return the most so far."""
        if self._new:
            self._look()
        return self._peak

    def _look(self) -> None:
        at_ns = np.concatenate([block for block, _ in self._new])
        ends = np.sort(np.concatenate([self._ends, *(block for _, block in self._new)]))
        started = len(self._ends) + np.arange(1, len(at_ns) + 1)
        self._peak = max(self._peak, int((started - np.searchsorted(ends, at_ns, side="right")).max()))
        self._ends = ends[int(np.searchsorted(ends, at_ns[-1], side="right")) :]
        self._new, self._new_rows = [], 0
