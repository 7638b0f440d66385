"""One arrival of the reference's harness while it is on its way to an outcome.

This module owns what is remembered of it. It must not know what happens to it, or who writes that down.
"""

from __future__ import annotations

from sim.baselines.state import Ask
from tollgate.core.errors import InvariantViolation


class Caller:
    """One arrival on its way to an outcome; times in ms.

    Attributes:
        ordinal: Place among the arrivals, from 0.
        phase: Index of the phase it arrived in.
        principal: Index of who asks.
        provider: Index of who is to serve.
        admissions: Times it was admitted.
        fails: Attempts that fail, bit k for attempt k + 1.
        cancel_after: Ms from the arrival to the cancellation, or None.
        ask: The last attempt's request for admission, None before the first attempt.
        is_calling: Whether its call is under way.
        is_queued: Whether it counts as waiting in the rows.
        signalled_at: When its cancellation fired, or None.
    """

    __slots__ = (
        "admissions",
        "arrived_at",
        "ask",
        "attempts",
        "cancel_after",
        "decided_at",
        "fails",
        "is_calling",
        "is_queued",
        "is_settled",
        "ordinal",
        "phase",
        "principal",
        "provider",
        "service",
        "signalled_at",
        "tokens",
    )

    def __init__(
        self,
        ordinal: int,
        phase: int,
        arrived_at: int,
        principal: int,
        provider: int,
        tokens: int,
        service: int,
        fails: int,
        cancel_after: int | None,
    ) -> None:
        self.ordinal = ordinal
        self.phase = phase
        self.admissions = 0
        self.arrived_at = arrived_at
        self.principal = principal
        self.provider = provider
        self.tokens = tokens
        self.service = service
        self.fails = fails
        self.cancel_after = cancel_after
        self.ask: Ask | None = None
        self.attempts = 0
        self.decided_at = 0
        self.is_calling = False
        self.is_queued = False
        self.is_settled = False
        self.signalled_at: int | None = None

    @property
    def current_ask(self) -> Ask:
        """The last attempt's request for admission.

        Raises:
            InvariantViolation: Before the first attempt.
        """
        if self.ask is None:
            raise InvariantViolation(f"arrival {self.ordinal} has not asked for admission yet")
        return self.ask
