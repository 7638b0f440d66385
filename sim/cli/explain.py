"""``tollgate explain``: one request's story."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sim.cli import options
from sim.cli.console import note, show
from sim.cli.exits import Exit


def explain(
    subject: Annotated[
        Path,
        typer.Argument(
            parser=options.path, metavar="BUNDLE|MANIFEST", help="A bundle's folder, or a manifest.", show_default=False
        ),
    ],
    *,
    request: Annotated[
        int, typer.Option(metavar="N", help="Which request: its place among the arrivals, from 0.", show_default=False)
    ],
    discipline: options.Discipline = None,
    seed: options.Seed = None,
    window: options.Window = None,
    sets: options.Sets = None,
    assume: options.Assume = None,
    manifest: options.Original = None,
    quiet: options.Quiet = False,
) -> int:
    """Tell what one request met: every limit it was held to, which one bound, how long it waited, how it ended.

    The manifest is run again, watching that request; a bundle is run as it was, unless options change it.
    """
    from sim.cli import progress
    from sim.cli.given import expect_bundle
    from sim.cli.subject import changed, discipline_named, manifest_of
    from sim.evidence import read_bundle
    from sim.evidence.source import installation_root, source_sha256
    from sim.explain import explain as tell
    from sim.manifest import load

    if subject.is_dir():
        expect_bundle(subject)
        bundle = read_bundle(subject)
        loaded = manifest_of(bundle, original=manifest)
        if bundle.record["code"]["source_sha256"] != source_sha256(installation_root()):
            note(f"{subject} was made by other code: the story is of what this code does", quiet=quiet)
        decides = discipline or discipline_named(bundle.record["target"]["discipline"])
    else:
        loaded = load(subject, assume=assume)
        decides = discipline or loaded.discipline
    asked = replace(changed(loaded, sets=sets, seed=seed, window=window), discipline=decides)
    with progress.shown(quiet=quiet) as told:
        story = tell(asked, request, progress=told)
    show(str(story), sys.stdout)
    return Exit.PASS
