"""Parameters that have to be solved for, from the figures that people state.

Computed in decimal arithmetic, whose logarithms and exponentials are correctly rounded wherever Python runs, and
rounded once to a double at the end. So the same figures give the same parameters on every machine. This module owns
these solutions; it must not know words or draws.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

DIGITS: Final = 40
"""Digits carried; a double has 17. Solving for a shape loses a few."""

Z99: Final = 2.3263478740408408
"""The 99th percentile of the standard normal distribution."""

# Bernoulli numbers B_2k over 2k (2k - 1): the coefficients of Stirling's series.
_STIRLING: Final = tuple(
    Fraction(over, under * 2 * k * (2 * k - 1))
    for k, (over, under) in enumerate(
        ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)), start=1
    )
)
_SHIFT: Final = 40
"""Stirling's series is taken at arguments from here on, where its tenth term is below 1e-29."""

_HALF_LOG_TWO_PI: Final = Decimal("0.9189385332046727417803297364056176398614")

_SHAPES: Final = (Decimal("0.1"), Decimal(1000))
"""Between these shapes a Weibull variable has every coefficient of variation from 0.0013 to 429."""


@lru_cache(maxsize=256)
def lognormal_of_mean(mean: int, cv: Fraction) -> tuple[float, float]:
    """Return mu and sigma of a lognormal variable of the given mean and coefficient of variation.

    Source:
        sigma^2 = log(1 + cv^2), mu = log(mean) - sigma^2 / 2.
    """
    with localcontext() as context:
        context.prec = DIGITS
        variance = _decimal(1 + cv * cv).ln()
        return float(Decimal(mean).ln() - variance / 2), float(variance.sqrt())


@lru_cache(maxsize=256)
def lognormal_of_median(median: int, p99: int) -> tuple[float, float]:
    """Return mu and sigma of a lognormal variable of the given median and 99th percentile, the second above the first.

    Source:
        mu = log(median), sigma = log(p99 / median) / z, z the normal 99th percentile.
    """
    with localcontext() as context:
        context.prec = DIGITS
        return float(Decimal(median).ln()), float((Decimal(p99) / Decimal(median)).ln() / Decimal(Z99))


@lru_cache(maxsize=256)
def log_of(number: Fraction) -> float:
    """Return the natural logarithm of a number above 0."""
    with localcontext() as context:
        context.prec = DIGITS
        return float(_decimal(number).ln())


@lru_cache(maxsize=256)
def weibull(cv: Fraction) -> tuple[float, float]:
    """Return the shape k, and the logarithm of the scale, of a Weibull variable of mean 1 and the given cv.

    Args:
        cv: Coefficient of variation, from 0.01 to 100.

    Source:
        cv^2 = Gamma(1 + 2/k) / Gamma(1 + 1/k)^2 - 1, which falls as k grows, solved by bisection; scale =
        1 / Gamma(1 + 1/k).
    """
    with localcontext() as context:
        context.prec = DIGITS
        wanted = _decimal(1 + cv * cv).ln()
        low, high = _SHAPES
        for _ in range(100):  # from a width of 1000 to below the last digit of a double
            middle = (low + high) / 2
            spread = _log_gamma(1 + 2 / middle) - 2 * _log_gamma(1 + 1 / middle)
            low, high = (middle, high) if spread > wanted else (low, middle)
        return float(low), float(-_log_gamma(1 + 1 / low))


def _log_gamma(x: Decimal) -> Decimal:
    """Return the logarithm of the gamma function at ``x``, at least 1.

    Source:
        Stirling's series (Abramowitz and Stegun 6.1.40) at x + n, brought back by Gamma(x + 1) = x Gamma(x).
    """
    product = Decimal(1)
    while x < _SHIFT:
        product *= x
        x += 1
    series = sum((_decimal(term) / x ** (2 * k + 1) for k, term in enumerate(_STIRLING)), Decimal(0))
    return (x - Decimal("0.5")) * x.ln() - x + _HALF_LOG_TWO_PI + series - product.ln()


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
