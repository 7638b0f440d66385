"""``tollgate report``: a bundle as one HTML page, or as what a pipeline reads."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sim.cli import options
from sim.cli.console import STDOUT, note
from sim.cli.exits import Exit
from tollgate.core.errors import ConfigError


def report(
    bundle: Annotated[
        Path, typer.Argument(parser=options.path, metavar="BUNDLE", help="A bundle's folder.", show_default=False)
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            parser=options.place,
            metavar="FILE.html",
            help="The page; - for stdout. By default inside the bundle, or none where --junit or --markdown is given.",
        ),
    ] = None,
    junit: options.JUnit = None,
    markdown: options.Markdown = None,
    manifest: options.Original = None,
    quiet: options.Quiet = False,
) -> int:
    """Write the HTML page of a bundle: one file that needs no network, readable on a phone and on paper.

    With --junit or --markdown it writes those, and the page only if --out names it. The exit code says whether that was
    possible, not what the verdict is.
    """
    from sim.host import collector_paused

    with collector_paused():  # a page is made once and then the process ends: collecting costs a fifth of the time
        return _report(bundle, out, junit, markdown, manifest, quiet=quiet)


def _report(
    bundle: Path, out: Path | None, junit: Path | None, markdown: Path | None, manifest: Path | None, *, quiet: bool
) -> int:
    from sim.cli import files, pages
    from sim.cli.given import expect_bundle
    from sim.cli.subject import manifest_of
    from sim.evidence import read_bundle
    from sim.report.report import Report

    expect_bundle(bundle)
    read = read_bundle(bundle)
    try:
        loaded = manifest_of(read, original=manifest)
    except ConfigError as error:
        note(f"no headroom on the page, for the manifest cannot be read: {error}", quiet=quiet)
        loaded = None
    page = out or (bundle / pages.NAME if junit is None and markdown is None else None)
    at = manifest or read.places["manifest"]
    assumptions = read.places.get("assumptions")
    told = Report.of(read, loaded, path=bundle, manifest_path=at, assume_path=assumptions)
    with files.outputs(reads=[manifest]) as outputs:
        if page is not None:
            pages.write(outputs, "--out", page, told)
        pages.tell_pipeline(
            told, junit=outputs.optional("--junit", junit), markdown=outputs.optional("--markdown", markdown)
        )
    if page is not None and page != STDOUT:
        note(f"page: {page}", quiet=quiet)
    return Exit.PASS
