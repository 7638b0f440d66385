"""Histograms against the exact values they stand for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.measure.quantiles import LogLinearHistogram, SampleStore, bin_edges, bin_of, rank

VALUES = st.lists(st.one_of(st.integers(0, 1000), st.integers(0, 2**63 - 1)), min_size=1, max_size=60)
ORDERS = st.fractions(min_value=Fraction(1, 100), max_value=1)


def of(values: list[int]) -> LogLinearHistogram:
    return LogLinearHistogram.of(np.array(values, np.int64))


@given(st.integers(0, 2**63 - 1))
def test_a_value_lies_in_a_bin_less_than_2_to_the_minus_7_wide(value):
    lower, upper = bin_edges(int(bin_of(np.array([value], np.int64))[0]))
    assert lower <= value <= upper
    assert (upper - lower) * 2**7 <= lower


@given(VALUES, ORDERS)
def test_a_quantile_is_at_or_less_than_2_to_the_minus_7_above_the_exact_one(values, p):
    place = rank(p, len(values))
    exact, got = sorted(values)[place - 1], of(values).at_rank(place)
    assert exact <= got
    assert (got - exact) * 2**7 <= exact


@given(VALUES, VALUES, VALUES)
def test_merging_is_associative_commutative_and_the_same_as_adding_all(a, b, c):
    x, y, z = of(a), of(b), of(c)
    assert x.merged(y).merged(z) == x.merged(y.merged(z)) == z.merged(x).merged(y) == of(a + b + c)
    assert x.merged(LogLinearHistogram()) == LogLinearHistogram().merged(x) == x


@given(VALUES)
def test_json_keeps_every_count(values):
    assert LogLinearHistogram.from_json(of(values).to_json()) == of(values)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 10**12)), min_size=1, max_size=40),
    st.integers(0, 40),
    st.integers(1, 7),
    ORDERS,
)
def test_a_store_answers_the_same_within_a_bin_whatever_it_keeps(rows, kept, block, p):
    store = SampleStore(3, exact_values_max=kept)
    for start in range(0, len(rows), block):
        cells, values = zip(*rows[start : start + block], strict=True)
        store.add(np.array(cells), np.array(values))
    chosen = sorted(value for cell, value in rows if cell != 1)
    samples = store.select(np.array([True, False, True]))
    assert (samples.count, samples.total, samples.maximum) == (len(chosen), sum(chosen), max(chosen, default=0))
    assert store.is_exact == (len(rows) <= kept)
    if chosen:
        place = rank(p, len(chosen))
        exact, got = chosen[place - 1], samples.at_rank(place)
        assert got == exact if store.is_exact else exact <= got and (got - exact) * 2**7 <= exact
