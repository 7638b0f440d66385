"""Arguments and options that several commands share, each with its one line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from sim.cli.console import STDOUT


def path(text: str | Path) -> Path:
    """Return a path that a user typed; a parser of typer, which hands a default over as it is.

    Raises:
        typer.BadParameter: If no path can look like that. The empty one would mean the current folder, which nobody
            who leaves a variable of a script unset wants to be written to.
    """
    if not str(text) or "\0" in str(text):
        raise typer.BadParameter(f"got {str(text)!r}; allowed: a path")
    return Path(text)


def place(text: str | Path) -> Path:
    """Return where an output goes, likewise; stdout has one name then.

    Opened a second time by its name in ``/dev``, what goes there would overwrite what else is printed.
    """
    return STDOUT if str(text) == "/dev/stdout" else path(text)


Manifest = Annotated[
    Path, typer.Argument(parser=path, metavar="MANIFEST", help="A manifest: JSON or YAML.", show_default=False)
]

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
    typer.Option(parser=path, metavar="FILE", help="Assumptions that complete a manifest of the seed's version 1."),
]

Original = Annotated[
    Path | None,
    typer.Option(
        "--manifest",
        parser=path,
        metavar="FILE",
        help="The manifest where it was: for a trace it names beside it, or a record without its bundle.",
    ),
]

JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        parser=place,
        metavar="FILE",
        help="Write the gates as JUnit XML, a case each, for a pipeline; - for stdout.",
    ),
]

Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        parser=place,
        metavar="FILE",
        help="Write the summary as Markdown, for a job's page; - for stdout.",
    ),
]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on the way: no progress, no remarks.")]
