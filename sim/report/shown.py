"""A run as a notebook shows it: verdict, gates, counts and load, as one piece of HTML.

Owns what is shown where a run is the last value of a cell. Like the page it needs nothing from elsewhere, and names are
only text. Must not know how a notebook asks.
"""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from sim.measure.series import SeriesView
from sim.report import figures, page, reading, story, style, tables
from sim.report.result import Result

_DIGITS: Final = 8
"""Of the record's digest in the ids of its figure, so that two runs in one notebook share none."""


def html(result: Result, view: SeriesView | None) -> str:
    """Return a run as HTML.

    Args:
        result: Its record, gates judged.
        view: Its series; None leaves the figure out.
    """
    record = result.record
    prefix = f"run-{record['digest'].removeprefix('sha256:')[:_DIGITS]}"
    return page.template("run.html").render(
        verdict=result.verdict,
        colour=style.VERDICT_COLOURS[result.verdict],
        name=f"{record['manifest']['name']} {record['manifest']['version']}",
        discipline=record["target"]["discipline"],
        seed=result.seed,
        why=story.why(result),
        claim=story.scope_of_claim(result),
        gates=tables.gates(result),
        counts=tables.counts(result),
        load=None if view is None else Markup(style.svg(figures.load(view, result), prefix=prefix)),  # noqa: S704 - escaped
        how=reading.HOW,
    )
