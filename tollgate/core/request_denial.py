"""Why the request path refused: one closed list, each reason with the one answer to "is a retry worth it?".

A refusal of the request path charges nothing and names no instant: what repairs it (a refill, a publication, a
deposit) happens elsewhere, at a time that nobody here knows. So it carries a class of retry where a denial of the
controller (:mod:`tollgate.core.deny`) carries a wait. This module decides nothing and knows no limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from tollgate.core.errors import Refused

__all__ = ["RETRY", "RequestDenial", "RequestDenyReason", "Retry", "denial"]


class Retry(StrEnum):
    """Whether the same request, unchanged, may be let in later."""

    TRANSIENT = "transient"
    AFTER_IN_FLIGHT = "after_in_flight"
    NEVER = "never"


class RequestDenyReason(StrEnum):
    """Every reason of the request path, by its label; the order is that of exported counters."""

    SNAPSHOT_EXPIRED = "snapshot_expired"
    RATE_LIMITED = "rate_limited"
    REQUEST_RATE_LIMITED = "request_rate_limited"
    CONCURRENCY_LIMITED = "concurrency_limited"
    LEASE_UNAVAILABLE = "lease_unavailable"
    LEASE_EXPIRED = "lease_expired"
    LEASE_EXHAUSTED = "lease_exhausted"
    OVERAGE_CAP_EXHAUSTED = "overage_cap_exhausted"
    OVERAGE_CAP_TEMPORARILY_EXHAUSTED = "overage_cap_temporarily_exhausted"
    ACCOUNTING_BACKPRESSURE = "accounting_backpressure"
    FUNDING_EXPIRED_AT_START = "funding_expired_at_start"
    CAPACITY_UNAVAILABLE = "capacity_unavailable"
    OVERAGE_COMMIT_IN_PROGRESS = "overage_commit_in_progress"
    UNKNOWN_PRINCIPAL = "unknown_principal"
    ACCOUNT_SUSPENDED = "account_suspended"
    ACCOUNT_CLOSED = "account_closed"
    MISSING_PERMISSION = "missing_permission"
    REQUEST_TOO_LARGE = "request_too_large"
    UNPRICED_OPERATION = "unpriced_operation"
    UNPRICEABLE_UNDER_LIMITS = "unpriceable_under_limits"
    COST_OVERFLOW = "cost_overflow"
    EMPTY_WORKLOAD = "empty_workload"
    BALANCE_EXHAUSTED = "balance_exhausted"
    BALANCE_INSUFFICIENT = "balance_insufficient"

    @property
    def ordinal(self) -> int:
        """Its place in the list, from 0, without gaps."""
        return _INDEX[self]

    @property
    def retry(self) -> Retry:
        """Whether the same request may be let in later."""
        return RETRY[self]


_INDEX = {reason: index for index, reason in enumerate(RequestDenyReason)}

# A refusal that the passage of time, a release or a background plane repairs is transient; what only another request,
# another policy or a deposit repairs is not. The list is that of the request path's specification, label by label.
_NOT_TRANSIENT: Mapping[RequestDenyReason, Retry] = {
    RequestDenyReason.OVERAGE_COMMIT_IN_PROGRESS: Retry.AFTER_IN_FLIGHT,
    RequestDenyReason.UNKNOWN_PRINCIPAL: Retry.NEVER,
    RequestDenyReason.ACCOUNT_SUSPENDED: Retry.NEVER,
    RequestDenyReason.ACCOUNT_CLOSED: Retry.NEVER,
    RequestDenyReason.MISSING_PERMISSION: Retry.NEVER,
    RequestDenyReason.REQUEST_TOO_LARGE: Retry.NEVER,
    RequestDenyReason.UNPRICED_OPERATION: Retry.NEVER,
    RequestDenyReason.UNPRICEABLE_UNDER_LIMITS: Retry.NEVER,
    RequestDenyReason.COST_OVERFLOW: Retry.NEVER,
    RequestDenyReason.EMPTY_WORKLOAD: Retry.NEVER,
    RequestDenyReason.BALANCE_EXHAUSTED: Retry.NEVER,
    RequestDenyReason.BALANCE_INSUFFICIENT: Retry.NEVER,
}

RETRY: Mapping[RequestDenyReason, Retry] = MappingProxyType(
    {reason: _NOT_TRANSIENT.get(reason, Retry.TRANSIENT) for reason in RequestDenyReason}
)
"""The class of each reason, in the order of :class:`RequestDenyReason`."""


class RequestDenial(NamedTuple):
    """A refusal of the request path; nothing was charged.

    Attributes:
        reason: Why.
        remaining_units: What the account holds, in cost units, where the allocator has said so and that is why
            (``balance_insufficient``); None otherwise.

    >>> denial(RequestDenyReason.RATE_LIMITED).retry
    <Retry.TRANSIENT: 'transient'>
    """

    reason: RequestDenyReason
    remaining_units: int | None = None

    @property
    def retry(self) -> Retry:
        """Whether the same request may be let in later."""
        return RETRY[self.reason]

    @property
    def advice(self) -> str:
        """What to do about it, for people."""
        return _ADVICE[self.retry]

    def or_raise(self) -> NoReturn:
        """Raise it as :class:`~tollgate.core.errors.Refused`, for those who want an exception."""
        raise Refused(self)


_ADVICE = {
    Retry.TRANSIENT: "a retry may help",
    Retry.AFTER_IN_FLIGHT: "retry once what is in flight has ended",
    Retry.NEVER: "a retry cannot help",
}
_PLAIN = {reason: RequestDenial(reason) for reason in RequestDenyReason}


def denial(reason: RequestDenyReason) -> RequestDenial:
    """Return the denial for a reason that carries nothing else; one object for each, as they are frequent."""
    return _PLAIN[reason]
