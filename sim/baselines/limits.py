"""The limits as the reference sees them: milliseconds, and rates as IEEE doubles.

The reference computes its bucket levels and its shares in doubles, and a level's last bit decides now and then. So an
exact rate becomes the nearest double here, which is the double that the manifest's text stands for. An absent limit is
``math.inf`` where "no limit" and "a limit that is never reached" are the same, and None where its presence alone
changes a decision.

This module owns that conversion only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, inf

from tollgate.core.units import NS_PER_MS
from tollgate.decision.limits import AdmissionLimits


@dataclass(frozen=True, slots=True)
class ReferenceLimits:
    """One scope's limits; names as in :class:`~tollgate.decision.limits.AdmissionLimits`, times in ms.

    Attributes:
        breaker: Failure threshold, open time in ms and half-open calls, or None.
    """

    concurrency: float = inf
    requests_per_minute: float | None = None
    tokens_per_second: float | None = None
    max_attempts: float = inf
    max_batch_size: float = inf
    max_cost_micros: float | None = None
    allow_unknown_cost: bool = False
    max_queue_length: float = inf
    max_queue_wait_ms: float = inf
    max_request_bytes: float = inf
    max_items: float = inf
    max_retained_work: float | None = None
    max_tokens: float | None = None
    reserved_concurrency: int = 0
    max_principal_share: float | None = None
    breaker: BreakerLimits | None = None

    def share_of(self, pool: float) -> float:
        """Return what one principal may hold of ``pool`` places: at least 1, ``inf`` where nothing is capped.

        The product is a double's, so 0.29 of 100 is 28.
        """
        if self.max_principal_share is None or pool == inf:
            return inf
        return max(1, floor(self.max_principal_share * pool))


@dataclass(frozen=True, slots=True)
class BreakerLimits:
    """A provider's breaker: consecutive failures that open it, ms it stays open, calls let through half-open."""

    failure_threshold: int
    open_ms: int
    half_open_max_calls: int


def reference_limits(limits: AdmissionLimits) -> ReferenceLimits:
    """Return ``limits`` in the reference's units.

    Bursts, weights and the failure-rate window are ours: the reference knows none of them and they are left out. Its
    clock counts whole milliseconds; parts of one are dropped.
    """
    breaker = limits.circuit_breaker
    wait_ns = limits.max_queue_wait_ns
    return ReferenceLimits(
        concurrency=_bound(limits.concurrency),
        requests_per_minute=_double(limits.requests_per_minute),
        tokens_per_second=_double(limits.tokens_per_second),
        max_attempts=_bound(limits.max_attempts),
        max_batch_size=_bound(limits.max_batch_size),
        max_cost_micros=limits.max_cost_micros,
        allow_unknown_cost=limits.allow_unknown_cost,
        max_queue_length=_bound(limits.max_queue_length),
        max_queue_wait_ms=inf if wait_ns is None else wait_ns // NS_PER_MS,
        max_request_bytes=_bound(limits.max_request_bytes),
        max_items=_bound(limits.max_items),
        max_retained_work=limits.max_retained_work,
        max_tokens=limits.max_tokens,
        reserved_concurrency=limits.reserved_concurrency,
        max_principal_share=_double(limits.max_principal_share),
        breaker=None
        if breaker is None
        else BreakerLimits(breaker.failure_threshold, breaker.open_ns // NS_PER_MS, breaker.half_open_max_calls),
    )


def _bound(limit: int | None) -> float:
    return inf if limit is None else limit


def _double(exact: Fraction | None) -> float | None:
    return None if exact is None else float(exact)
