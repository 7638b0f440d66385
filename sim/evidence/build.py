"""From a finished run to its record.

Owns which fact of a run goes where in a record: rows sorted, numbers as integers or decimal texts, and a plan that is a
function of manifest and seed alone, so that nothing in it can have been chosen after the results. It must not know
files; writing is ``sim.evidence.bundle``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, Protocol

from sim.evidence.overrides import overrides_of
from sim.evidence.record import judge, observation_key, seal
from sim.evidence.schema import (
    DRIFT,
    OFFLINE_PASSED,
    SCHEMA,
    Artefact,
    Code,
    Flag,
    InputRef,
    ManifestRef,
    Plan,
    ProvenanceRow,
    Record,
    RunRef,
    Target,
    VerdictRow,
)
from sim.evidence.source import Tool
from sim.gates import Callers, CheckRow, GateRow, Guarantees, ObservationRow
from sim.manifest.clients import Client
from sim.manifest.model import GateSpec, Manifest
from sim.manifest.processes import Closed
from tollgate.core.errors import EvidenceError
from tollgate.core.units import NS_PER_MS, decimal_text

OFFLINE_MODE: Final = "offline-fake-provider"
SHIPPED_DISCIPLINE: Final = "default"

VIRTUAL_DURATION: Final = "duration.virtual"
"""Observation that every record has beside the metrics; the seed's form asks for it."""

DEFAULT_CONFIDENCE: Final = "0.95"
"""Confidence of a gate that states none (contract: gates)."""

_UNSEALED: Final = "sha256:" + "0" * 64


class SeriesSource(Protocol):
    """What a run knows over time."""

    def to_json(self) -> object:
        """Return it as JSON values without floats."""


class RunLike(Protocol):
    """What a record needs of a run; ``sim.experiment.Run`` has it."""

    @property
    def manifest(self) -> Manifest:
        """What was run, overrides applied."""

    @property
    def discipline(self) -> str:
        """Which discipline decided."""

    @property
    def seed(self) -> int:
        """Root of the random streams."""

    @property
    def observations(self) -> Sequence[ObservationRow]:
        """The run's numbers."""

    @property
    def checks(self) -> Sequence[CheckRow]:
        """Its self-checks."""

    @property
    def series(self) -> SeriesSource | None:
        """Its series, or None where only observations were asked for."""

    @property
    def slowest(self) -> Sequence[Mapping[str, object]]:
        """Its worst requests."""

    @property
    def end_ns(self) -> int:
        """End of the drain, ns from the start."""

    @property
    def arrivals_sha256(self) -> str:
        """Hex digest of the arrivals' text."""

    @property
    def outcomes_sha256(self) -> str:
        """Hex digest of the outcomes' text."""

    @property
    def host(self) -> Mapping[str, int | str]:
        """Figures of the machine: ``python``, ``platform``, ``arch``; ``host.rss_peak`` stands under ``rss_peak``."""


def plan_of(manifest: Manifest, *, seed: int) -> Plan:
    """Return everything that decides a verdict but the results.

    Args:
        manifest: What is to be run, overrides applied.
        seed: Of the one run.
    """
    guarantees = guarantees_of(manifest)
    gates = [_gate_row(spec, guarantees.value(spec.metric, spec.where, spec.op)) for spec in manifest.gates]
    return Plan(
        n=1,
        seeds=[seed],
        window_ns=manifest.horizon_ns,
        warmup_ns=manifest.warmup_ns,
        gates=gates,
        method="single-run",
        confidence=DEFAULT_CONFIDENCE,
    )


def _gate_row(spec: GateSpec, guaranteed: Fraction | None) -> GateRow:
    """Return the row of a manifest's gate; what the configuration keeps its metric from crossing is in its unit."""
    return GateRow(
        id=spec.id,
        metric=spec.metric,
        where=dict(spec.where),
        op=spec.op,
        bound=spec.bound,
        unit=spec.unit,
        estimand=spec.estimand,
        confidence=decimal_text(spec.confidence),
        min_probability=None if spec.min_probability is None else decimal_text(spec.min_probability),
        severity=spec.severity,
        guaranteed=None if guaranteed is None else decimal_text(guaranteed),
    )


def guarantees_of(manifest: Manifest) -> Guarantees:
    """Return what the limits of a manifest guarantee whatever the traffic."""
    names = [principal.name for principal in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    callers = [
        _callers(
            stream.client,
            [names[at] for at in stream.principals],
            [providers[at] for at, _ in stream.providers],
            population=stream.arrivals.population if isinstance(stream.arrivals, Closed) else None,
        )
        for stream in manifest.streams
    ]
    if manifest.client is not None:  # the seed's manifests: everybody calls everybody
        callers.append(_callers(manifest.client, names, providers))
    return Guarantees(
        manifest.profile,
        {principal.name: principal.cls for principal in manifest.principals},
        callers,
        span_ns=manifest.horizon_ns + manifest.drain_ns - manifest.warmup_ns,
        is_shipped=manifest.discipline == SHIPPED_DISCIPLINE,
    )


def _callers(client: Client, principals: list[str], providers: list[str], *, population: int | None = None) -> Callers:
    return Callers(
        principals,
        providers,
        max_attempts=client.max_attempts,
        timeout_ns=client.timeout_ns,
        heeds_cancellation=client.abortable_backoff,
        population=population,
        leaves_calls=client.abandon == "provider-continues" and not client.frees_abandoned,
    )


def build_record(run: RunLike, tool: Tool, artefacts: Sequence[Artefact], *, drifted: bool = False) -> Record:
    """Return the sealed record of a run.

    Args:
        run: The run.
        tool: The code that made it.
        artefacts: The files beside the record.
        drifted: Whether the manifest's bytes differ from those retained under its name and version.

    Raises:
        EvidenceError: For a manifest that was not run offline, or a number without a canonical form.
    """
    manifest = run.manifest
    if manifest.mode != OFFLINE_MODE:
        raise EvidenceError(
            f"{manifest.path}: mode: got {manifest.mode!r}; allowed: {OFFLINE_MODE!r}, the one that runs"
        )
    plan = plan_of(manifest, seed=run.seed)
    observations = sorted([*run.observations, _duration(run)], key=observation_key)
    gates, verdict = judge(plan["gates"], observations, run.checks, run.host)
    return seal(
        Record(
            schema=SCHEMA,
            tool_version=tool.version,
            manifest=ManifestRef(
                name=manifest.name, version=manifest.version, schema=manifest.schema, sha256=manifest.sha256
            ),
            inputs=[InputRef(name=file.name, sha256=file.sha256, bytes=file.bytes) for file in manifest.inputs],
            target=Target(kind=manifest.target_kind, discipline=run.discipline),
            overrides=overrides_of(manifest),
            code=Code(source_sha256=tool.source_sha256, git_commit=tool.git_commit, dirty=tool.dirty),
            lock_sha256=tool.lock_sha256,
            plan=plan,
            plan_digest=_UNSEALED,
            runs=[
                RunRef(
                    seed=run.seed,
                    observations_digest=_UNSEALED,
                    arrivals_sha256=run.arrivals_sha256,
                    outcomes_sha256=run.outcomes_sha256,
                )
            ],
            observations=observations,
            checks=list(run.checks),
            gates=gates,
            verdict=verdict,
            flags=_flags(run, verdict, drifted=drifted),
            provenance=[
                ProvenanceRow(path=row.path, value=row.value, kind=row.kind, source=row.source)
                for row in manifest.provenance
            ],
            artefacts=list(artefacts),
            observations_digest=_UNSEALED,
            host=dict(run.host),
            digest=_UNSEALED,
        )
    )


def _duration(run: RunLike) -> ObservationRow:
    """Return how long the run went on in virtual time, drain included, ms."""
    duration = decimal_text(Fraction(run.end_ns, NS_PER_MS))
    return ObservationRow(metric=VIRTUAL_DURATION, labels={}, value=duration, unit="ms", n=1, half_width=None)


def _flags(run: RunLike, verdict: VerdictRow, *, drifted: bool) -> list[Flag]:
    """Return the flags a run has earned.

    ``load-manifest-offline-passed`` says that the limits of this manifest passed, so the run must have been of the
    manifest as it stands, nothing overridden or cut or drifted, through the controller that ships and not a baseline.
    ``load-manifest-qualified`` takes a staged provider, which no offline run can stand for.
    """
    manifest = run.manifest
    as_written = (
        not drifted
        and not overrides_of(manifest)
        and manifest.horizon_ns == manifest.declared_horizon_ns
        and run.discipline == SHIPPED_DISCIPLINE
    )
    passed = as_written and verdict["overall"] == "PASS"
    earned: dict[Flag, bool] = {OFFLINE_PASSED: passed, DRIFT: drifted}
    return sorted(flag for flag, holds in earned.items() if holds)
