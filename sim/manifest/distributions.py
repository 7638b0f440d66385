"""The laws that an amount or a length can be drawn from, as values.

Every law is over non-negative integers: tokens, items, bytes, nanoseconds. The continuous ones are rounded to the
nearest integer, to at least 1 and at most 2^53-1. This module owns the parameters. It must not know what is drawn, nor
how: sampling belongs to ``sim.workload.distributions``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Constant:
    """Always ``value``."""

    value: int


@dataclass(frozen=True, slots=True)
class Uniform:
    """Each integer from ``low`` to ``high``, both included, equally likely."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponential with the given mean."""

    mean: int


@dataclass(frozen=True, slots=True)
class Lognormal:
    """The exponential of a normal variable, by two of its figures.

    Attributes:
        centre: Its mean, or its median where ``p99`` is given.
        cv: Standard deviation over mean; None where ``p99`` is given.
        p99: Its 99th percentile, above ``centre``; None where ``cv`` is given.
    """

    centre: int
    cv: Fraction | None = None
    p99: int | None = None


@dataclass(frozen=True, slots=True)
class Gamma:
    """Gamma with the given mean and coefficient of variation; 1 is the exponential."""

    mean: int
    cv: Fraction


@dataclass(frozen=True, slots=True)
class BoundedPareto:
    """Pareto of exponent ``alpha``, cut to ``low`` .. ``high``."""

    alpha: Fraction
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Empirical:
    """Each of the values of a file equally likely.

    Attributes:
        name: The file as the manifest names it.
        values: The values in rising order, 64-bit little-endian integers one after another. Ten million of them cost
            80 MB so, and the value stays hashable.
    """

    name: str
    values: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Mixture:
    """One of ``parts`` by its weight; the weights are exact and sum to 1."""

    parts: tuple[tuple[Fraction, Simple], ...]


Simple = Constant | Uniform | Exponential | Lognormal | Gamma | BoundedPareto | Empirical
"""What a mixture may be made of."""

Distribution = Simple | Mixture
