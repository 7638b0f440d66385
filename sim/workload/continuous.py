"""Draws from continuous laws of mean or scale 1: raw 64-bit words in, doubles out, the same on every platform.

Each draw takes one word, and so belongs to it whatever was drawn before; where a method needs more it derives them
from that word. All arithmetic is that of doubles rounded one operation at a time. This module must not know what a
draw stands for.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.seeds import Words, derived_words
from sim.workload import fdlibm, normal
from tollgate.core.errors import InvariantViolation

Doubles = NDArray[np.float64]

TRIES_MAX: Final = 64
"""Tries of the gamma method, each of which succeeds with 95 % or more: fewer than one draw in 10^80 needs more."""

LOG_LEAST: Final = -700.0
"""Logarithms below this are taken as this: the smallest normal double is e^-708."""


def inner(words: Words) -> Doubles:
    """Return a number above 0 and below 1 for each word, shape ``(n,)``: the middle of one of 2^52 equal steps."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def lognormals(words: Words, mu: float, sigma: float) -> Doubles:
    """Return e to the power of normal draws of the given mean and deviation, shape ``(n,)``."""
    exponent = normal.quantiles(inner(words)) * sigma + mu
    return fdlibm.exp(np.minimum(np.maximum(exponent, LOG_LEAST), -LOG_LEAST))


def bounded_paretos(words: Words, alpha: float, log_ratio: float) -> Doubles:
    """Return Pareto draws from 1 to the given ratio, shape ``(n,)``.

    Args:
        words: Raw words, shape ``(n,)``.
        alpha: The exponent.
        log_ratio: Logarithm of the upper end over the lower.

    Source:
        The inverse of F(x) = (1 - x^-alpha) / (1 - r^-alpha): x = (1 - u (1 - r^-alpha))^(-1 / alpha).
    """
    cut = 1.0 - fdlibm.exp(np.array([max(-alpha * log_ratio, LOG_LEAST)]))[0]
    logs = fdlibm.log(1.0 - inner(words) * cut) / -alpha
    return fdlibm.exp(np.minimum(logs, log_ratio))


def weibulls(words: Words, shape: float, log_scale: float) -> Doubles:
    """Return Weibull draws, shape ``(n,)``.

    Args:
        words: Raw words, shape ``(n,)``.
        shape: The shape parameter k.
        log_scale: Logarithm of the scale.

    Source:
        scale (-log u)^(1/k).
    """
    return fdlibm.exp(np.maximum(fdlibm.log(-fdlibm.log(inner(words))) / shape + log_scale, LOG_LEAST))


def gammas(words: Words, shape: float) -> Doubles:
    """Return gamma draws of mean 1, shape ``(n,)``.

    Args:
        words: Raw words, shape ``(n,)``.
        shape: The shape parameter: 1 over the square of the coefficient of variation.

    Source:
        Marsaglia and Tsang, ACM TOMS 26 (2000): d (1 + c x)^3 with x normal, accepted by a uniform; for shapes below 1
        a draw of shape + 1 times u^(1 / shape).
    """
    d = (shape if shape >= 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / float(np.sqrt(9.0 * d))
    found = np.empty(len(words))
    open_rows = np.arange(len(words))
    for k in range(TRIES_MAX):
        own = words[open_rows]
        x = normal.quantiles(inner(derived_words(own, 2 * k)))
        cube = 1.0 + c * x
        v = cube * cube * cube
        positive = np.maximum(v, 2.0**-1000)
        log_u = fdlibm.log(inner(derived_words(own, 2 * k + 1)))
        accepted = (v > 0.0) & (log_u < 0.5 * x * x + d - d * v + d * fdlibm.log(positive))
        found[open_rows[accepted]] = v[accepted]
        open_rows = open_rows[~accepted]
        if not len(open_rows):
            break
    else:
        raise InvariantViolation(f"a gamma draw was not accepted in {TRIES_MAX} tries")
    if shape >= 1.0:
        return found * (d / shape)
    logs = fdlibm.log(found * d) + fdlibm.log(inner(words)) / shape
    return fdlibm.exp(np.maximum(logs - fdlibm.log(np.array([shape])), LOG_LEAST))
