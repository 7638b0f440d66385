"""Public faults that take waiters, turns, queue time or pauses to show; each under its id (see register.py).

Cases that a mechanism alone can express have their test in ``test_cases_core.py``; those named ``controller_shows``
here are the same cases seen through a whole controller.
"""

# ruff: noqa: N802 - the tests carry the ids of the cases as the register spells them

from __future__ import annotations

import pytest

from tests.unit.decision.desk import MS, NOTHING, Desk, S, a_profile, per_ns
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, BreakerConfig, RetryAfter
from tollgate.core.errors import ConfigError
from tollgate.decision import AdmissionLimits, AdmissionProfile
from tollgate.decision.controller import MAX_PAUSE_NS

ONE = AdmissionLimits(concurrency=1)

# 1. Permits lost when a holder or a waiter leaves


def test_C067_newcomer_takes_nothing_that_was_freed_for_a_waiter():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_length=1)).ask("a", "A").ask("b", "B")
    desk.at(1).end("a", poll=False)
    desk.ask("x", "C", poll=False).poll()
    assert (desk.word("b"), desk.word("x")) == ("admitted", "waits")
    assert desk.controller.active == 1


def test_C068_cancelled_head_strands_nobody():
    desk = Desk(workspace=ONE).ask("a", "A").ask("b", "B").ask("c", "C").at(7)
    desk.cancel("b", poll=False).end("a")
    assert desk.log[1:] == [(7, "b", "cancelled"), (7, "c", "admitted")]


def test_C070_callers_cancelled_while_they_wait_for_quota_leave_five_free():
    desk = Desk(workspace=AdmissionLimits(concurrency=5, requests_per_minute=5, requests_burst=5))
    for number in range(5):
        desk.ask(f"first{number}", "A").end(f"first{number}")
    for number in range(5):
        desk.ask(f"r{number}", "ABCDE"[number])
    assert (desk.controller.active, desk.controller.waiting) == (0, 5), "who waits for quota holds no slot"
    desk.at(11 * S)
    for number in range(5):
        desk.cancel(f"r{number}")
    assert (desk.controller.active, desk.controller.waiting) == (0, 0)
    desk.at(90 * S)
    for number in range(5):
        assert desk.ask(f"s{number}", "A").word(f"s{number}") == "admitted"


def test_C071_waiters_that_gave_up_eat_no_permits():
    limits = AdmissionLimits(concurrency=8, max_queue_wait_ns=10 * MS)
    desk = Desk(workspace=limits)
    for number in range(16):
        desk.ask(f"r{number}", "A")
    desk.at(10 * MS).poll()
    assert [word for _, _, word in desk.log[8:]] == ["queue-timeout"] * 8
    for number in range(8):
        desk.end(f"r{number}")
    assert (desk.controller.active, desk.controller.waiting) == (0, 0)
    for number in range(8):
        assert desk.ask(f"s{number}", "A").word(f"s{number}") == "admitted"


def test_controller_shows_C074_simultaneous_arrivals_of_different_lanes_pass_one_limit_once():
    desk = Desk(workspace=AdmissionLimits(concurrency=10))
    for number in range(9):
        desk.ask(f"r{number}", "A")
    desk.at(5).ask("a", "B", poll=False).ask("b", "C", poll=False).ask("c", "D", poll=False).poll()
    assert desk.admitted()[9:] == ["a"]
    assert desk.controller.active == 10


def test_controller_shows_C076_call_cut_off_midway_gives_its_place_back():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_length=0)).ask("a", "A")
    assert desk.at(2 * S).end("a", CANCELLED).at(3 * S).ask("b", "A").word("b") == "admitted"


def test_C121_who_gave_up_can_queue_again():
    """Server 1, service 10 s; arrivals at 0 and 3 with patience 5, then again at once without."""
    desk = Desk(workspace=ONE).ask("first", "A").at(3 * S).ask("second", "B", deadline_ns=8 * S).at(8 * S).poll()
    assert desk.log[-1] == (8 * S, "second", "deadline-exceeded")
    assert desk.ask("second again", "B").at(10 * S).end("first").log[-1] == (10 * S, "second again", "admitted")


def test_C122_cancelled_request_leaves_a_free_pool_and_an_empty_queue():
    desk = Desk(workspace=ONE).ask("a", "A").ask("b", "B").cancel("b").end("a")
    assert (desk.controller.active, desk.controller.waiting) == (0, 0)
    assert desk.ask("c", "C").word("c") == "admitted"


# 2. and 5. What can never fit; refusals that change state


def test_controller_shows_C011_more_than_the_capacity_is_refused_for_ever_and_changes_nothing():
    limits = AdmissionLimits(tokens_per_second=per_ns(3, 2 * S), tokens_burst=3, max_queue_length=9)
    desk = Desk(workspace=limits).ask("four", "A", tokens=4)
    assert desk.decisions["four"].denial == ("tokens-per-second", None)
    assert desk.ask("three", "A", tokens=3).word("three") == "admitted"


def test_controller_shows_C064_probe_limit_zero_is_refused_with_the_field_named():
    with pytest.raises(ConfigError, match=r"providers\.u\.circuit_breaker\.half_open_max_calls"):
        AdmissionProfile.from_mapping(
            {
                "profile_version": "v",
                "workspace": {},
                "providers": {
                    "u": {"circuit_breaker": {"failure_threshold": 1, "open_ms": 30_000, "half_open_max_calls": 0}}
                },
                "principals": {"A": {}},
            }
        )


def test_controller_shows_C034_request_refused_by_one_bucket_uses_nothing_of_another():
    profile = a_profile(
        AdmissionLimits(requests_per_minute=10, max_queue_length=0),
        None,
        {"A": AdmissionLimits(requests_per_minute=1), "B": NOTHING},
    )
    desk = Desk(profile)
    for number in range(3):
        desk.ask(f"a{number}", "A").poll()
    assert desk.admitted() == ["a0"]
    for number in range(10):
        desk.ask(f"b{number}", "B")
    assert len(desk.admitted()) == 10, "one of the workspace's ten was used by A"


def test_C035_refusal_for_concurrency_burns_no_rate():
    limits = AdmissionLimits(concurrency=1, requests_per_minute=2, max_queue_length=0)
    desk = Desk(workspace=limits).ask("a", "A").at(1 * S).ask("b", "A").at(10 * S).end("a").at(11 * S).ask("c", "A")
    assert [desk.word(name) for name in "abc"] == ["admitted", "queue-full", "admitted"]


def test_controller_shows_C112_parallel_requests_reserve_before_they_run():
    """100 tokens a minute; five calls at once that declare 58, 80, 175, 175 and 175: one goes, 58 are used."""
    limits = AdmissionLimits(tokens_per_second=per_ns(100, 60 * S), tokens_burst=100, max_queue_length=0)
    desk = Desk(workspace=limits)
    for number, tokens in enumerate((58, 80, 175, 175, 175)):
        desk.ask(f"r{number}", "A", tokens=tokens, poll=False)
    desk.poll()
    assert [word for _, _, word in desk.log] == ["admitted", "queue-full", *["tokens-per-second"] * 3]
    assert desk.ask("rest", "A", tokens=42).word("rest") == "admitted"


# 7. Retry-After


def test_C041_very_large_retry_after_is_capped_and_counted():
    desk = Desk().ask("a", "A").end("a", RetryAfter(9_999_999_999 * S)).ask("b", "A").at(MAX_PAUSE_NS)
    assert MAX_PAUSE_NS == 21_600 * S
    assert desk.controller.clamped_pauses == 1
    assert desk.poll().log[-1] == (21_600 * S, "b", "admitted")


# 9. Half-open breakers


def broken(threshold=1, open_ns=30 * S, probes=1):
    return Desk(a_profile(NOTHING, {"u": AdmissionLimits(circuit_breaker=BreakerConfig(threshold, open_ns, probes))}))


def test_controller_shows_C053_ignored_outcome_of_a_probe_gives_its_place_back():
    desk = broken(probes=2).ask("x", "A").end("x", FAILURE).at(30 * S).ask("p", "A").ask("q", "B").ask("r", "C")
    assert desk.word("r") == "waits"
    assert desk.end("q", CANCELLED).word("r") == "admitted"
    desk.end("r", SUCCESS).ask("s", "A").ask("t", "A").ask("u", "A")
    assert [desk.word(name) for name in "stu"] == ["admitted"] * 3


@pytest.mark.parametrize(("outcomes", "state"), [((SUCCESS, SUCCESS), "closed"), ((FAILURE, SUCCESS), "open")])
def test_controller_shows_C055_herd_at_the_reopening_instant_sends_as_many_as_there_are_probes(outcomes, state):
    desk = broken(probes=2).ask("x", "A").end("x", FAILURE).at(30 * S)
    for number in range(10):
        desk.ask(f"r{number}", "ABCDE"[number % 5], poll=False)
    desk.poll()
    assert desk.admitted()[1:] == ["r0", "r1"]
    desk.end("r0", outcomes[0], poll=False).end("r1", outcomes[1], poll=False)
    assert desk.controller.breaker_transitions[-1].transition.to_state == state


def test_controller_shows_C056_first_probe_is_counted():
    desk = broken().ask("x", "A").end("x", FAILURE).at(30 * S).ask("p", "A").ask("q", "A")
    assert [desk.word(name) for name in "pq"] == ["admitted", "waits"]


def test_controller_shows_C058_callers_who_leave_do_not_trip_the_breaker():
    desk = broken(threshold=5)
    for number in range(5):
        desk.ask(f"r{number}", "A").end(f"r{number}", CANCELLED)
    assert desk.controller.breaker_transitions == ()
    assert desk.ask("x", "A").word("x") == "admitted"


def test_controller_shows_C059_success_ends_a_run_of_failures():
    desk = broken(threshold=2)
    for name, outcome in (("a", FAILURE), ("b", SUCCESS), ("c", FAILURE)):
        desk.ask(name, "A").end(name, outcome)
    assert desk.controller.breaker_transitions == ()


def test_controller_shows_C062_failures_at_one_instant_leave_the_reset_where_it_was():
    desk = broken(threshold=5)
    for number in range(6):
        desk.ask(f"r{number}", "A")
    for number in range(6):
        desk.end(f"r{number}", FAILURE)
    assert desk.ask("x", "A").at(60 * S).log[-1] == (30 * S, "x", "admitted")


# 10. Queue time, dead heads and fairness


def test_C025_waiters_are_spread_over_the_cycles_and_the_rest_refused():
    """Three permits per 10 s and a wait limit of 12 s; nine callers at once: three at 0, three by 10 s, three refused.

    A bucket earns one permit each 10/3 s where the case's cycle hands out three at its end; no cycle has more.
    """
    limits = AdmissionLimits(requests_per_minute=18, requests_burst=3, max_queue_wait_ns=12 * S)
    desk = Desk(workspace=limits)
    for number in range(9):
        desk.ask(f"r{number}", "A")
    desk.at(60 * S).poll()
    assert [(name, word) for _, name, word in desk.log] == [
        *((f"r{number}", "admitted") for number in range(6)),
        *((f"r{number}", "queue-timeout") for number in range(6, 9)),
    ]
    instants = [at_ns for at_ns, _, word in desk.log if word == "admitted"]
    assert instants == [0, 0, 0, 3_333_333_334, 6_666_666_667, 10 * S]


def test_C083_a_flow_that_asked_for_little_has_saved_nothing_up():
    """Three a second; demands of 2 and 1 a second to 20 s, then 2 and 2: from then on 1.5 each, at once."""
    desk = Desk(workspace=AdmissionLimits(concurrency=1)).at(0)
    arrivals = sorted(
        [(number * S // 2, "A") for number in range(80)]
        + [(number * S + 1, "B") for number in range(20)]
        + [(20 * S + number * S // 2 + 1, "B") for number in range(40)]
    )
    running, ends_ns = None, 0
    number = 0
    while arrivals or running:
        if running and (not arrivals or ends_ns <= arrivals[0][0]):
            desk.at(ends_ns).end(running)
        else:
            at_ns, principal = arrivals.pop(0)
            desk.at(at_ns).ask(f"{principal}{number}", principal)
            number += 1
        live = [name for name in desk.admitted()[-2:] if desk.decisions[name].permit.gauges is not None]
        if live != ([running] if running else []):
            running, ends_ns = (live[0], desk.now_ns + S // 3) if live else (None, 0)
    served = [(at_ns, name[0]) for at_ns, name, word in desk.log if word == "admitted" and 20 * S <= at_ns < 40 * S]
    for second in range(20, 38, 2):
        within = [name for at_ns, name in served if second * S <= at_ns < (second + 2) * S]
        assert abs(within.count("A") - within.count("B")) <= 1
        assert len(within) >= 5


def test_C085_queue_time_ends_though_nothing_else_arrives():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=15 * S)).ask("a", "A").ask("b", "B")
    assert desk.controller.next_wakeup_ns() == 15 * S
    desk.at(40 * S).end("a")
    assert desk.log[1:] == [(15 * S, "b", "queue-timeout")]


def test_C089_waiters_of_one_key_are_served_in_order():
    desk = Desk(workspace=AdmissionLimits(requests_per_minute=60, requests_burst=1)).ask("0", "A")
    for number in range(1, 6):
        desk.at(number * 100 * MS).ask(str(number), "A")
    desk.at(20 * S)
    assert desk.log == [(number * S, str(number), "admitted") for number in range(6)]
