"""A bug for each invariant, put into the running code; its witness must see it.

The list here and the table of docs/reference/invariants.md are compared, so that no invariant stands without both.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.property.decision import test_must_hold as must_hold
from tollgate.core.breaker import CANCELLED, Breaker, Probe
from tollgate.core.bucket import TokenBucket
from tollgate.core.lanes import Lane, Turns
from tollgate.decision import pools
from tollgate.decision.controller import AdmissionController
from tollgate.decision.eligibility import Eligibility
from tollgate.decision.waiting import WaitingRoom


def no_look_after_a_release(patch):
    release = AdmissionController.release

    def released(controller, permit, outcome, now_ns):
        is_first = release(controller, permit, outcome, now_ns)
        controller._is_due = False
        return is_first

    patch.setattr(AdmissionController, "release", released)


def served_lane_keeps_its_turn(patch):
    patch.setattr(Turns, "served", lambda *_: None)


def one_permit_too_many(patch):
    configure = pools.Pool.configure

    def configured(pool, limits, now_ns):
        configure(pool, limits, now_ns)
        pool.gauge.set_limit(pool.gauge.limit + 1)

    patch.setattr(pools.Pool, "configure", configured)


def newcomers_go_to_the_front(patch):
    append = Lane.append

    def appended(lane, item):
        append(lane, item)
        lane._items.move_to_end(item, last=False)
        lane.head = item

    patch.setattr(Lane, "append", appended)


def expiry_one_nanosecond_late(patch):
    expire = AdmissionController._expire
    patch.setattr(AdmissionController, "_expire", lambda controller, until_ns: expire(controller, until_ns - 1))


def decisions_are_not_forgotten(patch):
    poll = AdmissionController.poll

    def polled(controller, now_ns):
        decisions = poll(controller, now_ns)
        controller._decisions = list(decisions)
        return decisions

    patch.setattr(AdmissionController, "poll", polled)


def cancelled_call_keeps_its_permit(patch):
    release = AdmissionController.release

    def released(controller, permit, outcome, now_ns):
        return True if outcome is CANCELLED else release(controller, permit, outcome, now_ns)

    patch.setattr(AdmissionController, "release", released)


def profile_change_refills_buckets(patch):
    def fresh(bucket, limit, now_ns):
        return None if limit is None else TokenBucket(rate=limit[0], burst=limit[1], now_ns=now_ns)

    patch.setattr(pools, "_bucket", fresh)


def served_lane_goes_first_again(patch):
    join = Turns.join

    def joined(turns, lane):
        join(turns, lane)
        lane.turn = -lane.turn

    patch.setattr(Turns, "join", joined)


def looking_at_a_bucket_loses_its_fraction(patch):
    poll = AdmissionController.poll

    def polled(controller, now_ns):
        bucket = controller._workspace.tokens
        if bucket is not None:
            level = int(bucket.level(now_ns))
            bucket.full = now_ns * bucket.gain + bucket.cap - level * bucket.grain
        return poll(controller, now_ns)

    patch.setattr(AdmissionController, "poll", polled)


def lane_is_counted_by_walking(patch):
    served = WaitingRoom.served

    def counted(room, ticket, lane, now_ns):
        assert sum(1 for _ in lane) == lane.size
        served(room, ticket, lane, now_ns)

    patch.setattr(WaitingRoom, "served", counted)


def nobody_takes_a_claim(patch):
    patch.setattr(Eligibility, "claim", lambda *_: None)


def wakeups_one_nanosecond_late(patch):
    next_wakeup_ns = AdmissionController.next_wakeup_ns

    def late(controller):
        instant_ns = next_wakeup_ns(controller)
        return None if instant_ns is None else instant_ns + 1

    patch.setattr(AdmissionController, "next_wakeup_ns", late)


def outcome_of_any_generation_counts(patch):
    record = Breaker.record

    def recorded(breaker, handle, outcome, now_ns):
        record(breaker, Probe(breaker.generation) if breaker.generation else handle, outcome, now_ns)

    patch.setattr(Breaker, "record", recorded)


class Planted(NamedTuple):
    """An invariant's witness, and the bug that must turn it red."""

    witness: object
    bug: object


PLANTED = {
    "DC1": Planted(must_hold.test_dc1_no_permit_stays_free_while_an_eligible_head_waits, no_look_after_a_release),
    "DC2": Planted(must_hold.test_dc2_k_free_permits_serve_k_lanes, served_lane_keeps_its_turn),
    "DC3": Planted(must_hold.test_dc3_no_scope_ever_has_more_in_flight_than_its_limit, one_permit_too_many),
    "DC4": Planted(must_hold.test_dc4_a_lane_is_first_in_first_out, newcomers_go_to_the_front),
    "DC5": Planted(
        must_hold.test_dc5_nothing_is_admitted_from_the_instant_at_which_it_expired, expiry_one_nanosecond_late
    ),
    "DC6": Planted(must_hold.test_dc6_each_request_gets_exactly_one_decision, decisions_are_not_forgotten),
    "DC7": Planted(must_hold.test_dc7_cancelling_at_any_instant_leaks_nothing, cancelled_call_keeps_its_permit),
    "DC8": Planted(must_hold.test_dc8_no_window_admits_more_than_its_bucket_allows, profile_change_refills_buckets),
    "DC9": Planted(
        must_hold.test_dc9_an_eligible_lane_waits_at_most_n_minus_1_dispatches, served_lane_goes_first_again
    ),
    "DC10": Planted(must_hold.test_dc10_the_same_steps_give_the_same_decisions, looking_at_a_bucket_loses_its_fraction),
    "DC11": Planted(
        must_hold.test_dc11_a_decision_costs_no_more_than_the_logarithm_of_the_waiting,
        lane_is_counted_by_walking,
    ),
    "DC12": Planted(must_hold.test_dc12_the_lowest_live_claims_due_instant_never_moves, nobody_takes_a_claim),
    "DC13": Planted(
        must_hold.test_dc13_whoever_sleeps_until_the_wakeup_decides_at_the_exact_instant, wakeups_one_nanosecond_late
    ),
    "DC14": Planted(
        must_hold.test_dc14_only_a_probes_outcome_moves_a_half_open_breaker, outcome_of_any_generation_counts
    ),
}


@pytest.mark.parametrize("number", PLANTED)
def test_witness_sees_its_planted_bug(number, monkeypatch):
    witness, plant = PLANTED[number]
    with monkeypatch.context() as patch:
        plant(patch)
        with pytest.raises(AssertionError):
            witness()
    witness()  # the bug is gone again


def test_table_of_invariants_and_planted_bugs_agree(repository: Path):
    page = (repository / "docs" / "reference" / "invariants.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (DC\d+) \|.*\| `(test_\w+)`, `(?:\w+)` \|$", page, re.MULTILINE))
    bugs = dict(re.findall(r"^\| (DC\d+) \|.*\| `(?:test_\w+)`, `(\w+)` \|$", page, re.MULTILINE))
    assert rows == {number: planted.witness.__name__ for number, planted in PLANTED.items()}
    assert bugs == {number: planted.bug.__name__ for number, planted in PLANTED.items()}
    witnesses = {name for name in vars(must_hold) if name.startswith("test_")}
    assert set(rows.values()) == witnesses, "a witness without an invariant"
