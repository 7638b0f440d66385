"""Draws from distributions: raw 64-bit words in, integers out, the same on every platform.

Each draw inverts the distribution function with integer arithmetic or with additions, multiplications, divisions and
square roots of doubles alone, so that no machine can round another way; only the gamma law accepts or rejects, with
words derived from the draw's own. How many words a draw takes depends on the distribution's kind alone; draw k always
takes the words at k times that number, whatever was drawn before. This module must not know streams or seeds.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import floor
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim import seeds
from sim.manifest.distributions import (
    BoundedPareto,
    Constant,
    Distribution,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Simple,
    Uniform,
)
from sim.seeds import Words
from sim.workload import continuous, fdlibm, solved
from tollgate.core.units import MAX_SAFE_INTEGER

Integers = NDArray[np.int64]
"""Draws, shape ``(n,)``."""

WORD_VALUES: Final = 2**64

UNIT_BITS: Final = 40
"""Binary places of a unit exponential as an integer. A gap of mean g is then drawn in steps of g / 2^40: below a
nanosecond for means up to 18 minutes, and a thousandth of a millionth of the mean beyond."""

_LOW: Final = np.uint64(2**32 - 1)
_HALF: Final = np.uint64(32)


def words_per_draw(distribution: Distribution) -> int:
    """Return how many raw words one draw takes."""
    if isinstance(distribution, Constant):
        return 0
    if isinstance(distribution, Mixture):
        return 1 + max(words_per_draw(part) for _, part in distribution.parts)
    return 1


def draw(distribution: Distribution, words: Words, count: int) -> Integers:
    """Return draws from a distribution.

    Args:
        distribution: What to draw from.
        words: Raw words, shape ``(count * words_per_draw(distribution),)``.
        count: How many draws.

    Returns:
        The draws, shape ``(count,)``.
    """
    if not isinstance(distribution, Mixture):
        return _simple(distribution, words, count)
    by_draw = words.reshape(count, words_per_draw(distribution))
    part = choose(by_draw[:, 0], [weight for weight, _ in distribution.parts])
    found = np.empty(count, dtype=np.int64)
    for index, (_, inner) in enumerate(distribution.parts):
        mine = part == index
        own = np.ascontiguousarray(by_draw[mine, 1]) if words_per_draw(inner) else words[:0]
        found[mine] = _simple(inner, own, int(mine.sum()))
    return found


def draw_by_word(distribution: Distribution, words: Words, count: int) -> Integers:
    """Return draws that take one word each, whatever their law: what one takes beyond that is derived from its word.

    Args:
        distribution: What to draw from.
        words: Raw words, shape ``(count,)``; may be empty for a constant.
        count: How many draws.

    Returns:
        The draws, shape ``(count,)``.
    """
    wanted = words_per_draw(distribution)
    if wanted < 2:
        return draw(distribution, words if wanted else words[:0], count)
    more = [seeds.derived_words(words, k) for k in range(wanted - 1)]
    return draw(distribution, np.stack([words, *more], axis=1).reshape(-1), count)


def _simple(distribution: Simple, words: Words, count: int) -> Integers:
    match distribution:
        case Constant(value):
            return np.full(count, value, dtype=np.int64)
        case Uniform(low, high):
            return low + below(words, high - low + 1)
        case Exponential(mean):
            return _exponential(words, mean)
        case Lognormal(median, None, int(p99)):
            return _rounded(continuous.lognormals(words, *solved.lognormal_of_median(median, p99)))
        case Lognormal(mean, cv):
            return _rounded(continuous.lognormals(words, *solved.lognormal_of_mean(mean, cv or Fraction(0))))
        case Gamma(mean, cv):
            return _rounded(continuous.gammas(words, float(1 / cv**2)) * float(mean))
        case BoundedPareto(alpha, low, high):
            logs = solved.log_of(Fraction(high, low))
            found = _rounded(continuous.bounded_paretos(words, float(alpha), logs) * float(low))
            return np.clip(found, low, high)
        case Empirical():
            values = np.frombuffer(distribution.values, dtype="<i8")
            return values[below(words, len(values))].astype(np.int64)


def below(words: Words, bound: int) -> Integers:
    """Return ``floor(word * bound / 2^64)`` of each word: the integers from 0 to ``bound - 1``, all but equally likely.

    No value's probability is off by more than 2^-64.

    Args:
        words: Raw words, shape ``(n,)``.
        bound: From 1 to 2^63 - 1.
    """
    # The high half of a 128-bit product, from four products of 32-bit halves; none of the sums overflows.
    high, low = words >> _HALF, words & _LOW
    bound_high, bound_low = np.uint64(bound >> 32), np.uint64(bound & 0xFFFFFFFF)
    middle = high * bound_low + (low * bound_low >> _HALF)
    carry = low * bound_high + (middle & _LOW)
    found: Integers = (high * bound_high + (middle >> _HALF) + (carry >> _HALF)).astype(np.int64)
    return found


def happens(words: Words, probability: Fraction) -> NDArray[np.bool_]:
    """Return for each word whether an event of this probability happens, shape ``(n,)``.

    It happens if the word over 2^64 is below the probability: 0 never does, 1 always, none is off by more than 2^-64.
    """
    if probability == 1:
        return np.ones(len(words), dtype=np.bool_)
    return words < np.uint64(floor(probability * WORD_VALUES))


def choose(words: Words, weights: list[Fraction]) -> Integers:
    """Return the index of a weight for each word, shape ``(n,)``, by the exact cumulative weights.

    Args:
        words: Raw words, shape ``(n,)``.
        weights: Exact weights above 0 that sum to 1.
    """
    cumulative = accumulate(weights[:-1])
    edges = [floor(share * WORD_VALUES) for share in cumulative]
    found: Integers = np.searchsorted(np.array(edges, dtype=np.uint64), words, side="right").astype(np.int64)
    return found


def unit_exponentials(words: Words) -> Integers:
    """Return exponential draws of mean 1, rounded to integers in steps of ``2^-UNIT_BITS``, shape ``(n,)``.

    The leading 53 bits of a word, plus one, over 2^53 are u in (0, 1]; the draw is -log u.
    """
    u = ((words >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53
    return np.rint(-fdlibm.log(u) * 2.0**UNIT_BITS).astype(np.int64)


def _exponential(words: Words, mean: int) -> Integers:
    """Return exponential draws of the given mean, rounded to the nearest integer, at least 1, shape ``(n,)``."""
    units = unit_exponentials(words).astype(np.float64)
    return np.maximum(np.rint(units * (mean * 2.0**-UNIT_BITS)), 1.0).astype(np.int64)


def _rounded(values: continuous.Doubles) -> Integers:
    """Return the nearest integers, from 1 to 2^53-1, shape ``(n,)``."""
    return np.rint(np.clip(values, 1.0, float(MAX_SAFE_INTEGER))).astype(np.int64)
