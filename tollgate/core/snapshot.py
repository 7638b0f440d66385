"""The rules for one principal, compiled into one value that never changes, and the proof that they may be published.

What is decided per request is decided against one snapshot. Whatever could make it undecidable (a worst case that has
no price, a burst that no worst case fits, an overage cap that funds none) is found once, by :func:`publishable`, and
only what it returns can be published. This module holds no state and knows no clock: ``valid_until_ns`` is compared by
whoever is told the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeAlias

from tollgate.core.account_limits import RequestLimits
from tollgate.core.cost import NO_PERMISSIONS, CostTable, Permissions, cost_units, permissions
from tollgate.core.errors import CallerError, ConfigError
from tollgate.core.ids import (
    UNSTATED_REVISION,
    AccountId,
    KeyId,
    PolicyRevision,
    Principal,
    account_id,
    key_id,
    policy_revision,
    principal,
)

__all__ = [
    "STRICT",
    "AccountStatus",
    "BudgetView",
    "CapacityClass",
    "Elastic",
    "Enforcement",
    "InvalidSnapshotLimits",
    "PublishableSnapshot",
    "Snapshot",
    "Strict",
    "publishable",
]

_GENERATION_MAX = 2**64 - 1


class AccountStatus(StrEnum):
    """Whether an account is served."""

    ACTIVE = "active"
    SUSPENDED = "suspended"
    CLOSED = "closed"


class CapacityClass(StrEnum):
    """Which execution capacity an account's work may use."""

    ASSURED = "assured"
    BEST_EFFORT = "best_effort"


@dataclass(frozen=True, slots=True)
class Strict:
    """What the lease cannot fund is refused."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """What the lease cannot fund may run on credit up to a cap.

    Args:
        overage_cap_units: Cost units that one instance may spend beyond its leases.
    """

    overage_cap_units: int

    def __post_init__(self) -> None:
        cost_units(self.overage_cap_units, "overage_cap_units")


Enforcement: TypeAlias = Strict | Elastic

STRICT: Final = Strict()


@dataclass(frozen=True, slots=True)
class BudgetView:
    """What the ledger held for the account when it stamped a snapshot; for people, never for a decision.

    Args:
        remaining_units: Cost units left in the period.
        period_end_ns: When the period ends; None if it does not.
    """

    remaining_units: int
    period_end_ns: int | None = None

    def __post_init__(self) -> None:
        cost_units(self.remaining_units, "remaining_units")
        if self.period_end_ns is not None and type(self.period_end_ns) is not int:
            raise ConfigError("period_end_ns", self.period_end_ns, "an integer of nanoseconds, or nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The rules for one principal.

    Args:
        account: Who pays.
        principal: Who asks.
        status: Required: an account is never served because nobody said that it is suspended.
        permissions: What the principal may do.
        limits: How much, how fast, how many at once.
        cost_table: What it costs.
        enforcement: Whether work may run on credit.
        capacity_class: Which execution capacity it may use.
        generation: Its place in the order of the principal's snapshots, 0 to 2^64 - 1.
        revision: What the embedder calls the policy behind it; carried, never interpreted.
        key: The credential it was resolved from, if that is known.
        valid_until_ns: From this instant on it decides nothing.

    Attributes:
        budget: What the ledger held, or None. No argument sets it and :func:`dataclasses.replace` clears it: only a
            store knows it, and stamps it with :meth:`PublishableSnapshot.with_budget`.

    Raises:
        ConfigError: Naming the field.
    """

    account: AccountId
    principal: Principal
    status: AccountStatus
    permissions: Permissions = NO_PERMISSIONS
    limits: RequestLimits
    cost_table: CostTable
    enforcement: Enforcement = STRICT
    capacity_class: CapacityClass = CapacityClass.ASSURED
    generation: int
    revision: PolicyRevision = UNSTATED_REVISION
    key: KeyId | None = None
    valid_until_ns: int
    budget: BudgetView | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        account_id(self.account)
        principal(self.principal)
        permissions(self.permissions)
        policy_revision(self.revision, "revision")
        if self.key is not None:
            key_id(self.key)
        _member(self.status, AccountStatus, "status")
        _member(self.capacity_class, CapacityClass, "capacity_class")
        for name, kind in (("limits", RequestLimits), ("cost_table", CostTable), ("enforcement", (Strict, Elastic))):
            if not isinstance(getattr(self, name), kind):
                raise ConfigError(name, getattr(self, name), "a value made by the type of that name")
        if type(self.generation) is not int or not 0 <= self.generation <= _GENERATION_MAX:
            raise ConfigError("generation", self.generation, f"an integer from 0 to {_GENERATION_MAX}")
        if type(self.valid_until_ns) is not int:
            raise ConfigError("valid_until_ns", self.valid_until_ns, "an integer of nanoseconds")


class InvalidSnapshotLimits(ConfigError):  # noqa: N818 - named for what was found
    """A snapshot whose limits could refuse for ever what its prices allow.

    Attributes:
        code: The stable name of this refusal, for whoever maps it to a protocol.
    """

    code = "invalid-snapshot-limits"


class PublishableSnapshot:
    """Proof that a snapshot may be published; only :func:`publishable` makes one.

    Attributes:
        snapshot: What may be published.
        worst_case_units: The dearest request that it allows, in cost units.

    Raises:
        CallerError: If it is constructed by anybody else.
    """

    __slots__ = ("snapshot", "worst_case_units")

    snapshot: Snapshot
    worst_case_units: int

    def __init__(self, snapshot: Snapshot, worst_case_units: int, *, made_by: object) -> None:
        if made_by is not _VALIDATION:
            raise CallerError("a publishable snapshot is made by publishable(), which checks it")
        # Written past the lock below.
        object.__setattr__(self, "snapshot", snapshot)
        object.__setattr__(self, "worst_case_units", worst_case_units)

    def __setattr__(self, name: str, value: object) -> None:
        raise CallerError(f"a proof does not change: {name} = {value!r}")

    def __repr__(self) -> str:
        return f"PublishableSnapshot({self.snapshot!r}, worst_case_units={self.worst_case_units})"

    def with_budget(self, budget: BudgetView | None) -> PublishableSnapshot:
        """Return the proof for the same snapshot with the ledger's view of its budget.

        For stores only, and for every publication of theirs: None clears what a publisher may have smuggled in. No
        check of :func:`publishable` reads the budget, so the proof stands.
        """
        if budget is not None and not isinstance(budget, BudgetView):
            raise CallerError(f"a snapshot is stamped with a BudgetView or with nothing, not with {budget!r}")
        stamped = replace(self.snapshot)
        object.__setattr__(stamped, "budget", budget)
        return PublishableSnapshot(stamped, self.worst_case_units, made_by=_VALIDATION)


_VALIDATION: Final = object()


def publishable(snapshot: Snapshot) -> PublishableSnapshot:
    """Check that every request which a snapshot allows can be priced, fits its burst and, on credit, its cap.

    The rate's pair is checked while it is switched off too: a rollback switches it on again.

    Raises:
        InvalidSnapshotLimits: Naming the field that is too small or too large.
    """
    limits = snapshot.limits
    worst = snapshot.cost_table.worst_case(limits.max_items_per_request)
    if not isinstance(worst, int):
        raise InvalidSnapshotLimits(
            "limits.max_items_per_request",
            limits.max_items_per_request,
            f"so few that the dearest request can be priced ({worst})",
        )
    if limits.rate_burst_units is not None and worst > limits.rate_burst_units:
        raise InvalidSnapshotLimits(
            "limits.rate_burst_units", limits.rate_burst_units, f"at least {worst}, the dearest request that is allowed"
        )
    enforcement = snapshot.enforcement
    if isinstance(enforcement, Elastic) and enforcement.overage_cap_units < worst:
        raise InvalidSnapshotLimits(
            "enforcement.overage_cap_units",
            enforcement.overage_cap_units,
            f"at least {worst}, the dearest request that is allowed",
        )
    return PublishableSnapshot(snapshot, worst, made_by=_VALIDATION)


def _member(value: object, kind: type[StrEnum], path: str) -> None:
    if not isinstance(value, kind):
        raise ConfigError(path, value, ", ".join(kind))
