"""``tollgate run``: a manifest once, its bundle, its verdict."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from sim.cli import options
from sim.cli.console import STDOUT, emit, note
from sim.cli.exits import of_verdict
from tollgate.core.errors import ConfigError

if TYPE_CHECKING:
    from sim.manifest.model import Manifest

RETAINED: Final = Path("evidence")
"""Folder of the records that are kept: a manifest changed under their name and version is refused."""


def run(
    manifest: options.Manifest,
    *,
    discipline: options.Discipline = None,
    seed: options.Seed = None,
    window: options.Window = None,
    sets: options.Sets = None,
    assume: options.Assume = None,
    out: Annotated[
        Path, typer.Option(parser=options.path, metavar="DIR", help="Folder that the bundle goes to.")
    ] = Path("out"),
    page: Annotated[bool, typer.Option("--page", help="Write the HTML page too, report.html in the bundle.")] = False,
    as_json: options.AsJson = False,
    form: Annotated[
        Literal["capacity-result/v1", "decision-load-result/v1"] | None,
        typer.Option("--format", help="Form of the JSON document; implies --json. By default the manifest's own."),
    ] = None,
    arrivals: Annotated[
        Path | None,
        typer.Option(parser=options.place, metavar="FILE", help="Write every arrival, a line each; - for stdout."),
    ] = None,
    outcomes: Annotated[
        Path | None,
        typer.Option(
            parser=options.place, metavar="FILE", help="Write every request's outcome, a line each; - for stdout."
        ),
    ] = None,
    junit: options.JUnit = None,
    markdown: options.Markdown = None,
    allow_drift: Annotated[
        bool,
        typer.Option("--allow-drift", help=f"Run a manifest that differs from the one retained in {RETAINED}/."),
    ] = False,
    quiet: options.Quiet = False,
) -> int:
    """Run a manifest once, on one seed, and judge its gates.

    Writes a bundle (record, manifest, series, worst requests) and prints the verdict with what lies behind it. The
    exit code is the verdict's: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, 4 INVALID.
    """
    from sim.cli import files, forms, pages, progress
    from sim.cli.arrivals import list_arrivals
    from sim.cli.checkout import this_tool
    from sim.cli.subject import changed
    from sim.evidence import check_drift, pack, write_bundle
    from sim.experiment import run as run_once
    from sim.manifest import load
    from sim.report.report import Report

    wants_json = as_json or form is not None
    loaded = changed(load(manifest, assume=assume), sets=sets, seed=seed, window=window)
    chosen = forms.form_of(loaded, form) if wants_json else None
    drifted = check_drift(loaded, RETAINED, allow=allow_drift)
    with files.outputs(reads=_read_by(loaded), stdout="the JSON document" if wants_json else None) as outputs:
        arrivals_out = outputs.optional("--arrivals", arrivals)
        outcomes_out, junit_out, markdown_out = (
            None if loaded.lacks else outputs.optional(option, path)
            for option, path in (("--outcomes", outcomes), ("--junit", junit), ("--markdown", markdown))
        )
        files.folder("--out", out)
        if loaded.lacks and arrivals_out is not None:
            list_arrivals(loaded, arrivals_out)  # it cannot be run, and its arrivals can be told all the same
            outputs.complete()
        with progress.shown(quiet=quiet) as tell:
            try:
                done = run_once(
                    loaded, discipline=discipline, arrivals_out=arrivals_out, outcomes_out=outcomes_out, progress=tell
                )
            except ConfigError as error:
                raise (error if error.path.startswith("--") else error.within(file=str(manifest))) from None
        bundle = pack(done, this_tool(), drifted=drifted)
        written = write_bundle(bundle, out)
        if not written.is_new:
            note(f"{written.folder}: the same run was there already; it was left as it is", quiet=quiet)
        report = Report.of(bundle, loaded, path=written.folder, manifest_path=manifest, assume_path=assume)
        pages.tell_pipeline(report, junit=junit_out, markdown=markdown_out)

    page_path = written.folder / pages.NAME if page else None
    if page_path is not None:
        with files.outputs() as outputs:
            pages.write(outputs, "--page", page_path, report)
    if chosen is None:
        stream = sys.stderr if STDOUT in {arrivals, outcomes, junit, markdown} else sys.stdout
        pages.summarise(report, stream, page=page_path)
    else:
        emit(forms.document(bundle.record, chosen))
        note(f"bundle: {written.folder}", quiet=quiet)
    return of_verdict(bundle.record["verdict"]["overall"])


def _read_by(manifest: Manifest) -> list[Path | None]:
    """Return the files that a run reads."""
    traces = [getattr(stream.arrivals, "path", None) for stream in manifest.streams]
    return [manifest.path, manifest.assumptions_path, *traces]
