"""The checks that need no state of the moment: is the request acceptable at all, and could it ever go?

This module owns their order and reasons. What it says depends on the request, its lane's limits and the instant alone;
it must not look at permits, bucket levels or the queue.
"""

from __future__ import annotations

from collections.abc import Iterator

from tollgate.core.deny import DenyReason
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.pools import RequestLane
from tollgate.decision.request import Estimate, Request


def refusal(request: Request, lane: RequestLane, now_ns: int) -> DenyReason | None:
    """Return why the request cannot be accepted, or None. The first hit wins.

    Args:
        request: Who asks for what.
        lane: Where it would wait, under the current limits.
        now_ns: The instant, ns.
    """
    if request.is_cancelled:
        return DenyReason.CANCELLED
    if not lane.provider.is_configured:
        return DenyReason.UNCONFIGURED_PROVIDER
    if not lane.principal.is_configured:
        return DenyReason.UNCONFIGURED_PRINCIPAL
    if request.deadline_ns is not None and now_ns >= request.deadline_ns:
        return DenyReason.DEADLINE_EXCEEDED
    estimate = request.estimate
    terms = lane.terms
    if estimate is terms.cleared:
        return None
    if not estimate.is_valid:
        return DenyReason.INVALID_ESTIMATE
    for limits in terms.limits:
        for reason in _refusals(estimate, limits):
            return reason
    for limits in terms.limits:
        for reason in _never_fits(estimate, limits):
            return reason
    terms.cleared = estimate
    return None


def _refusals(estimate: Estimate, limits: AdmissionLimits) -> Iterator[DenyReason]:
    """Yield the reasons for which one scope refuses an estimate whatever the load, in the order of spec 01."""
    if _above(estimate.batch_size, limits.max_batch_size):
        yield DenyReason.BATCH_SIZE
    if _above(estimate.request_bytes, limits.max_request_bytes):
        yield DenyReason.REQUEST_TOO_LARGE
    if _above(estimate.items, limits.max_items):
        yield DenyReason.TOO_MANY_ITEMS
    if limits.max_retained_work is not None and estimate.retained_work is None:
        yield DenyReason.UNKNOWN_RETAINED_WORK
    if _above(estimate.retained_work, limits.max_retained_work):
        yield DenyReason.RETAINED_WORK
    if limits.max_cost_micros is not None and estimate.cost_micros is None and not limits.allow_unknown_cost:
        yield DenyReason.UNKNOWN_COST
    if limits.max_tokens is not None and estimate.tokens is None:
        yield DenyReason.UNKNOWN_TOKENS


def _never_fits(estimate: Estimate, limits: AdmissionLimits) -> Iterator[DenyReason]:
    """Yield the reasons for which a scope's buckets could never pay for an estimate."""
    if limits.request_rate is not None and limits.request_rate[0].units == 0:
        yield DenyReason.REQUESTS_PER_MINUTE
    if limits.token_rate is not None and estimate.tokens:
        rate, burst = limits.token_rate
        if rate.units == 0 or estimate.tokens > burst:
            yield DenyReason.TOKENS_PER_SECOND


def _above(figure: int | None, limit: int | None) -> bool:
    """Compare only where both sides are present."""
    return figure is not None and limit is not None and figure > limit
