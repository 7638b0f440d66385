"""How evenly a run treated its principals.

Owns the Jain index. It must not know where the shares come from beyond what its argument says.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from sim.measure.tally import Ints

SHARE_GRAIN: Final = 10**9
"""Shares are counted in billionths, rounded down: the index then is one exact fraction of integers for any number of
principals, and its sixth decimal is safe."""


def jain_index(shares: list[int]) -> Fraction | None:
    """Return Jain's fairness index, (sum x)^2 / (n sum x^2), in [1/n, 1].

    Args:
        shares: One non-negative integer a principal, any common unit.

    Returns:
        The exact index, or None if there is no share or every share is zero.

    Source:
        Jain, Chiu and Hawe, DEC-TR-301 (1984).
    """
    squares = len(shares) * sum(share * share for share in shares)
    return Fraction(sum(shares) ** 2, squares) if squares else None


def jain_of_admission(arrivals: Ints, admitted: Ints) -> Fraction | None:
    """Return Jain's index of each principal's admitted share of its own demand.

    A principal's share is its arrivals admitted at least once over its arrivals; one without arrivals has none and is
    left out. Dividing by demand is what makes a heavy and a light principal comparable: both treated alike gives 1.

    Args:
        arrivals: By principal, shape ``(n,)``.
        admitted: By principal, shape ``(n,)``, each at most its arrivals.
    """
    asked = arrivals > 0
    return jain_index((admitted[asked] * SHARE_GRAIN // arrivals[asked]).tolist())
