"""Leases, credit, reservations, the doorbell and the allocator's word; each rule of the specification by hand."""

import itertools

import pytest

from tests.unit.admission.house import ANN, BOB, lease
from tollgate.admission.funding import TRANSITIONS, AccountFunding, Lease, Overage, Phase
from tollgate.core.errors import CallerError, ConfigError, InvariantViolation
from tollgate.core.request_denial import RequestDenyReason as Why


def funded(granted=100, **changes):
    funding = AccountFunding()
    funding.install(lease(granted, **changes))
    return funding


def reason(outcome):
    return outcome.reason


def test_phases_follow_each_other_as_the_specification_says():
    edges = {(before.value, after.value) for before, following in TRANSITIONS.items() for after in following}
    assert edges == {
        ("pending_lease", "committed_lease"),
        ("pending_lease", "committed_overage"),
        ("pending_lease", "released"),
        ("pending_overage", "committed_overage"),
        ("pending_overage", "released"),
    }


def test_no_phase_is_reached_outside_the_table():
    for before, after in itertools.product(Phase, Phase):
        reservation = funded().reserve(1, 0, is_elastic=False)
        reservation.phase = before
        if after in TRANSITIONS[before]:
            reservation._move(after)
        else:
            with pytest.raises(InvariantViolation, match="cannot go"):
                reservation._move(after)


def test_debit_is_pending_until_it_is_charged_or_given_back():
    funding = funded()
    kept, dropped = (funding.reserve(units, 0, is_elastic=False) for units in (30, 20))
    held = funding.lease
    assert (held.remaining_units, held.pending_units, held.spent_units) == (50, 50, 0)
    assert dropped.cancel()
    assert not dropped.cancel()
    assert kept.commit(0, is_elastic=False) is None
    assert not kept.cancel()
    assert (held.remaining_units, held.pending_units, held.spent_units) == (70, 0, 30)
    for ended in (kept, dropped):
        with pytest.raises(CallerError, match="cannot be committed"):
            ended.commit(0, is_elastic=False)


def test_lease_stops_at_its_safety_margin_for_debits_and_commits_alike():
    funding = funded(usable_until_ns=100)
    last = funding.reserve(1, 99, is_elastic=False)
    late = funding.reserve(1, 99, is_elastic=False)
    assert reason(funding.reserve(1, 100, is_elastic=False)) is Why.LEASE_EXPIRED
    assert last.commit(99, is_elastic=False) is None
    assert late.commit(100, is_elastic=False) is Why.FUNDING_EXPIRED_AT_START
    assert late.phase is Phase.RELEASED
    assert (funding.lease.remaining_units, funding.lease.pending_units) == (99, 0)


def test_without_a_lease_nothing_is_funded():
    funding = AccountFunding()
    assert reason(funding.reserve(1, 0, is_elastic=False)) is Why.LEASE_UNAVAILABLE
    assert funding.is_refill_wanted


def test_doorbell_rings_at_the_low_water_mark_and_at_every_refusal():
    funding = funded(100, low_water=40)
    funding.reserve(59, 0, is_elastic=False)
    assert not funding.is_refill_wanted
    funding.reserve(1, 0, is_elastic=False)
    assert funding.is_refill_wanted
    above_its_mark = funded(49, low_water=10)
    assert reason(above_its_mark.reserve(51, 0, is_elastic=False)) is Why.LEASE_EXHAUSTED
    above_its_mark.reserve(50, 0, is_elastic=False)
    assert (above_its_mark.is_refill_wanted, above_its_mark.refused_units) == (True, 51)


def test_new_lease_clears_the_doorbell_and_refunds_still_go_to_the_old_one():
    funding = funded(10)
    pending = funding.reserve(10, 0, is_elastic=False)
    funding.reserve(5, 0, is_elastic=False)
    new = lease(50, fence=2)
    old = funding.install(new)
    assert (funding.is_refill_wanted, funding.refused_units, old.pending_units) == (False, 0, 10)
    pending.cancel()
    assert (old.remaining_units, old.pending_units, new.remaining_units) == (10, 0, 50)


@pytest.mark.parametrize("fence", [4, 5])
def test_older_lease_never_replaces_a_newer_one(fence):
    funding = funded(fence=5)
    held = funding.lease
    with pytest.raises(CallerError, match="fencing token"):
        funding.install(lease(fence=fence))
    assert funding.lease is held


def elastic(cap, granted=0, **changes):
    funding = funded(granted, **changes) if granted else AccountFunding()
    funding.overage.publish(ANN, cap)
    return funding


def test_credit_pays_only_what_the_lease_cannot():
    funding = elastic(10, granted=5)
    assert funding.reserve(5, 0, is_elastic=True).phase is Phase.PENDING_LEASE
    assert funding.reserve(5, 0, is_elastic=True).phase is Phase.PENDING_OVERAGE
    assert reason(funding.reserve(5, 0, is_elastic=False)) is Why.LEASE_EXHAUSTED
    assert funding.overage.pending_units == 5


def test_refusals_of_credit_tell_what_may_come_back():
    funding = elastic(10)
    first = funding.reserve(6, 0, is_elastic=True)
    assert reason(funding.reserve(5, 0, is_elastic=True)) is Why.OVERAGE_CAP_TEMPORARILY_EXHAUSTED
    assert reason(funding.reserve(11, 0, is_elastic=True)) is Why.OVERAGE_CAP_EXHAUSTED
    assert first.commit(10**15, is_elastic=True) is None
    assert reason(funding.reserve(5, 0, is_elastic=True)) is Why.OVERAGE_CAP_EXHAUSTED
    assert funding.reserve(4, 0, is_elastic=True).cancel()
    assert (funding.overage.committed_units, funding.overage.pending_units) == (6, 0)


def test_lapsed_lease_falls_back_to_credit_at_commit():
    funding = elastic(10, granted=10, usable_until_ns=100)
    reservation = funding.reserve(10, 99, is_elastic=True)
    assert reservation.commit(100, is_elastic=True) is None
    assert reservation.phase is Phase.COMMITTED_OVERAGE
    held, credit = funding.lease, funding.overage
    assert (held.remaining_units, held.pending_units, held.spent_units) == (10, 0, 0)
    assert (credit.committed_units, credit.pending_units) == (10, 0)


@pytest.mark.parametrize("is_committed", [True, False])
def test_fallback_that_finds_no_credit_releases_and_says_which(is_committed):
    funding = elastic(10, granted=10, usable_until_ns=100)
    reservation = funding.reserve(10, 99, is_elastic=True)
    other = funding.reserve(1, 99, is_elastic=True)
    if is_committed:
        other.commit(99, is_elastic=True)
    expected = Why.OVERAGE_CAP_EXHAUSTED if is_committed else Why.OVERAGE_CAP_TEMPORARILY_EXHAUSTED
    assert reservation.commit(100, is_elastic=True) is expected
    assert reservation.phase is Phase.RELEASED
    assert funding.lease.remaining_units == 10


def test_cap_of_an_account_is_the_largest_that_is_published_never_the_sum():
    credit = Overage()
    caps = []
    for principal, cap in [(ANN, 5), (BOB, 7), (ANN, 6), (BOB, 2), (ANN, None), (BOB, None), (BOB, None)]:
        credit.publish(principal, cap)
        caps.append(credit.cap_units)
    assert caps == [5, 7, 7, 6, 2, 0, 0]


def test_allocators_word_turns_not_now_into_never_while_it_is_live():
    funding = funded(10)
    funding.report(0, 100)
    assert reason(funding.reserve(11, 0, is_elastic=False)) is Why.BALANCE_EXHAUSTED
    funding.report(5, 100)
    refused = funding.reserve(11, 99, is_elastic=False)
    assert (refused.reason, refused.remaining_units) == (Why.BALANCE_INSUFFICIENT, 5)
    assert reason(funding.reserve(11, 100, is_elastic=False)) is Why.LEASE_EXHAUSTED


def test_allocators_word_never_refuses_what_can_be_funded_or_refilled():
    funding = funded(10)
    funding.report(0, None)
    assert funding.reserve(10, 0, is_elastic=False).phase is Phase.PENDING_LEASE
    funding.report(20, None)
    assert reason(funding.reserve(20, 0, is_elastic=False)) is Why.LEASE_EXHAUSTED


@pytest.mark.parametrize("clear", [lambda funding: funding.install(lease(1, fence=2)), AccountFunding.clear_evidence])
def test_funding_and_a_changed_budget_clear_the_allocators_word(clear):
    funding = funded(10)
    funding.report(0, None)
    clear(funding)
    assert reason(funding.reserve(11, 0, is_elastic=False)) is Why.LEASE_EXHAUSTED


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("granted_units", 0),
        ("granted_units", 2**64),
        ("low_water_units", 10),
        ("low_water_units", -1),
        ("expires_at_ns", 1.5),
        ("safety_margin_ns", -1),
        ("fencing_token", -1),
        ("lease", "x"),
    ],
)
def test_a_lease_out_of_range_is_refused_by_name(field, value):
    fields = {
        "lease": "e" * 32,
        "granted_units": 10,
        "expires_at_ns": 1,
        "safety_margin_ns": 0,
        "fencing_token": 0,
        "low_water_units": 0,
    }
    with pytest.raises(ConfigError, match=field):
        Lease(**{**fields, field: value})
