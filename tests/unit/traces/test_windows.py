"""Counts in windows, on columns small enough to work out by hand."""

from __future__ import annotations

import pytest

from sim.workload.traces.windows import WindowCounts
from tests.unit.traces.whole import column


def windows_of(arrivals, window):
    found = WindowCounts(window)
    found.add(arrivals)
    return found


def test_dispersion_counts_whole_windows_only():
    # Windows of 10 up to the last arrival at 35: 3, 1, 0 whole ones, the fourth is cut short. Mean 4/3, variance 14/9.
    arrivals = column(0, 4, 9, 10, 35)
    found = windows_of(arrivals, 10)
    assert (found.whole, found.peak) == (3, 3)
    assert found.dispersion() == pytest.approx((14 / 9) / (4 / 3))
    assert windows_of(arrivals, 18).dispersion() is None
    assert windows_of(column(0, 10, 11), 10).peak == 2  # the window that the end cuts short


def test_counts_of_neighbouring_windows_are_correlated():
    # Counts 3 1 3 1: deviations 1 -1 1 -1, three products of -1 over four squares.
    arrivals = column(0, 1, 2, 10, 20, 21, 22, 30, 40)
    assert windows_of(arrivals, 10).autocorrelation() == pytest.approx(-3 / 4)
    # Counts 2 0 0 2: deviations 1 -1 -1 1, products -1 1 -1 over four squares.
    assert windows_of(column(0, 1, 30, 31, 40), 10).autocorrelation() == pytest.approx(-1 / 4)
    assert windows_of(column(0, 10, 20), 10).autocorrelation() is None


def test_a_silence_of_centuries_costs_nothing():
    found = windows_of(column(0, 1, 2**63 - 1), 10**9)
    assert found.whole == (2**63 - 1) // 10**9
    assert found.dispersion() == pytest.approx(2)  # mostly empty windows: variance / mean is near the count of the one
