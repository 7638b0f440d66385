"""Numbers and commands as a reader sees them.

Owns how a figure of the record is spelled. Every function keeps the value: a reader can find the printed figure in the
record. Must not know which table or page asks.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from tollgate.core import units

DASH: Final = "\N{EN DASH}"
"""Stands where there is no figure."""

_NAME_MAX: Final = 36
"""Letters of a name in a figure: with more, the axis would lose half of its width to them."""

_SUFFIXES: Final = {"ms": " ms", "mib": " MiB", "per_second": "/s"}
"""Units of ``sim.metrics`` worth printing beside a figure; counts and ratios speak for themselves."""


def trimmed(value: str | int) -> str:
    """Return a decimal without the zeros that six places add: ``"0.950000"`` is ``0.95``.

    Args:
        value: An integer or a decimal string of the record.
    """
    text = str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def with_unit(value: str | int | None, unit: str) -> str:
    """Return a figure with its unit; a dash where there is no figure."""
    return DASH if value is None else trimmed(value) + _SUFFIXES.get(unit, "")


def rounded(value: Fraction | int, places: int = 2) -> str:
    """Return an exact number as a decimal of at most ``places`` digits.

    For figures this package derives; what stands in the record is printed as it stands there.
    """
    return trimmed(units.decimal_text(value, places))


def with_ms(ns: int) -> str:
    """Return nanoseconds as milliseconds, exact, with the unit."""
    return f"{units.ms_text(ns)} ms"


def with_seconds(ns: int) -> str:
    """Return nanoseconds as seconds, exact, with the unit."""
    return f"{rounded(Fraction(ns, units.NS_PER_S), 9)} s"


def short(name: str) -> str:
    """Return a name as a figure has room for it; tables have it whole."""
    return name if len(name) <= _NAME_MAX else f"{name[: _NAME_MAX - 1]}\N{HORIZONTAL ELLIPSIS}"


def command(*words: str) -> str:
    """Return words as one line for a POSIX shell, each quoted where it must be."""
    return " ".join(shlex.quote(word) for word in words)


def listing(words: Iterable[str]) -> str:
    """Return words as a sentence lists them: ``a, b and c``."""
    items = list(words)
    return items[0] if len(items) == 1 else " and ".join([", ".join(items[:-1]), items[-1]]) if items else ""


def plural(n: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun: ``1 gate``, ``2 gates``."""
    return f"{n} {one if n == 1 else many or one + 's'}"
