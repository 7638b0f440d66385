"""Which snapshot of each principal is in force, by generation, and the state that outlives it.

A generation never goes back: an older publication is refused, and an equal one too if it was revoked or stands already.
An absence (the source has no row) takes a principal out and says nothing about generations, so the same one may return.
Accounts, once seen, and the last generation of each principal are kept for the life of the map: forgetting an account
would give back what it has spent. Nothing here bounds them.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from tollgate.admission.account import AccountAuthority, PrincipalGauge
from tollgate.admission.counters import Counters
from tollgate.admission.funding import AccountFunding
from tollgate.core.account_limits import AccountPolicy
from tollgate.core.ids import AccountId, Principal
from tollgate.core.snapshot import BudgetView, Elastic, PublishableSnapshot, Snapshot

__all__ = ["Account", "PrincipalState", "SnapshotMap"]


class Account:
    """The state that all principals of an account share.

    Attributes:
        authority: Rates and concurrency.
        funding: Lease and overage.
        admitted_units: Quotes that were admitted, in cost units, ever.
        budget: The ledger's view that was published last.
    """

    __slots__ = ("admitted_units", "authority", "budget", "funding")

    def __init__(self, policy: AccountPolicy, generation: int, now_ns: int) -> None:
        self.authority = AccountAuthority(policy, generation, now_ns)
        self.funding = AccountFunding()
        self.admitted_units = 0
        self.budget: BudgetView | None = None


class PrincipalState:
    """A snapshot in force with the state that its requests count against.

    Attributes:
        snapshot: The snapshot.
        account: The state of its account.
        gauge: What the principal has in flight.
        is_elastic: Whether credit may pay.
    """

    __slots__ = ("_admitted_before", "account", "gauge", "is_elastic", "snapshot")

    def __init__(self, snapshot: Snapshot, account: Account, gauge: PrincipalGauge) -> None:
        self.snapshot = snapshot
        self.account = account
        self.gauge = gauge
        self.is_elastic = isinstance(snapshot.enforcement, Elastic)
        self._admitted_before = account.admitted_units

    def estimate_remaining(self) -> int | None:
        """Return about how many cost units the account has left, for people; None if no ledger has said.

        What the ledger held at publication less what this instance has admitted since: wrong by what other instances
        spend and by what was cancelled. Nothing is decided by it.
        """
        budget = self.snapshot.budget
        if budget is None:
            return None
        return max(budget.remaining_units - (self.account.admitted_units - self._admitted_before), 0)


class SnapshotMap:
    """The snapshots of one instance.

    Attributes:
        counters: The tally of the requests that begin here.
    """

    __slots__ = ("_accounts", "_gauges", "_marks", "_states", "counters")

    def __init__(self) -> None:
        self.counters = Counters()
        self._accounts: dict[AccountId, Account] = {}
        self._gauges: WeakValueDictionary[Principal, PrincipalGauge] = WeakValueDictionary()
        # The highest generation seen of each principal, and whether it was revoked.
        self._marks: dict[Principal, tuple[int, bool]] = {}
        self._states: dict[Principal, PrincipalState] = {}

    def get(self, principal: Principal) -> PrincipalState | None:
        """Return the state of a principal, or None."""
        return self._states.get(principal)

    def account(self, account: AccountId) -> Account | None:
        """Return the state of an account, or None before the first of its principals was published."""
        return self._accounts.get(account)

    def publish(self, proof: PublishableSnapshot, now_ns: int) -> bool:
        """Put a snapshot in force for requests that begin from now on.

        Returns:
            Whether it is in force; False, and nothing has changed, if its generation is older than what was seen of the
            principal, or equal to what was revoked or is in force.
        """
        snapshot = proof.snapshot
        principal = snapshot.principal
        mark = self._marks.get(principal)
        before = self._states.get(principal)
        if mark is not None:
            generation, is_dead = mark
            if snapshot.generation < generation:
                return False
            if snapshot.generation == generation and (is_dead or before is not None):
                return False
        self._marks[principal] = snapshot.generation, False
        account = self._accounts.get(snapshot.account)
        policy = snapshot.limits.account_policy
        if account is None:
            account = self._accounts[snapshot.account] = Account(policy, snapshot.generation, now_ns)
        else:
            account.authority.publish(policy, snapshot.generation, now_ns)
        if snapshot.budget != account.budget:
            account.budget = snapshot.budget
            account.funding.clear_evidence()
        if before is not None and before.account is not account:
            before.account.funding.overage.publish(principal, None)
        enforcement = snapshot.enforcement
        cap = enforcement.overage_cap_units if isinstance(enforcement, Elastic) else None
        account.funding.overage.publish(principal, cap)
        gauge = self._gauges.get(principal)
        if gauge is None:
            gauge = self._gauges[principal] = PrincipalGauge()
        self._states[principal] = PrincipalState(snapshot, account, gauge)
        return True

    def revoke(self, principal: Principal, generation: int) -> bool:
        """Take a principal out, for its source says that this generation is withdrawn.

        Returns:
            Whether it counts; False, and nothing has changed, if a newer generation was seen.
        """
        mark = self._marks.get(principal)
        if mark is not None and generation < mark[0]:
            return False
        self._marks[principal] = generation, True
        self._take_out(principal)
        return True

    def forget(self, principal: Principal) -> bool:
        """Take a principal out, for its source has no row of it; the generation it had may return.

        Returns:
            Whether it was there.
        """
        return self._take_out(principal)

    def _take_out(self, principal: Principal) -> bool:
        state = self._states.pop(principal, None)
        if state is None:
            return False
        state.account.funding.overage.publish(principal, None)
        return True
