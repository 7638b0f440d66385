"""Gaps between arrivals, small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.workload.traces import gaps
from sim.workload.traces.gaps import Gaps
from tests.unit.traces.whole import column


def gaps_of(*lengths, longest=3):
    found = Gaps(longest)
    at_ns = np.cumsum(column(0, *lengths))
    found.add(at_ns, np.arange(1, len(at_ns) + 1))
    return found


def test_equal_spacing_has_no_variation_and_no_autocorrelation():
    assert gaps_of(5, 5, 5).variation() == 0
    assert gaps_of(5, 5, 5).autocorrelation() is None
    assert gaps_of().variation() is None
    assert gaps_of(0, 0).variation() is None
    assert gaps_of(5).autocorrelation() is None


def test_autocorrelation_of_alternating_gaps():
    # Deviations 1, -1, 1, -1: products -1 -1 -1 over squares 4.
    assert gaps_of(3, 1, 3, 1).autocorrelation() == pytest.approx(-3 / 4)


def test_the_longest_run_of_one_instant_goes_on_in_the_next_block():
    assert gaps_of().ties_max == 1
    found = Gaps(1)
    found.add(column(0, 0, 5), column(1, 2, 3))
    found.add(column(5, 5), column(4, 5))
    found.add(column(5, 9, 9), column(6, 7, 8))
    assert (found.ties_max, found.zero, found.longest) == (4, 5, [(5, 3)])


def test_the_longest_gaps_come_longest_first_and_zero_is_none():
    assert gaps_of(4, 9, 0, 9, 2, 5).longest == [(9, 3), (9, 5), (5, 7)]
    assert gaps_of(4, 0).longest == [(4, 2)]


def test_a_grid_is_seen_through_steps_that_are_a_little_off():
    assert gaps_of(0, 0, 3000, 3001, 0, 3000, 5999).grid_ns() == 3000
    assert gaps_of(10, 25, 3, 70, 41).grid_ns() is None
    assert gaps_of(0, 5, 5).grid_ns() is None


def test_a_grid_told_from_the_first_steps_holds_for_all(monkeypatch):
    monkeypatch.setattr(gaps, "GRID_STEPS", 4)
    assert gaps_of(*[3000] * 6, *[6000] * 6).grid_ns() == 3000
    found = Gaps(1)
    for block in (column(0, 3, 6, 9, 12), column(16, 20, 24), column(29, 34, 39)):
        found.add(block, block)
    assert found.grid_ns() is None  # 4 of 10 steps are threes
