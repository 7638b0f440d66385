"""The report as plain text for a terminal.

Owns layout in columns of characters. Says the same as the page, shorter. Must not know the terminal: width and colour
are told.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from sim.report import advice, breach, commands, reading, story, tables
from sim.report.report import Report

_COLOURS: Final = {"PASS": "32", "FAIL": "31", "INCONCLUSIVE": "33", "INVALID": "35"}
"""ANSI colours (ECMA-48, 8.3.117), beside the word, never in its place."""

_WIDTH_MIN: Final = 40
_WORST: Final = 3
"""Worst requests shown: a screen is short, and the page has the rest."""

_GATE_HEAD: Final = ("gate", "verdict", "observed", "bound", "margin", "runs", "note")
_GATE_FIGURES: Final = {2, 3, 4, 5}


def render(report: Report, *, width: int = 100, colour: bool = False, page: str | None = None) -> str:
    """Return the summary of a bundle.

    Args:
        report: The bundle.
        width: Columns that sentences stay within; commands and table rows are never broken.
        colour: Whether to colour verdicts by ANSI sequences.
        page: Path of the HTML page as a reader types it, where one was written.

    Returns:
        Lines of text, the last one ended.
    """
    columns = max(width, _WIDTH_MIN)
    parts = [_verdict(report, columns, colour=colour), _gates(report, colour=colour), _headroom(report, columns)]
    parts += [_table("refused", tables.refusals(report))]
    parts += [_table("refused by principal", tables.refused_principals(report.result))]
    parts += [_table("times", tables.times(report.result))]
    parts += [_worst(report), _files(report, columns, page), _next(report, columns)]
    blocks = ["\n".join(line.rstrip() for line in part) for part in parts]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _verdict(report: Report, width: int, *, colour: bool) -> Iterator[str]:
    result, manifest = report.result, report.record["manifest"]
    word = _coloured(result.verdict) if colour else result.verdict
    yield f"{word}  {manifest['name']} {manifest['version']}, seed {result.seed}"
    yield from _wrapped(story.why(result), width)
    if missed := result.counted("FAIL"):
        yield from _wrapped(breach.first_breach(missed, report.series, report.slowest), width)
    yield from _wrapped(f"{story.MEANINGS[result.verdict]} {story.scope_of_claim(result)}", width)
    for note in report.closed_loops:
        yield from _wrapped(f"{note}.", width)


def _gates(report: Report, *, colour: bool) -> Iterator[str]:
    rows = tables.gates(report.result)
    cells = [(row.id, row.verdict, row.observed, row.bound, row.margin, row.runs, row.note) for row in rows]
    lines = _columns([_GATE_HEAD, *cells], figures=_GATE_FIGURES) if rows else []
    yield from lines[:1]
    for row, line in zip(rows, lines[1:], strict=bool(rows)):
        # The first word that is the verdict after the id, so that a gate of the name PASS stays plain.
        head, tail = line[: len(row.id)], line[len(row.id) :]
        yield head + tail.replace(row.verdict, _coloured(row.verdict), 1) if colour else line


def _headroom(report: Report, width: int) -> Iterator[str]:
    if report.binds_first is not None:
        yield from _wrapped(report.binds_first, width)


def _table(name: str, table: tables.Table) -> Iterator[str]:
    if table.rows:
        yield name
        figures = set(range(table.names, len(table.head)))
        yield from (f"  {line}" for line in _columns([table.head, *table.rows], figures=figures))


def _worst(report: Report) -> Iterator[str]:
    rows = tables.worst(report)[:_WORST]
    if rows:
        yield "worst requests"
    for row in rows:
        yield f"  {row.ordinal}: {row.outcome}, took {row.took}, waited {row.waited}; {row.held_by}"
        yield f"    {row.command}"


def _files(report: Report, width: int, page: str | None) -> Iterator[str]:
    yield f"bundle  {report.path}"
    if page is not None:
        yield f"page    {page}"
    yield f"record  {report.record['digest']}"
    yield f"again   {commands.again(report)}"
    yield from _wrapped(reading.HOW, width)


def _next(report: Report, width: int) -> Iterator[str]:
    yield "next"
    for step in advice.next_steps(report):
        yield from _wrapped(step.text, width, indent="  ")
        if step.command is not None:
            yield f"    {step.command}"


def _columns(rows: Sequence[Sequence[str]], *, figures: set[int]) -> list[str]:
    """Return rows as lines with their columns aligned: figures to the right, names to the left."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            _padded(cell, wide, right=at in figures) for at, (cell, wide) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _padded(cell: str, width: int, *, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _coloured(verdict: str) -> str:
    return f"\x1b[1;{_COLOURS[verdict]}m{verdict}\x1b[0m"
