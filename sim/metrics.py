"""The registry of metrics: every name, its unit, what it can be selected by, and which way is better.

Manifests check their gates against it, measurement fills it, verdicts and reports read it; the documentation's table is
checked against it. This module owns names only. It must not know how a metric is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from tollgate.core.deny import DenyReason
from tollgate.core.errors import ConfigError, nearest

Unit = Literal["count", "ratio", "ms", "per_second", "mib"]
Selector = Literal["class", "principal", "provider", "phase"]
Better = Literal["lower", "higher", "neither"]

SELECTORS: Final[tuple[Selector, ...]] = ("class", "principal", "provider", "phase")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric.

    Attributes:
        name: Dotted name, stable for ever.
        unit: Unit of its value.
        selectors: Labels a gate may select it by.
        better: Whether lower or higher values are better for the service, for the arrows in reports.
        host: Whether it depends on the machine; such a metric is kept out of the digest of observations.
    """

    name: str
    unit: Unit
    selectors: tuple[Selector, ...] = SELECTORS
    better: Better = "neither"
    host: bool = False


_LANES: Final[tuple[Selector, ...]] = ("class", "principal", "provider")
"""A wait of a lane belongs to no phase: it may reach over several."""

STOPS: Final = ("budget", "retry-after")
"""What can keep a client from an attempt that its policy had left, in the order of ``sim.trace.Stop``."""


def _waits(prefix: str, *parts: str) -> tuple[Metric, ...]:
    return tuple(Metric(f"{prefix}.{part}", "ms", better="lower") for part in parts)


METRICS: Final[tuple[Metric, ...]] = (
    Metric("arrivals", "count"),
    Metric("attempts", "count", better="lower"),
    Metric("completed", "count", better="higher"),
    Metric("failed", "count", better="lower"),
    Metric("shed", "count", better="lower"),
    *(Metric(f"shed.{reason.value}", "count", better="lower") for reason in DenyReason),
    Metric("cancelled", "count"),
    Metric("in_flight.end", "count", better="lower"),
    *(Metric(f"deferrals.{reason.value}", "count", better="lower") for reason in DenyReason),
    Metric("admission.ratio", "ratio", better="higher"),
    Metric("goodput.ratio", "ratio", better="higher"),
    Metric("goodput.per_second", "per_second", better="higher"),
    Metric("utilisation", "ratio", ("provider", "phase")),
    Metric("active.max", "count"),
    Metric("active.mean", "count"),
    Metric("queue.length.max", "count", better="lower"),
    Metric("queue.length.mean", "count", better="lower"),
    *_waits("queue.wait", "mean", "p50", "p95", "p99", "max"),
    *_waits("queue.dwell", "p99", "max"),
    *_waits("lane.eligible_wait", "max"),
    *_waits("sojourn", "p50", "p95", "p99"),
    *_waits("cancel.latency", "max"),
    Metric("retry.amplification", "ratio", better="lower"),
    Metric("retry.amplification.peak_10s", "ratio", better="lower"),
    *(Metric(f"retry.stopped.{stop}", "count", better="lower") for stop in STOPS),
    Metric("breaker.transitions", "count", ("provider",), "lower"),
    Metric("breaker.open_time", "ms", ("provider",), "lower"),
    Metric("pause.time", "ms", ("provider",), "lower"),
    Metric("fairness.jain", "ratio", ("class", "provider", "phase"), "higher"),
    Metric("fairness.service_lag.max", "count", _LANES, "lower"),
    Metric("fairness.starvation.max", "ms", _LANES, "lower"),
    Metric("recovery.time", "ms", ("class", "provider"), "lower"),
    Metric("recovery.metastable", "count", ("class", "provider"), "lower"),
    Metric("tokens.overestimate.ratio", "ratio", better="lower"),
    Metric("tokens.underestimate.ratio", "ratio", better="lower"),
    Metric("host.rss_peak", "mib", (), "lower", host=True),
    Metric("host.cpu_ratio", "ratio", (), "lower", host=True),
)
"""Every metric this version measures, in the order in which reports list them."""

BY_NAME: Final = {metric.name: metric for metric in METRICS}


def metric_named(name: str, path: str = "metric") -> Metric:
    """Return the metric of a name.

    Args:
        name: A dotted name.
        path: Key path to name in the error.

    Raises:
        ConfigError: If this version measures no such metric, with the nearest name it has.
    """
    metric = BY_NAME.get(name)
    if metric is None:
        raise ConfigError(path, name, f"one of the {len(METRICS)} metrics of this version", hint=nearest(name, BY_NAME))
    return metric
