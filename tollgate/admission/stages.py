"""The life of one request after it began: admit, acquire capacity, commit, leave.

Each stage is used once; using it again raises :class:`StageConsumed` and changes nothing. A stage that is left without
the next one, by ``close()``, at the end of a ``with`` block, or because nobody refers to it any more, gives back what
it held at once and charges nothing. What was committed is charged, whatever happens.

The order of the checks is part of the contract and is that of the code of :meth:`RequestContext.admit`.
"""

from __future__ import annotations

from types import TracebackType
from typing import Final, NamedTuple, NoReturn, Self

from tollgate.admission.capacity import CapacityGate
from tollgate.admission.counters import Counters
from tollgate.admission.funding import Phase, Reservation
from tollgate.admission.snapshots import PrincipalState
from tollgate.admission.usage import UsageEvent, UsageSink, UsageSlot, UsageSource
from tollgate.core.account_limits import RequestLimits
from tollgate.core.cost import Demand, Workload
from tollgate.core.errors import CallerError, Refused
from tollgate.core.gauge import Permit
from tollgate.core.ids import PolicyRevision, RequestId
from tollgate.core.request_denial import RequestDenial, RequestDenyReason, denial
from tollgate.core.snapshot import Snapshot

__all__ = [
    "CANCELLED",
    "AlreadyCommitted",
    "CancelHandle",
    "Cancelled",
    "Committed",
    "Pending",
    "Ready",
    "RequestContext",
    "StageConsumed",
]


class StageConsumed(CallerError):  # noqa: N818 - named for what happened
    """A stage was used after it had led to the next one or had been closed."""


class Cancelled(NamedTuple):
    """A handle was quicker: nothing was charged. Not a denial, as nobody refused.

    Attributes:
        reason: Always ``cancelled``.
        advice: What to do about it.
    """

    reason: str = "cancelled"
    advice: str = "it was given up by its caller"

    def or_raise(self) -> NoReturn:
        """Raise it as :class:`~tollgate.core.errors.Refused`."""
        raise Refused(self)


CANCELLED: Final = Cancelled()


class AlreadyCommitted(NamedTuple):
    """A cancellation came too late.

    Attributes:
        units: The charge, which stands, in cost units.
    """

    units: int


class _Work:
    """What an admitted request holds, owned by one stage after the other.

    Dropped with its stage, it settles itself: uncommitted work is cancelled, committed work is recorded.
    """

    __slots__ = ("capacity", "counters", "event", "is_open", "permit", "reservation", "slot", "state")

    def __init__(
        self, state: PrincipalState, counters: Counters, reservation: Reservation, permit: Permit, slot: UsageSlot
    ) -> None:
        self.state = state
        self.counters = counters
        self.reservation = reservation
        self.permit = permit
        self.slot = slot
        self.capacity: Permit | None = None
        self.event: UsageEvent | None = None
        self.is_open = True

    def settle(self) -> None:
        """End it by what it has come to: recorded if it was committed, else cancelled."""
        if self.is_open:
            if self.event is None:
                self.counters.canceled_before_start += 1
            self.end()

    def end(self) -> None:
        """Give back everything, once; the caller has counted the outcome."""
        self.is_open = False
        try:
            if self.event is None:
                self.reservation.cancel()
                self.slot.release()
            else:
                self.slot.record(self.event)
        finally:
            self.permit.release()
            if self.capacity is not None:
                self.capacity.release()

    def __del__(self) -> None:
        self.settle()


class _Stage:
    """What the stages of admitted work share."""

    __slots__ = ("_held",)

    def __init__(self, work: _Work) -> None:
        self._held: _Work | None = work

    def __enter__(self) -> Self:
        self._work()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def or_raise(self) -> Self:
        """Return the stage: it is no denial."""
        return self

    @property
    def units(self) -> int:
        """The quote, in cost units."""
        return self._work().reservation.units

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the request was begun under."""
        return self._work().state.snapshot

    @property
    def policy_revision(self) -> PolicyRevision:
        """What the embedder calls the policy it was begun under."""
        return self.snapshot.revision

    def estimate_remaining(self) -> int | None:
        """Return about how many cost units the account has left; see :meth:`PrincipalState.estimate_remaining`."""
        return self._work().state.estimate_remaining()

    def close(self) -> None:
        """End it here; nothing happens if it has led to the next stage or was closed before."""
        work, self._held = self._held, None
        if work is not None:
            work.settle()

    def _work(self) -> _Work:
        work = self._held
        if work is None:
            raise StageConsumed(f"this {type(self).__name__} has been used")
        return work


class RequestContext:
    """A request that has begun: its principal is known and allowed, and nothing is taken yet."""

    __slots__ = ("_counters", "_pinned")

    def __init__(self, state: PrincipalState, counters: Counters) -> None:
        self._pinned: PrincipalState | None = state
        self._counters = counters

    def __enter__(self) -> Self:
        self._state()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def or_raise(self) -> Self:
        """Return the context: it is no denial."""
        return self

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that the request was begun under."""
        return self._state().snapshot

    @property
    def limits(self) -> RequestLimits:
        """Its limits, under which the body is read."""
        return self._state().snapshot.limits

    @property
    def policy_revision(self) -> PolicyRevision:
        """What the embedder calls the policy it was begun under."""
        return self._state().snapshot.revision

    def estimate_remaining(self) -> int | None:
        """Return about how many cost units the account has left; see :meth:`PrincipalState.estimate_remaining`."""
        return self._state().estimate_remaining()

    def reserve_slot(self, sink: UsageSink) -> UsageSlot | RequestDenial:
        """Reserve room for the usage event, before the body is read.

        Returns:
            The slot; or the denial ``accounting_backpressure``, which ends the request here.
        """
        self._state()
        slot = sink.try_reserve()
        if slot is not None:
            return slot
        self._pinned = None
        return self._counters.deny(denial(RequestDenyReason.ACCOUNTING_BACKPRESSURE))

    def admit(self, workload: Workload, slot: UsageSlot, now_ns: int) -> Pending | RequestDenial:
        """Take what the request needs, or nothing but rate tokens.

        In this order: validity; permissions of the classes of work; items; price; the account's buckets, together or
        not at all; a place for the principal and one for the account; funding. What a later check refuses keeps the
        rate tokens of an earlier one: giving them back would feed a loop of retries.

        Args:
            workload: Classes of work with how many items of each.
            slot: Room for the usage event; the stage owns it from here on, a denial releases it.
            now_ns: The instant.

        Returns:
            The pending request, or the denial.

        Raises:
            StageConsumed: If the context was used before.
            CallerError: If the workload is malformed; the context and the slot stay as they were.
        """
        state = self._state()
        demand = state.snapshot.cost_table.read(workload)
        admitted = _admitted(state, demand, now_ns)
        self._pinned = None
        if isinstance(admitted, RequestDenial):
            slot.release()
            return self._counters.deny(admitted)
        reservation, permit = admitted
        counters = self._counters
        counters.admitted += 1
        counters.units_admitted += reservation.units
        state.account.admitted_units += reservation.units
        if reservation.phase is Phase.PENDING_OVERAGE:
            counters.admitted_overage += 1
        return Pending(_Work(state, counters, reservation, permit, slot))

    def close(self) -> None:
        """Give the request up; nothing happens if it went on or was closed before."""
        if self._pinned is not None:
            self._pinned = None
            self._counters.contexts_abandoned += 1

    def _state(self) -> PrincipalState:
        state = self._pinned
        if state is None:
            raise StageConsumed("this RequestContext has been used")
        return state


def _admitted(state: PrincipalState, demand: Demand, now_ns: int) -> tuple[Reservation, Permit] | RequestDenial:
    """Run the checks in their fixed order; what a denial leaves taken is rate tokens and nothing else."""
    snapshot = state.snapshot
    if now_ns >= snapshot.valid_until_ns:
        return denial(RequestDenyReason.SNAPSHOT_EXPIRED)
    if demand.permissions & ~snapshot.permissions:
        return denial(RequestDenyReason.MISSING_PERMISSION)
    limits = snapshot.limits
    if demand.items > limits.max_items_per_request:
        return denial(RequestDenyReason.REQUEST_TOO_LARGE)
    units = snapshot.cost_table.price(demand)
    if isinstance(units, RequestDenyReason):
        return denial(units)
    account = state.account
    short = account.authority.take_rates(units, now_ns)
    if short is not None:
        return denial(short)
    permit = account.authority.enter(state.gauge, limits.principal_concurrency)
    if permit is None:
        return denial(RequestDenyReason.CONCURRENCY_LIMITED)
    reservation: Reservation | RequestDenial | None = None
    try:
        reservation = account.funding.reserve(units, now_ns, is_elastic=state.is_elastic)
    finally:
        if not isinstance(reservation, Reservation):
            permit.release()
    return reservation if isinstance(reservation, RequestDenial) else (reservation, permit)


class Pending(_Stage):
    """An admitted request: its quote is debited and not charged, its places are taken."""

    __slots__ = ()

    def acquire_capacity(self, gate: CapacityGate) -> Ready | RequestDenial:
        """Take a place to execute in, of the class that the snapshot says.

        Returns:
            The request, ready to start; or the denial ``capacity_unavailable``, which gives the units back.
        """
        work = self._work()
        self._held = None
        work.capacity = gate.try_enter(work.state.snapshot.capacity_class)
        if work.capacity is not None:
            return Ready(work)
        work.counters.capacity_shed += 1
        work.end()
        return denial(RequestDenyReason.CAPACITY_UNAVAILABLE)


class Ready(_Stage):
    """A request that may start."""

    __slots__ = ()

    def split(self) -> tuple[Ready, CancelHandle]:
        """Return the stage for whoever executes, and a handle for whoever may lose patience."""
        work = self._work()
        self._held = None
        return Ready(work), CancelHandle(work.reservation)

    def commit(self, request: RequestId, now_ns: int) -> Committed | RequestDenial | Cancelled:
        """Charge the quote, as execution starts.

        Args:
            request: How the usage event names the request.
            now_ns: The instant.

        Returns:
            The committed request; the denial, if its funding does not hold any more; or that a handle was quicker. Only
            the first is charged.
        """
        work = self._work()
        self._held = None
        reservation, state, counters = work.reservation, work.state, work.counters
        if reservation.phase is Phase.RELEASED:
            work.settle()
            return CANCELLED
        was_lease = reservation.phase is Phase.PENDING_LEASE
        why = reservation.commit(now_ns, is_elastic=state.is_elastic)
        if why is not None:
            work.end()
            return counters.refuse(denial(why))
        snapshot = state.snapshot
        lease = reservation.lease if reservation.phase is Phase.COMMITTED_LEASE else None
        work.event = UsageEvent(
            request=request,
            account=snapshot.account,
            principal=snapshot.principal,
            key=snapshot.key,
            units=reservation.units,
            source=UsageSource.OVERAGE if lease is None else UsageSource.LEASE,
            lease=None if lease is None else lease.lease,
            fencing_token=None if lease is None else lease.fencing_token,
            generation=snapshot.generation,
            revision=snapshot.revision,
            committed_at_ns=now_ns,
        )
        counters.start(snapshot.capacity_class)
        if was_lease and lease is None:
            counters.commit_overage += 1
        return Committed(work)


class Committed(_Stage):
    """A request that executes; leaving it records one usage event and frees its places."""

    __slots__ = ()

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody asked to stop after it had started; the charge stands."""
        return self._work().reservation.is_cancel_requested


class CancelHandle:
    """Gives a request up from outside whoever executes it."""

    __slots__ = ("_reservation",)

    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation

    def cancel(self) -> Cancelled | AlreadyCommitted:
        """Ask to stop; exactly one of this and ``commit`` wins.

        The units are back at once. Places and the usage slot go back when the executing side lets go of its stage.

        Returns:
            That nothing was or will be charged, or the charge that stands.
        """
        self._reservation.is_cancel_requested = True
        self._reservation.cancel()
        if self._reservation.phase is Phase.RELEASED:
            return CANCELLED
        return AlreadyCommitted(self._reservation.units)
