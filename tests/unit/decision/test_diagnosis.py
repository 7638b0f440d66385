"""A diagnosis agrees with what the controller does."""

from __future__ import annotations

import random

from tests.unit.decision.desk import NOTHING, Desk, a_profile, per_ns
from tollgate.core.breaker import FAILURE, SUCCESS, BreakerConfig
from tollgate.decision import AdmissionLimits, Hold


def test_diagnosis_names_every_limit_that_is_met_with_figure_and_bound():
    profile = a_profile(
        AdmissionLimits(concurrency=2, tokens_per_second=per_ns(1, 10), tokens_burst=10),
        {"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 10, 1))},
    )
    desk = Desk(profile).ask("x", "A", tokens=8).ask("a", "B", tokens=5)
    checks = {(check.scope, check.limit): check for check in desk.controller.diagnose(desk.tickets["a"], 0)}
    assert checks.keys() == {
        ("workspace", "concurrency"),
        ("provider", "circuit_breaker"),
        ("workspace", "tokens_per_second"),
    }
    tokens = checks["workspace", "tokens_per_second"]
    assert (tokens.ok, tokens.hold) == (False, Hold.WORKSPACE_TOKENS)
    assert "2" in tokens.observed
    assert "5" in tokens.bound
    assert checks["workspace", "concurrency"].ok


def test_diagnosis_changes_nothing():
    desk = Desk(a_profile(AdmissionLimits(tokens_per_second=per_ns(1, 10), tokens_burst=10)))
    desk.ask("x", "A", tokens=10).ask("a", "B", tokens=5)
    before = desk.controller.next_wakeup_ns()
    first = desk.controller.diagnose(desk.tickets["a"], 20)
    assert desk.controller.diagnose(desk.tickets["a"], 20) == first
    assert desk.controller.next_wakeup_ns() == before
    assert desk.at(99).log[-1] == (50, "a", "admitted")


def test_nothing_named_in_a_diagnosis_names_anybody():
    desk = Desk(a_profile(AdmissionLimits(concurrency=1), None, {"somebody": NOTHING})).ask("x", "somebody")
    desk.ask("y", "somebody", budget="secret")
    shown = repr(desk.controller.diagnose(desk.tickets["y"], 0))
    assert "somebody" not in shown
    assert "secret" not in shown


def waiting_heads(desk):
    """The name of each lane's head."""
    heads = {}
    for name, ticket in desk.tickets.items():
        if ticket.is_waiting:
            heads.setdefault((ticket.request.principal, ticket.request.provider), name)
    return heads


def test_a_waiting_head_fails_a_check_and_its_first_hold_was_among_those_that_failed():
    """Random states: were every check of a waiting head passed, it would have gone at the poll just before."""
    profile = a_profile(
        AdmissionLimits(
            concurrency=4, tokens_per_second=per_ns(1, 3), tokens_burst=9, requests_per_minute=per_ns(60, 4)
        ),
        {
            "u": AdmissionLimits(concurrency=2, circuit_breaker=BreakerConfig(2, 15, 1)),
            "v": AdmissionLimits(tokens_per_second=per_ns(1, 5), tokens_burst=9),
        },
        {"A": AdmissionLimits(concurrency=2), "B": NOTHING, "C": AdmissionLimits(reserved_concurrency=1)},
    )
    choose = random.Random(9)
    desk = Desk(profile)
    seen = set()
    for number in range(800):
        desk.at(desk.now_ns + choose.choice([0, 1, 2, 6]))
        name = f"r{number}"
        principal, provider = choose.choice("ABC"), choose.choice("uv")
        lane_was_empty = (principal, provider) not in waiting_heads(desk.poll())
        desk.ask(name, principal, provider, tokens=choose.choice([0, 1, 4, 9]))
        if desk.word(name) == "waits" and lane_was_empty:
            assert desk.tickets[name].hold in desk.holds(name)
            seen.add(desk.tickets[name].hold)
        heads = waiting_heads(desk)
        for head in heads.values():
            assert desk.holds(head), "every check passed and it waits all the same"
        live = [each for each in desk.admitted() if desk.decisions[each].permit.gauges is not None]
        while live and choose.random() < 0.6:
            desk.end(live.pop(choose.randrange(len(live))), choose.choice([SUCCESS, FAILURE]))
        if choose.random() < 0.02:
            desk.pause(choose.choice("uv"), choose.choice([3, 9]))
        if len(heads) > 4:
            desk.cancel(choose.choice(list(heads.values())))
    assert len(seen) >= 8, "the walk met too few kinds of hold to mean anything"
