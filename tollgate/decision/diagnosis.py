"""A diagnosis: every limit one request meets, what it stands at, and whether it lets the request go.

This module owns how the state of the moment is put into words and figures. It changes nothing and decides nothing; the
controller's own checks are in :mod:`tollgate.decision.eligibility`, and a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from tollgate.core.breaker import BreakerState
from tollgate.core.bucket import TokenBucket
from tollgate.core.gauge import Gauge
from tollgate.core.units import decimal_text, ms_text
from tollgate.decision.claims import Holder
from tollgate.decision.evidence import REQUEST_HOLDS, TOKEN_HOLDS, Check, Hold
from tollgate.decision.limits import Scope
from tollgate.decision.pools import RequestLane, Ticket, WorkspacePool
from tollgate.decision.terms import UNLIMITED

QUEUE_SHARE: Final = "max_principal_share of the queue"

_CONCURRENCY_HOLDS: dict[Scope, Hold] = {
    "principal": Hold.PRINCIPAL_CONCURRENCY,
    "workspace": Hold.WORKSPACE_CONCURRENCY,
    "provider": Hold.PROVIDER_CONCURRENCY,
}


def diagnose(
    ticket: Ticket, workspace: WorkspacePool, now_ns: int, kept: tuple[TokenBucket, Holder] | None
) -> list[Check]:
    """Return the checks in the order in which the controller makes them.

    Args:
        ticket: The request.
        workspace: The workspace's pool.
        now_ns: The instant, ns.
        kept: A bucket kept from it for a larger request, and that request's claim; None if none is.
    """
    lane = ticket.lane
    tokens = ticket.tokens
    return [
        *_permits(lane, workspace),
        *_provider(lane, now_ns),
        *_buckets(lane, tokens, now_ns),
        *_claim(kept, tokens),
    ]


def diagnose_queue(lane: RequestLane) -> list[Check]:
    """Return the limits on how many may wait, as a request that cannot go at once meets them."""
    principal, workspace, provider = lane.pools
    terms = lane.terms
    places: tuple[tuple[Scope, str, int, int], ...] = (
        *(
            (pool.scope, "max_queue_length", pool.waiting, pool.max_waiting)
            for pool in (principal, workspace, provider)
        ),
        ("workspace", QUEUE_SHARE, principal.waiting, terms.max_waiting_of_principal),
        ("provider", QUEUE_SHARE, lane.size, terms.max_waiting),
    )
    return [
        Check(scope, limit, f"{waiting} waiting", str(bound), waiting < bound, Hold.NONE)
        for scope, limit, waiting, bound in places
        if bound < UNLIMITED
    ]


def _permits(lane: RequestLane, workspace: WorkspacePool) -> Iterator[Check]:
    """Concurrency, shares and reservations."""
    principal = lane.principal
    for pool in lane.pools:
        yield from _gauge(
            pool.scope, "concurrency", pool.gauge.in_use, pool.gauge.limit, _CONCURRENCY_HOLDS[pool.scope]
        )
    yield from _gauge("workspace", "max_principal_share", principal.gauge.in_use, principal.share, Hold.WORKSPACE_SHARE)
    yield from _gauge("provider", "max_principal_share", lane.gauge.in_use, lane.gauge.limit, Hold.PROVIDER_SHARE)
    unused = workspace.unused_reserved
    if unused and principal.gauge.in_use >= principal.reserved:
        pools: tuple[tuple[Scope, Gauge, Hold], ...] = (
            ("workspace", workspace.gauge, Hold.WORKSPACE_RESERVED),
            ("provider", lane.provider.gauge, Hold.PROVIDER_RESERVED),
        )
        for scope, gauge, hold in pools:
            if gauge.limit < UNLIMITED:
                observed = f"{gauge.in_use} in use and {unused} kept back for others"
                yield Check(
                    scope, "reserved_concurrency", observed, str(gauge.limit), gauge.in_use + unused < gauge.limit, hold
                )


def _gauge(scope: Scope, limit: str, in_use: int, bound: int, hold: Hold) -> Iterator[Check]:
    if bound < UNLIMITED:
        yield Check(scope, limit, f"{in_use} in use", str(bound), in_use < bound, hold)


def _provider(lane: RequestLane, now_ns: int) -> Iterator[Check]:
    """Pause and breaker."""
    provider = lane.provider
    left_ns = provider.paused_until_ns - now_ns
    if left_ns > 0:
        yield Check(
            "provider",
            "retry_after",
            f"paused for {ms_text(left_ns)} ms more",
            "no pause",
            ok=False,
            hold=Hold.PROVIDER_PAUSED,
        )
    breaker = provider.breaker
    if breaker is not None:
        observed = breaker.state.value
        if breaker.state is BreakerState.OPEN and (wait_ns := breaker.wait_ns(now_ns)):
            observed = f"open for {ms_text(wait_ns)} ms more"
        yield Check(
            "provider",
            "circuit_breaker",
            observed,
            "closed, or a probe's place",
            breaker.may_acquire(now_ns),
            Hold.BREAKER_OPEN,
        )


def _buckets(lane: RequestLane, tokens: int, now_ns: int) -> Iterator[Check]:
    """Request and token buckets."""
    for name, need, holds in (("requests_per_minute", 1, REQUEST_HOLDS), ("tokens_per_second", tokens, TOKEN_HOLDS)):
        for pool in lane.pools:
            bucket = pool.requests if name == "requests_per_minute" else pool.tokens
            if bucket is not None:
                level = _rounded(bucket.level(now_ns))
                yield Check(
                    pool.scope,
                    name,
                    f"bucket holds {level}",
                    f"at least {need}",
                    bucket.fits(need, now_ns),
                    holds[pool.scope],
                )


def _claim(kept: tuple[TokenBucket, Holder] | None, tokens: int) -> Iterator[Check]:
    """The rule that keeps large requests from being overtaken for ever."""
    if kept is not None:
        _, holder = kept
        observed = f"{tokens} tokens would delay an earlier request for {holder.tokens}"
        bound = f"leave {holder.tokens} by {ms_text(holder.due_ns)} ms"
        yield Check("workspace", "protect_large_requests", observed, bound, ok=False, hold=Hold.LARGER_REQUEST_FIRST)


def _rounded(level: Fraction) -> str:
    """Return a level as text: three places at most, no zeros at the end."""
    text = decimal_text(level, places=3)
    return text.rstrip("0").rstrip(".")
