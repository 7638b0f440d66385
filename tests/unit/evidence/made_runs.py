"""Hand-made runs: small, complete, and independent of every generator: each figure of a record is known beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from sim.evidence.source import Tool
from sim.manifest.clients import Client, Retry
from sim.manifest.distributions import Constant as Always
from sim.manifest.model import GateSpec, Manifest, Phase, PrincipalInfo, Provenance
from sim.manifest.providers import ProviderModel
from sim.measure import SeriesView
from tollgate.core.canonical import sha256_hex
from tollgate.core.units import NS_PER_S
from tollgate.decision.profile import AdmissionProfile

RAW = b'{"schema":"capacity-manifest/v1","name":"small"}\n'

TOOL = Tool(version="0.1.0", source_sha256="ab" * 32, git_commit="cd" * 20, dirty=False, lock_sha256="ef" * 32)

HOST = {"python": "3.11.7", "platform": "linux", "arch": "x86_64", "rss_peak": "80.500000", "cpu_ratio": "0.012000"}

CHECKS = [{"name": "conservation", "ok": True, "detail": "20 arrivals = 18 completed + 2 shed"}]

PROFILE = AdmissionProfile.from_mapping(
    {
        "profile_version": "small-1",
        "workspace": {"concurrency": 4, "max_queue_length": 8, "max_queue_wait_ms": 2000},
        "providers": {"u": {"concurrency": 3}},
        "principals": {"noisy": {}, "quiet": {}},
    }
)

GATES = (
    GateSpec("quiet-admitted", "admission.ratio", {"class": "quiet"}, ">=", "0.95", "ratio", "path"),
    GateSpec("active", "active.max", {}, "<=", "4", "count", "path"),
    GateSpec("memory", "host.rss_peak", {}, "<=", "512", "mib", "path"),
    GateSpec("amplification", "retry.amplification", {}, "<=", "1.25", "ratio", "path", severity="warn"),
)


def row(metric, value, unit="count", n=1, **labels):
    return {"metric": metric, "labels": labels, "value": value, "unit": unit, "n": n, "half_width": None}


OBSERVATIONS = (
    row("retry.amplification", "1.100000", "ratio", 20),
    row("arrivals", 20),
    row("arrivals", 8, **{"class": "quiet"}),
    row("admission.ratio", "1.000000", "ratio", 8, **{"class": "quiet"}),
    row("active.max", 4),
    row("in_flight.end", 0),
    row("shed.queue-full", 2),
    row("completed", 18),
)


@dataclass(frozen=True)
class Series:
    """Stands for the series of a run."""

    values: dict = field(default_factory=lambda: {"active": [1, 2, 3, 0, 0, 0, 0, 0, 0, 0]})

    def to_json(self):
        return SeriesView(NS_PER_S, 10 * NS_PER_S, self.values).to_json()


SLOW = {
    "ordinal": 7,
    "principal": "noisy",
    "cls": "noisy",
    "provider": "u",
    "phase": "load",
    "outcome": "completed",
    "reason": None,
    "intended_ns": 1_000_000,
    "settled_ns": 2_500_000,
    "sojourn_ns": 1_500_000,
    "wait_ns": 0,
    "attempts": [
        {
            "attempt": 1,
            "requested_ns": 1_000_000,
            "wait_ns": 0,
            "service_ns": 1_500_000,
            "outcome": "completed",
            "reason": None,
            "hold": None,
            "hold_scope": None,
            "hold_text": "not held",
        }
    ],
}


@dataclass(frozen=True)
class MadeRun:
    """Has what ``sim.evidence`` needs of a run."""

    manifest: Manifest
    discipline: str = "default"
    seed: int = 2601
    observations: tuple = OBSERVATIONS
    checks: tuple = tuple(CHECKS)
    series: Series | None = field(default_factory=Series)
    slowest: tuple = (SLOW,)
    end_ns: int = 10 * NS_PER_S
    arrivals_sha256: str = "1" * 64
    outcomes_sha256: str = "2" * 64
    host: dict = field(default_factory=lambda: dict(HOST))


def made_manifest(**changes):
    raw = changes.pop("raw", RAW)
    made = Manifest(
        schema="capacity-manifest/v1",
        name="small",
        version="1.0.0",
        mode="offline-fake-provider",
        seed=2601,
        sha256=sha256_hex(raw),
        raw=raw,
        path=Path("small.yaml"),
        target_kind="admission-controller",
        discipline="default",
        profile=PROFILE,
        phases=(Phase("load", 0, 10 * NS_PER_S),),
        warmup_ns=0,
        drain_ns=NS_PER_S,
        streams=(),
        providers=(ProviderModel("u", Always(5)),),
        principals=(PrincipalInfo("noisy", "noisy"), PrincipalInfo("quiet", "quiet")),
        gates=GATES,
        provenance=(Provenance("providers[0].service_ms", "5", "assumed", "a guess"),),
        client=Client(layers=(Retry("fixed", base_ns=250, max_attempts=2),)),
        declared_horizon_ns=10 * NS_PER_S,
    )
    return replace(made, **changes)


def made_run(**changes):
    """Return a run; keys that are fields of a manifest change its manifest."""
    fields = MadeRun.__dataclass_fields__
    manifest = changes.pop("manifest", None) or made_manifest(**{k: v for k, v in changes.items() if k not in fields})
    return MadeRun(manifest, **{key: value for key, value in changes.items() if key in fields})
