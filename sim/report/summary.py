"""The report as plain text for a terminal.

Owns layout in columns of characters. Says the same as the page, shorter. Must not know the terminal: width and colour
are told.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from sim.report import story, tables
from sim.report.bundle import ReportInput

_COLOURS: Final = {"PASS": "32", "FAIL": "31", "INCONCLUSIVE": "33", "INVALID": "35"}
"""ANSI colours (ECMA-48, 8.3.117), beside the word, never in its place."""

_WORST: Final = 3
"""Worst requests shown: a screen is short, and the page has the rest."""


def render(report: ReportInput, *, width: int = 100, colour: bool = False, page: str | None = None) -> str:
    """Return the summary of a bundle.

    Args:
        report: The bundle.
        width: Columns to stay within where words allow; commands and table rows are never broken.
        colour: Whether to colour verdicts by ANSI sequences.
        page: Path of the HTML page as a reader types it, where one was written.

    Returns:
        Lines of text, the last one ended.
    """
    return "\n".join(line.rstrip() for line in _lines(report, max(width, 40), colour, page)) + "\n"


def _lines(report: ReportInput, width: int, colour: bool, page: str | None) -> Iterator[str]:
    result = report.result
    manifest = result.record["manifest"]
    yield f"{_verdict(result.verdict, colour)}  {manifest['name']} {manifest['version']}, seed {result.seed}"
    yield from _wrapped(story.why(result), width)
    if breach := story.first_breach(result, report.series):
        yield from _wrapped(breach, width)
    yield from _wrapped(f"{story.MEANINGS[result.verdict]} {story.scope_of_claim(result)}", width)

    yield from _gates(report, colour)
    if (first := report.binding) is not None:
        load, bound = (story.described(figure, first.unit) for figure in (first.highest, first.bound))
        yield ""
        yield from _wrapped(
            f"Binds first: {first.limit} of {first.scope}, offered {load} at its highest, limit {bound}.", width
        )
    yield from _table("refused", tables.refusals(result))
    yield from _table("waits", tables.waits(result))

    worst = tables.worst_rows(report.slowest, report.path)
    if worst:
        yield from ("", "worst requests")
        for row in worst[:_WORST]:
            yield f"  {row.ordinal}  {row.wait}, {row.outcome}; {row.held_by}"
            yield f"    {row.command}"

    yield from ("", "files", f"  bundle  {report.path}")
    if page is not None:
        yield f"  page    {page}"
    yield f"  record  {result.record['digest']}"
    yield from ("", "again", f"  {report.reproduce}")

    yield from ("", "next")
    steps = story.next_steps(
        result,
        report.headroom,
        manifest=report.manifest_path,
        bundle=report.path,
        worst=worst[0].ordinal if worst else None,
    )
    for step in steps:
        yield from _wrapped(step.text, width, indent="  ")
        if step.command:
            yield f"    {step.command}"


def _gates(report: ReportInput, colour: bool) -> Iterator[str]:
    rows = tables.gate_rows(report.result)
    if not rows:
        return
    yield ""
    head = ("gate", "verdict", "observed", "bound", "margin", "of", "note")
    cells = [(row.id, row.verdict, row.observed, row.bound, row.margin, row.scope, row.note) for row in rows]
    for line, row in zip(_columns([head, *cells], left={0, 1, 5, 6}), [None, *rows], strict=True):
        yield line if row is None else line.replace(row.verdict, _verdict(row.verdict, colour), 1) if colour else line


def _table(name: str, grid: tables.Grid) -> Iterator[str]:
    if grid.rows:
        yield from ("", name)
        for line in _columns([grid.head, *grid.rows], left={0, 1} if name == "refused" else {0}):
            yield f"  {line}"


def _columns(rows: Sequence[Sequence[str]], *, left: set[int]) -> list[str]:
    """Return rows as lines with their columns aligned: texts to the left, figures to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(wide) if at in left else cell.rjust(wide)
            for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _verdict(word: str, colour: bool) -> str:
    return f"\x1b[1;{_COLOURS[word]}m{word}\x1b[0m" if colour else word
