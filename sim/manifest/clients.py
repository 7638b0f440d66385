"""How callers behave, as values: when they try again, how long they wait, when they leave.

This module owns the shape of these values. It must not know how a manifest spells them, nor what a client does with
them: that belongs to ``sim.world``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Final, Literal

MAX_ATTEMPTS: Final = 62
"""Most attempts a client may make, all its layers of retries together: the failures of all attempts of one arrival
travel as bits of one signed 64-bit column."""

BudgetHolder = Literal["stream", "principal"]
"""Who has a retry budget of its own: all callers of a stream together, or each principal."""


@dataclass(frozen=True, slots=True)
class RatioBudget:
    """A budget that requests pay into and retries draw from, as in Finagle.

    Attributes:
        ratio: What each request pays in; a retry takes 1.
        min_retries_per_second: What may be drawn on top, whatever was paid in.
        ttl_ns: How long both are remembered, ns.
        per: Who has one.
    """

    ratio: Fraction
    min_retries_per_second: Fraction
    ttl_ns: int
    per: BudgetHolder = "stream"


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A count that failures lower and successes raise, as in gRPC; there are retries while it is above half.

    Attributes:
        max_tokens: The most it counts, and where it starts; a failure takes 1.
        token_ratio: What a success gives back.
        per: Who has one.
    """

    max_tokens: int
    token_ratio: Fraction
    per: BudgetHolder = "stream"


@dataclass(frozen=True, slots=True)
class Retry:
    """When a layer of a client tries again after a failed attempt.

    Attributes:
        kind: ``fixed`` (always ``base_ns``), ``exponential`` (doubling from ``base_ns`` up to ``cap_ns``) or
            ``decorrelated`` (drawn between ``base_ns`` and three times the wait before, up to ``cap_ns``).
        base_ns: First wait; the shortest one of ``decorrelated``.
        cap_ns: Longest wait.
        jitter: ``full`` draws the wait uniformly from 0 up to it, ``equal`` from its half, ``none`` takes it as it is.
        max_attempts: Attempts in all, the first one included.
        budget: What keeps retries back when there are too many of them; None for nothing.
        name: What reports call this layer, where there are several.
    """

    kind: Literal["fixed", "exponential", "decorrelated"]
    base_ns: int = 0
    cap_ns: int = 0
    jitter: Literal["none", "full", "equal"] = "none"
    max_attempts: int = 1
    budget: RatioBudget | TokenBudget | None = None
    name: str = ""

    @property
    def is_drawn(self) -> bool:
        """Whether its waits are left to chance."""
        return self.jitter != "none" or self.kind == "decorrelated"


@dataclass(frozen=True, slots=True)
class Herd:
    """Callers who failed in an outage and come back as soon as it is over.

    Attributes:
        outage: Its name.
        provider: Index of the provider that had it.
        start_ns: Its first instant.
        end_ns: Its end.
        within_ns: Up to how long after its end they come.
    """

    outage: str
    provider: int
    start_ns: int
    end_ns: int
    within_ns: int


@dataclass(frozen=True, slots=True)
class Client:
    """How the callers of a stream behave.

    Attributes:
        timeout_ns: Patience of one request from its arrival, over all attempts; None for endless.
        abandon: What becomes of a call in service when patience ends: it is cancelled, or the provider goes on.
        frees_abandoned: Whether a call that goes on for nobody gives its permit back at once.
        cancel_probability: Share of requests that the caller cancels.
        cancel_after_ns: When it does, from the arrival; None where nobody cancels.
        on_refusal: Whether a refusal ends the request or is retried like a failure.
        layers: Who tries again after a failed attempt, from the layer that makes the calls outwards; empty for nobody.
            What a layer cannot make succeed is one failed attempt of the next.
        honour_retry_after: Whether a wait the service announces is waited out.
        retry_after_cap_ns: The longest announced wait that is waited out; a longer one ends the request. None for any.
        herd: Who comes back together, and when; None where everybody waits on their own.
        abortable_backoff: Whether a cancellation during a wait between attempts takes effect at once; if not, the next
            attempt meets it.
    """

    timeout_ns: int | None = None
    abandon: Literal["provider-stops", "provider-continues"] = "provider-stops"
    frees_abandoned: bool = False
    cancel_probability: Fraction = Fraction(0)
    cancel_after_ns: int | None = None
    on_refusal: Literal["give-up", "retry"] = "give-up"
    layers: tuple[Retry, ...] = ()
    honour_retry_after: bool = True
    retry_after_cap_ns: int | None = None
    herd: Herd | None = None
    abortable_backoff: bool = True

    @property
    def is_drawn(self) -> bool:
        """Whether any wait of theirs is left to chance."""
        return any(layer.is_drawn for layer in self.layers) or (self.herd is not None and self.herd.within_ns > 0)

    @property
    def max_attempts(self) -> int:
        """Most attempts of one request: the layers' multiplied."""
        return prod(layer.max_attempts for layer in self.layers)
