"""Logarithm and exponential of fdlibm, over whole arrays, the same to the last bit on every machine.

The seed family draws its gaps with the logarithm of its own runtime, which is fdlibm's. The logarithms of C libraries
and of numpy are as accurate but round otherwise in some draws, and differ among processors (numpy picks another routine
where it finds AVX-512). These use only additions, multiplications and divisions of doubles, each rounded by itself, so
no platform can disagree with them.

This module owns the two functions and nothing else.

Source:
    The method and its constants are those of fdlibm's ``e_log.c`` (Sun Microsystems, 1993): x = 2^k (1 + f), log(1 + f)
    by a minimax polynomial in s = f / (2 + f), and log 2 in two parts. Those of the exponential are ``e_exp.c``'s:
    x = k log 2 + r, exp r by a rational function of r. Errors are below one unit in the last place.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

LN2_HIGH: Final = 6.93147180369123816490e-01
"""The leading 33 bits of log 2: ``k * LN2_HIGH`` is exact for every exponent k."""
LN2_LOW: Final = 1.90821492927058770002e-10
"""log 2 less ``LN2_HIGH``."""

ODD: Final = (6.666666666666735130e-01, 2.857142874366239149e-01, 1.818357216161805012e-01, 1.479819860511658591e-01)
"""Coefficients of s^2, s^6, s^10 and s^14."""
EVEN: Final = (3.999999999940941908e-01, 2.222219843214978396e-01, 1.531383769920937332e-01)
"""Coefficients of s^4, s^8 and s^12."""

INVERSE_LN2: Final = 1.44269504088896338700
"""1 / log 2."""

EXP: Final = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
"""Coefficients of r^2, r^4 and on, of the even function that exp r is made from."""

# The method branches on the leading 20 bits of the significand; these are its bounds as significands in [1, 2).
_STEP: Final = 2.0**-20
_UPPER_HALF: Final = (
    1.0 + 0x6A09C * _STEP
)  # about the square root of 2: from here on halve, and count one power of two more
_MIDDLE_FROM: Final = 1.0 + 0x6147A * _STEP
_MIDDLE_TO: Final = 1.0 + 0x6B852 * _STEP
_NEAR_ONE_BELOW: Final = 2.0 - 2.0 * _STEP
_NEAR_ONE_ABOVE: Final = 1.0 + _STEP


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the natural logarithm of each value.

    Args:
        x: Values, shape ``(n,)``, each positive, finite and normal (at least 2^-1022); not checked.

    Returns:
        Their logarithms, shape ``(n,)``.
    """
    half, exponent = np.frexp(x)
    significand = half + half
    halved = significand >= _UPPER_HALF
    k = (exponent - 1 + halved).astype(np.float64)
    f = np.where(halved, half, significand) - 1.0
    high, low = k * LN2_HIGH, k * LN2_LOW

    s = f / (2.0 + f)
    z = s * s
    w = z * z
    even = w * (EVEN[0] + w * (EVEN[1] + w * EVEN[2]))
    odd = z * (ODD[0] + w * (ODD[1] + w * (ODD[2] + w * ODD[3])))
    remainder = odd + even

    # The order of the operations is the method: each line below is one rounding after another, and none may be
    # rearranged.
    half_square = 0.5 * f * f
    middle = (significand >= _MIDDLE_FROM) & (significand < _MIDDLE_TO)
    correction = np.where(middle, half_square - (s * (half_square + remainder) + low), s * (f - remainder) - low)
    near_one = (significand >= _NEAR_ONE_BELOW) | (significand < _NEAR_ONE_ABOVE)
    if near_one.any():
        correction = np.where(near_one, f * f * (0.5 - 0.33333333333333333 * f) - low, correction)
    return high - (correction - f)


def exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e to the power of each value.

    Args:
        x: Values, shape ``(n,)``, each from -708 to 709, so that the result is a normal double; not checked.

    Returns:
        The powers, shape ``(n,)``.
    """
    k = np.rint(x * INVERSE_LN2)
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    t = r * r
    c = r - t * (EXP[0] + t * (EXP[1] + t * (EXP[2] + t * (EXP[3] + t * EXP[4]))))
    return np.ldexp(1.0 - ((low - r * c / (2.0 - c)) - high), k.astype(np.int64))
