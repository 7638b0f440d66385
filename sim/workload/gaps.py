"""Gaps of mean 1 between the arrivals of a process, as the integers that its instants are summed from.

This module owns which law a process has its gaps from. It must not know rates: a factor on the rate changes the clock,
not the gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from sim.manifest.processes import Generated, Renewal
from sim.seeds import Words
from sim.workload import continuous, solved
from sim.workload.distributions import UNIT_BITS, Integers, unit_exponentials

LONGEST: Final = 2.0**22
"""Longest gap, in means: in steps of ``2^-UNIT_BITS`` it still fits a signed 64-bit integer. At a cv of 10, the largest
a manifest may have, fewer than one gap in 10^50 is longer."""


def unit_gaps(arrivals: Generated, take: Callable[[int], Words]) -> Callable[[int], list[int]]:
    """Return what draws the next gaps of a process, in steps of ``2^-UNIT_BITS`` of their mean.

    Args:
        arrivals: The process.
        take: Takes the next raw words of its stream, one a gap.
    """
    if not isinstance(arrivals, Renewal):
        return lambda count: unit_exponentials(take(count)).tolist()
    if arrivals.gaps == "gamma":
        gamma_shape = float(1 / arrivals.cv**2)
        return lambda count: _steps(continuous.gammas(take(count), gamma_shape)).tolist()
    shape, log_scale = solved.weibull(arrivals.cv)
    return lambda count: _steps(continuous.weibulls(take(count), shape, log_scale)).tolist()


def _steps(gaps: continuous.Doubles) -> Integers:
    return np.rint(np.minimum(gaps, LONGEST) * 2.0**UNIT_BITS).astype(np.int64)
