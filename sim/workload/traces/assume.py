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

from sim.workload.traces.figures import Values
from sim.workload.traces.peaks import MostInService, SlidingPeak
from sim.workload.traces.replay import RowService, TraceSpec
from sim.workload.traces.table import Columns
from tollgate.core.errors import ConfigError
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_MIN, NS_PER_MS, NS_PER_S, fraction, ms_text

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
        block: What the manifest's ``service_ms`` says; None where every row brings its own time.
        kind: ``measured`` or ``assumed``.
        source: Where it comes from.
        mean_ns: Expected time of a call that brings none.
        worst_ns: A time that such a call practically never exceeds.
    """

    block: str | dict[str, str] | None
    kind: str
    source: str
    mean_ns: int = 0
    worst_ns: int = 0


def service_time(spec: TraceSpec, service_ms: str | None) -> ServiceTime:
    """Return how long the calls of a trace take.

    Args:
        spec: How the trace is read and whether its tokens set the time.
        service_ms: A distribution: ``constant 200``, ``uniform 40..160`` or ``exponential 250``, in ms; None to use
            what the trace brings or, failing that, :data:`ASSUMED_SERVICE`.

    Raises:
        ConfigError: If the distribution is none of these.
    """
    if service_ms is None and spec.ms_per_token is not None:
        return ServiceTime(None, "assumed", f"{spec.ms_per_token} ms for each token of the trace, as told")
    if service_ms is None and spec.duration_column is not None:
        column = f"column {spec.duration_column!r} of the trace, queueing included if any was"
        return ServiceTime(None, "measured", column)
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
        block = {"kind": "uniform", "min": low, "max": high}
        return ServiceTime(block, "assumed", source, (low_ns + high_ns) // 2, high_ns)
    mean_ns = _whole_ns(value)
    if kind == "exponential":
        return ServiceTime({"kind": "exponential", "mean": value}, "assumed", source, mean_ns, _TAIL * mean_ns)
    return ServiceTime(value, "assumed", source, mean_ns, mean_ns)


class Load:
    """What a trace asks of the limits it meets, gathered while its blocks go by.

    Attributes:
        service: How long calls take.
        rows: Arrivals so far.
        span_ns: From the first to the last.
    """

    def __init__(self, spec: TraceSpec, service: ServiceTime) -> None:
        self.service = service
        self.rows = 0
        self.span_ns = 0
        self._row_service = RowService(spec)
        self._sized = bool(spec.tokens_columns)
        self._times = Values()
        self._minute = SlidingPeak(NS_PER_MIN)
        self._second = SlidingPeak(NS_PER_S)
        self._tokens = SlidingPeak(NS_PER_S)
        self._in_service = MostInService()

    def add(self, block: Columns) -> None:
        """Take in a block of arrivals.

        Raises:
            ConfigError: See :meth:`RowService.of`.
        """
        served = self._row_service.of(block) if self.service.block is None else None
        if served is None:
            served = np.full_like(block.at_ns, self.service.mean_ns)
        self.rows += len(block.at_ns)
        self.span_ns = int(block.at_ns[-1])
        self._times.add(served)
        self._minute.add(block.at_ns)
        self._second.add(block.at_ns)
        if self._sized:
            self._tokens.add(block.at_ns, block.tokens)
        self._in_service.add(block.at_ns, served)

    @property
    def service_block(self) -> str | dict[str, str]:
        """What the manifest's ``service_ms`` says; only for show where every row brings its own time."""
        if self.service.block is not None:
            return self.service.block
        return ms_text(max(NS_PER_MS, self._times.quantiles().median))

    def profile(self, *, provider: str, principal: str) -> dict[str, object]:
        """Return a profile under which the trace's own traffic passes with room to spare, in round figures.

        A token bucket that holds what the trace brings in its busiest minute (second, for tokens) and earns as much
        again in one never refuses any of it: longer stretches are made of such minutes.

        Args:
            provider: Name of the provider.
            principal: Name of the principal, or of the template for several.
        """
        concurrency = generous(max(1, self._in_service.peak()))
        workspace: dict[str, object] = {
            "concurrency": concurrency,
            "requests_per_minute": generous(self._minute.peak()),
        }
        if self._sized and self._tokens.peak():
            workspace["tokens_per_second"] = min(generous(self._tokens.peak()), MAX_SAFE_INTEGER)
        workspace["max_queue_length"] = generous(self._second.peak())
        workspace["max_queue_wait_ms"] = ASSUMED_QUEUE_WAIT_MS
        return {
            "profile_version": "assumed-1",
            "workspace": workspace,
            "providers": {provider: {"concurrency": concurrency}},
            "principals": {principal: {}},
        }

    def drain_s(self, queue_wait_ns: int | None) -> int:
        """Return the seconds after which the last request is settled.

        Args:
            queue_wait_ns: Longest wait that any limit allows, or None: then it is long enough to serve all rows one by
                one.
        """
        wait_ns = self._times.total if queue_wait_ns is None else queue_wait_ns
        worst_ns = self._times.max if self.service.block is None else self.service.worst_ns
        return max(30, -(-(wait_ns + worst_ns) // NS_PER_S) + 1)


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


def _whole_ns(ms: str) -> int:
    value = fraction(ms, "--service-ms") * NS_PER_MS
    if value.denominator != 1 or value <= 0:
        raise ConfigError("--service-ms", ms, "a number of ms above 0, in whole ns")
    return value.numerator
