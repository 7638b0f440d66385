"""Where a request begins: one look at the map, status, validity, route permission.

Knows nothing of what comes after; see :mod:`tollgate.admission.stages`.
"""

from __future__ import annotations

from tollgate.admission.counters import Counters
from tollgate.admission.snapshots import SnapshotMap
from tollgate.admission.stages import RequestContext
from tollgate.core.cost import Permissions
from tollgate.core.ids import Principal
from tollgate.core.request_denial import RequestDenial, RequestDenyReason, denial
from tollgate.core.snapshot import AccountStatus

__all__ = ["AdmissionEngine"]


class AdmissionEngine:
    """Begins requests against a map of snapshots.

    Attributes:
        snapshots: The map.

    Args:
        snapshots: The map.
    """

    __slots__ = ("snapshots",)

    def __init__(self, snapshots: SnapshotMap) -> None:
        self.snapshots = snapshots

    @property
    def counters(self) -> Counters:
        """How the requests ended."""
        return self.snapshots.counters

    def begin(self, principal: Principal, required: Permissions, now_ns: int) -> RequestContext | RequestDenial:
        """Begin a request under the snapshot that is in force now.

        Args:
            principal: Who asks.
            required: Every permission that the route requires.
            now_ns: The instant.

        Returns:
            The context, which keeps that snapshot whatever is published later; or the denial.
        """
        state = self.snapshots.get(principal)
        counters = self.snapshots.counters
        if state is None:
            return counters.deny(denial(RequestDenyReason.UNKNOWN_PRINCIPAL))
        snapshot = state.snapshot
        if snapshot.status is not AccountStatus.ACTIVE:
            is_closed = snapshot.status is AccountStatus.CLOSED
            why = RequestDenyReason.ACCOUNT_CLOSED if is_closed else RequestDenyReason.ACCOUNT_SUSPENDED
            return counters.deny(denial(why))
        if now_ns >= snapshot.valid_until_ns:
            return counters.deny(denial(RequestDenyReason.SNAPSHOT_EXPIRED))
        if required & ~snapshot.permissions:
            return counters.deny(denial(RequestDenyReason.MISSING_PERMISSION))
        return RequestContext(state, counters)
