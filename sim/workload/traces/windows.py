"""Counts of arrivals in windows of one length: dispersion, autocorrelation, peak.

This module owns what is kept of them, which grows neither with the arrivals nor with the time between them. It must not
know which windows are looked at.
"""

from __future__ import annotations

import numpy as np

from sim.workload.traces.figures import Integers


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
        """Return the lag-1 autocorrelation of the counts in whole windows, or None if there is none.

        Source:
            Box and Jenkins, Time Series Analysis (1970), section 2.1.5: both sums over deviations from the common mean.
        """
        spread = self.whole * self._squares - self._total**2
        if self.whole < 2 or spread == 0:
            return None
        last = self._last[1] if self._last[0] == self.whole - 1 else 0
        # The sum of (c_k - m) (c_k+1 - m) with m = total / whole, times whole squared.
        beside = self.whole**2 * self._neighbours - self.whole * self._total * (2 * self._total - self._first - last)
        return (beside + (self.whole - 1) * self._total**2) / (self.whole * spread)
