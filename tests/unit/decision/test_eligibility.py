"""May it go: permits, shares, reservations, pauses, breakers and buckets."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.unit.decision.desk import NOTHING, Desk, a_profile, per_ns
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, BreakerConfig, RetryAfter
from tollgate.decision import AdmissionLimits, Hold
from tollgate.decision.controller import MAX_PAUSE_NS

# Shares


@pytest.mark.parametrize(
    ("share", "concurrency", "permits"), [("0.5", 6, 3), ("0.29", 100, 29), ("0.1", 4, 1), ("1", 2, 2)]
)
@pytest.mark.parametrize("scope", ["workspace", "provider"])
def test_a_principal_holds_at_most_its_share_of_a_pool(scope, share, concurrency, permits):
    pool = AdmissionLimits(concurrency=concurrency, max_principal_share=Fraction(share))
    desk = Desk(a_profile(pool if scope == "workspace" else NOTHING, {"u": pool if scope == "provider" else NOTHING}))
    for number in range(concurrency):
        desk.ask(f"a{number}", "A")
    assert len(desk.admitted()) == permits
    if permits < concurrency:
        assert desk.tickets["a" + str(permits)].hold is (
            Hold.WORKSPACE_SHARE if scope == "workspace" else Hold.PROVIDER_SHARE
        )
        assert desk.ask("b", "B").word("b") == "admitted"


def test_share_without_a_ceiling_caps_nothing():
    desk = Desk(workspace=AdmissionLimits(max_principal_share=Fraction(1, 2)))
    for number in range(20):
        desk.ask(f"a{number}", "A")
    assert len(desk.admitted()) == 20


# Reservations


def reserved(of_workspace=None, of_providers=None, **reservations):
    principals = {name: AdmissionLimits(reserved_concurrency=n) for name, n in reservations.items()}
    return Desk(
        a_profile(
            AdmissionLimits(concurrency=of_workspace),
            {name: AdmissionLimits(concurrency=n) for name, n in (of_providers or {"u": None}).items()},
            {"A": NOTHING, "B": NOTHING} | principals,
        )
    )


def test_an_unused_reservation_is_kept_back_from_others():
    desk = reserved(4, Q=2)
    words = [desk.ask(f"a{n}", "A").word(f"a{n}") for n in range(3)]
    assert words == ["admitted", "admitted", "waits"]
    assert desk.tickets["a2"].hold is Hold.WORKSPACE_RESERVED
    assert desk.ask("q1", "Q").ask("q2", "Q").admitted() == ["a0", "a1", "q1", "q2"]


def test_inside_its_reservation_a_principal_needs_one_free_permit_only():
    """P and Q have one each of three; A takes the third, and P needs no permit beside the one kept for Q."""
    desk = reserved(3, P=1, Q=1).ask("a", "A").ask("p", "P")
    assert desk.admitted() == ["a", "p"]
    assert desk.ask("p2", "P").word("p2") == "waits"
    assert desk.ask("q", "Q").word("q") == "admitted"


def test_a_reservation_in_use_is_not_held_back_twice():
    """Two providers with two permits each and the reserved principal busy on one: the other's two are free (Q9)."""
    desk = reserved(None, {"u": 2, "v": 2}, Q=1).ask("q", "Q", "u")
    desk.ask("a1", "A", "v").ask("a2", "B", "v").ask("a3", "A", "u")
    assert desk.admitted() == ["q", "a1", "a2", "a3"]


def test_a_reservation_is_kept_back_in_each_provider_until_it_is_used_anywhere():
    desk = reserved(None, {"u": 1, "v": 1}, Q=1).ask("a", "A", "v").ask("b", "B", "u")
    assert desk.admitted() == []
    assert {desk.tickets[name].hold for name in "ab"} == {Hold.PROVIDER_RESERVED}
    assert desk.ask("q", "Q", "u").admitted() == ["q", "a"]


def test_beyond_its_reservation_a_principal_respects_those_of_others():
    desk = reserved(3, P=1, Q=1).ask("p1", "P").ask("p2", "P").ask("p3", "P")
    assert desk.admitted() == ["p1", "p2"]
    assert desk.ask("q", "Q").admitted() == ["p1", "p2", "q"]


def test_reservations_follow_calls_as_they_end():
    desk = reserved(2, Q=1).ask("q", "Q").ask("a1", "A").ask("a2", "A")
    assert desk.at(1).end("q").admitted() == ["q", "a1"]
    assert desk.holds("a2") == [Hold.WORKSPACE_RESERVED]
    assert desk.at(2).end("a1").admitted() == ["q", "a1", "a2"]


# Pauses


def test_retry_after_pauses_the_whole_provider_until_the_announced_instant():
    desk = Desk(a_profile(NOTHING, {"u": NOTHING, "v": NOTHING})).ask("x", "A").at(10).end("x", RetryAfter(90))
    desk.ask("a", "A").ask("b", "B").ask("v", "A", "v").at(500)
    assert desk.log[1:] == [(10, "v", "admitted"), (100, "a", "admitted"), (100, "b", "admitted")]


def test_a_shorter_pause_does_not_cut_a_longer_one_short():
    assert Desk().pause("u", 100).pause("u", 10).ask("a", "A").at(500).log == [(100, "a", "admitted")]


@pytest.mark.parametrize(
    ("asked", "until_ns"),
    [(-5, None), (None, None), (1.5, None), ("90", None), (MAX_PAUSE_NS, MAX_PAUSE_NS), (10**40, MAX_PAUSE_NS)],
)
def test_malformed_negative_and_absurd_pauses_are_clamped_and_counted(asked, until_ns):
    desk = Desk().pause("u", asked).ask("a", "A").at(2 * MAX_PAUSE_NS).poll()
    assert desk.controller.clamped_pauses == (asked != MAX_PAUSE_NS)
    assert desk.log == [(until_ns or 0, "a", "admitted")]


# Breakers


def broken(threshold=2, open_ns=100, probes=1, **desk):
    return Desk(
        a_profile(NOTHING, {"u": AdmissionLimits(circuit_breaker=BreakerConfig(threshold, open_ns, probes))}, **desk)
    )


def test_breaker_opens_at_the_threshold_and_lets_a_probe_through_when_its_time_is_up():
    desk = broken().ask("a", "A").ask("b", "A").end("a", FAILURE).end("b", FAILURE)
    desk.ask("c", "A").ask("d", "B").at(150)
    assert desk.log[2:] == [(100, "c", "admitted")]
    assert desk.end("c", SUCCESS).log[-1] == (150, "d", "admitted")


def test_transitions_stand_on_the_evidence_of_the_attempt_that_caused_them():
    desk = broken(threshold=1).ask("a", "A").at(5).end("a", FAILURE).ask("p", "A").at(300).end("p", SUCCESS)
    moves = {name: [(t.from_state, t.to_state, t.at_ns) for t in desk.decisions[name].transitions] for name in "ap"}
    assert moves == {
        "a": [("closed", "open", 5)],
        "p": [("open", "half-open", 105), ("half-open", "closed", 300)],
    }
    assert [event.transition.to_state for event in desk.controller.breaker_transitions] == [
        "open",
        "half-open",
        "closed",
    ]
    assert desk.decisions["p"].evidence.transitions == desk.decisions["p"].transitions


def test_late_success_neither_closes_the_breaker_nor_frees_a_probes_place():
    """Calls admitted before it opened (Q5, Q6)."""
    desk = broken(threshold=1).ask("old", "A").ask("old2", "A").ask("bad", "A").end("bad", FAILURE)
    assert desk.at(1).end("old", SUCCESS).ask("x", "A").word("x") == "waits"
    desk.at(100).poll()
    desk.ask("y", "B").end("old2", SUCCESS)
    assert (desk.word("x"), desk.word("y")) == ("admitted", "waits")


def test_a_callers_cancellation_is_neither_success_nor_failure():
    """(Q7) It neither opens a closed breaker nor interrupts a run of failures."""
    desk = broken(threshold=2)
    for number in range(5):
        desk.ask(f"c{number}", "A").end(f"c{number}", CANCELLED)
    desk.ask("f1", "A").end("f1", FAILURE).ask("c", "A").end("c", CANCELLED).ask("f2", "A").end("f2", FAILURE)
    assert desk.ask("x", "A").word("x") == "waits"


def test_a_probe_answered_with_retry_after_reopens_until_the_pause_is_over():
    """(Q8)"""
    desk = broken(threshold=1).ask("a", "A").end("a", FAILURE).ask("p", "A").at(100).poll()
    desk.at(110).end("p", RetryAfter(500)).ask("x", "B").at(5_000)
    assert desk.log[-1] == (610, "x", "admitted")
    desk = broken(threshold=1).ask("a", "A").end("a", FAILURE).ask("p", "A").at(100).poll()
    desk.at(110).end("p", RetryAfter(5)).ask("x", "B").at(5_000)
    assert desk.log[-1] == (210, "x", "admitted"), "a pause shorter than open_ns does not shorten the opening"


def test_half_open_admits_no_more_probes_than_it_may_and_each_frees_its_own_place():
    desk = broken(threshold=1, probes=2).ask("a", "A").end("a", FAILURE)
    for name in "bcdef":
        desk.ask(name, name.upper())
    desk.at(100).poll()
    assert desk.admitted() == ["a", "b", "c"]
    assert desk.end("b", CANCELLED).admitted() == ["a", "b", "c", "d"]
    assert desk.end("c", FAILURE).admitted() == ["a", "b", "c", "d"]
    assert desk.at(200).poll().admitted() == ["a", "b", "c", "d", "e", "f"]


def test_a_refused_admission_is_no_failure_of_the_provider():
    desk = Desk(
        a_profile(
            AdmissionLimits(concurrency=1, max_queue_length=0),
            {"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 100, 1))},
        )
    )
    desk.ask("a", "A").ask("b", "A").ask("c", "A").end("a")
    assert desk.ask("d", "A").word("d") == "admitted"


# Buckets


@pytest.mark.parametrize("scope", ["principal", "workspace", "provider"])
@pytest.mark.parametrize(("units", "ns", "need", "at_ns"), [(1, 1, 3, 3), (3, 7, 4, 10), (5, 13, 1, 3), (7, 2, 4, 2)])
def test_a_refill_wakes_to_the_nanosecond(scope, units, ns, need, at_ns):
    """The first whole nanosecond at which units / ns has earned what is needed: ceil(need * ns / units)."""
    limits = {"principal": NOTHING, "workspace": NOTHING, "provider": NOTHING}
    limits[scope] = AdmissionLimits(tokens_per_second=per_ns(units, ns), tokens_burst=4)
    desk = Desk(a_profile(limits["workspace"], {"u": limits["provider"]}, {"A": limits["principal"]}))
    desk.ask("all", "A", tokens=4).ask("a", "A", tokens=need)
    assert desk.controller.next_wakeup_ns() == at_ns
    assert desk.at(1_000).log[-1] == (at_ns, "a", "admitted")


def test_a_request_refused_for_concurrency_costs_no_bucket():
    limits = AdmissionLimits(concurrency=1, max_queue_length=0, requests_per_minute=2)
    desk = Desk(workspace=limits).ask("a", "A").ask("b", "A").end("a").ask("c", "A")
    assert [desk.word(name) for name in "abc"] == ["admitted", "queue-full", "admitted"]


def test_a_request_pays_in_every_bucket_or_in_none():
    """A's bucket is short: the workspace's is not touched for it, and B finds its tokens there."""
    profile = a_profile(
        AdmissionLimits(tokens_per_second=per_ns(1, 10**6), tokens_burst=10),
        None,
        {"A": AdmissionLimits(tokens_per_second=per_ns(1, 10**6), tokens_burst=5), "B": NOTHING},
        protect_large_requests=False,
    )
    desk = Desk(profile).ask("a1", "A", tokens=3).ask("a2", "A", tokens=3).ask("b", "B", tokens=7)
    assert desk.admitted() == ["a1", "b"]
