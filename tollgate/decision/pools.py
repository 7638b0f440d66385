"""The pools a request draws on, and the lanes in which it waits for them.

A pool is one scope's state under the current limits: calls in flight, request bucket, token bucket, waiting requests.
This module owns how a pool follows its limits when they change (nothing earned, nothing forgotten) and what a lane
needs precomputed. It must not know who goes next.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Final

from tollgate.core.agenda import Agenda
from tollgate.core.breaker import Breaker
from tollgate.core.bucket import TokenBucket, first_short
from tollgate.core.errors import InvariantViolation
from tollgate.core.gauge import Gauge
from tollgate.core.lanes import Lane
from tollgate.core.units import Rate
from tollgate.decision.evidence import REQUEST_HOLDS, TOKEN_HOLDS, Hold
from tollgate.decision.limits import AdmissionLimits, Scope
from tollgate.decision.request import Request
from tollgate.decision.terms import UNLIMITED, Terms

_NO_HOLD: Final = Hold.NONE  # reading a member off its class costs a descriptor call each time
_turn: Final[Callable[[RequestLane], int]] = attrgetter("queued_turn")


class Ticket:
    """A request on its way to its one decision. Opaque to callers, who may cancel it.

    Attributes:
        request: What was asked.
        lane: Where it waits, or would have.
        tokens: Tokens of its estimate, 0 if absent or malformed.
        requested_ns: When it asked, ns.
        is_waiting: Whether it waits in its lane.
        place: Its place among all that have ever waited; set when it starts to.
        expires_ns: Instant at which it is refused if it still waits, ns; -1 for never, and once it no longer waits.
        hold: What first made it wait.
        claim: Its number among the requests deferred by token buckets alone, 0 if it has none.
        eligible_since_ns: Since when, as the lane's head, it lacked shared permits only; -1 while something of its own
            holds it.
    """

    __slots__ = (
        "claim",
        "eligible_since_ns",
        "expires_ns",
        "hold",
        "is_waiting",
        "lane",
        "place",
        "request",
        "requested_ns",
        "tokens",
    )

    place: int

    def __init__(self, request: Request, lane: RequestLane, requested_ns: int) -> None:
        """Open a ticket."""
        self.request = request
        self.lane = lane
        self.requested_ns = requested_ns
        self.tokens = request.estimate.draw
        self.is_waiting = False
        self.expires_ns = -1
        self.hold = _NO_HOLD
        self.claim = 0
        self.eligible_since_ns = requested_ns

    @property
    def cost(self) -> int:
        """What serving it costs its lane in the weighted discipline: its tokens, at least 1."""
        return self.tokens or 1


class Pool:
    """One scope's state.

    Attributes:
        scope: Which kind of scope it is.
        key: Scope and name, the key of its invocation budgets.
        limits: The current limits.
        gauge: Calls in flight against the concurrency limit.
        requests: The request bucket, None without a limit.
        tokens: The token bucket, None without a limit.
        waiting: Requests that wait in this scope.
        max_waiting: How many may.
        wake_ns: Until when it holds everybody, where that is known, ns; -1 otherwise.
        is_configured: Whether the current profile names it.
    """

    __slots__ = (
        "gauge",
        "is_configured",
        "key",
        "limits",
        "max_waiting",
        "requests",
        "scope",
        "tokens",
        "waiting",
        "wake_ns",
    )

    def __init__(self, scope: Scope, name: str, limits: AdmissionLimits, now_ns: int) -> None:
        """Make a pool with nothing in flight and full buckets."""
        self.scope: Scope = scope
        self.key = f"{scope}:{name}"
        self.gauge = Gauge(UNLIMITED)
        self.requests: TokenBucket | None = None
        self.tokens: TokenBucket | None = None
        self.waiting = 0
        self.wake_ns = -1
        self.configure(limits, now_ns)

    def configure(self, limits: AdmissionLimits, now_ns: int) -> None:
        """Follow new limits: occupancy and bucket levels stay, a bucket that was not there starts full."""
        self.limits = limits
        self.is_configured = True
        self.wake_ns = -1
        self.gauge.set_limit(limits.concurrency or UNLIMITED)
        self.max_waiting = UNLIMITED if limits.max_queue_length is None else limits.max_queue_length
        self.requests = _bucket(self.requests, limits.request_rate, now_ns)
        self.tokens = _bucket(self.tokens, limits.token_rate, now_ns)

    def is_fresh(self, now_ns: int) -> bool:
        """Return whether forgetting this pool would change nothing: nobody in it and every bucket full."""
        if self.gauge.in_use or self.waiting:
            return False
        return all(bucket is None or bucket.fits(bucket.burst, now_ns) for bucket in (self.requests, self.tokens))


class WorkspacePool(Pool):
    """The workspace.

    Attributes:
        unused_reserved: Permits reserved by principals and not in use by them, all principals together.
    """

    __slots__ = ("unused_reserved",)

    def __init__(self, name: str, limits: AdmissionLimits, now_ns: int) -> None:
        """Make the workspace's pool."""
        super().__init__("workspace", name, limits, now_ns)
        self.unused_reserved = 0


class PrincipalPool(Pool):
    """A principal in this workspace.

    Attributes:
        reserved: Permits kept back for it.
        share: Permits of the workspace it may hold at most.
        resting: Those of its lanes that wait until one of its own calls ends; None for none.
    """

    __slots__ = ("reserved", "resting", "share")

    def __init__(self, name: str, limits: AdmissionLimits, workspace: WorkspacePool, now_ns: int) -> None:
        """Make a principal's pool in a workspace."""
        self.resting: dict[RequestLane, None] | None = None
        self.reserved = 0
        self.share = UNLIMITED
        super().__init__("principal", name, limits, now_ns)
        self.join(workspace)

    def join(self, workspace: WorkspacePool) -> None:
        """Follow the workspace's and its own current limits."""
        self.reserved = self.limits.reserved_concurrency if self.is_configured else 0
        self.share = workspace.limits.share_of(workspace.limits.concurrency) or UNLIMITED

    def rest(self, lane: RequestLane) -> None:
        """Let one of its lanes wait until one of its own calls ends."""
        if self.resting is None:
            self.resting = {}
        self.resting[lane] = None


class ProviderPool(Pool):
    """A provider as this workspace sees it.

    Attributes:
        name: The provider's name, for transition records.
        breaker: Its breaker, None without one.
        paused_until_ns: End of the pause it asked for, ns.
        is_shut: Whether a pause or its breaker was last seen to keep everybody out.
        open_since_ns: When it was first seen open again after that, ns.
        ready: Lanes without a reservation whose head may be tried, by turn.
        ready_reserved: Lanes of principals with a reservation, by turn.
    """

    __slots__ = ("_terms", "breaker", "is_shut", "name", "open_since_ns", "paused_until_ns", "ready", "ready_reserved")

    def __init__(self, name: str, limits: AdmissionLimits, now_ns: int) -> None:
        """Make a provider's pool."""
        self.name = name
        self.breaker: Breaker | None = None
        self.paused_until_ns = 0
        self.is_shut = False
        self.open_since_ns = 0
        self._terms: dict[int, Terms] = {}
        self.ready: Agenda[RequestLane] = Agenda(_turn)
        self.ready_reserved: Agenda[RequestLane] = Agenda(_turn)
        super().__init__("provider", name, limits, now_ns)

    def terms_for(self, principal: AdmissionLimits, workspace: AdmissionLimits) -> Terms:
        """Return the terms of a principal with these limits, worked out once for each limits object."""
        terms = self._terms.get(id(principal))
        if terms is None or terms.limits[0] is not principal or terms.limits[1] is not workspace:
            terms = self._terms[id(principal)] = Terms(principal, workspace, self.limits)
        return terms

    def is_fresh(self, now_ns: int) -> bool:
        """Return whether forgetting this pool would change nothing, its pause and its breaker included."""
        return (
            super().is_fresh(now_ns)
            and self.paused_until_ns <= now_ns
            and (self.breaker is None or self.breaker.is_fresh)
        )

    def configure(self, limits: AdmissionLimits, now_ns: int) -> None:
        """Follow new limits; a breaker keeps its state, unless the profile no longer has one."""
        super().configure(limits, now_ns)
        self._terms.clear()
        if limits.circuit_breaker is None:
            self.breaker = None
        elif self.breaker is None:
            self.breaker = Breaker(limits.circuit_breaker)
        else:
            self.breaker.set_config(limits.circuit_breaker, now_ns)


class RequestLane(Lane[Ticket]):
    """The requests of one principal to one provider, with what the current profile says of them at hand.

    Attributes:
        principal: Whose requests.
        provider: To whom.
        pools: Principal, workspace, provider: the order of every check.
        gauge: Calls in flight of this principal at this provider, against its share.
        gauges: All four gauges a permit holds a place in.
        terms: What the limits of its pools say together.
        request_buckets: Those request buckets of its pools that exist.
        token_buckets: Those token buckets of its pools that exist.
        buckets: Both, the request buckets first.
        hold: What holds its head, as last seen.
        ready: Where it stands while its head may be tried.
        queued_turn: Its turn while it stands there, else 0.
        wake_ns: When it is to be tried again, ns; -1 for no set time.
    """

    __slots__ = (
        "buckets",
        "gauge",
        "gauges",
        "hold",
        "pools",
        "principal",
        "provider",
        "queued_turn",
        "ready",
        "request_buckets",
        "terms",
        "token_buckets",
        "wake_ns",
    )

    def __init__(self, principal: PrincipalPool, workspace: WorkspacePool, provider: ProviderPool) -> None:
        """Make an empty lane."""
        super().__init__()
        self.principal = principal
        self.provider = provider
        self.pools: tuple[Pool, Pool, Pool] = (principal, workspace, provider)
        self.gauge = Gauge(UNLIMITED)
        self.gauges = (principal.gauge, workspace.gauge, provider.gauge, self.gauge)
        self.hold = Hold.NONE
        self.queued_turn = 0
        self.wake_ns = -1
        self.follow()

    def follow(self) -> None:
        """Take over the current limits of its pools."""
        principal, workspace, provider = self.pools
        self.terms = self.provider.terms_for(principal.limits, workspace.limits)
        self.gauge.set_limit(self.terms.max_active)
        self.ready = self.provider.ready_reserved if self.principal.reserved else self.provider.ready
        self.request_buckets = _present(principal.requests, workspace.requests, provider.requests)
        self.token_buckets = _present(principal.tokens, workspace.tokens, provider.tokens)
        self.buckets = self.request_buckets + self.token_buckets

    def hold_of_bucket(self, index: int) -> Hold:
        """Return what a lack in ``buckets[index]`` is called."""
        bucket = self.buckets[index]
        if index < len(self.request_buckets):
            return next(REQUEST_HOLDS[pool.scope] for pool in self.pools if pool.requests is bucket)
        return next(TOKEN_HOLDS[pool.scope] for pool in self.pools if pool.tokens is bucket)

    def first_short(self, tokens: int, now_ns: int) -> int:
        """Return the index in ``buckets`` of the first that lacks its share of a request; -1 if none does."""
        short = first_short(self.request_buckets, 1, now_ns)
        if short < 0 and (short := first_short(self.token_buckets, tokens, now_ns)) >= 0:
            short += len(self.request_buckets)
        return short

    def never_fits(self, tokens: int) -> bool:
        """Return whether a bucket of this lane can never pay for a request of so many tokens."""
        return any(bucket.gain == 0 for bucket in self.request_buckets) or (
            tokens > 0 and any(bucket.gain == 0 or tokens > bucket.burst for bucket in self.token_buckets)
        )

    def refilled_ns(self, tokens: int, now_ns: int) -> int:
        """Return when all its buckets hold one request and these tokens if nobody else draws, ns.

        Raises:
            InvariantViolation: If one never will; such a request is refused on arrival.
        """
        ready_ns = now_ns
        for buckets, need in ((self.request_buckets, 1), (self.token_buckets, tokens)):
            for bucket in buckets:
                instant = bucket.ready_ns(need, now_ns)
                if instant is None:
                    raise InvariantViolation("a request waits for a bucket that can never pay for it")
                ready_ns = max(ready_ns, instant)
        return ready_ns

    def expiry_ns(self, requested_ns: int, deadline_ns: int | None) -> int:
        """Return when a request that waits here is refused, ns; -1 for never."""
        max_wait_ns = self.terms.max_wait_ns
        expires_ns = requested_ns + max_wait_ns
        if deadline_ns is not None and deadline_ns < expires_ns:
            return deadline_ns
        return expires_ns if max_wait_ns < UNLIMITED else -1


def _present(*buckets: TokenBucket | None) -> tuple[TokenBucket, ...]:
    return tuple([bucket for bucket in buckets if bucket is not None])


def _bucket(bucket: TokenBucket | None, limit: tuple[Rate, int] | None, now_ns: int) -> TokenBucket | None:
    """Return the bucket that stands for ``limit``, keeping what the old one holds."""
    if limit is None:
        return None
    rate, burst = limit
    if bucket is None:
        return TokenBucket(rate=rate, burst=burst, now_ns=now_ns)
    if bucket.rate != rate or bucket.burst != burst:
        bucket.set_rate(rate, burst, now_ns)
    return bucket
