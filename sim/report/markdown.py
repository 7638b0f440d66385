"""A report as Markdown, fit for the summary of a continuous integration job or a comment on a change.

Owns layout. Says what the terminal's summary says, without what only the bundle's holder can use. Must not know where
the text will be shown: it uses headings, tables and code blocks as GitHub and GitLab both render them, and no HTML.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from sim.gates.verdict import Verdict
from sim.report import advice, breach, commands, story, tables
from sim.report.markup import markdown, markdown_code
from sim.report.report import Report
from sim.report.text import plural

GATES_MAX: Final = 100
"""Gates shown; where there are more, those with the worse verdicts. A job's summary is cut, or refused, at 1 MiB."""

_GATE_HEAD: Final = ("gate", "verdict", "observed", "bound", "margin", "note")
_GATE_FIGURES: Final = {2, 3, 4}


def render(report: Report) -> str:
    """Return the report as Markdown; the last line is ended."""
    parts = [_verdict(report), _gates(report), _binds(report), _refusals(report), _again(report), _next(report)]
    return "\n\n".join(block for part in parts for block in part) + "\n"


def _verdict(report: Report) -> Iterator[str]:
    result, manifest = report.result, report.record["manifest"]
    of = markdown(f"{manifest['name']} {manifest['version']}")
    yield f"## {result.verdict}: {of}, seed {result.seed}"
    yield markdown(story.why(result))
    if missed := result.counted("FAIL"):
        yield markdown(breach.first_breach(missed, report.series, report.slowest))
    yield markdown(f"{story.MEANINGS[result.verdict]} {story.scope_of_claim(result)}")


def _gates(report: Report) -> Iterator[str]:
    rows = tables.gates(report.result)
    if not rows:
        return
    shown = rows
    if len(rows) > GATES_MAX:
        shown = sorted(rows, key=lambda row: -Verdict(row.verdict).weight)[:GATES_MAX]
    yield "### Gates"
    cells = [
        (
            markdown(row.id),
            f"**{row.verdict}**",
            *(markdown(cell) for cell in (row.observed, row.bound, row.margin, row.note)),
        )
        for row in shown
    ]
    yield _table(_GATE_HEAD, cells, figures=_GATE_FIGURES)
    if len(shown) < len(rows):
        yield f"{plural(len(rows) - len(shown), 'more gate')} came to nothing worse than these."


def _binds(report: Report) -> Iterator[str]:
    if report.binds_first is not None:
        yield markdown(report.binds_first)


def _refusals(report: Report) -> Iterator[str]:
    table = tables.refusals(report)
    if not table.rows:
        return
    yield "### Refused"
    figures = set(range(table.names, len(table.head)))
    yield _table(table.head, [[markdown(cell) for cell in row] for row in table.rows], figures=figures)
    if table.left_out:
        yield f"{plural(table.left_out, 'row')} more did not fit."


def _again(report: Report) -> Iterator[str]:
    record = report.record
    yield "### Reproduce"
    yield markdown_code(commands.again(report))
    manifest = record["manifest"]["sha256"]
    yield f"Bundle {markdown(report.path)}, record `{record['digest']}`, manifest `sha256:{manifest}`."


def _next(report: Report) -> Iterator[str]:
    yield "### Next"
    for step in advice.next_steps(report):
        yield markdown(step.text)
        if step.command is not None:
            yield markdown_code(step.command)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, figures: set[int]) -> str:
    """Return a table of cells that are Markdown already, under a head that is not yet."""
    rule = ["--:" if at in figures else "---" for at in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ([markdown(name) for name in head], rule, *rows))
