"""The statistics, on columns small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.workload.traces import figures
from sim.workload.traces.figures import Gaps, Quantiles, Values, WindowCounts, zipf_exponent
from tests.unit.traces.whole import column


def values_of(*values):
    found = Values()
    found.add(column(*values))
    return found


def windows_of(arrivals, window):
    found = WindowCounts(window)
    found.add(arrivals)
    return found


def gaps_of(*gaps, longest=3):
    found = Gaps(longest)
    at_ns = np.cumsum(column(0, *gaps))
    found.add(at_ns, np.arange(1, len(at_ns) + 1))
    return found


def test_a_quantile_is_the_smallest_value_with_enough_at_or_below_it():
    assert values_of(*range(100, 0, -1)).quantiles() == Quantiles(50, 95, 99, 100)
    # ceil(1.5) = 2nd, ceil(2.85) = 3rd
    assert values_of(7, 1, 3).quantiles() == Quantiles(3, 7, 7, 7)


def test_values_are_counted_and_summed_beyond_64_bits():
    found = values_of(0, 2**62, 0, 2**62, 2**62)
    assert (found.n, found.zero, found.total, found.max) == (5, 2, 3 * 2**62, 2**62)


def test_the_top_share_takes_one_percent_rounded_up():
    assert values_of(*[1] * 100, 100).top_share() == pytest.approx(101 / 200)
    assert values_of(0, 0).top_share() is None


def test_beyond_many_different_values_a_quantile_is_at_most_a_thousandth_too_low(monkeypatch):
    monkeypatch.setattr(figures, "EXACT_VALUES", 1_000)
    found = Values()
    for start in range(0, 3_000_000, 3_000):
        found.add(np.arange(start, start + 3_000, 7, dtype=np.int64))
    assert not found.exact
    every = np.concatenate([np.arange(start, start + 3_000, 7) for start in range(0, 3_000_000, 3_000)])
    ordered = np.sort(every)
    for percent, value in ((50, found.quantiles().median), (95, found.quantiles().p95), (99, found.quantiles().p99)):
        true = int(ordered[-(-len(ordered) * percent // 100) - 1])
        assert true * (1 - 2**-10) <= value <= true
    assert (found.max, found.total, found.n) == (int(every.max()), int(every.sum()), len(every))
    assert found.top_share() == pytest.approx(ordered[-(len(ordered) // 100 + 1) :].sum() / every.sum(), rel=2**-9)


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
    monkeypatch.setattr(figures, "GRID_STEPS", 4)
    assert gaps_of(*[3000] * 6, *[6000] * 6).grid_ns() == 3000
    found = Gaps(1)
    for block in (column(0, 3, 6, 9, 12), column(16, 20, 24), column(29, 34, 39)):
        found.add(block, block)
    assert found.grid_ns() is None  # 4 of 10 steps are threes


@pytest.mark.parametrize(
    ("counts", "exponent"),
    [
        ((60, 30, 20, 15, 12), 1),  # 60 / k: the very shares of s = 1, which no other s explains better
        ((20, 30, 60, 12, 15), 1),
        ((3600, 900, 400, 225, 144, 100), 2),
        ((7, 7, 7), 0),
        ((10**9, 1), 20),
        ((5,), None),
    ],
)
def test_the_zipf_exponent_of_shares_that_follow_the_law_is_theirs(counts, exponent):
    found = zipf_exponent(column(*counts))
    assert found == (None if exponent is None else pytest.approx(exponent, abs=1e-9))
