"""Each law against its closed forms, and against scipy's distribution function, on fixed seeds.

A moment may be off by four standard errors, and Kolmogorov and Smirnov's test has a level of 0.001: on a fixed seed a
test that passes goes on passing, and a law that is wrong by a hundredth fails.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import exp, gamma, isclose, log, sqrt, ulp

import numpy as np
import pytest
from scipy import special, stats

from sim import seeds
from sim.manifest.distributions import BoundedPareto, Empirical, Exponential, Gamma, Lognormal, Mixture, Uniform
from sim.workload import continuous, fdlibm, normal, solved
from sim.workload.distributions import draw, words_per_draw

N = 40_000
LEVEL = 0.001
MEAN = 10**9  # rounding to integers is far below what a test can see
LAST = 2**64 - 1


def pareto(alpha, low, high):
    """Return the distribution function and the first two moments of a Pareto law cut to an interval (by hand)."""
    cut = 1 - (low / high) ** alpha

    def moment(k):
        return alpha * low**alpha * (high ** (k - alpha) - low ** (k - alpha)) / (k - alpha) / cut

    return lambda x: (1 - (low / x) ** alpha) / cut, moment(1), moment(2) - moment(1) ** 2


PARETO_CDF, PARETO_MEAN, PARETO_VARIANCE = pareto(1.5, 10**6, 10**9)
SIGMA = sqrt(log(1 + 0.8**2))
WIDE = log(5 * MEAN / MEAN) / stats.norm.ppf(0.99)

LAWS = {
    "exponential": (Exponential(MEAN), stats.expon(scale=MEAN).cdf, MEAN, MEAN**2),
    "lognormal by mean and cv": (
        Lognormal(MEAN, Fraction(4, 5)),
        stats.lognorm(SIGMA, scale=MEAN * exp(-(SIGMA**2) / 2)).cdf,
        MEAN,
        (0.8 * MEAN) ** 2,
    ),
    "lognormal by median and p99": (
        Lognormal(MEAN, None, 5 * MEAN),
        stats.lognorm(WIDE, scale=MEAN).cdf,
        MEAN * exp(WIDE**2 / 2),
        MEAN**2 * exp(WIDE**2) * (exp(WIDE**2) - 1),
    ),
    "gamma steadier than exponential": (
        Gamma(MEAN, Fraction(1, 2)),
        stats.gamma(4, scale=MEAN / 4).cdf,
        MEAN,
        MEAN**2 / 4,
    ),
    "gamma wilder than exponential": (
        Gamma(MEAN, Fraction(2)),
        stats.gamma(0.25, scale=MEAN / 0.25).cdf,
        MEAN,
        4 * MEAN**2,
    ),
    "bounded pareto": (BoundedPareto(Fraction(3, 2), 10**6, 10**9), PARETO_CDF, PARETO_MEAN, PARETO_VARIANCE),
}


def drawn(law, name="laws", count=N):
    return draw(law, seeds.words(23, name)(count * words_per_draw(law)), count)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_has_its_first_two_moments(name):
    law, _, mean, variance = LAWS[name]
    found = drawn(law, name).astype(float)
    assert abs(found.mean() - mean) < 4 * sqrt(variance / N)
    fourth = ((found - mean) ** 4).mean()
    assert abs(((found - mean) ** 2).mean() - variance) < 4 * sqrt((fourth - variance**2) / N)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_follows_its_distribution_function(name):
    law, cdf, _, _ = LAWS[name]
    assert stats.kstest(drawn(law, name), cdf).pvalue > LEVEL


@pytest.mark.parametrize("cv", [Fraction(1, 5), Fraction(1), Fraction(3)])
def test_weibull_draws_have_mean_one_and_the_cv_asked_for(cv):
    shape, log_scale = solved.weibull(cv)
    found = continuous.weibulls(seeds.words(5, f"weibull {cv}")(N), shape, log_scale)
    assert stats.kstest(found, stats.weibull_min(shape, scale=exp(log_scale)).cdf).pvalue > LEVEL
    # The law that was solved for has the moments asked for, by the gamma function of the C library.
    mean = exp(log_scale) * gamma(1 + 1 / shape)
    assert isclose(mean, 1, rel_tol=1e-12)
    assert isclose(exp(log_scale) ** 2 * gamma(1 + 2 / shape) - mean**2, cv**2, rel_tol=1e-9)


def test_the_weibull_law_of_cv_1_is_the_exponential():
    shape, log_scale = solved.weibull(Fraction(1))
    assert isclose(shape, 1, rel_tol=1e-15)
    assert abs(log_scale) < 1e-15


@pytest.mark.parametrize("x", ["1", "1.0001", "1.5", "2", "7.25", "40.5", "300"])
def test_the_logarithm_of_the_gamma_function_agrees_with_scipys(x):
    with localcontext() as context:
        context.prec = solved.DIGITS
        found = float(solved._log_gamma(Decimal(x)))
    assert isclose(found, float(special.loggamma(float(x))), rel_tol=2e-14, abs_tol=1e-15)


def test_normal_quantiles_agree_with_scipys_from_tail_to_tail():
    p = np.concatenate([10.0 ** np.arange(-300, -1, 7.0), np.arange(1, 200) / 200, 1 - 2.0 ** -np.arange(8.0, 53.0)])
    assert np.allclose(normal.quantiles(p), special.ndtri(p), rtol=2e-15, atol=1e-16)
    assert normal.quantiles(np.array([0.99]))[0] == pytest.approx(solved.Z99, rel=1e-15)


@pytest.mark.parametrize("x", [-700.0, -37.25, -1.0, -0.35, -(2.0**-30), 0.0, 1e-9, 0.3466, 0.5, 1.0, 20.5, 700.0])
def test_the_error_of_the_exponential_is_below_one_unit_in_the_last_place(x):
    found = float(fdlibm.exp(np.array([x]))[0])
    with localcontext() as context:
        context.prec = 50
        exact = Decimal(x).exp()
        assert abs(Decimal(found) - exact) < Decimal(ulp(float(exact)))


@pytest.mark.parametrize("name", LAWS)
def test_a_draw_belongs_to_its_word(name):
    law = LAWS[name][0]
    words = seeds.words(9, "own")(300)
    together = draw(law, words, 300)
    apart = [int(draw(law, words[k : k + 1], 1)[0]) for k in range(300)]
    assert together.tolist() == apart


EXTREMES = [
    Lognormal(2**53 - 1, Fraction(10)),
    Lognormal(1, Fraction(10)),
    Lognormal(1, None, 2**53 - 1),
    Gamma(2**53 - 1, Fraction(10)),
    Gamma(1, Fraction(1, 100)),
    BoundedPareto(Fraction(1, 100), 1, 2**53 - 1),
    BoundedPareto(Fraction(100), 1, 2**53 - 1),
    BoundedPareto(Fraction(100), 7, 7),
]


@pytest.mark.parametrize("law", EXTREMES, ids=repr)
def test_the_ends_of_the_words_and_of_the_parameters_give_numbers_in_range(law):
    words = np.concatenate([np.array([0, 1, LAST - 1, LAST], dtype=np.uint64), seeds.words(3, "any")(2000)])
    found = draw(law, words, len(words))
    assert found.min() >= 1
    assert found.max() <= 2**62
    if isinstance(law, BoundedPareto):
        assert law.low <= found.min() <= found.max() <= law.high


def test_values_of_a_file_are_drawn_alike_and_nothing_else_is():
    values = np.array([3, 5, 5, 90], dtype="<i8")
    found = drawn(Empirical("f", values.tobytes()))
    shares = {value: float((found == value).mean()) for value in (3, 5, 90)}
    for value, share in {3: 0.25, 5: 0.5, 90: 0.25}.items():
        assert abs(shares[value] - share) < 4 * sqrt(share * (1 - share) / N)
    assert sum(shares.values()) == pytest.approx(1)
    # Rising with the word: two manifests that differ in one value see the same ranks.
    assert draw(Empirical("f", values.tobytes()), np.array([0, 2**62, 2**63, LAST], dtype=np.uint64), 4).tolist() == [
        3,
        5,
        5,
        90,
    ]


def test_a_mixture_may_be_of_any_laws():
    mixture = Mixture(((Fraction(1, 2), Gamma(1000, Fraction(1, 2))), (Fraction(1, 2), Uniform(10**6, 10**6))))
    found = drawn(mixture)
    small = found[found < 10**6]
    assert abs(len(small) / N - 0.5) < 4 * sqrt(0.25 / N)
    assert stats.kstest(small, stats.gamma(4, scale=250).cdf).pvalue > LEVEL
