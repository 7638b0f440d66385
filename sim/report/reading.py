"""Figures as people read them: rounded, shares in percent.

Owns the rounding that summary, page and pictures share, and its statement. The record keeps every digit, and nothing is
judged here: a rounded figure never stands on another side of its bound than the exact one, nor seems to meet it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from sim.report.result import Figure, Gate, Observation
from sim.report.text import DASH, rounded, with_unit
from tollgate.core.units import NS_PER_MS, NS_PER_S

SHARES: Final = frozenset({"admission.ratio", "goodput.ratio", "utilisation"})
"""Ratios of a part to its whole: a percentage says more. Other ratios, such as attempts an arrival, can exceed 1."""

HOW: Final = (
    "Figures are rounded for reading: times to whole milliseconds or three digits, shares to a hundredth of a percent, "
    "the rest to three decimals, further where a bound is near. The record keeps every digit."
)
"""What is done to figures, for the reader."""

_DIGITS: Final = 3
_PLACES_MAX: Final = 6  # of a record, and of a millisecond


def figure(metric: str, row: Observation | None) -> str:
    """Return an observed figure of a metric with its unit; a dash where there is none."""
    return DASH if row is None else _text(metric, row.value, row.unit)


def observed(gate: Gate) -> str:
    """Return what a gate observed, rounded no further than keeps it on its side of the bound."""
    return _text(gate.metric, gate.came["observed"], gate.asked["unit"], apart_from=gate.bound)


def bound(gate: Gate) -> str:
    """Return the bound of a gate: as the manifest has it, a share in percent."""
    if gate.metric in SHARES:
        return f"{rounded(100 * gate.bound, _PLACES_MAX)} %"
    return with_unit(gate.asked["bound"], gate.asked["unit"])


def margin(gate: Gate) -> str:
    """Return how far a gate is from its bound; of a share, in hundredths of the whole."""
    text = _text(gate.metric, gate.came["margin"], gate.asked["unit"], apart_from=Fraction(0))
    return text.replace("%", "points") if gate.metric in SHARES else text


def ms(ns: int) -> str:
    """Return a length of time in milliseconds: whole, or three digits where it is short."""
    exact = Fraction(ns, NS_PER_MS)
    return f"{rounded(exact, _places(exact))} ms"


def seconds(ns: int) -> str:
    """Return an instant or a long time in seconds, to the millisecond."""
    return f"{rounded(Fraction(ns, NS_PER_S), 3)} s"


def apart(exact: Fraction, other: Fraction, places: int = 2) -> str:
    """Return a figure rounded to ``places`` decimals, or as many more as keep it on its side of another one."""
    while places < _PLACES_MAX and _is_moved(exact, other, places):
        places += 1
    return rounded(exact, places)


def _text(metric: str, value: Figure | None, unit: str, *, apart_from: Fraction | None = None) -> str:
    if value is None:
        return DASH
    exact = Fraction(value)
    if metric in SHARES:
        scale, suffix, places = 100, " %", 2
    else:
        scale, suffix = 1, with_unit(0, unit)[1:]
        places = _places(exact) if unit == "ms" else _DIGITS
    if apart_from is None:
        return rounded(scale * exact, places) + suffix
    return apart(scale * exact, scale * apart_from, places) + suffix


def _is_moved(exact: Fraction, other: Fraction, places: int) -> bool:
    """Return whether rounding changes which of two figures is the greater, or makes them equal."""
    shown = Fraction(rounded(exact, places))
    return (shown > other) - (shown < other) != (exact > other) - (exact < other)


def _places(exact_ms: Fraction) -> int:
    """Return the decimals that leave a time three digits; more than three digits before the point all stay."""
    size, places = abs(exact_ms), 0
    while size and size < 10 ** (_DIGITS - 1) and places < _PLACES_MAX:
        size, places = size * 10, places + 1
    return places
