"""Writes a ``capacity-manifest/v1`` that replays a trace row by row.

This module owns the text of that manifest, comments included: it is a starting point that a person goes on editing.
What the trace does not say comes from :mod:`sim.workload.traces.assume` and is marked *assumed*. It must not run
anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from string import Template
from typing import Final

import numpy as np

from sim.manifest.scalars import HORIZON_MAX_NS
from sim.workload.traces.assume import Load, ServiceTime, service_time
from sim.workload.traces.columns import Reading, TraceOptions
from sim.workload.traces.detect import Detection, detect
from sim.workload.traces.flow import flow, printable
from sim.workload.traces.limits import Limits, assumed_limits, limits_of_file
from sim.workload.traces.replay import TraceSpec
from sim.workload.traces.table import Columns, TraceBlocks
from sim.workload.traces.timestamps import seconds_text
from tollgate.core.errors import ConfigError
from tollgate.core.ids import lane_name
from tollgate.core.units import NS_PER_MS, NS_PER_S, ms_text

_WAIT_BOUND_NS: Final = 1_000 * NS_PER_MS
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")

_TEXT: Final = Template("""\
$header
# What is marked ASSUMED is not in the trace: put your own figures there, and take the entry out of `provenance` below.
schema: capacity-manifest/v1
name: $name
version: 1.0.0    # bytes that change need a new version
mode: offline-fake-provider
seed: 1    # for what is drawn; the arrivals are not
target: {kind: admission-controller, discipline: default}
$profile
phases:
- {name: replay, seconds: $seconds}    # ends after the last arrival; `tollgate run --window SECONDS` runs a part
warmup_seconds: 0    # every row counts
drain_seconds: $drain    # the last request is settled by then
streams:
- name: replay
  principal: $principal
  arrivals:
$arrivals
  providers: {$provider: 1}
  # ASSUMED. Callers who try again: {on_refusal: retry, retry: {kind: fixed, base_ms: 500, max_attempts: 3}}
  client: {on_refusal: give-up}
providers:
- id: $provider
  service_ms: $service
  failures: {kind: independent, probability: 0}    # ASSUMED
gates:    # ASSUMED: put what you promise here
- {id: admitted, metric: admission.ratio, op: ">=", bound: "0.99", estimand: path}
- {id: wait, metric: queue.wait.p99, op: "<=", bound: $wait_bound, unit: ms, estimand: path}
provenance:
$provenance
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOptions:
    """What the user says about the manifest.

    Attributes:
        folder: Folder in which the manifest will lie; the trace is named relative to it.
        profile: A limits file with a ``profile:`` block; None for an assumed profile.
        provider: Which provider of the limits file serves the traffic; needed if it has several.
        principal: Whose limits in the limits file every principal of the trace gets; needed if it has several.
        service_ms: How long calls take: ``constant 200``, ``uniform 40..160`` or ``exponential 250``, ms.
        ms_per_token: A call takes its tokens times this, ms.
        name: Name of the manifest; by default that of the trace.
    """

    folder: Path = Path()
    profile: Path | None = None
    provider: str | None = None
    principal: str | None = None
    service_ms: str | None = None
    ms_per_token: str | None = None
    name: str | None = None


def to_manifest(path: Path, options: TraceOptions, manifest: ManifestOptions) -> str:
    """Return the text of a manifest that replays every row of a trace.

    Args:
        path: The trace.
        options: How to read it.
        manifest: What to write around it.

    Raises:
        ConfigError: If trace, limits file or options cannot be used.
    """
    detection = detect(path, options)
    spec = _spec(path, detection.reading, manifest)
    load = Load(spec, service_time(spec, manifest.service_ms))
    trace = TraceBlocks(path, spec)
    for block in trace:
        _check_span(path, block)
        load.add(block)
    spec = replace(spec, sha256=f"sha256:{trace.sha256}")
    if manifest.profile is not None:
        limits = limits_of_file(manifest.profile, provider=manifest.provider, principal=manifest.principal)
    else:
        limits = assumed_limits(load, principals=trace.principals)
    return _TEXT.substitute(
        header="\n".join(_header(path, detection, load, trace)),
        name=flow(_name(path) if manifest.name is None else lane_name(manifest.name, "--name")),
        profile="\n".join(_profile(limits)),
        seconds=load.span_ns // NS_PER_S + 1,
        drain=load.drain_s(limits.queue_wait_ns),
        principal=_principal(limits, trace.principals),
        arrivals="\n".join(_arrivals(spec)),
        provider=flow(limits.provider),
        service=f"{flow(load.service_block)}    # {_service_mark(spec, manifest)}",
        wait_bound=ms_text(_wait_bound_ns(limits)),
        provenance="\n".join(
            f"- {flow(entry)}" for entry in _provenance(path, detection, trace, spec, load.service, limits)
        ),
    )


def _check_span(path: Path, block: Columns) -> None:
    if int(block.at_ns[-1]) >= HORIZON_MAX_NS:
        beyond = int(np.searchsorted(block.at_ns, HORIZON_MAX_NS))
        got = f"{seconds_text(int(block.at_ns[beyond]))} s after the first"
        allowed = f"a trace shorter than the longest run, {seconds_text(HORIZON_MAX_NS)} s"
        raise ConfigError(f"row {block.lines[beyond]}", got, allowed, file=str(path))


def _spec(path: Path, reading: Reading, manifest: ManifestOptions) -> TraceSpec:
    """Return how the trace is read and served; its digest is known once it was read."""
    settled = asdict(reading)
    if manifest.service_ms is not None and manifest.ms_per_token is not None:
        raise ConfigError(
            "--ms-per-token", manifest.ms_per_token, "absent: --service-ms says already how long calls take"
        )
    if manifest.service_ms is not None and reading.time_is == "end":
        allowed = "absent: an arrival is an end minus a duration here, and each row is served for its duration"
        raise ConfigError("--service-ms", manifest.service_ms, allowed)
    if reading.time_is == "start" and (manifest.service_ms is not None or manifest.ms_per_token is not None):
        settled |= {"duration_column": None, "duration_unit": None}
    for name in (*reading.tokens_columns, reading.time_column, reading.principal_column, reading.duration_column):
        if name is not None and not name.isprintable():
            raise ConfigError(
                "", name, "column names of printable characters: a manifest has to name them", file=str(path)
            )
    file = Path(os.path.relpath(path, manifest.folder)).as_posix()
    if file.encode(errors="replace") != file.encode(errors="surrogatepass"):
        raise ConfigError("", file, "a path in UTF-8: a manifest has to name it", file=str(path))
    return TraceSpec(**settled, file=file, sha256="0" * 64, ms_per_token=manifest.ms_per_token)


def _header(path: Path, detection: Detection, load: Load, trace: TraceBlocks) -> Iterator[str]:
    span = seconds_text(load.span_ns)
    yield f"# Replays the {load.rows:,} rows of {printable(path.name)}, {span} s, each at its own time."
    yield from (f"#   read as: {printable(sentence)}" for sentence in detection.taken)
    yield from (f"#   repaired as asked: {sentence}" for sentence in trace.tally.repairs())
    yield from (f"#   to doubt: {printable(sentence)}" for sentence in detection.doubts)


def _profile(limits: Limits) -> Iterator[str]:
    if limits.file is None:
        yield "# ASSUMED: round figures above the trace's own peaks. Put the limits you run here (or use --profile)."
    else:
        yield f"# The limits of {printable(limits.file)}."
    yield "profile:"
    for key, value in limits.block.items():
        if isinstance(value, Mapping) and key in {"providers", "principals"}:
            yield f"  {key}:"
            yield from (f"    {flow(name)}: {flow(scope)}" for name, scope in value.items())
        else:
            yield f"  {key}: {flow(value)}"


def _principal(limits: Limits, principals: int) -> str:
    name = flow(limits.principal)
    if principals == 1:
        return name
    return f"{name}\n  count: {principals}    # one for each id in the trace, in the order of first appearance"


def _arrivals(spec: TraceSpec) -> Iterator[str]:
    yield from (f"    {key}: {flow(value)}" for key, value in spec.to_mapping().items())
    if not spec.tokens_columns:
        yield "  work: {tokens: 1}    # ASSUMED: the trace has no sizes"


def _service_mark(spec: TraceSpec, manifest: ManifestOptions) -> str:
    if spec.has_service:
        return "not used: every row brings its own time of service"
    return "ASSUMED" if manifest.service_ms is None else "ASSUMED, as told"


def _wait_bound_ns(limits: Limits) -> int:
    """Return a bound that the longest wait allowed does not imply."""
    return _WAIT_BOUND_NS if limits.queue_wait_ns is None else min(_WAIT_BOUND_NS, -(-limits.queue_wait_ns // 2))


def _provenance(
    path: Path, detection: Detection, trace: TraceBlocks, spec: TraceSpec, service: ServiceTime, limits: Limits
) -> Iterator[dict[str, str]]:
    """Yield where the values come from; what a limits file says needs no entry, it is what is tested."""

    def entry(place: str, value: str, kind: str, source: str) -> dict[str, str]:
        return {"path": place, "value": printable(value), "kind": kind, "source": printable(source)}

    arrivals = "streams[0].arrivals"
    yield entry(arrivals, "instants", "measured", f"{spec.time_column!r} of {path.name}")
    yield from (entry(arrivals, "repair", "assumed", f"asked for: {what}") for what in trace.tally.repairs())
    yield from (entry(arrivals, "reading", "assumed", doubt) for doubt in detection.doubts)
    if spec.tokens_columns:
        yield entry(arrivals, "tokens", "measured", f"{' + '.join(map(repr, spec.tokens_columns))} of {path.name}")
    else:
        yield entry("streams[0].work", "1 token", "assumed", "the trace has no sizes")
    yield entry(arrivals if spec.has_service else "providers[0].service_ms", "service", service.kind, service.source)
    yield entry("providers[0].failures", "none", "assumed", "the trace does not tell which calls failed")
    yield entry("streams[0].client", "give up", "assumed", "the trace does not tell who tried again")
    if limits.file is None:
        yield entry("profile", "round figures", "assumed", "a quarter above the trace's own peaks, rounded up")
    yield entry("gates", "bounds", "assumed", "usual promises")


def _name(path: Path) -> str:
    return _NOT_IN_NAME.sub("-", path.stem.lower()).strip("-")[:100] or "trace"
