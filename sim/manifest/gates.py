"""Gates of a manifest, checked against the registry of metrics and against who and what the manifest names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sim.manifest.capacity import GateBlock
from sim.manifest.model import GateSpec
from sim.manifest.scalars import plain_decimal
from sim.manifest.source import known, unique
from sim.manifest.wording import NOTHING
from sim.metrics import metric_named
from tollgate.core.errors import ConfigError


def gate_specs(blocks: Sequence[GateBlock], labels: Mapping[str, Mapping[str, int]]) -> tuple[GateSpec, ...]:
    """Return the gates.

    Args:
        blocks: As the manifest has them.
        labels: The values that each selector can take in this manifest.

    Raises:
        ConfigError: For two gates of one id, an unknown metric, a selector the metric has not, or a value that nothing
        here has.
    """
    unique([block.id for block in blocks], "gates", "id")
    return tuple(_spec(block, f"gates[{place}]", labels) for place, block in enumerate(blocks))


def _spec(block: GateBlock, path: str, labels: Mapping[str, Mapping[str, int]]) -> GateSpec:
    metric = metric_named(block.metric, f"{path}.metric")
    if block.unit not in {None, metric.unit}:
        raise ConfigError(f"{path}.unit", block.unit, f"{metric.unit}, the unit of {metric.name}, or no unit")
    for selector, value in block.where.items():
        if selector not in metric.selectors:
            allowed = f"selectors of {metric.name}: {', '.join(metric.selectors) or 'none'}"
            raise ConfigError(f"{path}.where.{selector}", value, allowed)
        known(value, labels[selector], f"{path}.where.{selector}", f"a {selector} of this manifest")
    if block.estimand == "hold" and block.min_probability is None:
        raise ConfigError(f"{path}.min_probability", NOTHING, "a decimal above 0 and below 1: a hold gate needs it")
    return GateSpec(
        id=block.id,
        metric=metric.name,
        where=MappingProxyType({str(selector): value for selector, value in block.where.items()}),
        op=block.op,
        bound=plain_decimal(block.bound),
        unit=metric.unit,
        estimand=block.estimand,
        confidence=block.confidence,
        min_probability=block.min_probability,
        severity=block.severity,
    )
