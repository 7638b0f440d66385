"""``tollgate trace``: recorded traffic looked at, and made into a manifest."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sim.cli import options
from sim.cli.console import STDOUT, emit, json_text, note, show
from sim.cli.exits import Exit

if TYPE_CHECKING:
    from sim.workload.traces.columns import TraceOptions

app = typer.Typer(help="Recorded traffic: look at it, and make a manifest that replays it.", rich_markup_mode=None)

File = Annotated[
    Path,
    typer.Argument(
        parser=options.path, metavar="FILE", help="The trace: CSV, JSON lines or an access log.", show_default=False
    ),
]


def _reading(
    *,
    format_: Annotated[
        str | None, typer.Option("--format", metavar="csv|jsonl|clf", help="How rows are written.")
    ] = None,
    time_column: Annotated[str | None, typer.Option(metavar="C", help="Column of the instants.")] = None,
    time_unit: Annotated[
        str | None, typer.Option(metavar="date-time|s|ms|us|ns", help="What they are written in.")
    ] = None,
    time_is: Annotated[
        str | None,
        typer.Option(metavar="start|end", help="Whether they start or end a request; an end needs a duration."),
    ] = None,
    tokens_columns: Annotated[
        str | None, typer.Option(metavar="A,B", help="Columns whose sum is the size of a request; empty for none.")
    ] = None,
    principal_column: Annotated[
        str | None, typer.Option(metavar="C", help="Whom a request belongs to; empty for none.")
    ] = None,
    duration_column: Annotated[
        str | None, typer.Option(metavar="C", help="How long a request took; empty for none.")
    ] = None,
    duration_unit: Annotated[str | None, typer.Option(metavar="s|ms|us|ns", help="What that is written in.")] = None,
    missing_size: Annotated[
        int | None, typer.Option(metavar="N", help="What a missing size counts as; counted.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="Put rows that step back in time into order; counted.")] = False,
    split_on_step_back: Annotated[
        bool,
        typer.Option(
            "--split-on-step-back", help="Lay captures that follow each other in the file end to end; counted."
        ),
    ] = False,
    segment: Annotated[int | None, typer.Option(metavar="K", help="Take only the K-th of these captures.")] = None,
    segment_gap_seconds: Annotated[
        str | None, typer.Option(metavar="S", help="Leave so many seconds between two of them.")
    ] = None,
    drop_invalid: Annotated[
        bool, typer.Option("--drop-invalid", help="Leave out rows that cannot be used; counted.")
    ] = False,
) -> TraceOptions:
    """Return what the user says about a trace. Its parameters are options of every command that reads one."""
    from sim.workload.traces.columns import TraceOptions

    return TraceOptions(
        format=format_,
        time_column=time_column,
        time_unit=time_unit,
        time_is=time_is,
        tokens_columns=_columns(tokens_columns),
        principal_column=principal_column,
        duration_column=duration_column,
        duration_unit=duration_unit,
        missing_size=missing_size,
        sort=sort,
        split_on_step_back=split_on_step_back,
        segment=segment,
        segment_gap_seconds=segment_gap_seconds,
        drop_invalid=drop_invalid,
    )


def _columns(names: str | None) -> tuple[str, ...] | None:
    """Return the columns of a list with commas; an empty text is an empty list, which says that there are none."""
    return None if names is None else tuple(name for name in names.split(",") if name)


def _reads_a_trace(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of :func:`_reading`, in the place of its own parameter ``reading``.

    typer reads options from a signature, and has no way to share a group of them.
    """
    late = {"TraceOptions": object}  # imported by those who call, so unknown to whoever reads a signature here
    shared = inspect.signature(_reading, eval_str=True, locals=late)
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True, locals=late).parameters.values():
        parameters += shared.parameters.values() if parameter.name == "reading" else [parameter]

    @wraps(command, assigned=("__name__", "__doc__"))
    def with_options(**given: Any) -> int:  # noqa: ANN401 - what typer read, each of its own type
        reading = _reading(**{name: given.pop(name) for name in shared.parameters})
        return command(reading=reading, **given)

    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions may have one
    return with_options


@app.command("inspect")
@_reads_a_trace
def inspect_trace(
    file: File,
    *,
    reading: TraceOptions,
    as_json: options.AsJson = False,
) -> int:
    """Describe a trace: rate, burstiness, sizes, what was taken for what, and what to doubt."""
    from sim.workload.traces.inspect import inspect as describe

    found = describe(file, reading)
    if as_json:
        emit(json_text(found.to_json()))
    else:
        show(found.render(), sys.stdout)
    return Exit.PASS


@app.command("to-manifest")
@_reads_a_trace
def to_manifest(
    file: File,
    *,
    reading: TraceOptions,
    profile: Annotated[
        Path | None,
        typer.Option(
            parser=options.path,
            metavar="FILE",
            help="The limits you run: a file with a profile: block. Without it they are assumed.",
        ),
    ] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which provider of the profile serves this traffic.")
    ] = None,
    principal: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose limits in the profile the trace's principals get.")
    ] = None,
    service_ms: Annotated[
        str | None,
        typer.Option(
            metavar="DIST", help='How long calls take, ms: "constant 200", "uniform 40..160", "exponential 250".'
        ),
    ] = None,
    ms_per_token: Annotated[
        str | None, typer.Option(metavar="X", help="A call takes its tokens times this, ms.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Name of the manifest; by default the trace's.")
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            parser=options.place,
            metavar="FILE",
            help="The manifest, written over if it is there; - for stdout.",
        ),
    ] = STDOUT,
    quiet: options.Quiet = False,
) -> int:
    """Write a manifest that replays every row of a trace at its own time."""
    from sim.cli import files
    from sim.report.text import command
    from sim.workload.traces.to_manifest import ManifestOptions
    from sim.workload.traces.to_manifest import to_manifest as manifest_of

    around = ManifestOptions(
        folder=out.parent,
        profile=profile,
        provider=provider,
        principal=principal,
        service_ms=service_ms,
        ms_per_token=ms_per_token,
        name=name,
    )
    with files.outputs(reads=[file, profile]) as opened:
        opened.text("--out", out).write(manifest_of(file, reading, around))
    if out != STDOUT:
        note(f"manifest: {out}; run it with: {command('tollgate', 'run', str(out))}", quiet=quiet)
    return Exit.PASS
