from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from sim.measure.quantiles import LogLinearHistogram, SampleStore, SortedSamples, bin_edges, bin_of, rank
from tollgate.core.errors import CallerError, EvidenceError

P50, P99 = Fraction(1, 2), Fraction(99, 100)


def values(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@pytest.mark.parametrize(
    ("p", "n", "place"),
    [("0.5", 1, 1), ("0.5", 2, 1), ("0.5", 3, 2), ("0.99", 100, 99), ("0.99", 101, 100), ("0.95", 20, 19), ("1", 7, 7)],
)
def test_the_place_of_a_quantile_is_the_ceiling_of_p_n(p, n, place):
    assert rank(Fraction(p), n) == place


@pytest.mark.parametrize(("p", "n"), [("0", 5), ("1.01", 5), ("0.5", 0)])
def test_a_quantile_of_nothing_is_refused(p, n):
    with pytest.raises(CallerError):
        rank(Fraction(p), n)


def test_c125_percentiles_and_extremes_come_from_one_unrounded_set():
    samples = SortedSamples(np.arange(1, 597))
    p50, p99 = (samples.at_rank(rank(p, samples.count)) for p in (P50, P99))
    assert (p50, p99, samples.maximum) == (298, 591, 596)
    assert samples.at_rank(1) <= p50 <= p99 <= samples.maximum


def test_c125_holds_in_bins_too():
    histogram = LogLinearHistogram.of(np.arange(1, 597))
    p50, p99 = (histogram.at_rank(rank(p, histogram.count)) for p in (P50, P99))
    assert histogram.minimum <= p50 <= p99 <= histogram.maximum == 596


@pytest.mark.parametrize("value", [0, 1, 2, 127, 128, 129, 255, 256, 10**9, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1])
def test_a_value_lies_within_the_edges_of_its_bin(value):
    lower, upper = bin_edges(int(bin_of(values(value))[0]))
    assert lower <= value <= upper
    assert (upper - lower) * 2**7 <= lower


def test_values_up_to_255_have_bins_of_their_own():
    assert len(set(bin_of(np.arange(256)).tolist())) == 256


def test_bins_are_contiguous():
    edges = [bin_edges(index) for index in sorted(set(bin_of(np.arange(20_000)).tolist()))]
    assert all(upper + 1 == lower for (_, upper), (lower, _) in pairwise(edges))


def test_an_empty_histogram_has_no_place():
    with pytest.raises(CallerError):
        LogLinearHistogram().at_rank(1)


def test_zeros_stand_in_front():
    histogram = LogLinearHistogram.of(values(1000)).with_zeros(3)
    assert ([histogram.at_rank(place) for place in (2, 3, 4)], histogram.count) == ([0, 0, 1000], 4)
    assert (histogram.minimum, histogram.maximum) == (0, 1000)


def test_a_histogram_returns_from_json():
    histogram = LogLinearHistogram.of(values(0, 5, 5, 10**12, 2**60))
    assert LogLinearHistogram.from_json(histogram.to_json()) == histogram


@pytest.mark.parametrize(
    "damage",
    [{"sub_bits": 6}, {"count": 4}, {"bins": [[1]]}, {"bins": None}, {"total": "much"}],
)
def test_a_damaged_histogram_is_refused(damage):
    with pytest.raises(EvidenceError):
        LogLinearHistogram.from_json({**LogLinearHistogram.of(values(1, 2, 3)).to_json(), **damage})


def test_something_else_than_a_histogram_is_refused():
    with pytest.raises(EvidenceError):
        LogLinearHistogram.from_json([])


def test_a_store_is_exact_up_to_its_bound_and_binned_beyond():
    store = SampleStore(1, exact_values_max=3)
    everything = np.array([True])
    store.add(np.zeros(3, np.int64), values(1001, 1003, 1002))
    assert store.is_exact
    assert store.select(everything).at_rank(2) == 1002
    store.add(np.zeros(1, np.int64), values(1000))
    assert not store.is_exact
    samples = store.select(everything)
    assert (samples.count, samples.total, samples.maximum) == (4, 4006, 1003)
    assert 1001 <= samples.at_rank(2) <= 1001 * (1 + 2**-7)


def test_a_store_keeps_cells_apart_and_joins_the_selected():
    for bound in (100, 1):
        store = SampleStore(3, exact_values_max=bound)
        store.add(values(0, 1, 2, 1), values(10, 20, 30, 40))
        assert store.select(np.array([False, True, False])).total == 60
        assert store.select(np.array([True, False, True])).total == 40
        assert store.select(np.array([False, False, False])).count == 0
        assert store.select(np.array([True, True, True])).maximum == 40


def test_the_sum_of_a_crowd_that_waited_for_a_year_is_exact():
    year = 366 * 24 * 3600 * 10**9
    store = SampleStore(2, exact_values_max=10)
    for _ in range(3):
        store.add(np.tile([0, 1], 500), np.full(1000, year + 1))
    assert not store.is_exact
    assert 1500 * (year + 1) > 2**63
    assert store.select(np.array([True, False])).total == 1500 * (year + 1)
    assert store.select(np.array([True, True])).total == 3000 * (year + 1)
