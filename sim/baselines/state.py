"""What the reference controller keeps: buckets, pools, lanes, and the requests in them.

This module owns that state and the arithmetic on it. It must not know what is decided from it, nor in which order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf

from sim.baselines.breakers import ProviderBreaker
from sim.baselines.limits import ReferenceLimits
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold
from tollgate.decision.limits import Scope


class Bucket:
    """A bucket in doubles, filled up at every look.

    How often it is looked at is part of the result: a sum of doubles depends on how it is split.

    Attributes:
        holder: The waiting request for whose sake tokens are kept back, if any.
    """

    __slots__ = ("_capacity", "_filled_at", "_level", "_per_ms", "holder")

    def __init__(self, capacity: float, period_ms: int) -> None:
        """Create a full bucket that fills in ``period_ms``; a whole minute's requests fit into one (Q11)."""
        self._capacity = capacity
        self._per_ms = capacity / period_ms
        self._level = capacity
        self._filled_at = 0
        self.holder: Ask | None = None

    def fill(self, now: int) -> float:
        """Return the level at ``now``."""
        self._level = min(self._capacity, self._level + max(0, now - self._filled_at) * self._per_ms)
        self._filled_at = now
        return self._level

    def take(self, amount: float) -> None:
        """Take from the level of the last look."""
        self._level -= amount

    def kept_from(self, ask: Ask) -> int:
        """Return the tokens kept back for a request other than ``ask`` (Q3, Q4)."""
        holder = self.holder
        return 0 if holder is None or holder is ask else holder.tokens or 0


class Pool:
    """One principal, workspace or provider: its limits, buckets, calls in flight and waiting requests.

    Attributes:
        is_configured: Whether the profile knows it; nothing may be asked of a pool that it does not know.
        limits: What it may use.
        share: Calls in flight here that one principal may have.
        requests: Its request bucket, None without a limit.
        tokens: Its token bucket, None without a limit.
        calls_of: Calls in flight here by principal.
    """

    __slots__ = (
        "calls_of",
        "in_flight",
        "is_configured",
        "limits",
        "requests",
        "scope",
        "share",
        "tokens",
        "waiting",
    )

    def __init__(self, scope: Scope, limits: ReferenceLimits | None) -> None:
        self.scope = scope
        self.is_configured = limits is not None
        self.limits = limits or ReferenceLimits()
        self.share = self.limits.share_of(self.limits.concurrency)
        rpm, tps = self.limits.requests_per_minute, self.limits.tokens_per_second
        self.requests = None if rpm is None else Bucket(rpm, 60_000)
        self.tokens = None if tps is None else Bucket(tps, 1_000)
        self.in_flight = 0
        self.waiting = 0
        self.calls_of: dict[Pool, int] = {}


class Provider(Pool):
    """A provider: a pool with a breaker and, after a Retry-After, a pause."""

    __slots__ = ("breaker", "paused_until")

    def __init__(self, limits: ReferenceLimits | None, breaker: ProviderBreaker) -> None:
        super().__init__("provider", limits)
        self.breaker = breaker
        self.paused_until = 0


class Lane:
    """The line of one principal at one provider, first come first served.

    Attributes:
        pools: Principal, workspace and provider, in the order in which every check walks them.
        longest_wait: Wait at which its requests time out, ms.
    """

    __slots__ = ("longest_wait", "pools", "principal", "provider", "queue", "workspace")

    def __init__(self, principal: Pool, workspace: Pool, provider: Provider) -> None:
        self.principal = principal
        self.workspace = workspace
        self.provider = provider
        self.pools: tuple[Pool, Pool, Pool] = (principal, workspace, provider)
        self.longest_wait = min(pool.limits.max_queue_wait_ms for pool in self.pools)
        self.queue: deque[Ask] = deque()

    def join(self, ask: Ask) -> None:
        """Put a request at the end of the line."""
        self.queue.append(ask)
        for pool in self.pools:
            pool.waiting += 1

    def leave(self, ask: Ask) -> None:
        """Count a request out that left the line; its role as a bucket's holder ends and passes to nobody."""
        for pool in self.pools:
            pool.waiting -= 1
            if pool.tokens is not None and pool.tokens.holder is ask:
                pool.tokens.holder = None


@dataclass(slots=True, eq=False)
class Ask:
    """One request for admission, and what becomes of it.

    Attributes:
        budget_id: Invocation it belongs to.
        principal: Who asks.
        provider: Who is to serve.
        deadline: Instant from which it is refused, ms; ``inf`` for never.
        tokens: An estimate, as are the fields after it; None where not given.
        ordinal: The caller's number for it.
        is_cancelled: Whether its caller has given up.
        asked_at: When it asked, ms.
        first_hold: What first made it wait.
        refusal: Why it was refused; None while it waits and when it was admitted.
        permit: To be released when the call ends; None unless it was admitted.
        queue_delay: Wait up to the admission, ms. A refusal leaves it at 0 however long the wait was (Q18).
    """

    budget_id: str
    principal: str
    provider: str
    deadline: float = inf
    tokens: int | None = None
    cost_micros: int | None = None
    request_bytes: int | None = None
    items: int | None = None
    attempts: int | None = None
    batch_size: int | None = None
    retained_work: int | None = None
    ordinal: int = -1
    is_cancelled: bool = False
    asked_at: int = 0
    first_hold: Hold = Hold.NONE
    refusal: DenyReason | None = None
    permit: Permit | None = None
    queue_delay: int = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it has asked and has no answer."""
        return self.permit is None and self.refusal is None


class Permit:
    """An admission, to be released once."""

    __slots__ = ("ask", "breaker_handle", "is_released", "lane")

    def __init__(self, ask: Ask, lane: Lane, breaker_handle: object) -> None:
        self.ask = ask
        self.lane = lane
        self.breaker_handle = breaker_handle
        self.is_released = False
