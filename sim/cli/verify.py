"""``tollgate verify``: whether a record still says what was measured."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.cli import options
from sim.cli.console import emit, json_text, line, show
from sim.cli.exits import Exit


def verify(
    evidence: Annotated[
        Path,
        typer.Argument(
            parser=options.path,
            metavar="RECORD|BUNDLE|CHAIN",
            help="A bundle's folder, a record, an export in the seed's form, or a chain (or its folder).",
            show_default=False,
        ),
    ],
    *,
    manifest: options.Original = None,
    assume: options.Assume = None,
    rerun: Annotated[bool, typer.Option("--rerun", help="Run the manifest again and compare what came out.")] = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:
    """Check evidence: digests, the manifest's bytes, the verdict, and with --rerun the run itself.

    Exit code 0 if it holds, 4 if it does not, 2 if there is no evidence at that path. An edited record that was
    digested again is caught by --rerun only. Of a chain all its entries are checked, and each record in force.
    """
    from sim.cli import progress
    from sim.cli.checkout import this_tool
    from sim.cli.given import expect_evidence
    from sim.cli.subject import rerunner
    from sim.evidence import verify as check

    expect_evidence(evidence)
    with progress.shown(quiet=quiet or not rerun) as tell:
        again = rerunner(assume=assume, progress=tell) if rerun else None
        found = check(evidence, this_tool(), manifest=manifest, rerun=again)
    if as_json:
        facts = {
            "subject": found.subject,
            "ok": found.ok,
            "problems": found.problems,
            "differences": [str(difference) for difference in found.differences],
            "notes": found.notes,
            "reran": found.reran,
        }
        emit(json_text(facts))
    else:
        show("".join(f"{line(each)}\n" for each in found.lines()), sys.stdout)
    return Exit.PASS if found.ok else Exit.EVIDENCE
