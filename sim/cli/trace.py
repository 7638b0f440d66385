"""``tollgate trace``: recorded traffic looked at, and made into a manifest."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.cli import options
from sim.cli.console import STDOUT, emit, json_text, note, show
from sim.cli.exits import Exit

app = typer.Typer(help="Recorded traffic: look at it, and make a manifest that replays it.", rich_markup_mode=None)

File = Annotated[
    Path,
    typer.Argument(
        parser=options.path, metavar="FILE", help="The trace: CSV, JSON lines or an access log.", show_default=False
    ),
]
Format = Annotated[str | None, typer.Option("--format", metavar="csv|jsonl|clf", help="How rows are written.")]
TimeColumn = Annotated[str | None, typer.Option(metavar="C", help="Column of the instants.")]
TimeUnit = Annotated[str | None, typer.Option(metavar="date-time|s|ms|us|ns", help="What they are written in.")]
TimeIs = Annotated[
    str | None, typer.Option(metavar="start|end", help="Whether they start or end a request; an end needs a duration.")
]
TokensColumns = Annotated[
    str | None, typer.Option(metavar="A,B", help="Columns whose sum is the size of a request; empty for none.")
]
PrincipalColumn = Annotated[str | None, typer.Option(metavar="C", help="Whom a request belongs to; empty for none.")]
DurationColumn = Annotated[str | None, typer.Option(metavar="C", help="How long a request took; empty for none.")]
DurationUnit = Annotated[str | None, typer.Option(metavar="s|ms|us|ns", help="What that is written in.")]
MissingSize = Annotated[int | None, typer.Option(metavar="N", help="What a missing size counts as; counted.")]
Sort = Annotated[bool, typer.Option("--sort", help="Put rows that step back in time into order; counted.")]
Split = Annotated[
    bool,
    typer.Option("--split-on-step-back", help="Lay captures that follow each other in the file end to end; counted."),
]
Segment = Annotated[int | None, typer.Option(metavar="K", help="Take only the K-th of these captures.")]
SegmentGap = Annotated[str | None, typer.Option(metavar="S", help="Leave so many seconds between two of them.")]
DropInvalid = Annotated[bool, typer.Option("--drop-invalid", help="Leave out rows that cannot be used; counted.")]


@app.command("inspect")
def inspect(
    file: File,
    *,
    format_: Format = None,
    time_column: TimeColumn = None,
    time_unit: TimeUnit = None,
    time_is: TimeIs = None,
    tokens_columns: TokensColumns = None,
    principal_column: PrincipalColumn = None,
    duration_column: DurationColumn = None,
    duration_unit: DurationUnit = None,
    missing_size: MissingSize = None,
    sort: Sort = False,
    split_on_step_back: Split = False,
    segment: Segment = None,
    segment_gap_seconds: SegmentGap = None,
    drop_invalid: DropInvalid = False,
    as_json: options.AsJson = False,
) -> int:
    """Describe a trace: rate, burstiness, sizes, what was taken for what, and what to doubt."""
    from sim.workload.traces.columns import TraceOptions
    from sim.workload.traces.inspect import inspect as describe

    reading = TraceOptions(
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
    found = describe(file, reading)
    if as_json:
        emit(json_text(found.to_json()))
    else:
        show(found.render(), sys.stdout)
    return Exit.PASS


@app.command("to-manifest")
def to_manifest(
    file: File,
    *,
    format_: Format = None,
    time_column: TimeColumn = None,
    time_unit: TimeUnit = None,
    time_is: TimeIs = None,
    tokens_columns: TokensColumns = None,
    principal_column: PrincipalColumn = None,
    duration_column: DurationColumn = None,
    duration_unit: DurationUnit = None,
    missing_size: MissingSize = None,
    sort: Sort = False,
    split_on_step_back: Split = False,
    segment: Segment = None,
    segment_gap_seconds: SegmentGap = None,
    drop_invalid: DropInvalid = False,
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
    from sim.workload.traces.columns import TraceOptions
    from sim.workload.traces.to_manifest import ManifestOptions
    from sim.workload.traces.to_manifest import to_manifest as manifest_of

    reading = TraceOptions(
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


def _columns(names: str | None) -> tuple[str, ...] | None:
    """Return the columns of a list with commas; an empty text is an empty list, which says that there are none."""
    return None if names is None else tuple(name for name in names.split(",") if name)
