"""The record of what was charged, and the bounded place it is put in, reserved before any work is read.

A slot is capacity for one event that is already there, so recording cannot fail when the work has been done. Events
stay in memory until they are taken; whoever takes them is responsible for the ledger.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from tollgate.core.errors import InvariantViolation
from tollgate.core.gauge import Gauge, Permit
from tollgate.core.ids import AccountId, KeyId, LeaseId, PolicyRevision, Principal, RequestId

__all__ = ["UsageEvent", "UsageSink", "UsageSlot", "UsageSource"]


class UsageSource(StrEnum):
    """What paid."""

    LEASE = "lease"
    OVERAGE = "overage"


class UsageEvent(NamedTuple):
    """One request that was charged.

    Attributes:
        request: Which request.
        account: Who pays.
        principal: Who asked.
        key: By which credential, if known.
        units: The charge, in cost units.
        source: What paid, by the phase in which the reservation ended.
        lease: The lease that paid, or None.
        fencing_token: That lease's, or None.
        generation: That of the snapshot it was begun under.
        revision: The policy revision of that snapshot.
        committed_at_ns: When it was charged.
    """

    request: RequestId
    account: AccountId
    principal: Principal
    key: KeyId | None
    units: int
    source: UsageSource
    lease: LeaseId | None
    fencing_token: int | None
    generation: int
    revision: PolicyRevision
    committed_at_ns: int


class UsageSlot(Protocol):
    """Room for exactly one event; either method ends it."""

    def record(self, event: UsageEvent) -> None:
        """Put the event there; cannot fail, as the room was reserved."""

    def release(self) -> object:
        """Give the room back without an event."""


class UsageSink:
    """A bounded queue of events in memory.

    Args:
        capacity: Events and reserved slots together, at least 1.

    Raises:
        ConfigError: If there is no room.
    """

    __slots__ = ("_events", "_room")

    def __init__(self, capacity: int) -> None:
        self._room = Gauge(capacity)
        self._events: list[tuple[UsageEvent, Permit]] = []

    def __len__(self) -> int:
        """Events that wait to be taken."""
        return len(self._events)

    @property
    def free(self) -> int:
        """Slots that can be reserved now."""
        return self._room.free

    def try_reserve(self) -> UsageSlot | None:
        """Reserve room for one event, or return None and change nothing."""
        permit = self._room.try_acquire()
        return None if permit is None else _Slot(self._events, permit)

    def take(self) -> list[UsageEvent]:
        """Take all events, oldest first, and free their room."""
        taken, self._events[:] = self._events[:], []
        for _, permit in taken:
            permit.release()
        return [event for event, _ in taken]


class _Slot:
    __slots__ = ("_events", "_permit")

    def __init__(self, events: list[tuple[UsageEvent, Permit]], permit: Permit) -> None:
        self._events = events
        self._permit: Permit | None = permit

    def record(self, event: UsageEvent) -> None:
        permit = self._permit
        if permit is None:
            raise InvariantViolation("a usage slot was used twice")
        self._permit = None
        self._events.append((event, permit))

    def release(self) -> bool:
        permit, self._permit = self._permit, None
        return permit is not None and permit.release()

    def __del__(self) -> None:
        self.release()
