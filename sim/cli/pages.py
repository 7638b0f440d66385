"""The two ways in which a person reads a bundle: the summary on a terminal and the HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TextIO

from sim.cli import files
from sim.cli.console import wants_colour, width
from sim.report import summary as report_summary
from sim.report.report import Report

NAME: Final = "report.html"
"""Name of the page inside its bundle."""


def summary(report: Report, stream: TextIO, *, page: Path | None) -> str:
    """Return the summary as a stream can show it.

    Args:
        report: The bundle.
        stream: Where it will be written.
        page: The page, where one was written.
    """
    return report_summary.render(
        report, width=width(stream), colour=wants_colour(stream), page=None if page is None else str(page)
    )


def write(option: str, path: Path, report: Report) -> None:
    """Write the page.

    Args:
        option: What named the file, for the complaint.
        path: The file, ``-`` for stdout.
        report: The bundle.

    Raises:
        ConfigError: If it cannot be written.
    """
    from sim.report.page import render  # noqa: PLC0415 - draws with matplotlib, which takes a second to import

    files.write(option, path, render(report))
