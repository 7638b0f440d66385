"""Figures of sizes and shares, on columns small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sim.workload.traces import figures
from sim.workload.traces.figures import Quantiles, Values, zipf_exponent
from tests.unit.traces.whole import column


def values_of(*values):
    found = Values()
    found.add(column(*values))
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
