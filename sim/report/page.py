"""The report as one HTML page that needs nothing else: no script, no font, no image from anywhere.

Owns how tables and figures become a page. Must not know what a figure shows or where a number comes from. The same
bundle gives the same bytes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sim.report import advice, breach, commands, figures, reading, story, tables
from sim.report.buckets import bucket_levels
from sim.report.report import Report
from sim.report.style import ReportFigure, svg

BYTES_MAX: Final = 2_000_000
"""Largest page, bytes (contract). Tables are cut and lines thinned, so that a page is far below it whatever the run."""

BUCKET_SHOWN: Final = Fraction(9, 10)
"""Share of its size below which a bucket has to fall for the figure of buckets to be drawn: full ones say nothing."""


def render(report: Report) -> str:
    """Return the page of a bundle: HTML below ``BYTES_MAX`` bytes in UTF-8."""
    result = report.result
    missed = result.counted("FAIL")
    return template(
        "report.html"
    ).render(
        report=report,
        record=report.record,
        verdict=result.verdict,
        why=story.why(result),
        breach=breach.first_breach(missed, report.series, report.slowest) if missed else None,
        meaning=story.MEANINGS[result.verdict],
        claim=story.scope_of_claim(result),
        figures={name: Markup(svg(fig, prefix=name)) for name, fig in _figures(report).items()},  # noqa: S704 - escaped
        gates=tables.gates(result),
        headroom=tables.headroom(report),
        binds_first=report.binds_first,
        counts=tables.counts(result),
        refusals=tables.refusals(report),
        refused_principals=tables.refused_principals(result),
        times=tables.times(result),
        fairness=tables.fairness(result),
        providers=tables.providers(result),
        worst=tables.worst(report),
        steps=advice.next_steps(report),
        provenance=report.record["provenance"][: tables.ROWS_MAX],
        broken=[check for check in report.record["checks"] if not check["ok"]],
        again=commands.again(report),
        verify=commands.verify(report),
        digests=tables.digests(report.record),
        how=reading.HOW,
        files=[*report.record["inputs"], *report.record["artefacts"]],
    )


def _figures(report: Report) -> dict[str, ReportFigure]:
    """Return the figures that a bundle allows, by their place on the page."""
    result, view = report.result, report.series
    drawn = {}
    if result.gates:
        drawn["gates"] = figures.gates(result)
    if view is not None:
        drawn["timeline"] = figures.timeline(view, result)
        drawn["load"] = figures.load(view, result)
        if len(result.names("principal")) > max(len(result.names("class")), 1):
            drawn["principals"] = figures.load(view, result, by="principal")
        levels = [] if report.profile is None else bucket_levels(view, report.profile)
        if report.profile is not None and any(level.lowest < BUCKET_SHOWN for level in levels):
            drawn["buckets"] = figures.bucket_levels(view, result, report.profile)
        drawn["waits"] = figures.wait_distribution(view, result)
    if len(result.names("principal")) > 1:
        drawn["fairness"] = figures.fairness(result)
    return drawn


def template(name: str) -> Template:
    """Return a template of this package, which escapes what it is given."""
    environment = Environment(
        loader=PackageLoader("sim.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)
