"""Why a request was refused: one closed list, one row of facts for each reason.

A refusal is a value. Each reason has one label (the spelling of the seed), one status a client sees, and one answer to
"can the same request be admitted later under the same policy?". Documents and labels are made from this table.
This module does not decide anything and knows no limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from tollgate.core.errors import Refused

__all__ = ["REASONS", "Denial", "DenyReason", "ReasonFacts", "Status"]


class DenyReason(StrEnum):
    """Every reason for which the controller refuses or defers a request; the order is part of the trace format."""

    CANCELLED = "cancelled"
    UNCONFIGURED_PROVIDER = "unconfigured-provider"
    UNCONFIGURED_PRINCIPAL = "unconfigured-principal"
    DEADLINE_EXCEEDED = "deadline-exceeded"
    INVALID_ESTIMATE = "invalid-estimate"
    BATCH_SIZE = "batch-size"
    REQUEST_TOO_LARGE = "request-too-large"
    TOO_MANY_ITEMS = "too-many-items"
    UNKNOWN_RETAINED_WORK = "unknown-retained-work"
    RETAINED_WORK = "retained-work"
    UNKNOWN_COST = "unknown-cost"
    UNKNOWN_TOKENS = "unknown-tokens"
    ATTEMPTS = "attempts"
    COST = "cost"
    TOKENS = "tokens"
    REQUESTS_PER_MINUTE = "requests-per-minute"
    TOKENS_PER_SECOND = "tokens-per-second"
    CONCURRENCY = "concurrency"
    RETRY_AFTER = "retry-after"
    CIRCUIT_OPEN = "circuit-open"
    QUEUE_FULL = "queue-full"
    QUEUE_TIMEOUT = "queue-timeout"


class Status(StrEnum):
    """What the caller of an attempt is told (spec 01, status mapping)."""

    RATE_LIMITED = "rate-limited"
    BUDGET_EXHAUSTED = "budget-exhausted"
    TIMEOUT = "timeout"
    OVERLOADED = "overloaded"
    CANCELLED = "cancelled"
    INVALID_REQUEST = "invalid-request"


class ReasonFacts(NamedTuple):
    """The row of one reason.

    Attributes:
        status: What the caller is told.
        may_retry: Whether the same request could be admitted later under the same policy. Where it is True a single
            denial may still say never: a request above a bucket's capacity is ``tokens-per-second`` for ever.
        is_shed: Whether the refusal is one because of load, which adding capacity would have avoided.
        meaning: One sentence for people.
    """

    status: Status
    may_retry: bool
    is_shed: bool
    meaning: str


REASONS: Mapping[DenyReason, ReasonFacts] = MappingProxyType(
    {
        DenyReason.CANCELLED: ReasonFacts(
            Status.CANCELLED, may_retry=False, is_shed=False, meaning="The caller gave up before it was admitted."
        ),
        DenyReason.UNCONFIGURED_PROVIDER: ReasonFacts(
            Status.OVERLOADED, may_retry=False, is_shed=False, meaning="The profile has no such provider."
        ),
        DenyReason.UNCONFIGURED_PRINCIPAL: ReasonFacts(
            Status.OVERLOADED, may_retry=False, is_shed=False, meaning="The profile has no such principal."
        ),
        DenyReason.DEADLINE_EXCEEDED: ReasonFacts(
            Status.TIMEOUT, may_retry=False, is_shed=True, meaning="Its deadline passed before it could start."
        ),
        DenyReason.INVALID_ESTIMATE: ReasonFacts(
            Status.INVALID_REQUEST, may_retry=False, is_shed=False, meaning="An estimate is no whole number in range."
        ),
        DenyReason.BATCH_SIZE: ReasonFacts(
            Status.OVERLOADED, may_retry=False, is_shed=False, meaning="The batch is larger than allowed."
        ),
        DenyReason.REQUEST_TOO_LARGE: ReasonFacts(
            Status.INVALID_REQUEST, may_retry=False, is_shed=False, meaning="The request has too many bytes."
        ),
        DenyReason.TOO_MANY_ITEMS: ReasonFacts(
            Status.INVALID_REQUEST, may_retry=False, is_shed=False, meaning="The request has too many items."
        ),
        DenyReason.UNKNOWN_RETAINED_WORK: ReasonFacts(
            Status.INVALID_REQUEST,
            may_retry=False,
            is_shed=False,
            meaning="Retained work is limited and the request does not say how much it retains.",
        ),
        DenyReason.RETAINED_WORK: ReasonFacts(
            Status.INVALID_REQUEST, may_retry=False, is_shed=False, meaning="The request would retain too much work."
        ),
        DenyReason.UNKNOWN_COST: ReasonFacts(
            Status.INVALID_REQUEST,
            may_retry=False,
            is_shed=False,
            meaning="Cost is limited and the request does not say what it costs.",
        ),
        DenyReason.UNKNOWN_TOKENS: ReasonFacts(
            Status.INVALID_REQUEST,
            may_retry=False,
            is_shed=False,
            meaning="Tokens are budgeted and the request does not say how many it needs.",
        ),
        DenyReason.ATTEMPTS: ReasonFacts(
            Status.BUDGET_EXHAUSTED, may_retry=False, is_shed=False, meaning="The invocation has no attempts left."
        ),
        DenyReason.COST: ReasonFacts(
            Status.BUDGET_EXHAUSTED, may_retry=False, is_shed=False, meaning="The invocation has no money left for it."
        ),
        DenyReason.TOKENS: ReasonFacts(
            Status.BUDGET_EXHAUSTED, may_retry=False, is_shed=False, meaning="The invocation has no tokens left for it."
        ),
        DenyReason.REQUESTS_PER_MINUTE: ReasonFacts(
            Status.RATE_LIMITED, may_retry=True, is_shed=True, meaning="A bucket of requests a minute is short."
        ),
        DenyReason.TOKENS_PER_SECOND: ReasonFacts(
            Status.RATE_LIMITED, may_retry=True, is_shed=True, meaning="A bucket of tokens a second is short."
        ),
        DenyReason.CONCURRENCY: ReasonFacts(
            Status.OVERLOADED, may_retry=True, is_shed=True, meaning="No permit is free for it."
        ),
        DenyReason.RETRY_AFTER: ReasonFacts(
            Status.OVERLOADED, may_retry=True, is_shed=True, meaning="The provider asked for a pause."
        ),
        DenyReason.CIRCUIT_OPEN: ReasonFacts(
            Status.OVERLOADED, may_retry=True, is_shed=True, meaning="The provider's breaker lets no call through."
        ),
        DenyReason.QUEUE_FULL: ReasonFacts(
            Status.OVERLOADED,
            may_retry=True,
            is_shed=True,
            meaning="It would have to wait, and the queue, or its share of it, is full.",
        ),
        DenyReason.QUEUE_TIMEOUT: ReasonFacts(
            Status.TIMEOUT, may_retry=True, is_shed=True, meaning="It waited as long as anyone may."
        ),
    }
)
"""The facts of each reason, in the order of :class:`DenyReason`."""


class Denial(NamedTuple):
    """A refusal.

    Attributes:
        reason: Why.
        retry_after_ns: Nanoseconds after which the same request, with no other traffic, is admitted; None = never.

    >>> Denial(DenyReason.QUEUE_FULL, 5).status
    <Status.OVERLOADED: 'overloaded'>
    """

    reason: DenyReason
    retry_after_ns: int | None

    @property
    def status(self) -> Status:
        """What the caller of the attempt is told."""
        return REASONS[self.reason].status

    @property
    def advice(self) -> str:
        """Whether, and when, a retry helps."""
        after = self.retry_after_ns
        return "a retry cannot help" if after is None else f"retry after {after} ns"

    def or_raise(self) -> NoReturn:
        """Raise the denial as :class:`~tollgate.core.errors.Refused`, for those who want an exception."""
        raise Refused(self)
