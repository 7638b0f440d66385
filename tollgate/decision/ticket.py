"""What goes into the controller and what a caller holds: estimates, requests, tickets and permits.

This module owns the shape of these values. It must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tollgate.core.breaker import Breaker, Pass, Probe
from tollgate.core.gauge import Permit as GaugePermit
from tollgate.core.units import MAX_SAFE_INTEGER
from tollgate.decision.evidence import Decision, Hold

if TYPE_CHECKING:
    from tollgate.decision.pools import RequestLane

_FIGURES: Final = ("tokens", "cost_micros", "request_bytes", "items", "attempts", "batch_size", "retained_work")


class Estimate:
    """What a request is expected to use. None means not known.

    A malformed figure (negative, fractional, NaN, above 2^53-1, not a number at all) does not raise here: the
    controller refuses the request as ``invalid-estimate``, so that a bad estimate is one refused request and not a
    crashed caller.

    Attributes:
        tokens: Tokens.
        cost_micros: Money, micro-units.
        request_bytes: Size, bytes.
        items: Items.
        attempts: Attempts it stands for; 1 when None.
        batch_size: Batch size.
        retained_work: Units of work that stay with the provider.
        is_valid: Whether every figure is an integer from 0 to 2^53-1 or None.
    """

    __slots__ = (*_FIGURES, "is_valid")

    def __init__(
        self,
        *,
        tokens: int | None = None,
        cost_micros: int | None = None,
        request_bytes: int | None = None,
        items: int | None = None,
        attempts: int | None = None,
        batch_size: int | None = None,
        retained_work: int | None = None,
    ) -> None:
        """Take the figures as given and note whether they can be used."""
        self.tokens = tokens
        self.cost_micros = cost_micros
        self.request_bytes = request_bytes
        self.items = items
        self.attempts = attempts
        self.batch_size = batch_size
        self.retained_work = retained_work
        self.is_valid = all(
            value is None or (type(value) is int and 0 <= value <= MAX_SAFE_INTEGER)
            for value in (tokens, cost_micros, request_bytes, items, attempts, batch_size, retained_work)
        )

    def __repr__(self) -> str:
        """Show the figures that are known; a malformed estimate shows none of them."""
        if not self.is_valid:
            return "<Estimate malformed>"
        known = {name: value for name in _FIGURES if (value := getattr(self, name)) is not None}
        return f"Estimate({', '.join(f'{name}={value}' for name, value in known.items())})"


NOTHING_KNOWN: Final = Estimate()


@dataclass(slots=True)
class Request:
    """One attempt that asks to go out.

    Attributes:
        budget_id: The invocation it belongs to; attempts, cost and tokens of all its attempts add up.
        principal: Who asks, as the trusted host says.
        workspace: Where, as the trusted host says.
        provider: Whom the call would go to.
        estimate: What it is expected to use.
        deadline_ns: Instant from which it is of no use, ns; None for none.
        is_cancelled: Whether the caller has already given up.
    """

    budget_id: str
    principal: str
    workspace: str
    provider: str
    estimate: Estimate = NOTHING_KNOWN
    deadline_ns: int | None = None
    is_cancelled: bool = False


class Ticket:
    """A request on its way to its one decision. Opaque to callers, who may cancel it.

    Attributes:
        request: What was asked.
        lane: Where it waits, or would have.
        tokens: Tokens of its estimate, 0 if absent or malformed.
        requested_ns: When it asked, ns.
        is_waiting: Whether it waits in its lane.
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
        "request",
        "requested_ns",
        "tokens",
    )

    def __init__(self, request: Request, lane: RequestLane, requested_ns: int) -> None:
        """Open a ticket."""
        self.request = request
        self.lane = lane
        self.requested_ns = requested_ns
        estimate = request.estimate
        self.tokens = (estimate.tokens or 0) if estimate.is_valid else 0
        self.is_waiting = False
        self.expires_ns = -1
        self.hold = Hold.NONE
        self.claim = 0
        self.eligible_since_ns = requested_ns

    @property
    def cost(self) -> int:
        """What serving it costs its lane in the weighted discipline: its tokens, at least 1."""
        return self.tokens or 1


class Permit(GaugePermit):
    """A place among the calls in flight, from admission to release.

    Attributes:
        lane: The lane it was admitted from.
        breaker: The breaker that let it through, None without one; it alone hears how the call ended.
        handle: The pass or probe that breaker gave.
        decision: The decision that granted it.
    """

    __slots__ = ("breaker", "decision", "handle", "lane")

    breaker: Breaker | None
    decision: Decision
    handle: Pass | Probe | None
    lane: RequestLane
