"""Arguments and options that several commands share, each with its one line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Manifest = Annotated[Path, typer.Argument(metavar="MANIFEST", help="A manifest: JSON or YAML.", show_default=False)]

Discipline = Annotated[
    Literal["default", "reference"] | None,
    typer.Option(help="Who decides: the controller that ships, or the seed's reference (its manifests only)."),
]

Seed = Annotated[int | None, typer.Option(metavar="N", help="Another root of every random stream than the manifest's.")]

Window = Annotated[
    str | None, typer.Option(metavar="SECONDS", help="Cut the arrivals off after so many simulated seconds.")
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Replace a value of the manifest, such as profile.workspace.concurrency=6, or workspace.concurrency=6 in "
        "one of the seed's; may be repeated.",
    ),
]

Assume = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Assumptions that complete a manifest of the seed's version 1."),
]

Original = Annotated[
    Path | None,
    typer.Option(
        "--manifest",
        metavar="FILE",
        help="The manifest where it was: for a trace it names beside it, or a record without its bundle.",
    ),
]

JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write the gates as JUnit XML, a case each, for a pipeline; - for stdout."
    ),
]

Markdown = Annotated[
    Path | None,
    typer.Option("--markdown", metavar="FILE", help="Write the summary as Markdown, for a job's page; - for stdout."),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way: no progress, no remarks.")]
