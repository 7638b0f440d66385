"""The vocabulary of evidence: what can hold a request, and the facts of one decision.

Evidence is typed and bounded: counts, estimates, times and words of fixed vocabularies. It never holds a principal, a
workspace, a budget id or a value of malformed input. This module owns the vocabulary of what can hold a request up; it
must not know how the controller finds out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from tollgate.core.breaker import BreakerState, Transition
from tollgate.core.deny import DenyReason
from tollgate.decision.limits import Scope


class Hold(IntEnum):
    """Why a request has to wait. Each hold has the seed's reason, the scope whose limit it is, and a sentence."""

    NONE = 0
    PRINCIPAL_CONCURRENCY = 1
    WORKSPACE_CONCURRENCY = 2
    PROVIDER_CONCURRENCY = 3
    WORKSPACE_SHARE = 4
    PROVIDER_SHARE = 5
    WORKSPACE_RESERVED = 6
    PROVIDER_RESERVED = 7
    PROVIDER_PAUSED = 8
    BREAKER_OPEN = 9
    PRINCIPAL_REQUESTS = 10
    WORKSPACE_REQUESTS = 11
    PROVIDER_REQUESTS = 12
    PRINCIPAL_TOKENS = 13
    WORKSPACE_TOKENS = 14
    PROVIDER_TOKENS = 15
    LARGER_REQUEST_FIRST = 16

    @property
    def reason(self) -> DenyReason | None:
        """The seed's word for it, None for no hold."""
        return _HOLDS[self][0]

    @property
    def scope(self) -> Scope | None:
        """Whose limit it is."""
        return _HOLDS[self][1]

    @property
    def text(self) -> str:
        """A sentence that follows "it waited because"."""
        return _HOLDS[self][2]


_HOLDS: Final[dict[Hold, tuple[DenyReason | None, Scope | None, str]]] = {
    Hold.NONE: (None, None, "nothing held it"),
    Hold.PRINCIPAL_CONCURRENCY: (
        DenyReason.CONCURRENCY,
        "principal",
        "its principal had as many calls in flight as it may",
    ),
    Hold.WORKSPACE_CONCURRENCY: (DenyReason.CONCURRENCY, "workspace", "every permit of the workspace was in use"),
    Hold.PROVIDER_CONCURRENCY: (DenyReason.CONCURRENCY, "provider", "every permit of its provider was in use"),
    Hold.WORKSPACE_SHARE: (DenyReason.CONCURRENCY, "workspace", "its principal held its whole share of the workspace"),
    Hold.PROVIDER_SHARE: (DenyReason.CONCURRENCY, "provider", "its principal held its whole share of the provider"),
    Hold.WORKSPACE_RESERVED: (
        DenyReason.CONCURRENCY,
        "workspace",
        "the free permits of the workspace were reserved for others",
    ),
    Hold.PROVIDER_RESERVED: (
        DenyReason.CONCURRENCY,
        "provider",
        "the free permits of its provider were reserved for others",
    ),
    Hold.PROVIDER_PAUSED: (DenyReason.RETRY_AFTER, "provider", "its provider had asked for a pause"),
    Hold.BREAKER_OPEN: (DenyReason.CIRCUIT_OPEN, "provider", "the breaker of its provider let nothing through"),
    Hold.PRINCIPAL_REQUESTS: (DenyReason.REQUESTS_PER_MINUTE, "principal", "its principal's request bucket was empty"),
    Hold.WORKSPACE_REQUESTS: (DenyReason.REQUESTS_PER_MINUTE, "workspace", "the workspace's request bucket was empty"),
    Hold.PROVIDER_REQUESTS: (DenyReason.REQUESTS_PER_MINUTE, "provider", "its provider's request bucket was empty"),
    Hold.PRINCIPAL_TOKENS: (
        DenyReason.TOKENS_PER_SECOND,
        "principal",
        "its principal's token bucket held less than it needs",
    ),
    Hold.WORKSPACE_TOKENS: (
        DenyReason.TOKENS_PER_SECOND,
        "workspace",
        "the workspace's token bucket held less than it needs",
    ),
    Hold.PROVIDER_TOKENS: (
        DenyReason.TOKENS_PER_SECOND,
        "provider",
        "its provider's token bucket held less than it needs",
    ),
    Hold.LARGER_REQUEST_FIRST: (
        DenyReason.TOKENS_PER_SECOND,
        None,
        "its tokens would have delayed a larger request that waited longer for them",
    ),
}

REQUEST_HOLDS: Final[dict[Scope, Hold]] = {
    "principal": Hold.PRINCIPAL_REQUESTS,
    "workspace": Hold.WORKSPACE_REQUESTS,
    "provider": Hold.PROVIDER_REQUESTS,
}
TOKEN_HOLDS: Final[dict[Scope, Hold]] = {
    "principal": Hold.PRINCIPAL_TOKENS,
    "workspace": Hold.WORKSPACE_TOKENS,
    "provider": Hold.PROVIDER_TOKENS,
}


@dataclass(frozen=True, slots=True)
class AdmissionEvidence:
    """The evidence of one admission decision, fit for a record, a span or a metric label.

    Attributes:
        decision: ``admit`` or ``reject``.
        reason: ``admitted``, or the reason of the refusal.
        deferred_by: What first made the request wait, None if it never did.
        queue_delay_ns: Time between request and decision, ns.
        active: The principal's calls in flight, this one included when it was admitted.
        queued: Other requests waiting in the same lane.
        estimated_tokens: Tokens of the estimate, None if absent or malformed.
        estimated_cost_micros: Cost of the estimate in micro-units, None if absent, unknown or malformed.
        retry_pressure_micros: The workspace's retry pressure in millionths (see
            :class:`~tollgate.decision.pressure.RetryPressure`).
        breaker_state: State of the provider's breaker after the decision.
        transitions: Breaker transitions this attempt caused, on admission or on release.
    """

    decision: str
    reason: str
    deferred_by: DenyReason | None
    queue_delay_ns: int
    active: int
    queued: int
    estimated_tokens: int | None
    estimated_cost_micros: int | None
    retry_pressure_micros: int
    breaker_state: BreakerState
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """One line of a diagnosis: a limit, what it stands at, and whether it lets the request go.

    Attributes:
        scope: ``principal``, ``workspace`` or ``provider``.
        limit: Name of the limit.
        observed: Figure it stands at, with its unit, as text.
        bound: Figure it may reach, as text.
        ok: Whether it lets the request go now.
        hold: What it would hold the request with.
    """

    scope: Scope
    limit: str
    observed: str
    bound: str
    ok: bool
    hold: Hold
