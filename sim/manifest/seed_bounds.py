"""Bounds of the seed's manifests as gates: which metric each speaks of, and in which unit.

A gate keeps the bound's own name as its id, so that an export in the seed's form can name it. This table is the only
place that relates the two vocabularies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from sim.manifest.model import GateSpec, Op
from sim.manifest.scalars import plain_decimal
from sim.manifest.seed_shape import BoundsV1, BoundsV2
from sim.metrics import BY_NAME


@dataclass(frozen=True, slots=True)
class SeedBound:
    """One bound of the seed.

    Attributes:
        name: As the seed spells it.
        metric: Our metric.
        op: What must hold.
        where: Selectors.
        scale: Our unit in units of the seed's bound.
    """

    name: str
    metric: str
    op: Op = "<="
    where: MappingProxyType[str, str] = field(default_factory=lambda: MappingProxyType({}))
    scale: Fraction = Fraction(1)


SEED_BOUNDS: Final = (
    SeedBound("maximumActiveCalls", "active.max"),
    SeedBound("maximumQueuedCalls", "queue.length.max"),
    # A Python process has no heap of its own to measure apart: its peak resident size stands for both.
    SeedBound("maximumHeapUsedMiB", "host.rss_peak"),
    SeedBound("maximumResidentMemoryMiB", "host.rss_peak"),
    SeedBound("maximumCpuPercentOneCore", "host.cpu_ratio", scale=Fraction(1, 100)),
    SeedBound("maximumEligibleLaneWaitMs", "lane.eligible_wait.max"),
    SeedBound("maximumRetryAmplificationRatio", "retry.amplification"),
    SeedBound("maximumCancellationLatencyMs", "cancel.latency.max"),
    SeedBound("minimumQuietPrincipalAdmissionRatio", "admission.ratio", ">=", MappingProxyType({"class": "quiet"})),
)
"""Every bound of both versions, in the order of the seed's records."""


def seed_gates(bounds: BoundsV1 | BoundsV2) -> tuple[GateSpec, ...]:
    """Return a gate for each bound that the manifest sets, in the order of the seed's records."""
    limits = bounds.entries()
    return tuple(
        GateSpec(
            id=bound.name,
            metric=bound.metric,
            where=bound.where,
            op=bound.op,
            bound=plain_decimal(limit * bound.scale),
            unit=BY_NAME[bound.metric].unit,
            estimand="path",
        )
        for bound in SEED_BOUNDS
        if isinstance(limit := limits.get(bound.name), Fraction)
    )
