"""What a caller gets: the decision on a request, and the permit to be given back.

This module owns the shape of these values. It must not decide anything.
"""

from __future__ import annotations

from typing import NamedTuple

from tollgate.core.breaker import Breaker, BreakerState, Pass, Probe, Transition
from tollgate.core.deny import Denial
from tollgate.core.gauge import Permit as GaugePermit
from tollgate.decision.evidence import AdmissionEvidence
from tollgate.decision.pools import RequestLane, Ticket


class BreakerEvent(NamedTuple):
    """A breaker transition with the provider it belongs to."""

    provider: str
    transition: Transition


class Permit(GaugePermit):
    """A place among the calls in flight, from admission to release.

    Attributes:
        lane: The lane it was admitted from.
        breaker: The breaker that let it through, None without one; it alone hears how the call ended.
        handle: The pass or probe that breaker gave.
        decision: The decision that granted it; None once it was given back, so that the two do not keep each other
            alive.
    """

    __slots__ = ("breaker", "decision", "handle", "lane")

    breaker: Breaker | None
    decision: Decision | None
    handle: Pass | Probe | None
    lane: RequestLane


class Decision:
    """The one answer to a request: a permit or a denial.

    Attributes:
        ticket: What :meth:`~tollgate.decision.controller.AdmissionController.request` returned.
        permit: To be released when the call ends; None when refused.
        denial: Why it was refused; None when admitted.
        at_ns: Instant of the decision, ns.
        eligible_wait_ns: How long, up to the decision, the request was its lane's head and only shared permits were
            missing, ns; a refused one may have been.
        active: The principal's calls in flight after the decision.
        queued: Other requests waiting in its lane.
        retry_pressure_micros: The workspace's retry pressure, millionths.
        breaker_state: State of the provider's breaker after the decision.
        transitions: Breaker transitions caused by this attempt so far.
    """

    __slots__ = (
        "active",
        "at_ns",
        "breaker_state",
        "denial",
        "eligible_wait_ns",
        "permit",
        "queued",
        "retry_pressure_micros",
        "ticket",
        "transitions",
    )

    def __init__(
        self,
        ticket: Ticket,
        permit: Permit | None,
        denial: Denial | None,
        at_ns: int,
        eligible_wait_ns: int,
        active: int,
        queued: int,
        retry_pressure_micros: int,
        breaker_state: BreakerState,
        transitions: tuple[Transition, ...],
    ) -> None:
        """Hold the facts; the evidence is made of them when it is asked for."""
        self.ticket = ticket
        self.permit = permit
        self.denial = denial
        self.at_ns = at_ns
        self.eligible_wait_ns = eligible_wait_ns
        self.active = active
        self.queued = queued
        self.retry_pressure_micros = retry_pressure_micros
        self.breaker_state = breaker_state
        self.transitions = transitions

    def __repr__(self) -> str:
        """Show the outcome without naming who asked."""
        outcome = "admitted" if self.denial is None else self.denial.reason.value
        return f"<Decision {outcome} at {self.at_ns} ns after {self.wait_ns} ns>"

    @property
    def wait_ns(self) -> int:
        """Time from the request to the decision, ns."""
        return self.at_ns - self.ticket.requested_ns

    @property
    def is_admitted(self) -> bool:
        """Whether the request may go out."""
        return self.denial is None

    @property
    def evidence(self) -> AdmissionEvidence:
        """The typed evidence of this attempt, with the transitions known so far."""
        estimate = self.ticket.request.estimate
        known = estimate.is_valid
        return AdmissionEvidence(
            decision="admit" if self.denial is None else "reject",
            reason="admitted" if self.denial is None else self.denial.reason.value,
            deferred_by=self.ticket.hold.reason,
            queue_delay_ns=self.wait_ns,
            active=self.active,
            queued=self.queued,
            estimated_tokens=estimate.tokens if known else None,
            estimated_cost_micros=estimate.cost_micros if known else None,
            retry_pressure_micros=self.retry_pressure_micros,
            breaker_state=self.breaker_state,
            transitions=self.transitions,
        )
