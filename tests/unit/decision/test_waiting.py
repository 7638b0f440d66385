"""Who waits, how long, and in which order they go."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.unit.decision.desk import NOTHING, Desk, a_profile, per_ns
from tollgate.decision import AdmissionLimits

ONE = AdmissionLimits(concurrency=1)


# Turns


def test_lane_served_longest_ago_goes_next_when_a_lane_runs_dry():
    """Lines A, B B, C, D and one permit at a time: the reference serves A C B D B (Q2); nobody loses a turn here."""
    desk = Desk(workspace=ONE).ask("x", "E")
    for name in ("A1", "B1", "B2", "C1", "D1"):
        desk.ask(name, name[0])
    for now_ns in range(1, 7):
        desk.at(now_ns).end(desk.admitted()[-1])
    assert desk.admitted() == ["x", "A1", "B1", "C1", "D1", "B2"]


def test_a_lane_that_was_empty_joins_behind_those_that_wait():
    desk = Desk(workspace=ONE).ask("x", "A").ask("b", "B").ask("c", "C").ask("a", "A")
    for now_ns in range(1, 4):
        desk.at(now_ns).end(desk.admitted()[-1])
    assert desk.admitted() == ["x", "b", "c", "a"]


def test_a_lane_passed_over_keeps_its_place():
    """A's head lacks its own tokens while B and C are served; it goes first as soon as it may."""
    principals = {"A": AdmissionLimits(tokens_per_second=per_ns(1, 10), tokens_burst=1), "B": NOTHING, "C": NOTHING}
    desk = Desk(a_profile(ONE, None, principals)).ask("a0", "A", tokens=1)
    for name in ("a1", "b1", "b2", "b3", "c1", "c2", "c3"):
        desk.ask(name, name[0].upper(), tokens=1)
    for now_ns in (3, 6, 12, 13):
        desk.at(now_ns).end(desk.admitted()[-1])
    assert desk.admitted() == ["a0", "b1", "c1", "a1", "b2"]


def test_a_head_that_leaves_does_not_cost_its_lane_the_turn():
    desk = Desk(workspace=ONE).ask("x", "C").ask("a1", "A").ask("b1", "B").ask("a2", "A").cancel("a1")
    assert desk.at(1).end("x").admitted() == ["x", "a2"]


def test_a_principal_on_two_providers_has_two_turns():
    desk = Desk(a_profile(ONE, {"u": NOTHING, "v": NOTHING})).ask("x", "C")
    for name, principal, provider in (("a", "A", "u"), ("a2", "A", "u"), ("b", "B", "u"), ("av", "A", "v")):
        desk.ask(name, principal, provider)
    for now_ns in range(1, 5):
        desk.at(now_ns).end(desk.admitted()[-1])
    assert desk.admitted() == ["x", "a", "b", "av", "a2"]


# No head-of-line blocking


@pytest.mark.parametrize(
    ("limits_of_a", "limits_of_u", "tokens"),
    [
        ({"tokens_per_second": per_ns(1, 10**6), "tokens_burst": 4}, {}, 4),
        ({"requests_per_minute": Fraction(1)}, {}, 0),
        ({"concurrency": 1}, {}, 0),
        ({}, {"concurrency": 3, "max_principal_share": Fraction(1, 3)}, 0),
    ],
)
def test_a_head_held_by_something_of_its_own_blocks_no_other_lane(limits_of_a, limits_of_u, tokens):
    profile = a_profile(
        NOTHING, {"u": AdmissionLimits(**limits_of_u)}, {"A": AdmissionLimits(**limits_of_a), "B": NOTHING}
    )
    desk = Desk(profile).ask("a1", "A", tokens=tokens).ask("a2", "A", tokens=tokens).ask("b", "B")
    assert [desk.word(name) for name in ("a1", "a2", "b")] == ["admitted", "waits", "admitted"]


def test_a_paused_or_full_provider_holds_nobody_who_goes_elsewhere():
    desk = Desk(a_profile(NOTHING, {"u": ONE, "v": NOTHING, "x": NOTHING})).pause("v", 100)
    desk.ask("u1", "A", "u").ask("u2", "A", "u").ask("v1", "A", "v").ask("x1", "A", "x").ask("x2", "B", "x")
    assert desk.admitted() == ["u1", "x1", "x2"]


# Places in the queue


@pytest.mark.parametrize("scope", ["principal", "workspace", "provider"])
def test_queue_length_counts_those_who_wait_in_each_scope(scope):
    limits = {"workspace": {}, "provider": {}, "principal": {}}
    limits[scope]["max_queue_length"] = 2
    limits["workspace"]["concurrency"] = 1
    desk = Desk(
        a_profile(
            AdmissionLimits(**limits["workspace"]),
            {"u": AdmissionLimits(**limits["provider"])},
            {"A": AdmissionLimits(**limits["principal"])},
        )
    )
    words = [desk.ask(f"a{n}", "A").word(f"a{n}") for n in range(4)]
    assert words == ["admitted", "waits", "waits", "queue-full"]
    assert desk.cancel("a1").ask("again", "A").word("again") == "waits"


@pytest.mark.parametrize(("share", "length", "places"), [("0.29", 100, 29), ("0.5", 5, 2), ("0.1", 5, 1), ("1", 3, 3)])
@pytest.mark.parametrize("scope", ["workspace", "provider"])
def test_a_principal_queues_at_most_its_share_and_others_still_can(scope, share, length, places):
    """floor(0.29 * 100) is 29 exactly and 28 in doubles; a share never rounds down to nothing."""
    pool = {"max_queue_length": length, "max_principal_share": Fraction(share)}
    workspace = AdmissionLimits(concurrency=1, **(pool if scope == "workspace" else {}))
    provider = AdmissionLimits(**(pool if scope == "provider" else {}))
    desk = Desk(a_profile(workspace, {"u": provider}, {"A": NOTHING, "B": NOTHING})).ask("busy", "B")
    for number in range(places):
        assert desk.ask(f"a{number}", "A").word(f"a{number}") == "waits"
    assert desk.ask("over", "A").word("over") == "queue-full"
    assert desk.ask("b", "B").word("b") == ("waits" if places < length else "queue-full")


# Expiry


def test_queue_time_is_up_at_exactly_its_instant_also_behind_a_head():
    desk = Desk(a_profile(ONE, None, {"A": AdmissionLimits(max_queue_wait_ns=100), "B": NOTHING})).ask("x", "B")
    desk.at(3).ask("head", "A", deadline_ns=500).at(4).ask("second", "A", deadline_ns=50).at(1_000)
    assert desk.log[1:] == [(50, "second", "deadline-exceeded"), (103, "head", "queue-timeout")]


@pytest.mark.parametrize(
    ("deadline_ns", "word"), [(9, "deadline-exceeded"), (10, "deadline-exceeded"), (11, "queue-timeout")]
)
def test_whichever_comes_first_names_the_reason(deadline_ns, word):
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10))
    desk.ask("x", "A").ask("a", "A", deadline_ns=deadline_ns).at(20).poll()
    assert desk.log[-1] == (min(deadline_ns, 10), "a", word)


def test_shortest_longest_wait_of_the_three_scopes_counts():
    waits = [AdmissionLimits(max_queue_wait_ns=n, concurrency=1) for n in (30, 20, 25)]
    desk = Desk(a_profile(waits[0], {"u": waits[1]}, {"A": waits[2]})).ask("x", "A").ask("a", "A").at(99)
    assert desk.log[-1] == (20, "a", "queue-timeout")


def test_evidence_of_a_time_out_carries_the_true_wait():
    """The reference reports 0 (Q18)."""
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10)).ask("x", "A").at(5).ask("a", "B").at(99)
    assert desk.decisions["a"].evidence.queue_delay_ns == 10


def test_cancel_beats_an_expiry_of_its_own_instant_and_loses_to_an_earlier_one():
    desk = (
        Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10)).ask("x", "A").ask("a", "B").ask("b", "C")
    )
    desk.at(10).cancel("a")
    assert desk.log[1:] == [(10, "a", "cancelled"), (10, "b", "queue-timeout")]
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10)).ask("x", "A").ask("a", "B")
    assert desk.controller.cancel(desk.tickets["a"], 11) is False
    desk.now_ns = 11
    assert desk.poll().word("a") == "queue-timeout"


def test_those_who_expire_together_are_refused_in_the_order_of_their_coming():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10)).ask("x", "A")
    for name in ("c", "a", "b", "a2"):
        desk.ask(name, name[0].upper())
    assert [name for _, name, _ in desk.at(50).log[1:]] == ["c", "a", "b", "a2"]


# The weighted discipline


def weighted(weights, quantum=1):
    principals = {name: AdmissionLimits(weight=weight) for name, weight in weights.items()}
    return Desk(a_profile(ONE, None, principals, kind="deficit", quantum_tokens=quantum))


def served_by(desk, rounds):
    for now_ns in range(1, rounds + 1):
        desk.at(now_ns).end(desk.admitted()[-1])
    return [name[0] for name in desk.admitted()[1:]]


def test_weights_share_the_service_as_they_say():
    """Weights 1, 2 and 4 and equal costs: 1, 2 and 4 of each seven, in every seven."""
    desk = weighted({"A": 1, "B": 2, "C": 4}).ask("x", "A", tokens=1)
    for number in range(60):
        for principal in "ABC":
            desk.ask(f"{principal}{number}", principal, tokens=1)
    order = served_by(desk, 70)
    for first in range(0, 70, 7):
        assert sorted(order[first : first + 7]) == list("ABBCCCC")


def test_weighted_service_counts_tokens_and_not_requests():
    desk = weighted({"A": 1, "B": 1}, quantum=6).ask("x", "A", tokens=1)
    for number in range(40):
        desk.ask(f"A{number}", "A", tokens=6).ask(f"B{number}", "B", tokens=2)
    order = served_by(desk, 40)
    assert (order.count("A"), order.count("B")) == (10, 30)


def test_credit_of_an_idle_lane_is_forgotten():
    desk = weighted({"A": 1, "B": 1}, quantum=100).ask("x", "A", tokens=1).ask("b0", "B", tokens=1)
    desk.at(1).end("x").at(2).end("b0").ask("y", "A", tokens=1)
    for number in range(4):
        desk.ask(f"A{number}", "A", tokens=100).ask(f"B{number}", "B", tokens=100)
    order = [name[0] for name in desk.admitted()[3:]]
    for now_ns in range(3, 9):
        desk.at(now_ns).end(desk.admitted()[-1])
    order = [name[0] for name in desk.admitted()[3:]]
    assert order in (list("ABABAB"), list("BABABA"))


def test_credit_does_not_outlive_the_weighted_discipline():
    """A is owed much when the profile turns to plain turns and back; the second round starts from nothing."""
    people = {"A": AdmissionLimits(weight=100), "B": AdmissionLimits(weight=1)}
    fair, plain = (
        a_profile(ONE, None, people, version=kind, kind=kind, quantum_tokens=1) for kind in ("deficit", "turns")
    )
    desk = Desk(fair).ask("x", "B", tokens=1).ask("a0", "A", tokens=1).at(1).end("x")
    for number in range(1, 5):
        desk.ask(f"a{number}", "A", tokens=1).ask(f"b{number}", "B", tokens=1)
    lane = desk.tickets["a1"].lane
    desk.at(2).end("a0")
    assert lane.credit > 90
    desk.follow(plain).follow(fair)
    assert lane.credit == 0


def test_a_lane_whose_reservation_was_taken_away_costs_nobody_a_turn():
    """X stands among the reserved lanes when it loses its reservation. While R's keeps the only free permit, X is tried
    from there in vain; Y, who comes first among the others, must not lose its place by that."""
    reserved, one, three = AdmissionLimits(reserved_concurrency=1), ONE, AdmissionLimits(concurrency=3)
    desk = Desk(a_profile(three, None, {"R": reserved, "X": reserved, "Y": one}))
    for name in ("y1", "r1", "x1", "y2", "x2"):
        desk.ask(name, name[0].upper())
    desk.at(1).follow(a_profile(three, None, {"R": reserved, "X": NOTHING, "Y": one}, version="v2"))
    assert desk.at(2).end("r1").word("x2") == "waits"
    desk.at(3).end("y1").at(4).end("x1")
    assert desk.admitted() == ["y1", "r1", "x1", "y2", "x2"]


# What a head is owed

QUEUE = AdmissionLimits(concurrency=1, max_queue_wait_ns=5_000_000, max_queue_length=9)
MS = 1_000_000


def test_a_head_that_runs_out_of_time_tells_how_long_it_was_eligible():
    desk = Desk(workspace=QUEUE).ask("x", "A").at(1 * MS).ask("b1", "B").at(2 * MS).ask("b2", "B").at(9 * MS).poll()
    assert [desk.word(name) for name in ("b1", "b2")] == ["queue-timeout", "queue-timeout"]
    # b1 was the head from 1 ms to 6 ms, b2 from then until 7 ms.
    assert [desk.decisions[name].eligible_wait_ns for name in ("b1", "b2")] == [5 * MS, MS]


def test_a_head_that_is_given_up_tells_it_too_and_one_that_never_waited_tells_none():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_length=1)).ask("x", "A").ask("b", "B").ask("c", "C")
    desk.at(3).cancel("b")
    assert (desk.word("c"), desk.decisions["c"].eligible_wait_ns) == ("queue-full", 0)
    assert (desk.word("b"), desk.decisions["b"].eligible_wait_ns) == ("cancelled", 3)


def test_one_behind_the_head_is_owed_nothing():
    desk = Desk(workspace=ONE).ask("x", "A").ask("b1", "B").at(2).ask("b2", "B").at(5).cancel("b2")
    assert desk.decisions["b2"].eligible_wait_ns == 0
    assert desk.controller.eligible_since_ns(desk.tickets["b1"], 5) == 0


def test_a_head_that_its_own_bucket_holds_is_owed_nothing():
    principals = {"A": AdmissionLimits(tokens_per_second=per_ns(1, 10), tokens_burst=1), "B": NOTHING}
    desk = Desk(a_profile(NOTHING, None, principals)).ask("a0", "A", tokens=1).ask("a1", "A", tokens=1)
    assert desk.controller.eligible_since_ns(desk.tickets["a1"], 4) is None
    desk.at(4).cancel("a1")
    assert desk.decisions["a1"].eligible_wait_ns == 0


def test_under_a_pause_a_head_is_owed_nothing_and_after_it_from_its_end():
    desk = Desk(workspace=ONE).ask("x", "A").at(1).ask("b", "B").at(2).pause("u", 10)
    ticket = desk.tickets["b"]
    assert desk.controller.eligible_since_ns(ticket, 11) is None
    desk.at(13).poll().end("x").at(14)
    assert desk.word("b") == "admitted"
    assert desk.controller.eligible_since_ns(ticket, 14) is None


def test_whoever_does_not_wait_is_owed_nothing():
    desk = Desk(workspace=ONE).ask("x", "A").ask("b", "B")
    assert desk.controller.eligible_since_ns(desk.tickets["x"], 7) is None
    assert desk.controller.eligible_since_ns(desk.tickets["b"], 7) == 0
