"""Invocation budgets: exact ids, each scope apart, on arrival and again at dispatch."""

from __future__ import annotations

import pytest

from tests.unit.decision.desk import NOTHING, Desk, a_profile
from tollgate.decision import AdmissionLimits


@pytest.mark.parametrize(
    ("limit", "estimate", "reason"),
    [
        ({"max_attempts": 2}, {}, "attempts"),
        ({"max_cost_micros": 10}, {"cost_micros": 5}, "cost"),
        ({"max_tokens": 10}, {"tokens": 5}, "tokens"),
    ],
)
@pytest.mark.parametrize("scope", ["principal", "workspace", "provider"])
def test_third_attempt_breaks_a_budget_for_two(scope, limit, estimate, reason):
    limits = {"workspace": NOTHING, "provider": NOTHING, "principal": NOTHING, scope: AdmissionLimits(**limit)}
    desk = Desk(a_profile(limits["workspace"], {"u": limits["provider"]}, {"A": limits["principal"]}))
    for name in ("first", "second", "third"):
        desk.ask(name, "A", budget="job", **estimate)
    assert [desk.word(name) for name in ("first", "second", "third")] == ["admitted", "admitted", reason]
    assert desk.decisions["third"].denial.status == "budget-exhausted"
    assert desk.decisions["third"].denial.retry_after_ns is None


def test_settling_one_invocation_leaves_ids_that_begin_alike():
    """The reference forgets what "job:1" has used when "job" settles (Q17)."""
    desk = Desk(workspace=AdmissionLimits(max_attempts=1))
    desk.ask("a", "A", budget="job").ask("b", "A", budget="job:1")
    desk.controller.settle("job")
    assert desk.ask("c", "A", budget="job").word("c") == "admitted"
    assert desk.ask("d", "A", budget="job:1").word("d") == "attempts"
    desk.controller.settle("never heard of")


def test_each_provider_counts_its_own_and_the_workspace_counts_both():
    one = AdmissionLimits(max_attempts=1)
    desk = Desk(a_profile(AdmissionLimits(max_attempts=2), {"u": one, "v": one, "x": one}))
    words = [desk.ask(f"{to}{n}", "A", to, budget="job").word(f"{to}{n}") for n, to in enumerate("uuvx")]
    assert words == ["admitted", "attempts", "admitted", "attempts"]


def test_two_waiting_attempts_with_a_budget_for_one_send_one():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_attempts=1)).ask("busy", "B")
    desk.ask("a", "A", budget="job").ask("b", "A", budget="job")
    assert (desk.word("a"), desk.word("b")) == ("waits", "waits")
    desk.at(5).end("busy")
    desk.at(9).end("a")
    assert (desk.word("a"), desk.word("b")) == ("admitted", "attempts")


def test_a_refused_or_cancelled_attempt_uses_nothing():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_attempts=1, max_queue_length=1)).ask("busy", "B")
    desk.ask("a", "A", budget="job").ask("full", "A", budget="job").cancel("a").end("busy")
    assert desk.word("full") == "queue-full"
    assert desk.ask("c", "A", budget="job").word("c") == "admitted"


def test_an_attempt_that_asks_for_nothing_meets_every_budget():
    desk = Desk(workspace=AdmissionLimits(max_attempts=2, max_cost_micros=4, max_tokens=4))
    desk.ask("a", "A", budget="job", tokens=4, cost_micros=4)
    desk.follow(a_profile(AdmissionLimits(max_attempts=1, max_cost_micros=2, max_tokens=2), version="v2"))
    assert desk.ask("free", "A", budget="job", tokens=0, cost_micros=0, attempts=0).word("free") == "admitted"
    assert desk.ask("one", "A", budget="job", tokens=0, cost_micros=0).word("one") == "attempts"
