"""What makes a snapshot, and what keeps one from being published."""

import dataclasses
from pathlib import Path

import pytest

from tollgate.core.account_limits import RequestLimits
from tollgate.core.cost import CostTable
from tollgate.core.errors import CallerError, ConfigError
from tollgate.core.snapshot import (
    STRICT,
    AccountStatus,
    BudgetView,
    CapacityClass,
    Elastic,
    InvalidSnapshotLimits,
    PublishableSnapshot,
    Snapshot,
    publishable,
)


def snapshot(**changes):
    fields = {
        "account": "a" * 32,
        "principal": "b" * 32,
        "status": AccountStatus.ACTIVE,
        "limits": RequestLimits(max_items_per_request=10, rate_units_per_second=1, rate_burst_units=25),
        "cost_table": CostTable(weights=(2, 1), fixed_request=5),
        "generation": 1,
        "valid_until_ns": 100,
    }
    return Snapshot(**{**fields, **changes})


def test_status_is_never_assumed():
    fields = {field.name: getattr(snapshot(), field.name) for field in dataclasses.fields(Snapshot) if field.init}
    del fields["status"]
    with pytest.raises(TypeError, match="status"):
        Snapshot(**fields)


def test_what_is_not_said_is_the_safe_choice():
    made = snapshot()
    assert (made.permissions, made.enforcement, made.capacity_class) == (0, STRICT, CapacityClass.ASSURED)
    assert (made.revision, made.key, made.budget) == ("0" * 64, None, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("account", "A" * 32),
        ("principal", "b" * 31),
        ("key", "0x" + "c" * 30),
        ("revision", "0" * 32),
        ("status", "active"),
        ("capacity_class", "assured"),
        ("permissions", -1),
        ("limits", None),
        ("cost_table", {}),
        ("enforcement", "strict"),
        ("generation", -1),
        ("generation", True),
        ("valid_until_ns", 1.0),
    ],
)
def test_a_field_out_of_range_is_refused_by_name(field, value):
    with pytest.raises(ConfigError, match=field):
        snapshot(**{field: value})


def test_dearest_request_may_be_as_large_as_the_burst():
    # 5 + 2 * 10 = 25
    assert publishable(snapshot()).worst_case_units == 25


@pytest.mark.parametrize("is_enabled", [True, False])
def test_burst_below_one_dearest_request_is_refused_even_while_it_is_switched_off(is_enabled):
    limits = RequestLimits(
        max_items_per_request=10, rate_units_per_second=1, rate_burst_units=24, is_weighted_rate_enabled=is_enabled
    )
    with pytest.raises(
        InvalidSnapshotLimits, match=r"limits\.rate_burst_units: got 24; allowed: at least 25"
    ) as raised:
        publishable(snapshot(limits=limits))
    assert raised.value.code == "invalid-snapshot-limits"


def test_minimum_charge_counts_as_the_dearest_request_too():
    with pytest.raises(InvalidSnapshotLimits, match="at least 26"):
        publishable(snapshot(cost_table=CostTable(weights=(0,), minimum_charge=26)))


def test_dearest_request_must_have_a_price():
    limits = RequestLimits(max_items_per_request=2**63)
    with pytest.raises(InvalidSnapshotLimits, match=r"limits\.max_items_per_request"):
        publishable(snapshot(limits=limits))
    assert publishable(snapshot(limits=limits, cost_table=CostTable(weights=(None,)))).worst_case_units == 0


def test_overage_cap_must_fund_one_dearest_request():
    assert publishable(snapshot(enforcement=Elastic(25))).worst_case_units == 25
    with pytest.raises(InvalidSnapshotLimits, match=r"enforcement\.overage_cap_units: got 24"):
        publishable(snapshot(enforcement=Elastic(24)))


def test_proof_is_made_by_validation_alone_and_does_not_change():
    with pytest.raises(CallerError, match="publishable"):
        PublishableSnapshot(snapshot(), 0, made_by=object())
    proof = publishable(snapshot())
    with pytest.raises(CallerError, match="does not change"):
        proof.snapshot = snapshot(generation=2)


def test_budget_is_stamped_on_a_proof_and_nowhere_else():
    with pytest.raises(TypeError, match="budget"):
        snapshot(budget=BudgetView(1))
    proof = publishable(snapshot())
    stamped = proof.with_budget(BudgetView(7, 50))
    assert (stamped.snapshot.budget, stamped.worst_case_units) == (BudgetView(7, 50), 25)
    assert proof.snapshot.budget is None
    assert stamped.with_budget(None).snapshot.budget is None
    assert dataclasses.replace(stamped.snapshot, generation=2).budget is None
    with pytest.raises(CallerError, match="BudgetView"):
        proof.with_budget(7)


def test_only_stores_stamp_a_budget(repository):
    callers = [
        path.relative_to(repository).as_posix()
        for path in sorted(Path(repository, "tollgate").rglob("*.py"))
        if ".with_budget(" in path.read_text(encoding="utf-8")
    ]
    assert [path for path in callers if not path.startswith("tollgate/stores/")] == []


@pytest.mark.parametrize(
    "make", [lambda: Elastic(-1), lambda: BudgetView(2**64), lambda: BudgetView(1, period_end_ns=0.5)]
)
def test_credit_and_budget_check_themselves(make):
    with pytest.raises(ConfigError, match="an integer"):
        make()
