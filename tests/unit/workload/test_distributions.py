from __future__ import annotations

from fractions import Fraction
from math import ceil, log, sqrt

import numpy as np
import pytest

from sim import seeds
from sim.manifest.distributions import Constant, Exponential, Mixture, Uniform
from sim.workload.distributions import (
    UNIT_BITS,
    below,
    choose,
    draw,
    draw_by_word,
    happens,
    unit_exponentials,
    words_per_draw,
)

N = 20_000
LAST = 2**64 - 1


@pytest.fixture(scope="module")
def words():
    return seeds.words(11, "tests/words")(3 * N)


def array(*values):
    return np.array(values, dtype=np.uint64)


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**32 - 1, 2**32, 2**32 + 1, 120_000_001, 2**53, 2**63 - 1])
def test_below_is_the_high_half_of_the_product(words, bound):
    some = np.concatenate([words[:500], array(0, 1, 2**32 - 1, 2**32, 2**63, LAST)])
    assert below(some, bound).tolist() == [word * bound >> 64 for word in some.tolist()]


def test_a_constant_takes_no_words():
    assert words_per_draw(Constant(5)) == 0
    assert draw(Constant(5), array(), 3).tolist() == [5, 5, 5]


def test_a_uniform_draw_reaches_both_ends():
    assert draw(Uniform(40, 160), array(0, LAST), 2).tolist() == [40, 160]


def test_a_uniform_draw_has_the_mean_of_its_range(words):
    found = draw(Uniform(40, 160), words[:N], N)
    deviation = sqrt((121**2 - 1) / 12 / N)
    assert abs(found.mean() - 100) < 4 * deviation


def test_a_unit_exponential_is_the_logarithm_of_its_word(words):
    some = words[:2000]
    expected = [-log(((word >> 11) + 1) / 2**53) * 2**UNIT_BITS for word in some.tolist()]
    assert np.abs(unit_exponentials(some) - np.array(expected)).max() <= 1


def test_a_unit_exponential_has_its_ends_at_zero_and_53_logarithms_of_two():
    assert unit_exponentials(array(LAST)).tolist() == [0]
    assert unit_exponentials(array(0)).tolist() == [round(53 * log(2) * 2**UNIT_BITS)]


def test_exponential_draws_have_mean_and_variance_of_an_exponential(words):
    mean = 80_000_000
    found = draw(Exponential(mean), words[:N], N)
    assert abs(found.mean() - mean) < 4 * mean / sqrt(N)
    # The variance of a sample variance of an exponential is 8 mean^4 / n, to leading order.
    assert abs(found.var() - mean**2) < 4 * sqrt(8 / N) * mean**2


def test_exponential_draws_follow_their_distribution_function(words):
    found = draw(Exponential(1000), words[:N], N)
    for x in (10, 100, 693, 3000):
        share = 1 - np.exp(-(x + 0.5) / 1000)  # a draw is rounded to the nearest integer
        assert abs((found <= x).mean() - share) < 4 * sqrt(share * (1 - share) / N)


def test_an_exponential_draw_is_never_zero():
    assert draw(Exponential(1), array(LAST, LAST - 2**12), 2).tolist() == [1, 1]


def test_choice_is_by_exact_cumulative_weights():
    weights = [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]
    edges = array(0, 2**62 - 1, 2**62, 3 * 2**62 - 1, 3 * 2**62, LAST)
    assert choose(edges, weights).tolist() == [0, 0, 1, 1, 2, 2]
    assert choose(edges, [Fraction(1)]).tolist() == [0] * 6


def test_an_event_happens_below_its_probability():
    tenth = 2**64 // 10
    assert happens(array(tenth - 1, tenth), Fraction(1, 10)).tolist() == [True, False]
    assert happens(array(0, LAST), Fraction(0)).tolist() == [False, False]
    assert happens(array(0, LAST), Fraction(1)).tolist() == [True, True]
    assert happens(array(0, LAST), Fraction(2**70 - 1, 2**70)).tolist() == [True, False]


def test_a_mixture_draws_each_part_by_its_weight(words):
    mixture = Mixture(((Fraction(98, 100), Constant(200)), (Fraction(2, 100), Uniform(5000, 7000))))
    assert words_per_draw(mixture) == 2
    found = draw(mixture, words[: 2 * N], N)
    large = found[found != 200]
    assert ((large >= 5000) & (large <= 7000)).all()
    assert abs(len(large) / N - 0.02) < 4 * sqrt(0.02 * 0.98 / N)
    assert abs(large.mean() - 6000) < 4 * sqrt((2001**2 - 1) / 12 / len(large))


def test_draw_k_takes_its_own_words_whatever_was_drawn_before(words):
    mixture = Mixture(((Fraction(1, 2), Constant(1)), (Fraction(1, 2), Uniform(0, 9))))
    together = draw(mixture, words[:200], 100)
    apart = [draw(mixture, words[2 * k : 2 * k + 2], 1)[0] for k in range(100)]
    assert together.tolist() == [int(value) for value in apart]


def test_mixture_parts_by_hand():
    mixture = Mixture(((Fraction(1, 2), Constant(1)), (Fraction(1, 2), Uniform(10, 19))))
    half = ceil(Fraction(1, 2) * 2**64)
    assert draw(mixture, array(half - 1, LAST, half, 0, half, LAST), 3).tolist() == [1, 10, 19]


@pytest.mark.parametrize("part", [Constant(3), Exponential(50)])
def test_no_draw_at_all_is_no_draw_whatever_the_law(part):
    """As where none of a block's requests goes to a provider whose service time is a mixture."""
    none = np.empty(0, dtype=np.uint64)
    mixture = Mixture(((Fraction(1, 4), part), (Fraction(3, 4), Uniform(1, 2))))
    assert draw(mixture, none, 0).tolist() == draw_by_word(mixture, none, 0).tolist() == []


def test_draws_by_word_take_the_word_itself_first_and_words_derived_from_it_beyond(words):
    some = words[:500]
    assert draw_by_word(Uniform(5, 90), some, 500).tolist() == draw(Uniform(5, 90), some, 500).tolist()
    assert draw_by_word(Constant(5), some[:0], 2).tolist() == [5, 5]
    mixture = Mixture(((Fraction(1, 2), Constant(1)), (Fraction(1, 2), Uniform(10, 19))))
    pairs = array(*[each for word in some.tolist() for each in (word, seeds.derived_word(word, 0))])
    assert draw_by_word(mixture, some, 500).tolist() == draw(mixture, pairs, 500).tolist()
