"""Delivery, the clock, release and cancel, the advice of a refusal, listeners."""

from __future__ import annotations

import logging
from fractions import Fraction

import pytest

from tests.unit.decision.desk import MS, NOTHING, Desk, a_profile, per_ns
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, BreakerConfig, RetryAfter
from tollgate.core.errors import CallerError
from tollgate.decision import AdmissionLimits, Request

ONE = AdmissionLimits(concurrency=1)


def test_decisions_come_from_poll_alone_and_each_once():
    desk = Desk().ask("a", "A", poll=False)
    assert desk.controller.next_wakeup_ns() <= desk.now_ns
    assert len(desk.controller.poll(0)) == 1
    assert desk.controller.poll(0) == []
    assert desk.controller.next_wakeup_ns() is None


def test_a_polled_list_is_the_callers():
    desk = Desk().ask("a", "A", poll=False)
    first = desk.controller.poll(0)
    desk.ask("b", "A", poll=False)
    assert len(first) == 1
    assert len(desk.controller.poll(0)) == 1


def test_a_request_for_another_workspace_is_the_callers_mistake():
    with pytest.raises(CallerError):
        Desk().controller.request(Request("b", "A", "elsewhere", "u"), 0)
    with pytest.raises(CallerError):
        Desk().controller.pause("nowhere", 5, 0)


def test_releases_of_an_instant_come_before_its_arrivals():
    """The one that waits gets the permit, whatever arrives in the instant of the release."""
    desk = Desk(workspace=ONE).ask("a", "A").ask("b", "B").at(5).end("a", poll=False)
    desk.ask("late", "C", poll=False).poll()
    assert desk.admitted() == ["a", "b"]


def test_second_release_and_late_cancel_have_no_effect():
    desk = Desk(workspace=ONE).ask("a", "A").ask("b", "B")
    permit = desk.decisions["a"].permit
    assert desk.controller.release(permit, SUCCESS, 1) is True
    desk.poll()
    assert desk.controller.release(permit, FAILURE, 2) is False
    assert desk.controller.cancel(desk.tickets["b"], 2) is False
    assert desk.controller.active == 1


def test_a_clock_that_steps_back_is_held_at_the_latest_instant():
    limits = AdmissionLimits(tokens_per_second=per_ns(2, 1000), tokens_burst=4, max_queue_wait_ns=900)
    desk = Desk(workspace=limits)
    desk.now_ns = 50_000
    desk.ask("a", "A", tokens=4)
    desk.now_ns = 20_000
    desk.ask("b", "A", tokens=1)
    assert desk.word("b") == "waits"
    assert desk.controller.next_wakeup_ns() == 50_500, "nothing was earned for the way back, and no wait is longer"
    desk.now_ns = 50_499
    assert desk.poll().word("b") == "waits"
    desk.now_ns = 50_500
    assert desk.poll().log[-1] == (50_500, "b", "admitted")


def test_counts_and_idleness():
    desk = Desk(workspace=ONE)
    assert desk.controller.is_idle
    desk.ask("a", "A").ask("b", "B")
    assert (desk.controller.active, desk.controller.waiting) == (1, 1)
    desk.cancel("b", poll=False)
    desk.end("a", poll=False)
    assert not desk.controller.is_idle, "a cancellation is still to be delivered"
    assert desk.poll().controller.is_idle


def test_evidence_counts_the_others_in_the_lane():
    desk = Desk(workspace=ONE).ask("x", "A").ask("a", "B").ask("b", "B").ask("other", "C")
    desk.at(7).end("x")
    evidence = desk.decisions["a"].evidence
    assert (evidence.decision, evidence.reason, evidence.deferred_by) == ("admit", "admitted", "concurrency")
    assert (evidence.queued, evidence.active, evidence.queue_delay_ns) == (1, 1, 7)
    desk.cancel("b")
    evidence = desk.decisions["b"].evidence
    assert (evidence.decision, evidence.reason, evidence.queued, evidence.active) == ("reject", "cancelled", 0, 1)


def test_nothing_that_names_anybody_is_in_evidence():
    desk = Desk(workspace=ONE).ask("x", "A", budget="budget-secret").ask("y", "B", tokens=-77, budget="budget-secret")
    for name in "xy":
        shown = repr(desk.decisions[name].evidence) + repr(desk.decisions[name])
        assert "budget-secret" not in shown
        assert "-77" not in shown
        assert "'A'" not in shown


def test_listeners_hear_transitions_and_a_raising_one_is_logged(caplog):
    desk = Desk(providers={"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 10, 1))})
    heard = []

    def fails(event):
        raise RuntimeError("a listener's own fault")

    desk.controller.on_breaker_transition(fails)
    desk.controller.on_breaker_transition(heard.append)
    with caplog.at_level(logging.ERROR):
        desk.ask("a", "A").at(4).end("a", FAILURE)
    assert [(event.provider, event.transition.to_state, event.transition.at_ns) for event in heard] == [
        ("u", "open", 4)
    ]
    assert "a listener's own fault" in caplog.text


def test_a_breaker_that_the_profile_took_away_says_nothing_more():
    """Two calls pass the breaker; it is taken away while they run, and their failures open nothing."""
    broken = a_profile(NOTHING, {"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 10, 1))})
    desk = Desk(broken).ask("a", "A").ask("b", "A").follow(a_profile(NOTHING, {"u": NOTHING}, version="v2"))
    assert desk.at(1).end("a", FAILURE).follow(broken).at(2).end("b", FAILURE).controller.breaker_transitions == ()
    assert desk.ask("c", "A").word("c") == "admitted"


def test_an_opening_that_ends_under_a_new_profile_is_published():
    def profile(version, threshold):
        breaker = BreakerConfig(threshold, 10, 1)
        return a_profile(NOTHING, {"u": AdmissionLimits(circuit_breaker=breaker)}, version=version)

    desk = Desk(profile("v1", 1)).ask("a", "A").at(4).end("a", FAILURE).at(20).follow(profile("v2", 3))
    states = [(event.transition.to_state, event.transition.at_ns) for event in desk.controller.breaker_transitions]
    assert states == [("open", 4), ("half-open", 14)]


def test_history_of_transitions_is_bounded():
    desk = Desk(providers={"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 1, 1))})
    for number in range(100):
        desk.at(10 * number).ask(f"a{number}", "A").end(f"a{number}", FAILURE)
    assert len(desk.controller.breaker_transitions) == 64


# What a refusal advises: alone, a client that waits exactly so long is admitted, and not after one ns less.


def busy(desk):
    return desk.ask("busy", "A", tokens=0)


CASES = {
    "tokens short": (
        {"tokens_per_second": per_ns(1, MS), "tokens_burst": 1000},
        lambda desk: desk.ask("t", "A", tokens=1000).end("t"),
    ),
    "requests short": (
        {"requests_per_minute": 60},
        lambda desk: [desk.ask(f"r{n}", "A", tokens=0).end(f"r{n}") for n in range(60)],
    ),
    "paused": ({}, lambda desk: desk.ask("p", "A", tokens=0).end("p", RetryAfter(700 * MS))),
    "broken": ({}, lambda desk: desk.ask("f", "A", tokens=0).end("f", FAILURE)),
}


@pytest.mark.parametrize("case", CASES)
def test_who_waits_exactly_as_advised_after_queue_full_is_admitted_alone(case):
    limits, prepare = CASES[case]
    workspace = AdmissionLimits(max_queue_length=0, **limits)
    breaker = AdmissionLimits(circuit_breaker=BreakerConfig(1, 500 * MS, 1))
    desk = Desk(a_profile(workspace, {"u": breaker if case == "broken" else NOTHING}))
    prepare(desk)
    desk.ask("a", "B", tokens=600)
    assert desk.word("a") == "queue-full"
    advice_ns = desk.decisions["a"].denial.retry_after_ns
    exact_ns = {"tokens short": 600, "requests short": 1000, "paused": 700, "broken": 500}[case] * MS
    assert advice_ns == exact_ns
    assert desk.at(advice_ns - 1).ask("early", "B", tokens=600).word("early") == "queue-full"
    assert desk.at(advice_ns).ask("again", "B", tokens=600).word("again") == "admitted"


def test_advice_after_queue_full_for_want_of_a_permit_is_the_floor():
    desk = busy(Desk(workspace=AdmissionLimits(concurrency=1, max_queue_length=0))).ask("a", "B")
    assert desk.decisions["a"].denial.retry_after_ns == 250 * MS
    assert desk.end("busy").at(250 * MS).ask("again", "B").word("again") == "admitted"


def test_advice_after_a_time_out_is_when_its_buckets_would_hold_it():
    limits = AdmissionLimits(tokens_per_second=per_ns(1, 10), tokens_burst=10, max_queue_wait_ns=30)
    desk = Desk(workspace=limits).ask("x", "A", tokens=10).ask("a", "B", tokens=10).at(30).poll()
    assert desk.decisions["a"].denial == ("queue-timeout", 70)
    assert desk.at(100).ask("again", "B", tokens=10).word("again") == "admitted"


# Profiles


def test_bucket_keeps_its_level_under_a_new_rate_and_its_cap_under_a_smaller_burst():
    def profile(rate, burst, version):
        return a_profile(AdmissionLimits(tokens_per_second=rate, tokens_burst=burst), version=version)

    desk = Desk(profile(per_ns(1, 10), 10, "v1")).ask("x", "A", tokens=6)
    desk.follow(profile(per_ns(1, 2), 20, "v2")).ask("y", "A", tokens=5)
    assert desk.at(50).log[-1] == (2, "y", "admitted"), "4 of 10 stay 4 of 20, and the fifth takes 2 ns"
    desk = Desk(profile(per_ns(1, 10), 10, "v1")).follow(profile(per_ns(1, 10), 3, "v2"))
    desk.ask("x", "A", tokens=3).ask("y", "A", tokens=1)
    assert [desk.word("x"), desk.word("y")] == ["admitted", "waits"]


def test_leaving_a_principal_out_and_taking_it_in_again_refills_nothing():
    poor = AdmissionLimits(tokens_per_second=per_ns(1, 10**9), tokens_burst=5)
    with_a = a_profile(NOTHING, None, {"A": poor, "B": NOTHING})
    without_a = a_profile(NOTHING, None, {"B": NOTHING}, version="v2")
    desk = Desk(with_a).ask("x", "A", tokens=5).end("x").follow(without_a)
    assert desk.ask("gone", "A").word("gone") == "unconfigured-principal"
    assert desk.follow(with_a).ask("y", "A", tokens=1).word("y") == "waits"


def test_leaving_a_provider_out_and_taking_it_in_again_keeps_pause_and_breaker():
    broken = AdmissionLimits(circuit_breaker=BreakerConfig(1, 10**9, 1))
    both = a_profile(NOTHING, {"u": broken, "v": NOTHING})
    only_v = a_profile(NOTHING, {"v": NOTHING}, version="v2")
    desk = Desk(both).ask("x", "A").end("x", FAILURE).follow(only_v).follow(both).ask("y", "A")
    assert desk.word("y") == "waits"
    desk = Desk(both).pause("u", 500).follow(only_v).follow(both).ask("y", "A").at(9_999)
    assert desk.log[-1] == (500, "y", "admitted")


def test_lowered_limit_evicts_nobody_and_admits_nobody_until_enough_have_left():
    def profile(limit):
        return a_profile(AdmissionLimits(concurrency=limit), version=f"v{limit}")

    desk = Desk(profile(3)).ask("a", "A").ask("b", "A").ask("c", "A").follow(profile(1)).ask("d", "A")
    assert (desk.controller.active, desk.word("d")) == (3, "waits")
    assert desk.end("a").end("b").word("d") == "waits"
    assert desk.end("c").word("d") == "admitted"


@pytest.mark.parametrize(
    ("limits", "estimate", "reason"),
    [
        ({"max_batch_size": 1}, {"batch_size": 2}, "batch-size"),
        ({"max_retained_work": 1}, {}, "unknown-retained-work"),
        ({"tokens_per_second": Fraction(5), "tokens_burst": 5}, {"tokens": 6}, "tokens-per-second"),
        ({"requests_per_minute": Fraction(0)}, {}, "requests-per-minute"),
    ],
)
def test_queued_work_is_judged_again_by_a_tightened_profile(limits, estimate, reason):
    desk = Desk(workspace=ONE).ask("x", "A").ask("a", "B", **estimate).ask("b", "B", **estimate)
    desk.at(3).follow(a_profile(AdmissionLimits(concurrency=1, **limits), version="v2"))
    assert desk.log[1:] == [(3, "a", reason), (3, "b", reason)]


def test_a_shorter_queue_time_counts_from_the_request():
    desk = Desk(workspace=ONE).ask("x", "A").ask("a", "B").at(5)
    desk.follow(a_profile(AdmissionLimits(concurrency=1, max_queue_wait_ns=8), version="v2")).at(99)
    assert desk.log[-1] == (8, "a", "queue-timeout")
    desk = Desk(workspace=ONE).ask("x", "A").ask("a", "B").at(5)
    desk.follow(a_profile(AdmissionLimits(concurrency=1, max_queue_wait_ns=4), version="v2"))
    assert desk.log[-1] == (5, "a", "queue-timeout")


def test_work_queued_for_a_provider_or_principal_that_is_gone_is_refused():
    desk = Desk(a_profile(ONE, {"u": NOTHING, "v": NOTHING})).ask("x", "A").ask("a", "B", "v").ask("b", "C")
    desk.at(2).follow(a_profile(ONE, {"u": NOTHING}, {"A": NOTHING, "B": NOTHING}, version="v2"))
    assert desk.log[1:] == [(2, "a", "unconfigured-provider"), (2, "b", "unconfigured-principal")]
    assert desk.end("x", CANCELLED).controller.is_idle
