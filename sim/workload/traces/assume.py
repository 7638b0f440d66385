"""What a trace does not say, filled in by stated assumptions: limits and the time of service.

Every value made here is marked *assumed* in the manifest. This module owns how they are chosen. It must not know how a
manifest is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from sim.workload.traces.figures import Integers, most_in_service, sliding_peak
from sim.workload.traces.replay import TraceSpec, round_half_up
from sim.workload.traces.table import TraceTable
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MIN, NS_PER_MS, NS_PER_S, fraction, ms_text

ASSUMED_SERVICE: Final = "constant 1000"
"""When nothing tells how long a call takes: a second, between a cached answer and a long generation."""

ASSUMED_QUEUE_WAIT_MS: Final = 2_000
"""Longest wait of the assumed profile: past it a person in front of a screen has usually noticed."""

_ROOM: Final = Fraction(5, 4)  # head room of the assumed limits over the trace's own peaks, before rounding up
_ROUND_FIGURES: Final = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100)
_TAIL: Final = 40  # times the mean that an exponential time practically never exceeds: e^-40 is 4e-18 a call

_DISTRIBUTION = re.compile(
    r"(?:(constant|exponential) +)?([0-9]+(?:\.[0-9]+)?)|uniform +([0-9]+(?:\.[0-9]+)?) *\.\. *([0-9]+(?:\.[0-9]+)?)"
)


@dataclass(frozen=True, slots=True)
class ServiceTime:
    """How long calls take, as far as the trace or the user tells.

    Attributes:
        block: What the manifest's ``service_ms`` says.
        kind: ``measured`` or ``assumed``.
        source: Where it comes from.
        typical_ns: Expected time of each row, ns, shape ``(n,)``.
        worst_ns: A time that no call exceeds, or practically none.
    """

    block: str | dict[str, str]
    kind: str
    source: str
    typical_ns: Integers
    worst_ns: int


def service_time(spec: TraceSpec, table: TraceTable, service_ms: str | None) -> ServiceTime:
    """Return how long the calls of a trace take.

    Args:
        spec: How the trace is read and whether its tokens set the time.
        table: Its rows.
        service_ms: A distribution: ``constant 200``, ``uniform 40..160`` or ``exponential 250``, in ms; None to use
            what the trace brings or, failing that, :data:`ASSUMED_SERVICE`.

    Raises:
        ConfigError: If the distribution is none of these.
    """
    if service_ms is None and spec.ms_per_token is not None:
        ns_per_token = fraction(spec.ms_per_token) * NS_PER_MS
        typical = np.array([round_half_up(ns_per_token * tokens) for tokens in table.tokens.tolist()], dtype=np.int64)
        return _brought(typical, "assumed", f"{spec.ms_per_token} ms for each token of the trace, as told")
    if service_ms is None and spec.duration_column is not None:
        return _brought(
            table.duration_ns, "measured", f"column {spec.duration_column!r} of the trace, queueing included if any was"
        )
    text = ASSUMED_SERVICE if service_ms is None else service_ms
    source = "nothing in the trace tells; a round figure" if service_ms is None else f"{text!r}, as told"
    match = _DISTRIBUTION.fullmatch(text.strip())
    if match is None:
        raise ConfigError("--service-ms", text, "constant 200, uniform 40..160 or exponential 250, in ms")
    kind, value, low, high = match.groups()
    if value is None:
        low_ns, high_ns = _whole_ns(low), _whole_ns(high)
        if high_ns < low_ns:
            raise ConfigError("--service-ms", text, "an upper end that is not below the lower one")
        block: str | dict[str, str] = {"kind": "uniform", "min": low, "max": high}
        mean_ns, worst_ns = (low_ns + high_ns) // 2, high_ns
    else:
        mean_ns = _whole_ns(value)
        block = {"kind": "exponential", "mean": value} if kind == "exponential" else value
        worst_ns = _TAIL * mean_ns if kind == "exponential" else mean_ns
    return ServiceTime(block, "assumed", source, np.full_like(table.at_ns, mean_ns), worst_ns)


def assumed_profile(
    table: TraceTable, service: ServiceTime, *, sized: bool, provider: str, principal: str
) -> dict[str, object]:
    """Return a profile under which the trace's own traffic passes with room to spare, in round figures.

    A token bucket that holds what the trace brings in its busiest minute (second, for tokens) and earns as much again
    in one never refuses any of it: longer stretches are made of such minutes.

    Args:
        table: The rows.
        service: How long each is served.
        sized: Whether the rows have tokens.
        provider: Name of the provider.
        principal: Name of the principal, or of the template for several.
    """
    requests = sliding_peak(table.at_ns, NS_PER_MIN)
    in_service = most_in_service(table.at_ns, service.typical_ns)
    workspace: dict[str, object] = {
        "concurrency": generous(in_service),
        "requests_per_minute": generous(requests),
    }
    if sized and table.tokens.any():
        workspace["tokens_per_second"] = generous(sliding_peak(table.at_ns, NS_PER_S, table.tokens))
    workspace["max_queue_length"] = generous(sliding_peak(table.at_ns, NS_PER_S))
    workspace["max_queue_wait_ms"] = ASSUMED_QUEUE_WAIT_MS
    return {
        "profile_version": "assumed-1",
        "workspace": workspace,
        "providers": {provider: {"concurrency": generous(in_service)}},
        "principals": {principal: {}},
    }


def generous(peak: int) -> int:
    """Return a round figure with a quarter of room above a peak.

    >>> generous(67), generous(1), generous(415)
    (100, 2, 600)
    """
    least = -(-peak * _ROOM.numerator // _ROOM.denominator)
    if least <= 10:
        return least
    scale = 1
    while least > 100 * scale:
        scale *= 10
    return next(figure * scale for figure in _ROUND_FIGURES if figure * scale >= least)


def drain_s(service: ServiceTime, queue_wait_ns: int | None) -> int:
    """Return the seconds after which the last request is settled.

    Args:
        service: How long calls take.
        queue_wait_ns: Longest wait that any limit allows, or None: then it is long enough to serve all rows one by one.
    """
    wait_ns = int(service.typical_ns.sum()) if queue_wait_ns is None else queue_wait_ns
    return max(30, -(-(wait_ns + service.worst_ns) // NS_PER_S) + 1)


def _brought(typical_ns: Integers, kind: str, source: str) -> ServiceTime:
    """Return a time that every row brings; the manifest's own figure is then only for show."""
    shown_ms = ms_text(max(NS_PER_MS, int(np.sort(typical_ns)[(len(typical_ns) - 1) // 2])))
    return ServiceTime(shown_ms, kind, source, typical_ns, int(typical_ns.max()))


def _whole_ns(ms: str) -> int:
    value = fraction(ms, "--service-ms") * NS_PER_MS
    if value.denominator != 1 or value <= 0:
        raise ConfigError("--service-ms", ms, "a number of ms above 0, in whole ns")
    return value.numerator
