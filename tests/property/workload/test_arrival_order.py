from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.distributions import below, choose
from sim.workload.merge import merged
from sim.workload.rates import ONE, Piece, instants

words = st.integers(0, 2**64 - 1)
piece_lengths = st.lists(st.tuples(st.integers(1, 10**10), st.fractions(0, 5)), min_size=1, max_size=5)


def naive_instants(gaps, rate):
    """Walk from arrival to arrival in exact fractions."""
    found = []
    at, index = Fraction(0), 0
    for gap in gaps:
        need = Fraction(gap, ONE)
        while index < len(rate):
            piece = rate[index]
            room = (piece.end_ns - at) * piece.per_ns
            if need < room:
                at += need / piece.per_ns
                break
            need -= room
            at = Fraction(piece.end_ns)
            index += 1
        if index == len(rate):
            return found
        found.append(int(at))
    raise AssertionError("too few gaps")


@given(piece_lengths, st.lists(st.integers(0, 8 * ONE), max_size=60), st.integers(1, 9))
def test_instants_are_those_of_a_walk_in_exact_fractions(lengths, gaps, rows):
    rate, start = [], 0
    for length, per_second in lengths:
        rate.append(Piece(start, start + length, per_second / 10**9))
        start += length
    endless = chain(gaps, iter(lambda: 10**6 * ONE, None))
    found = chain.from_iterable(instants(lambda count: [next(endless) for _ in range(count)], iter(rate), rows))
    assert list(found) == naive_instants(chain(gaps, iter(lambda: 10**6 * ONE, None)), rate)


@given(
    st.lists(st.tuples(st.integers(1, 10**12), st.fractions(0, 5), st.fractions(0, 5)), min_size=1, max_size=4),
    st.lists(st.integers(0, 8 * ONE), max_size=40),
    st.integers(1, 9),
)
def test_instants_of_straight_rates_are_the_last_nanoseconds_before_the_integral_is_reached(lengths, gaps, rows):
    rate, start = [], 0
    for length, low, high in lengths:
        rate.append(Piece(start, start + length, low / 10**9, high / 10**9))
        start += length
    endless = chain(gaps, iter(lambda: 10**6 * ONE, None))
    found = list(chain.from_iterable(instants(lambda count: [next(endless) for _ in range(count)], iter(rate), rows)))

    def integral(at):
        """Integrate the rate up to an instant by trapeziums."""
        total = Fraction(0)
        for piece in rate:
            until = min(at, piece.end_ns)
            if until <= piece.start_ns:
                break
            share = Fraction(until - piece.start_ns, piece.end_ns - piece.start_ns)
            there = piece.per_ns + share * (piece.end_per_ns - piece.per_ns)
            total += (until - piece.start_ns) * (piece.per_ns + there) / 2
        return total

    sums = [Fraction(total, ONE) for total in accumulate(gaps)]
    assert len(found) == sum(total < integral(start) for total in [*sums, (sums or [0])[-1] + 10**6])
    for at, total in zip(found, sums, strict=False):
        assert integral(at) <= total < integral(at + 1)


@given(
    st.lists(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=4), max_size=5), max_size=4), st.integers(1, 9)
)
def test_merging_is_sorting(sources, block_rows):
    parts, expected = [], []
    for which, pieces in enumerate(sources):
        instants_ = sorted(chain.from_iterable(pieces))
        rows = [(at, which, number) for number, at in enumerate(instants_)]
        expected += rows
        cut, own = 0, []
        for piece in pieces:
            own.append(np.array(rows[cut : cut + len(piece)], dtype=np.int64).T)
            cut += len(piece)
        parts.append(iter(own))
    found = [tuple(row) for block in merged(parts, block_rows) for row in block.T.tolist()]
    assert found == sorted(expected)


@given(st.lists(words, min_size=1), st.integers(1, 2**63 - 1))
def test_bounded_draws_are_exact_products(some, bound):
    assert below(np.array(some, dtype=np.uint64), bound).tolist() == [word * bound >> 64 for word in some]


@given(st.lists(words, min_size=1), st.lists(st.integers(1, 10**6), min_size=1, max_size=6))
def test_choices_follow_exact_cumulative_weights(some, counts):
    weights = [Fraction(count, sum(counts)) for count in counts]
    found = choose(np.array(some, dtype=np.uint64), weights).tolist()
    for word, index in zip(some, found, strict=True):
        assert sum(weights[:index]) * 2**64 - 1 < word + 1
        assert word < sum(weights[: index + 1]) * 2**64
