"""The report as one HTML page that needs nothing else: no script, no font, no image from anywhere.

Owns how tables and figures become a page. Must not know what a figure shows or where a number comes from. The same
bundle gives the same bytes.
"""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sim.report import figures, story, tables
from sim.report.bundle import ReportInput
from sim.report.style import svg
from sim.report.text import command

BYTES_MAX: Final = 2_000_000
"""Largest page, bytes. Tables and lines are capped, so a page stays far below whatever the run; a mail server's limit
is not far above."""


def render(report: ReportInput) -> str:
    """Return the page of a bundle.

    Args:
        report: The bundle.

    Returns:
        HTML text, below ``BYTES_MAX`` bytes in UTF-8.

    Raises:
        EvidenceError: If the record has not the shape of a record.
    """
    record, result = report.record, report.result
    first = report.binding
    worst = tables.worst_rows(report.slowest, report.path)
    return _template().render(
        record=record,
        verdict=result.verdict,
        seed=result.seed,
        why=story.why(result),
        breach=story.first_breach(result, report.series),
        meaning=story.MEANINGS[result.verdict],
        claim=story.scope_of_claim(result),
        has_series=report.series is not None,
        figures=_figures(report),
        gates=tables.gate_rows(result),
        headroom=tables.headroom_rows(report.headroom, first),
        binding=first,
        binding_load=first and story.described(first.highest, first.unit),
        binding_bound=first and story.described(first.bound, first.unit),
        counts=tables.counts(result),
        refusals=tables.refusals(result),
        waits=tables.waits(result),
        worst=worst,
        steps=story.next_steps(
            result,
            report.headroom,
            manifest=report.manifest_path,
            bundle=report.path,
            worst=worst[0].ordinal if worst else None,
        ),
        provenance=record["provenance"][: tables.ROWS_MAX],
        provenance_left_out=max(0, len(record["provenance"]) - tables.ROWS_MAX),
        broken=sum(not check["ok"] for check in record["checks"]),
        reproduce=report.reproduce,
        verify=command("tollgate", "verify", report.path, "--rerun"),
        bundle=report.path,
        manifest_path=report.manifest_path,
        digests=tables.digests(record),
        files=[*record["inputs"], *record["artefacts"]],
        host=record["host"],
    )


def _figures(report: ReportInput) -> dict[str, Markup]:
    """Return the figures that the bundle allows, as markup: matplotlib escapes the names it is given."""
    result = report.result
    drawn = {}
    if result.gates:
        drawn["gates"] = figures.gates(result)
    if report.series is not None:
        drawn["timeline"] = figures.timeline(report.series, result)
        drawn["load"] = figures.load(report.series, result)
        drawn["waits"] = figures.wait_distribution(report.series, result)
    if len(result.names("principal")) > 1:
        drawn["fairness"] = figures.fairness(result)
    return {name: Markup(svg(fig, prefix=name)) for name, fig in drawn.items()}  # noqa: S704 - see above


def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("sim.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.html")
