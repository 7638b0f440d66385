"""What kept calls from providers that is no limit: open breakers, announced pauses, outages.

Owns their sentence. Works from a record's figures and a run's bands; must not know limits or judge who was to blame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from sim.measure.series import Band, SeriesView
from sim.report import reading
from sim.report.result import Result
from sim.report.series import by_label
from sim.report.text import listing, plural
from tollgate.core.units import NS_PER_MS

TOLD_MAX: Final = 4
"""Interruptions in a sentence; figures and tables have the rest."""


def sentence(result: Result, view: SeriesView | None) -> str | None:
    """Return what kept calls from providers and how many refusals came meanwhile; None if nothing did.

    Args:
        result: The record.
        view: The run's series, for the outages and the refusals by time; None where the bundle has none.
    """
    told = [*_breakers(result), *_pauses(result), *_outages(view)]
    if not told:
        return None
    more = len(told) - TOLD_MAX
    if more > 0:
        told = [*told[:TOLD_MAX], f"{more} more such times"]
    return f"Beside the limits, {listing(told)}{_meanwhile(view)}."


def _breakers(result: Result) -> Iterator[str]:
    for provider, row in result.by("breaker.open_time", "provider").items():
        if row.exact:
            changes = result.exact("breaker.transitions", provider=provider)
            often = "" if changes is None else f" ({plural(int(changes), 'change')} of state)"
            yield f"the breaker of provider {provider} was open for {_seconds(row.exact)}{often}"


def _pauses(result: Result) -> Iterator[str]:
    for provider, row in result.by("pause.time", "provider").items():
        if row.exact:
            yield f"provider {provider} had announced pauses of {_seconds(row.exact)}"


def _outages(view: SeriesView | None) -> Iterator[str]:
    for band in () if view is None else view.bands:
        if band.kind == "outage" and band.state != "ramp":
            span = f"from {reading.seconds(band.from_ns)} to {reading.seconds(band.to_ns)}"
            yield f"provider {band.label} had an outage ({band.state}) {span}"


def _meanwhile(view: SeriesView | None) -> str:
    """Return how many of the refusals came in time bins that an interruption touches."""
    if view is None:
        return ""
    bins = _touched(view, (band for band in view.bands if band.kind != "phase"))
    refused = by_label(view.series, "shed", "class").values()
    every = sum(map(sum, refused))
    then = sum(values[place] for values in refused for place in bins)
    return f"; {then} of {plural(every, 'refusal')} came meanwhile" if every else ""


def _touched(view: SeriesView, bands: Iterable[Band]) -> set[int]:
    """Return the bins in which any of some bands has a part."""
    spans = ((band.from_ns // view.bin_ns, -(-band.to_ns // view.bin_ns)) for band in bands)
    return {place for first, end in spans for place in range(first, min(end, view.bins))}


def _seconds(ms: Fraction) -> str:
    return reading.seconds(int(ms * NS_PER_MS))
