"""The ways in which a bundle is read: the summary on a terminal, the HTML page, and what a pipeline shows of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TextIO

from sim.cli import files
from sim.cli.console import emit, printable, show, wants_colour, width
from sim.report import junit as report_junit
from sim.report import markdown as report_markdown
from sim.report import summary as report_summary
from sim.report.report import Report
from sim.textformats import TextOut

NAME: Final = "report.html"
"""Name of the page inside its bundle."""


def summarise(report: Report, stream: TextIO | None, *, page: Path | None) -> None:
    """Write the summary as a stream can show it.

    Args:
        report: The bundle.
        stream: Where to; None if it was never open.
        page: The page, where one was written.
    """
    columns, name = width(stream), None if page is None else str(page)
    plain = report_summary.render(report, width=columns, page=name)
    # Where a name brings control characters of its own, ours would not be told from them.
    if wants_colour(stream) and printable(plain, keep="\n") == plain:
        emit(report_summary.render(report, width=columns, colour=True, page=name), stream)
    else:
        show(plain, stream)


def write(opened: files.Outputs, option: str, path: Path, report: Report) -> None:
    """Write the page; in a bundle it may stand under its own name alone.

    Args:
        opened: The command's outputs.
        option: What named the file, for the complaint.
        path: The file, ``-`` for stdout.
        report: The bundle.

    Raises:
        ConfigError: If it cannot be written.
    """
    out = opened.text(option, path, guest=path.name == NAME)
    from sim.report.page import render  # noqa: PLC0415 - draws with matplotlib, which takes a second to import

    out.write(render(report))


def tell_pipeline(report: Report, *, junit: TextOut | None, markdown: TextOut | None) -> None:
    """Write what a continuous integration system reads.

    Args:
        report: The bundle.
        junit: Where the JUnit XML goes, if anywhere.
        markdown: Where the Markdown summary goes, if anywhere.
    """
    if junit is not None:
        junit.write(report_junit.render(report))
    if markdown is not None:
        markdown.write(report_markdown.render(report))
