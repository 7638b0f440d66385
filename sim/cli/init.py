"""``tollgate init``: a manifest to begin with."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from sim.cli import options
from sim.cli.console import STDOUT, note
from sim.cli.exits import Exit
from tollgate.core.errors import ConfigError

STARTER: Final = Path(__file__).with_name("starter.yaml")


def init(
    file: Annotated[
        Path, typer.Argument(parser=options.place, metavar="[FILE]", help="The manifest to write; never written over.")
    ] = Path("manifest.yaml"),
    *,
    quiet: options.Quiet = False,
) -> int:
    """Write a commented starter manifest: a service with two kinds of callers, ready to run."""
    from sim.cli import files

    try:
        files.create("FILE", file, STARTER.read_text(encoding="utf-8"))
    except FileExistsError:
        from sim.manifest.wording import Said

        allowed = "a place where nothing is yet: nothing is written over"
        raise ConfigError("FILE", Said("a file that is there"), allowed, file=str(file)) from None
    if file != STDOUT:
        note(f"manifest: {file}; run it with: tollgate run {file}", quiet=quiet)
    return Exit.PASS
