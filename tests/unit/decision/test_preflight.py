"""What is refused on arrival, and in which order: the first hit wins, and scopes are the outer loop."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from tests.unit.decision.desk import NOTHING, Desk, a_profile, per_ns
from tollgate.decision import AdmissionLimits, Estimate, Request

LIMITS_BY_REASON = {
    "batch-size": ({"max_batch_size": 1}, {"batch_size": 2}),
    "request-too-large": ({"max_request_bytes": 10}, {"request_bytes": 11}),
    "too-many-items": ({"max_items": 3}, {"items": 4}),
    "unknown-retained-work": ({"max_retained_work": 5}, {}),
    "retained-work": ({"max_retained_work": 5}, {"retained_work": 6}),
    "unknown-cost": ({"max_cost_micros": 9}, {}),
    "unknown-tokens": ({"max_tokens": 9}, {}),
}
FOREVER_BY_REASON = {
    "requests-per-minute": ({"requests_per_minute": Fraction(0)}, {"tokens": 1}),
    "tokens-per-second": ({"tokens_per_second": Fraction(5), "tokens_burst": 5}, {"tokens": 6}),
}
BUDGETS_BY_REASON = {
    "attempts": ({"max_attempts": 1}, {"attempts": 2}),
    "cost": ({"max_cost_micros": 1}, {"cost_micros": 2}),
    "tokens": ({"max_tokens": 1}, {"tokens": 2}),
}
ALL = LIMITS_BY_REASON | FOREVER_BY_REASON | BUDGETS_BY_REASON


def profile_with(scope, limits):
    scopes = {"workspace": {}, "provider": {}, "principal": {}} | {scope: limits}
    return a_profile(
        AdmissionLimits(**scopes["workspace"]),
        {"u": AdmissionLimits(**scopes["provider"])},
        {"A": AdmissionLimits(**scopes["principal"])},
    )


@pytest.mark.parametrize("scope", ["principal", "workspace", "provider"])
@pytest.mark.parametrize("reason", ALL)
def test_each_reason_on_each_scope(scope, reason):
    limits, estimate = ALL[reason]
    desk = Desk(profile_with(scope, limits))
    assert desk.ask("a", "A", **estimate).word("a") == reason
    denial = desk.decisions["a"].denial
    assert denial.retry_after_ns is None, "waiting cannot help"
    assert (desk.controller.active, desk.controller.waiting) == (0, 0)


@pytest.mark.parametrize("reason", LIMITS_BY_REASON)
def test_a_figure_at_its_limit_passes(reason):
    limits, estimate = LIMITS_BY_REASON[reason]
    at_limit = dict.fromkeys(estimate, next(iter(limits.values()))) or {
        "retained_work": 5,
        "cost_micros": 9,
        "tokens": 9,
    }
    assert Desk(profile_with("workspace", limits)).ask("a", "A", **at_limit).word("a") == "admitted"


def test_unknown_cost_passes_where_it_is_allowed():
    limits = {"max_cost_micros": 9, "allow_unknown_cost": True}
    assert Desk(profile_with("workspace", limits)).ask("a", "A").word("a") == "admitted"


def tight_everywhere():
    """Limits under which nearly every check can refuse."""
    return AdmissionLimits(
        max_batch_size=1,
        max_request_bytes=1,
        max_items=1,
        max_retained_work=1,
        max_cost_micros=1,
        max_tokens=1,
        requests_per_minute=Fraction(0),
        tokens_per_second=Fraction(1),
        max_attempts=1,
        max_queue_length=0,
    )


def test_reasons_come_in_the_order_of_the_specification():
    tight = tight_everywhere()
    profile = a_profile(tight, {"u": tight}, {"A": tight})
    desk = Desk(profile)
    desk.now_ns = 10
    given = {
        "principal": "nobody",
        "provider": "nowhere",
        "deadline_ns": 10,
        "is_cancelled": True,
        "estimate": {"tokens": -1, "batch_size": 2, "request_bytes": 2, "items": 2},
    }
    expected = []
    for reason, repair in (
        ("cancelled", {"is_cancelled": False}),
        ("unconfigured-provider", {"provider": "u"}),
        ("unconfigured-principal", {"principal": "A"}),
        ("deadline-exceeded", {"deadline_ns": None}),
        ("invalid-estimate", {"tokens": None}),
        ("batch-size", {"batch_size": 1}),
        ("request-too-large", {"request_bytes": 1}),
        ("too-many-items", {"items": 1}),
        ("unknown-retained-work", {"retained_work": 2}),
        ("retained-work", {"retained_work": 1}),
        ("unknown-cost", {"cost_micros": 2}),
        ("unknown-tokens", {"tokens": 2}),
        ("requests-per-minute", None),
    ):
        fields = dict(given)
        estimate = Estimate(**fields.pop("estimate"))
        request = Request("b", fields.pop("principal"), "w", fields.pop("provider"), estimate, **fields)
        desk.controller.request(request, 10)
        expected.append(reason)
        for key, value in (repair or {}).items():
            if key in given:
                given[key] = value
            else:
                given["estimate"][key] = value
    assert [decision.denial.reason.value for decision in desk.controller.poll(10)] == expected


def test_every_check_of_one_scope_comes_before_the_next_scope():
    profile = a_profile(
        AdmissionLimits(max_items=1), {"u": AdmissionLimits(max_batch_size=1)}, {"A": AdmissionLimits(max_tokens=9)}
    )
    desk = Desk(profile)
    assert desk.ask("a", "A", batch_size=2, items=2).word("a") == "unknown-tokens"
    assert desk.ask("b", "A", batch_size=2, items=2, tokens=1).word("b") == "too-many-items"
    assert desk.ask("c", "A", batch_size=2, items=1, tokens=1).word("c") == "batch-size"


def test_sizes_of_every_scope_come_before_what_can_never_fit():
    profile = a_profile(
        NOTHING, {"u": AdmissionLimits(max_batch_size=1)}, {"A": AdmissionLimits(requests_per_minute=0)}
    )
    assert Desk(profile).ask("a", "A", batch_size=2).word("a") == "batch-size"


def test_what_can_never_fit_comes_before_budgets_and_budgets_before_the_queue():
    limits = AdmissionLimits(
        concurrency=1, max_queue_length=0, max_attempts=1, tokens_per_second=Fraction(5), tokens_burst=5
    )
    desk = Desk(a_profile(limits)).ask("busy", "A", tokens=1, budget="b")
    assert desk.ask("huge", "A", tokens=6, budget="b").word("huge") == "tokens-per-second"
    assert desk.ask("again", "A", tokens=1, budget="b").word("again") == "attempts"
    assert desk.ask("other", "A", tokens=1).word("other") == "queue-full"


@pytest.mark.parametrize("bad", [-1, 1.5, math.nan, math.inf, 2**53, True, "7"])
@pytest.mark.parametrize("field", ["tokens", "cost_micros", "items", "attempts", "retained_work"])
def test_malformed_figures_are_one_refused_request_and_stay_out_of_evidence(field, bad):
    desk = Desk().ask("a", "A", **{field: bad})
    assert desk.word("a") == "invalid-estimate"
    evidence = desk.decisions["a"].evidence
    assert (evidence.estimated_tokens, evidence.estimated_cost_micros) == (None, None)
    assert str(bad) not in repr(desk.tickets["a"].request.estimate)


def test_largest_exact_figure_is_valid():
    assert Desk().ask("a", "A", tokens=2**53 - 1).word("a") == "admitted"


def test_impossible_requests_are_refused_while_the_pool_is_busy():
    """The reference lets them wait for a permit first (Q10)."""
    limits = AdmissionLimits(concurrency=1, tokens_per_second=per_ns(1), tokens_burst=5)
    desk = Desk(a_profile(limits)).ask("busy", "A").ask("huge", "B", tokens=6)
    assert desk.log[-1] == (0, "huge", "tokens-per-second")


def test_deadline_at_the_very_instant_has_passed():
    desk = Desk().at(7)
    assert desk.ask("a", "A", deadline_ns=7).word("a") == "deadline-exceeded"
    assert desk.ask("b", "A", deadline_ns=8).word("b") == "admitted"


def test_queue_length_zero_refuses_only_who_would_have_to_wait():
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_length=0))
    assert desk.ask("a", "A").ask("b", "B").log == [(0, "a", "admitted"), (0, "b", "queue-full")]
