"""Exact numbers: nanoseconds, rates, and decimals that never pass through a float.

Time inside the library is an integer count of nanoseconds; milliseconds and seconds exist in files and reports only.
This module converts between the two worlds, exactly or not at all. It knows nothing of what the numbers limit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import gcd

from tollgate.core.errors import ConfigError

__all__ = [
    "MAX_SAFE_INTEGER",
    "NS_PER_MIN",
    "NS_PER_MS",
    "NS_PER_S",
    "Exact",
    "Rate",
    "decimal_text",
    "fraction",
    "ms_text",
]

NS_PER_MS = 10**6
NS_PER_S = 10**9
NS_PER_MIN = 60 * NS_PER_S

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 7493, section 2.2)."""

Exact = int | str | Decimal | Fraction
"""What :func:`fraction` reads: every spelling of a number but a float."""

# Plain decimals only. An exponent would let a short text name a number of 10^9 digits ("1e999999999").
_PLAIN_DECIMAL = re.compile(r"[+-]?[0-9]{1,60}(?:\.[0-9]{1,60})?", re.ASCII)
_DECIMAL_EXPONENT_MAX = 400  # just above a double's range; a Decimal beyond it would explode when made a fraction


@dataclass(frozen=True, slots=True)
class Rate:
    """A refill rate: ``units`` every ``per_ns`` nanoseconds, in lowest terms.

    Args:
        units: Units earned, 0 or more. A rate of 0 never refills.
        per_ns: In how many nanoseconds, 1 or more.

    Raises:
        ConfigError: If either is out of range or not an integer.

    >>> Rate.per_minute(2400)
    Rate(units=1, per_ns=25000000)
    >>> Rate.per_second("0.1") == Rate(1, 10 * NS_PER_S)
    True
    """

    units: int
    per_ns: int

    def __post_init__(self) -> None:
        if type(self.units) is not int or self.units < 0:
            raise ConfigError("units", self.units, "an integer of at least 0")
        if type(self.per_ns) is not int or self.per_ns < 1:
            raise ConfigError("per_ns", self.per_ns, "an integer of at least 1")
        common = gcd(self.units, self.per_ns)
        object.__setattr__(self, "units", self.units // common)
        object.__setattr__(self, "per_ns", self.per_ns // common)

    @classmethod
    def per_second(cls, units: Exact) -> Rate:
        """Return the rate of exactly ``units`` a second; a float is refused (see :func:`fraction`)."""
        return cls._of(fraction(units, "per_second") / NS_PER_S)

    @classmethod
    def per_minute(cls, units: Exact) -> Rate:
        """Return the rate of exactly ``units`` a minute; a float is refused (see :func:`fraction`)."""
        return cls._of(fraction(units, "per_minute") / NS_PER_MIN)

    @classmethod
    def _of(cls, units_per_ns: Fraction) -> Rate:
        return cls(units_per_ns.numerator, units_per_ns.denominator)


def fraction(value: object, path: str = "number") -> Fraction:
    """Read an exact number.

    Args:
        value: An int, a Fraction, a finite Decimal, or a text such as ``"0.29"`` (no exponent, at most 60 digits on
            either side of the point).
        path: Key path to name in the error.

    Raises:
        ConfigError: For anything else. A float is refused even when it looks round, because ``0.29`` as a double is
            not 0.29: ``floor(0.29 * 100)`` is 28.

    >>> fraction("0.29") * 100
    Fraction(29, 1)
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) <= _DECIMAL_EXPONENT_MAX:
        return Fraction(value)
    if isinstance(value, str) and _PLAIN_DECIMAL.fullmatch(value):
        return Fraction(value)
    raise ConfigError(path, value, 'an integer or a plain decimal such as "0.25", not a binary float')


def ms_text(ns: int) -> str:
    """Return nanoseconds as milliseconds: an exact decimal without trailing zeros.

    >>> ms_text(1_500_000), ms_text(2_000_000), ms_text(-1)
    ('1.5', '2', '-0.000001')
    """
    whole, rest = divmod(abs(ns), NS_PER_MS)
    sign = "-" if ns < 0 else ""
    return f"{sign}{whole}.{rest:06d}".rstrip("0").rstrip(".")


def decimal_text(value: Fraction | int, places: int = 6) -> str:
    """Return a number as a decimal with a fixed count of places, rounded half up in magnitude.

    Zero never carries a sign, so two equal numbers have one text.

    Args:
        value: The exact number.
        places: Digits after the point, 0 or more.

    >>> decimal_text(Fraction(2, 3)), decimal_text(Fraction(-1, 8), 2), decimal_text(3, 0)
    ('0.666667', '-0.13', '3')
    """
    exact = Fraction(value)
    scaled = (2 * abs(exact.numerator) * 10**places + exact.denominator) // (2 * exact.denominator)
    sign = "-" if exact < 0 and scaled else ""
    if places == 0:
        return f"{sign}{scaled}"
    whole, rest = divmod(scaled, 10**places)
    return f"{sign}{whole}.{rest:0{places}d}"
