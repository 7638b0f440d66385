"""What pays for one request: a lease, or credit; and the reservation that is charged once or not at all.

A lease holds units that the instance may spend without asking, until its last usable instant. What a lease cannot fund
may, for an elastic account, run on *overage* up to a cap, one counter for all principals of the account. The doorbell
tells a background plane to refill; evidence of the allocator tells what a refill cannot repair. Nothing here waits for
either. Knows nothing of snapshots, rates or stages. Not safe to share between threads without a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from tollgate.core.cost import cost_units
from tollgate.core.errors import CallerError, ConfigError, InvariantViolation
from tollgate.core.ids import LeaseId, Principal, lease_id
from tollgate.core.request_denial import RequestDenial, RequestDenyReason, denial

__all__ = ["TRANSITIONS", "AccountFunding", "Lease", "Overage", "Phase", "Reservation"]

_FENCE_MAX = 2**64 - 1


class Phase(StrEnum):
    """Where a reservation stands."""

    PENDING_LEASE = "pending_lease"
    PENDING_OVERAGE = "pending_overage"
    COMMITTED_LEASE = "committed_lease"
    COMMITTED_OVERAGE = "committed_overage"
    RELEASED = "released"


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = MappingProxyType(
    {
        Phase.PENDING_LEASE: frozenset({Phase.COMMITTED_LEASE, Phase.COMMITTED_OVERAGE, Phase.RELEASED}),
        Phase.PENDING_OVERAGE: frozenset({Phase.COMMITTED_OVERAGE, Phase.RELEASED}),
        Phase.COMMITTED_LEASE: frozenset(),
        Phase.COMMITTED_OVERAGE: frozenset(),
        Phase.RELEASED: frozenset(),
    }
)
"""Every phase with those that may follow it (spec 02, funding); from what may follow none, nothing moves."""


class Lease:
    """Units that one instance may spend.

    Attributes:
        remaining_units: What is left to debit.
        pending_units: Debited and neither committed nor refunded. At 0, a lease that nobody debits any more is final
            and may be given back.
        spent_units: Committed.
        usable_until_ns: From this instant on nothing is debited or committed.

    Args:
        lease: Its identifier.
        granted_units: Units in it, at least 1.
        expires_at_ns: When the allocator takes it back.
        safety_margin_ns: How long before that it is left alone, for clocks that differ; 0 or more.
        fencing_token: What proves that it is the current one; grows with each lease of an account.
        low_water_units: The remainder at which to ask for more, below ``granted_units``.

    Raises:
        ConfigError: Naming what is out of range.
    """

    __slots__ = (
        "fencing_token",
        "granted_units",
        "lease",
        "low_water_units",
        "pending_units",
        "remaining_units",
        "spent_units",
        "usable_until_ns",
    )

    def __init__(
        self,
        lease: LeaseId,
        *,
        granted_units: int,
        expires_at_ns: int,
        safety_margin_ns: int,
        fencing_token: int,
        low_water_units: int = 0,
    ) -> None:
        self.lease = lease_id(lease)
        if not cost_units(granted_units, "granted_units"):
            raise ConfigError("granted_units", granted_units, "at least 1")
        if cost_units(low_water_units, "low_water_units") >= granted_units:
            raise ConfigError("low_water_units", low_water_units, f"below what is granted, which is {granted_units}")
        if type(expires_at_ns) is not int:
            raise ConfigError("expires_at_ns", expires_at_ns, "an integer of nanoseconds")
        if type(safety_margin_ns) is not int or safety_margin_ns < 0:
            raise ConfigError("safety_margin_ns", safety_margin_ns, "an integer of at least 0")
        if type(fencing_token) is not int or not 0 <= fencing_token <= _FENCE_MAX:
            raise ConfigError("fencing_token", fencing_token, f"an integer from 0 to {_FENCE_MAX}")
        self.granted_units = granted_units
        self.remaining_units = granted_units
        self.pending_units = 0
        self.spent_units = 0
        self.usable_until_ns = expires_at_ns - safety_margin_ns
        self.fencing_token = fencing_token
        self.low_water_units = low_water_units

    def __repr__(self) -> str:
        return (
            f"Lease(remaining={self.remaining_units}, pending={self.pending_units}, spent={self.spent_units}, "
            f"granted={self.granted_units})"
        )


class Overage:
    """Credit of one account on this instance: what is committed stays, what is pending may come back.

    Attributes:
        cap_units: The largest cap that a principal's snapshot carries now; 0 without one.
        committed_units: Charged.
        pending_units: Debited and neither charged nor given back.
    """

    __slots__ = ("_caps", "cap_units", "committed_units", "pending_units")

    def __init__(self) -> None:
        self._caps: dict[Principal, int] = {}
        self.cap_units = 0
        self.committed_units = 0
        self.pending_units = 0

    def publish(self, principal: Principal, cap_units: int | None) -> None:
        """Take note of the cap that a principal's snapshot carries; None for a strict one, or none any more.

        The cap of the account is the largest of them, never the sum: principals share the one counter.
        """
        before = self._caps.pop(principal, 0)
        if cap_units is not None:
            self._caps[principal] = cap_units
            if cap_units >= self.cap_units:
                self.cap_units = cap_units
                return
        if before == self.cap_units:
            self.cap_units = max(self._caps.values(), default=0)

    def try_debit(self, units: int) -> RequestDenyReason | None:
        """Debit units as pending, or say why not and change nothing.

        Returns:
            None when debited; ``overage_cap_temporarily_exhausted`` if giving back what is pending would make room,
            else ``overage_cap_exhausted``.
        """
        if self.committed_units + self.pending_units + units <= self.cap_units:
            self.pending_units += units
            return None
        if self.committed_units + units <= self.cap_units:
            return RequestDenyReason.OVERAGE_CAP_TEMPORARILY_EXHAUSTED
        return RequestDenyReason.OVERAGE_CAP_EXHAUSTED


class Reservation:
    """The debit for one request.

    Attributes:
        phase: Where it stands; what is billed follows the phase, not what paid at first.
        units: The quote, in cost units.
        lease: The lease that was debited, or None; it has paid only if the phase says so.
        is_cancel_requested: Whether anybody asked to stop, in time or not.
    """

    __slots__ = ("_overage", "is_cancel_requested", "lease", "phase", "units")

    def __init__(self, units: int, lease: Lease | None, overage: Overage) -> None:
        self.units = units
        self.lease = lease
        self._overage = overage
        self.phase = Phase.PENDING_OVERAGE if lease is None else Phase.PENDING_LEASE
        self.is_cancel_requested = False

    def cancel(self) -> bool:
        """Give the units back unless the request has been charged.

        Returns:
            Whether it was this call that gave them back.
        """
        if not TRANSITIONS[self.phase]:
            return False
        lease = self.lease
        self._move(Phase.RELEASED)
        if lease is None:
            self._overage.pending_units -= self.units
        else:
            lease.pending_units -= self.units
            lease.remaining_units += self.units
        return True

    def commit(self, now_ns: int, *, is_elastic: bool) -> RequestDenyReason | None:
        """Charge the quote, whatever becomes of the request.

        A lease that is not usable any more does not pay. For an elastic account the units are then debited as overage
        first, and only then is the reservation moved and the lease refunded, so there is no instant at which neither
        pays.

        Returns:
            None when charged; otherwise why not, and the units are given back.

        Raises:
            CallerError: If it is not pending.
        """
        if not TRANSITIONS[self.phase]:
            raise CallerError(f"a reservation that is {self.phase} cannot be committed")
        units, lease, overage = self.units, self.lease, self._overage
        if lease is None:
            self._move(Phase.COMMITTED_OVERAGE)
            overage.pending_units -= units
            overage.committed_units += units
            return None
        if now_ns < lease.usable_until_ns:
            self._move(Phase.COMMITTED_LEASE)
            lease.pending_units -= units
            lease.spent_units += units
            return None
        why = overage.try_debit(units) if is_elastic else RequestDenyReason.FUNDING_EXPIRED_AT_START
        if why is not None:
            self.cancel()
            return why
        self._move(Phase.COMMITTED_OVERAGE)
        overage.pending_units -= units
        overage.committed_units += units
        lease.pending_units -= units
        lease.remaining_units += units
        return None

    def _move(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise InvariantViolation(f"a reservation cannot go from {self.phase} to {phase}")
        self.phase = phase


class AccountFunding:
    """What pays for the requests of one account on this instance.

    Attributes:
        lease: The current lease, or None.
        overage: Its credit.
        is_refill_wanted: The doorbell: a debit reached the low-water mark or was refused.
        refused_units: The largest quote that the current lease was too small for, 0 if none: what a refill must hold.
    """

    __slots__ = ("_evidence_end_ns", "_evidence_units", "is_refill_wanted", "lease", "overage", "refused_units")

    def __init__(self) -> None:
        self.lease: Lease | None = None
        self.overage = Overage()
        self.is_refill_wanted = False
        self.refused_units = 0
        self._evidence_units: int | None = None
        self._evidence_end_ns: int | None = None

    def install(self, lease: Lease) -> Lease | None:
        """Make a lease the current one; new funding clears the doorbell, the refused quote and the evidence.

        Returns:
            The lease that it replaces, which what is pending is still refunded to.

        Raises:
            CallerError: If its fencing token is not above that of the current lease.
        """
        before = self.lease
        if before is not None and lease.fencing_token <= before.fencing_token:
            raise CallerError(
                f"fencing token {lease.fencing_token} is not above {before.fencing_token}: an older lease came late"
            )
        self.lease = lease
        self.is_refill_wanted = False
        self.refused_units = 0
        self.clear_evidence()
        return before

    def report(self, remaining_units: int, period_end_ns: int | None) -> None:
        """Take the allocator's word for what the account has left, until its period ends or funding arrives.

        Args:
            remaining_units: Cost units.
            period_end_ns: From this instant on the word does not hold; None if the period has no end.
        """
        self._evidence_units = cost_units(remaining_units, "remaining_units")
        self._evidence_end_ns = period_end_ns

    def clear_evidence(self) -> None:
        """Forget the allocator's word: the budget has changed."""
        self._evidence_units = None

    def reserve(self, units: int, now_ns: int, *, is_elastic: bool) -> Reservation | RequestDenial:
        """Debit a quote.

        Args:
            units: The quote, in cost units.
            now_ns: The instant.
            is_elastic: Whether credit may pay for what the lease cannot.

        Returns:
            The reservation, pending; or the denial, and no units have moved.
        """
        lease = self.lease
        if lease is None:
            why = RequestDenyReason.LEASE_UNAVAILABLE
        elif now_ns >= lease.usable_until_ns:
            why = RequestDenyReason.LEASE_EXPIRED
        elif units > lease.remaining_units:
            why = RequestDenyReason.LEASE_EXHAUSTED
            self.refused_units = max(self.refused_units, units)
        else:
            lease.remaining_units -= units
            lease.pending_units += units
            if lease.remaining_units <= lease.low_water_units:
                self.is_refill_wanted = True
            return Reservation(units, lease, self.overage)
        self.is_refill_wanted = True
        if is_elastic:
            refused = self.overage.try_debit(units)
            return Reservation(units, None, self.overage) if refused is None else denial(refused)
        return self._explained(why, units, now_ns)

    def _explained(self, why: RequestDenyReason, units: int, now_ns: int) -> RequestDenial:
        """Say "never" instead of "not now" where the allocator has said that no refill can hold the quote."""
        left, end_ns = self._evidence_units, self._evidence_end_ns
        if left is None or (end_ns is not None and now_ns >= end_ns) or units <= left:
            return denial(why)
        if not left:
            return denial(RequestDenyReason.BALANCE_EXHAUSTED)
        return RequestDenial(RequestDenyReason.BALANCE_INSUFFICIENT, left)
