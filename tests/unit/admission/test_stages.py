"""One request from begin to the end, every refusal in its order, and every way to give up."""

import pytest

from tests.unit.admission.house import ANN, BOB, NO_GATE, REQUEST, Instance, lease, snapshot
from tollgate.admission.capacity import Uniform
from tollgate.admission.stages import CANCELLED, AlreadyCommitted, StageConsumed
from tollgate.admission.usage import UsageEvent, UsageSource
from tollgate.core.account_limits import RequestLimits
from tollgate.core.cost import COST_UNITS_MAX, CostTable
from tollgate.core.errors import CallerError, Refused
from tollgate.core.request_denial import RequestDenyReason as Why
from tollgate.core.snapshot import AccountStatus, CapacityClass, Elastic, publishable


def rows(instance):
    return {f"{name}.{label}".rstrip("."): count for name, label, count in instance.counters.rows() if count}


def test_a_request_is_charged_once_and_recorded_when_it_ends():
    instance = Instance()
    with instance.ready(3).commit(REQUEST, 7) as committed:
        assert (committed.units, committed.is_cancelled) == (3, False)
        assert instance.held() == (1, 1, 0, 0)
        assert instance.sink.take() == []
    assert instance.sink.take() == [
        UsageEvent(REQUEST, "a" * 32, ANN, None, 3, UsageSource.LEASE, "e" * 32, 1, 1, "0" * 64, 7)
    ]
    assert instance.held() == (0, 0, 0, 0)
    assert instance.account.funding.lease.spent_units == 3
    assert rows(instance) == {"admitted": 1, "units_admitted": 3, "execution_started.assured": 1}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"status": AccountStatus.SUSPENDED, "valid_until_ns": 0}, Why.ACCOUNT_SUSPENDED),
        ({"status": AccountStatus.CLOSED}, Why.ACCOUNT_CLOSED),
        ({"valid_until_ns": 50, "permissions": 0}, Why.SNAPSHOT_EXPIRED),
        ({"permissions": 6}, Why.MISSING_PERMISSION),
    ],
)
def test_begin_checks_status_then_validity_then_permission(changes, why):
    instance = Instance(snapshot(**changes))
    refused = instance.begin(required=1, now_ns=50)
    assert refused.reason is why
    assert rows(instance) == {f"denied.{why.value}": 1}


def test_somebody_unknown_is_refused():
    assert Instance().begin(BOB).reason is Why.UNKNOWN_PRINCIPAL


def test_validity_ends_at_its_instant_and_is_checked_again():
    instance = Instance(snapshot(valid_until_ns=50))
    context = instance.begin(now_ns=49)
    assert context.admit([(0, 1)], instance.sink.try_reserve(), 50).reason is Why.SNAPSHOT_EXPIRED
    assert instance.sink.free == 100


# Each row breaks every check from its own on; the first of them must be the one that speaks.
ORDER = [
    (Why.SNAPSHOT_EXPIRED, {"valid_until_ns": 1}, [(1, 11), (9, 1)]),
    (Why.MISSING_PERMISSION, {}, [(1, 11), (9, 1)]),
    (Why.REQUEST_TOO_LARGE, {}, [(0, 11), (9, 1)]),
    (Why.UNPRICED_OPERATION, {}, [(9, 1)]),
    (Why.EMPTY_WORKLOAD, {}, []),
    (Why.COST_OVERFLOW, {}, [(2, 2)]),
    (Why.REQUEST_RATE_LIMITED, {}, [(0, 10)]),
]


@pytest.mark.parametrize(("why", "changes", "workload"), ORDER)
def test_admit_checks_in_its_fixed_order(why, changes, workload):
    limits = RequestLimits(
        max_items_per_request=10,
        rate_units_per_second=1,
        rate_burst_units=10,
        requests_per_second=1,
        request_burst=1,
        account_concurrency=1,
    )
    # Published raw: the proof would refuse a class that no burst fits.
    table = CostTable(weights=(1, 1, COST_UNITS_MAX), permissions=(0, 2))
    instance = Instance(snapshot(limits=limits))
    instance.admit(10).close()
    account = instance.account
    account.authority.enter(instance.map.get(ANN).gauge, None)
    state = instance.map.get(ANN)
    state.snapshot = snapshot(limits=limits, cost_table=table, **changes)
    context = instance.begin(now_ns=0)
    refused = context.admit(workload, instance.sink.try_reserve(), 1)
    assert refused.reason is why


def test_rates_then_places_then_funding_refuse_in_that_order():
    limits = RequestLimits(max_items_per_request=10, requests_per_second=1, request_burst=2, account_concurrency=1)
    instance = Instance(snapshot(limits=limits), granted=1)
    first = instance.admit(1)
    assert instance.admit(10).reason is Why.CONCURRENCY_LIMITED
    assert instance.admit(10).reason is Why.REQUEST_RATE_LIMITED
    first.close()
    assert instance.admit(10, now_ns=10**9).reason is Why.LEASE_EXHAUSTED
    assert instance.held() == (0, 0, 0, 0)


def test_later_refusals_keep_the_rate_tokens_spent_and_give_everything_else_back():
    limits = RequestLimits(max_items_per_request=10, rate_units_per_second=1, rate_burst_units=10)
    instance = Instance(snapshot(limits=limits), granted=0)
    assert instance.admit(6).reason is Why.LEASE_UNAVAILABLE
    assert instance.admit(6).reason is Why.RATE_LIMITED
    assert instance.held() == (0, 0, 0, 0)
    assert instance.sink.free == 100


def test_full_usage_queue_sheds_before_the_body_is_read():
    instance = Instance(slots=1)
    slot = instance.begin().reserve_slot(instance.sink)
    context = instance.begin()
    assert context.reserve_slot(instance.sink).reason is Why.ACCOUNTING_BACKPRESSURE
    with pytest.raises(StageConsumed):
        context.admit([(0, 1)], slot, 0)
    del context
    assert rows(instance) == {"denied.accounting_backpressure": 1, "contexts_abandoned": 1}


def test_full_gate_gives_the_units_back_and_drops_the_slot():
    instance = Instance()
    gate = Uniform(1)
    running = instance.ready(gate=gate).commit(REQUEST, 0)
    assert instance.ready(5, gate=gate).reason is Why.CAPACITY_UNAVAILABLE
    running.close()
    assert instance.ready(5, gate=gate).units == 5
    counted = rows(instance)
    assert (counted["admitted"], counted["capacity_shed"], counted["execution_started.assured"]) == (3, 1, 1)
    assert len(instance.sink) == 1


def test_gate_is_told_the_class_of_the_pinned_snapshot():
    instance = Instance(snapshot(capacity_class=CapacityClass.BEST_EFFORT))
    pending = instance.admit()
    instance.map.publish(publishable(snapshot(generation=2)), 0)
    seen = []

    class Gate:
        def try_enter(self, capacity_class):
            seen.append(capacity_class)
            return NO_GATE.try_enter(capacity_class)

    pending.acquire_capacity(Gate()).commit(REQUEST, 0).close()
    assert seen == [CapacityClass.BEST_EFFORT]
    assert rows(instance)["execution_started.best_effort"] == 1


def test_a_begun_request_keeps_its_snapshot_and_follows_the_accounts_policy():
    instance = Instance()
    first, second = instance.begin(), instance.begin()
    dear = CostTable(weights=(9,))
    tight = RequestLimits(max_items_per_request=10, account_concurrency=1)
    instance.map.publish(publishable(snapshot(generation=2, cost_table=dear, limits=tight)), 0)
    pending = first.admit([(0, 2)], instance.sink.try_reserve(), 0)
    assert (pending.units, pending.snapshot.generation) == (2, 1)
    assert second.admit([(0, 2)], instance.sink.try_reserve(), 0).reason is Why.CONCURRENCY_LIMITED


def test_strict_request_whose_lease_lapses_does_not_start():
    instance = Instance(granted=0)
    instance.account.funding.install(lease(10, usable_until_ns=100))
    refused = instance.ready(10, now_ns=99).commit(REQUEST, 100)
    assert refused.reason is Why.FUNDING_EXPIRED_AT_START
    assert instance.held() == (0, 0, 0, 0)
    assert (len(instance.sink), instance.sink.free) == (0, 100)
    assert rows(instance)["refused_at_start.funding_expired_at_start"] == 1


def test_elastic_request_whose_lease_lapses_is_billed_as_overage():
    instance = Instance(snapshot(enforcement=Elastic(10)), granted=0)
    instance.account.funding.install(lease(10, usable_until_ns=100))
    instance.ready(10, now_ns=99).commit(REQUEST, 100).close()
    (event,) = instance.sink.take()
    assert (event.source, event.lease, event.fencing_token) == (UsageSource.OVERAGE, None, None)
    counted = rows(instance)
    assert (counted["commit_overage"], "admitted_overage" in counted) == (1, False)


def test_credit_at_admission_is_counted_and_billed_as_overage():
    instance = Instance(snapshot(enforcement=Elastic(10)), granted=0)
    instance.ready(10).commit(REQUEST, 0).close()
    assert instance.sink.take()[0].source is UsageSource.OVERAGE
    counted = rows(instance)
    assert (counted["admitted_overage"], "commit_overage" in counted) == (1, False)


@pytest.mark.parametrize("stage", ["context", "pending", "ready", "committed"])
@pytest.mark.parametrize("leave", ["close", "with", "raise", "drop"])
def test_a_stage_that_is_left_gives_back_at_once_and_is_counted_once(stage, leave):
    instance = Instance()
    make = {
        "context": instance.begin,
        "pending": instance.admit,
        "ready": instance.ready,
        "committed": lambda: instance.ready().commit(REQUEST, 0),
    }
    held = make[stage]()
    if leave == "close":
        held.close()
        held.close()
    elif leave == "with":
        with held:
            pass
    elif leave == "raise":
        with pytest.raises(ZeroDivisionError), held:
            raise ZeroDivisionError
    del held
    assert instance.held() == (0, 0, 0, 0)
    counted = rows(instance)
    outcome = {
        "context": {"contexts_abandoned": 1},
        "pending": {"admitted": 1, "units_admitted": 1, "canceled_before_start": 1},
        "ready": {"admitted": 1, "units_admitted": 1, "canceled_before_start": 1},
        "committed": {"admitted": 1, "units_admitted": 1, "execution_started.assured": 1},
    }
    assert counted == outcome[stage]
    assert len(instance.sink.take()) == (stage == "committed")
    assert instance.sink.free == 100
    assert instance.account.funding.lease.spent_units == (stage == "committed")


def test_stages_are_used_once():
    instance = Instance()
    context = instance.begin()
    pending = context.admit([(0, 1)], instance.sink.try_reserve(), 0)
    ready = pending.acquire_capacity(NO_GATE)
    split, _ = ready.split()
    committed = split.commit(REQUEST, 0)
    committed.close()
    slot = instance.sink.try_reserve()
    uses = [
        lambda: context.admit([(0, 1)], slot, 0),
        lambda: context.reserve_slot(instance.sink),
        lambda: context.limits,
        context.__enter__,
        lambda: pending.acquire_capacity(NO_GATE),
        lambda: pending.units,
        lambda: ready.commit(REQUEST, 0),
        ready.split,
        lambda: split.commit(REQUEST, 0),
        committed.__enter__,
    ]
    for use in uses:
        with pytest.raises(StageConsumed):
            use()
    assert rows(instance) == {"admitted": 1, "units_admitted": 1, "execution_started.assured": 1}


def test_malformed_workload_leaves_context_and_slot_as_they_were():
    instance = Instance()
    context, slot = instance.begin(), instance.sink.try_reserve()
    with pytest.raises(CallerError, match="class index"):
        context.admit([(-1, 1)], slot, 0)
    assert context.admit([(0, 1)], slot, 0).units == 1


def test_cancel_and_commit_race_and_one_wins():
    instance = Instance()
    ready, handle = instance.ready(4).split()
    assert handle.cancel() is CANCELLED
    # Units are back at once; places when the executing side lets go.
    assert instance.held() == (1, 1, 0, 0)
    assert ready.commit(REQUEST, 0) is CANCELLED
    assert instance.held() == (0, 0, 0, 0)

    ready, handle = instance.ready(4).split()
    with ready.commit(REQUEST, 0) as committed:
        assert handle.cancel() == AlreadyCommitted(4)
        assert committed.is_cancelled
    assert handle.cancel() == AlreadyCommitted(4)
    assert instance.account.funding.lease.spent_units == 4
    assert (rows(instance)["canceled_before_start"], rows(instance)["execution_started.assured"]) == (1, 1)


def test_stages_and_denials_answer_or_raise():
    instance = Instance(granted=5)
    context = instance.begin().or_raise()
    assert context.admit([(0, 5)], instance.sink.try_reserve(), 0).or_raise().units == 5
    with pytest.raises(Refused, match="lease_exhausted: a retry may help"):
        instance.admit(6).or_raise()
    with pytest.raises(Refused, match="cancelled"):
        CANCELLED.or_raise()


def test_every_label_is_exported_in_one_order_without_a_name():
    instance = Instance()
    before = [row[:2] for row in instance.counters.rows()]
    instance.begin(BOB)
    assert [row[:2] for row in instance.counters.rows()] == before
    for name in ("denied", "refused_at_start"):
        assert [label for each, label in before if each == name] == [why.value for why in Why]
