"""The quantile of the normal distribution, over whole arrays, the same to the last bit on every machine.

Additions, multiplications, divisions and square roots of doubles are each rounded by themselves, and the logarithm is
:mod:`sim.workload.fdlibm`'s, so no platform can disagree. This module owns the function and nothing else.

Source:
    Wichura, algorithm AS 241 (PPND16), Applied Statistics 37 (1988): three rational functions, relative error about
    1e-16.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.workload import fdlibm

Polynomial = tuple[float, ...]
"""Coefficients, the highest power first."""

CENTRE: Final[tuple[Polynomial, Polynomial]] = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
"""For p within 0.425 of a half, in 0.180625 - (p - 1/2)^2."""

MIDDLE: Final[tuple[Polynomial, Polynomial]] = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258,
        3.64784832476320460504,
        5.76949722146069140550,
        4.63033784615654529590,
        1.42343711074968357734,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940,
        2.05319162663775882187,
        1.0,
    ),
)
"""For r = sqrt(-log min(p, 1 - p)) up to 5, in r - 1.6."""

TAIL: Final[tuple[Polynomial, Polynomial]] = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580,
        5.46378491116411436990,
        6.65790464350110377720,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)
"""For r above 5, in r - 5."""


def quantiles(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard normal quantile of each probability.

    Args:
        p: Probabilities, shape ``(n,)``, each above 0 and below 1; not checked.

    Returns:
        The quantiles, shape ``(n,)``.
    """
    q = p - 0.5
    found = q * _ratio(CENTRE, 0.180625 - q * q)
    far = np.flatnonzero(np.abs(q) > 0.425)
    if len(far):
        from_centre = q[far]
        r = np.sqrt(-fdlibm.log(np.where(from_centre < 0.0, p[far], 1.0 - p[far])))
        size = np.where(r <= 5.0, _ratio(MIDDLE, r - 1.6), _ratio(TAIL, r - 5.0))
        found[far] = np.where(from_centre < 0.0, -size, size)
    return found


def _ratio(of: tuple[Polynomial, Polynomial], x: NDArray[np.float64]) -> NDArray[np.float64]:
    over, under = (_value(polynomial, x) for polynomial in of)
    ratio: NDArray[np.float64] = over / under
    return ratio


def _value(polynomial: Polynomial, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the polynomial by Horner's rule, one rounding after another."""
    value = np.full(len(x), polynomial[0])
    for coefficient in polynomial[1:]:
        value = value * x + coefficient
    return value
