"""The statistics, on columns small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.workload.traces.figures import (
    autocorrelation,
    dispersion,
    grid_step,
    longest_gaps,
    longest_run,
    most_in_service,
    quantiles,
    sliding_peak,
    top_share,
    variation,
    window_counts,
    zipf_exponent,
)


def column(*values):
    return np.array(values, dtype=np.int64)


def test_a_quantile_is_the_smallest_value_with_enough_at_or_below_it():
    found = quantiles(column(*range(100, 0, -1)))
    assert (found.median, found.p95, found.p99, found.max) == (50, 95, 99, 100)
    found = quantiles(column(7, 1, 3))  # ceil(1.5) = 2nd, ceil(2.85) = 3rd
    assert (found.median, found.p95, found.p99, found.max) == (3, 7, 7, 7)


def test_dispersion_counts_whole_windows_only():
    # Windows of 10 up to the last arrival at 35: 3, 1, 0 whole ones, the fourth is cut short. Mean 4/3, variance 14/9.
    arrivals = column(0, 4, 9, 10, 35)
    assert window_counts(arrivals, 10).tolist() == [3, 1, 0, 1]
    assert dispersion(arrivals, 10) == pytest.approx((14 / 9) / (4 / 3))
    assert dispersion(arrivals, 18) is None


def test_equal_spacing_has_no_variation_and_no_autocorrelation():
    assert variation(column(5, 5, 5)) == 0
    assert autocorrelation(column(5, 5, 5)) is None
    assert variation(column()) is None
    assert variation(column(0, 0)) is None
    assert autocorrelation(column(5)) is None


def test_autocorrelation_of_alternating_gaps():
    # Deviations 1, -1, 1, -1: products -1 -1 -1 over squares 4.
    assert autocorrelation(column(3, 1, 3, 1)) == pytest.approx(-3 / 4)


def test_the_longest_run_of_one_instant():
    assert longest_run(column(0)) == 1
    assert longest_run(column(0, 0, 5, 5, 5, 9)) == 3


def test_a_grid_is_seen_through_steps_that_are_a_little_off():
    assert grid_step(column(0, 0, 3000, 3001, 0, 3000, 5999)) == 3000
    assert grid_step(column(10, 25, 3, 70, 41)) is None
    assert grid_step(column(0, 5, 5)) is None


def test_a_sliding_peak_finds_the_window_that_fixed_ones_cut():
    arrivals = column(0, 9, 10, 11, 25)
    assert sliding_peak(arrivals, 10) == 3
    assert sliding_peak(arrivals, 10, column(1, 1, 1, 1, 50)) == 50
    assert sliding_peak(column(0, 10), 10) == 1  # half open: the end is the next window's


def test_most_in_service_frees_a_place_before_it_takes_one():
    assert most_in_service(column(0, 5, 10), column(5, 5, 5)) == 1
    assert most_in_service(column(0, 4, 10), column(5, 7, 5)) == 2
    assert most_in_service(column(0, 0, 0), column(1, 1, 1)) == 3


def test_the_top_share_takes_one_percent_rounded_up():
    assert top_share(column(*[1] * 100, 100)) == pytest.approx(101 / 200)
    assert top_share(column(0, 0)) is None


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


def test_the_longest_gaps_come_longest_first_and_zero_is_none():
    assert longest_gaps(column(4, 9, 0, 9, 2, 4), 3).tolist() == [1, 3, 0]
    assert longest_gaps(column(4, 0), 3).tolist() == [0]
    assert longest_gaps(column(), 3).tolist() == []
