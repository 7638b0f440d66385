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
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder that the bundle goes to.")] = Path("out"),
    page: Annotated[bool, typer.Option("--page", help="Write the HTML page too, report.html in the bundle.")] = False,
    as_json: options.AsJson = False,
    form: Annotated[
        Literal["capacity-result/v1", "decision-load-result/v1"] | None,
        typer.Option("--format", help="Form of the JSON document; implies --json. By default the manifest's own."),
    ] = None,
    arrivals: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every arrival, a line each; - for stdout.")
    ] = None,
    outcomes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every request's outcome, a line each; - for stdout.")
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
    outputs = {"--arrivals": arrivals, "--outcomes": outcomes, "--junit": junit, "--markdown": markdown}
    _check_outputs(manifest, outputs, wants_json=wants_json)
    loaded = changed(load(manifest, assume=assume), sets=sets, seed=seed, window=window)
    _check_inputs_kept(loaded, outputs)
    chosen = forms.form_of(loaded, form) if wants_json else None
    drifted = check_drift(loaded, RETAINED, allow=allow_drift)
    files.folder("--out", out)
    with (
        files.text("--junit", junit) as junit_out,
        files.text("--markdown", markdown) as markdown_out,
    ):
        with (
            files.text("--arrivals", arrivals) as arrivals_out,
            files.text("--outcomes", outcomes) as outcomes_out,
            progress.shown(quiet=quiet) as tell,
        ):
            if loaded.lacks and arrivals_out is not None:
                list_arrivals(loaded, arrivals_out)  # it cannot be run, and its arrivals can be told all the same
            try:
                done = run_once(
                    loaded, discipline=discipline, arrivals_out=arrivals_out, outcomes_out=outcomes_out, progress=tell
                )
            except ConfigError as error:
                raise error.within(file=str(manifest)) from None
        bundle = pack(done, this_tool(), drifted=drifted)
        written = write_bundle(bundle, out)
        if not written.is_new:
            note(f"{written.folder}: the same run was there already; it was left as it is", quiet=quiet)
        report = Report.of(bundle, loaded, path=written.folder, manifest_path=manifest, assume_path=assume)
        pages.tell_pipeline(report, junit=junit_out, markdown=markdown_out)

    page_path = written.folder / pages.NAME if page else None
    if page_path is not None:
        pages.write("--page", page_path, report)
    if chosen is None:
        stream = sys.stderr if STDOUT in outputs.values() else sys.stdout
        emit(pages.summary(report, stream, page=page_path), stream)
    else:
        emit(forms.document(bundle.record, chosen))
        note(f"bundle: {written.folder}", quiet=quiet)
    return of_verdict(bundle.record["verdict"]["overall"])


def _check_inputs_kept(manifest: Manifest, texts: dict[str, Path | None]) -> None:
    """Refuse an output that is a file the run reads, under whatever name: it would be emptied before it is read.

    Raises:
        ConfigError: Naming the option.
    """
    traces = [getattr(stream.arrivals, "path", None) for stream in manifest.streams]
    read = [path for path in (manifest.path, manifest.assumptions_path, *traces) if path is not None and path.exists()]
    for option, path in texts.items():
        if path is not None and path.exists() and any(path.samefile(other) for other in read):
            raise ConfigError(option, str(path), "a file of its own: this one is read by the run")


def _check_outputs(manifest: Path, texts: dict[str, Path | None], *, wants_json: bool) -> None:
    """Refuse outputs that would run into each other or into the manifest.

    Raises:
        ConfigError: Naming the option.
    """
    from sim.cli import files

    taken = {manifest.resolve(): "the manifest"} | ({STDOUT.resolve(): "the JSON document"} if wants_json else {})
    files.check_apart(texts, taken)
