"""Which snapshot is in force, by generation; what revocation and absence mean; what outlives a publication."""

import gc

from tests.unit.admission.house import ACCOUNT, ANN, BOB, OTHER_ACCOUNT, Instance, lease, snapshot
from tollgate.core.account_limits import AccountPolicy, RateLimit, RequestLimits
from tollgate.core.request_denial import RequestDenyReason as Why
from tollgate.core.snapshot import BudgetView, Elastic, publishable


def publish(instance, **changes):
    return instance.map.publish(publishable(snapshot(**changes)), 0)


def test_generations_never_go_back():
    instance = Instance(snapshot(generation=5))
    assert not publish(instance, generation=4)
    assert not publish(instance, generation=5)
    assert publish(instance, generation=6)
    assert instance.map.get(ANN).snapshot.generation == 6


def test_revoked_generation_stays_out_and_a_newer_one_comes_in():
    instance = Instance(snapshot(generation=5))
    assert instance.map.revoke(ANN, 5)
    assert instance.map.get(ANN) is None
    assert not publish(instance, generation=5)
    assert publish(instance, generation=6)


def test_revocation_older_than_what_is_in_force_changes_nothing():
    instance = Instance(snapshot(generation=5))
    assert not instance.map.revoke(ANN, 4)
    assert instance.map.get(ANN) is not None


def test_revocation_of_somebody_never_seen_raises_the_floor():
    instance = Instance()
    assert instance.map.revoke(BOB, 3)
    assert not publish(instance, principal=BOB, generation=3)
    assert publish(instance, principal=BOB, generation=4)


def test_absence_is_not_a_revocation():
    instance = Instance(snapshot(generation=5))
    assert instance.map.forget(ANN)
    assert not instance.map.forget(ANN)
    assert instance.map.get(ANN) is None
    assert not publish(instance, generation=4)
    assert publish(instance, generation=5)


def test_refused_publication_reaches_neither_rates_nor_credit():
    instance = Instance(snapshot(generation=5))
    fast = RequestLimits(max_items_per_request=1, requests_per_second=1, request_burst=1)
    assert not publish(instance, generation=4, limits=fast, enforcement=Elastic(100))
    assert instance.account.authority.policy == AccountPolicy()
    assert instance.account.funding.overage.cap_units == 0


def test_principals_of_an_account_share_its_newest_policy():
    slow = RequestLimits(max_items_per_request=10, requests_per_second=1, request_burst=1)
    instance = Instance(snapshot(), snapshot(BOB, generation=2, limits=slow))
    assert instance.account.authority.policy.request_rate == RateLimit(1, 1)
    assert instance.admit(principal=ANN).units == 1
    assert instance.admit(principal=BOB).reason is Why.REQUEST_RATE_LIMITED


def test_gauge_of_a_principal_outlives_its_publications_while_it_has_work():
    limits = RequestLimits(max_items_per_request=10, account_concurrency=5, principal_concurrency=1)
    instance = Instance(snapshot(limits=limits))
    pending = instance.admit()
    instance.map.forget(ANN)
    gc.collect()
    assert publish(instance, limits=limits)
    assert instance.admit().reason is Why.CONCURRENCY_LIMITED
    pending.close()
    assert instance.admit().units == 1


def test_credit_that_was_spent_stays_spent_when_the_principal_returns():
    instance = Instance(snapshot(enforcement=Elastic(10)), granted=0)
    with instance.ready(10).commit("f" * 32, 0):
        pass
    instance.map.revoke(ANN, 1)
    assert publish(instance, generation=2, enforcement=Elastic(10))
    assert instance.admit(1).reason is Why.OVERAGE_CAP_EXHAUSTED


def test_principal_that_changes_its_account_leaves_no_cap_behind():
    instance = Instance(snapshot(enforcement=Elastic(10)))
    assert publish(instance, generation=2, account=OTHER_ACCOUNT, enforcement=Elastic(20))
    assert instance.map.account(ACCOUNT).funding.overage.cap_units == 0
    assert instance.map.account(OTHER_ACCOUNT).funding.overage.cap_units == 20


def test_estimate_is_what_the_ledger_said_less_what_was_admitted_since():
    instance = Instance()
    assert instance.begin().estimate_remaining() is None
    proof = publishable(snapshot(generation=2)).with_budget(BudgetView(5))
    instance.map.publish(proof, 0)
    pending = instance.admit(3)
    assert (pending.estimate_remaining(), instance.begin().estimate_remaining()) == (2, 2)
    # It never refuses anything: the lease decides.
    assert instance.admit(7).estimate_remaining() == 0


def test_changed_budget_clears_the_allocators_word():
    instance = Instance(granted=0)
    funding = instance.account.funding
    funding.install(lease(1))
    funding.report(0, None)
    assert instance.admit(2).reason is Why.BALANCE_EXHAUSTED
    instance.map.publish(publishable(snapshot(generation=2)).with_budget(BudgetView(50)), 0)
    assert instance.admit(2).reason is Why.LEASE_EXHAUSTED
