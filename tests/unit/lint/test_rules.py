"""Each rule finds what it is about, where it is written, and nothing in the nearest manifest that is sound."""

from __future__ import annotations

import pytest

from sim.lint import RULES, Basis

P = "profile"
WS = f"{P}/workspace"
RETRY = {"kind": "fixed", "base_ms": 100, "max_attempts": 3}
ZERO = {"ann": 0}
BURSTS = {"kind": "bursty-poisson", "per_second": 10, "multiplier": 2, "burst_seconds": 1}
MEAN = {"id": "m", "metric": "admission.ratio", "op": ">=", "bound": "0.9", "estimand": "mean"}
ANN_IN_B = {"class": "ann", "phase": "b"}
TWO_LAYERS = [{"name": "sdk", **RETRY}, {"name": "gateway", **RETRY, "max_attempts": 4}]
BUDGET = {"kind": "ratio", "ratio": "0.2", "min_retries_per_second": 1}


def gate(**changes):
    return {"id": "x", "metric": "admission.ratio", "op": ">=", "bound": "0.9", "estimand": "path"} | changes


def capped(tokens):
    """100 tokens of prompt, and a cap on the output that is stated as its estimate."""
    return {"prompt_tokens": 100, "output_tokens": 50, "output_estimate": {"kind": "max-tokens", "value": tokens}}


def scaled(factor):
    return {"prompt_tokens": 100, "output_tokens": 100, "output_estimate": {"kind": "factor", "value": factor}}


# code: what triggers it, the key path that is named, and a neighbour that does not.
CASES = {
    "limit-cannot-bind": [
        ({f"{P}/principals/ann/concurrency": 5}, "profile.principals.ann.concurrency", {}),
        (
            {f"{P}/principals/ann/concurrency": 3, f"{WS}/max_principal_share": "0.5"},
            "profile.principals.ann.concurrency",
            {
                f"{P}/principals/ann/concurrency": 2,
                f"{P}/principals/bob/concurrency": 2,
                f"{WS}/max_principal_share": "0.5",
            },
        ),
        ({f"{P}/providers/u/concurrency": 5}, "profile.providers.u.concurrency", {f"{P}/providers/u/concurrency": 4}),
        ({f"{WS}/concurrency": 7}, "profile.workspace.concurrency", {f"{WS}/concurrency": 6}),
        (
            {f"{P}/principals/ann/max_queue_length": 9},
            "profile.principals.ann.max_queue_length",
            {f"{P}/principals/ann/max_queue_length": 8},
        ),
    ],
    "wait-cannot-bind": [
        (
            {f"{P}/principals/ann/max_queue_wait_ms": "500.1"},
            "profile.principals.ann.max_queue_wait_ms",
            {f"{P}/principals/ann/max_queue_wait_ms": 500},
        ),
        (
            {"streams/0/client/timeout_ms": 400, "streams/1/client/timeout_ms": 300},
            "profile.workspace.max_queue_wait_ms",
            {"streams/0/client/timeout_ms": 400},
        ),
    ],
    "bucket-cannot-bind": [
        (
            {f"{WS}/requests_per_minute": 600, f"{P}/principals/ann/requests_per_minute": 700},
            "profile.principals.ann.requests_per_minute",
            {f"{WS}/requests_per_minute": 600, f"{P}/principals/ann/requests_per_minute": 500},
        ),
        (
            {
                f"{WS}/tokens_per_second": 900,
                f"{P}/providers/u/tokens_per_second": 800,
                f"{P}/providers/u/tokens_burst": 900,
            },
            "profile.workspace.tokens_per_second",
            {
                f"{WS}/tokens_per_second": 900,
                f"{P}/providers/u/tokens_per_second": 800,
                f"{P}/providers/u/tokens_burst": 901,
            },
        ),
        (
            {
                f"{WS}/requests_per_minute": 700,
                f"{P}/principals/ann/requests_per_minute": 300,
                f"{P}/principals/bob/requests_per_minute": 300,
            },
            "profile.workspace.requests_per_minute",
            {f"{WS}/requests_per_minute": 700, f"{P}/principals/ann/requests_per_minute": 300},
        ),
    ],
    "bucket-out-of-reach": [
        # 20 a second are 1200 a minute; four times that
        (
            {f"{WS}/requests_per_minute": 4800},
            "profile.workspace.requests_per_minute",
            {f"{WS}/requests_per_minute": 4799},
        ),
        (
            {f"{P}/principals/ann/tokens_per_second": 4000, f"{P}/principals/ann/tokens_burst": 2000},
            "profile.principals.ann.tokens_per_second",
            {f"{P}/principals/ann/tokens_per_second": 4000, f"{P}/principals/ann/tokens_burst": 1999},
        ),
        (
            {f"{WS}/requests_per_minute": 4800},
            "profile.workspace.requests_per_minute",
            {f"{WS}/requests_per_minute": 4800, "phases/1/rate_multiplier": {"ann": 2}},
        ),
        (
            {f"{WS}/requests_per_minute": 4800},
            "profile.workspace.requests_per_minute",
            {f"{WS}/requests_per_minute": 4800, "streams/0/client/retry": RETRY},
        ),
    ],
    "share-of-nothing": [
        (
            {f"{P}/providers/u/max_principal_share": "0.5"},
            "profile.providers.u.max_principal_share",
            {
                f"{P}/providers/u": {"max_principal_share": "0.75", "concurrency": 4},
                f"{P}/principals": {"ann": {}, "bob": {}},
            },
        ),
        (
            {WS: {"max_queue_length": 8, "max_queue_wait_ms": 500}, f"{P}/principals/ann/reserved_concurrency": 1},
            "profile.principals.ann.reserved_concurrency",
            {f"{P}/principals/ann/reserved_concurrency": 1},
        ),
    ],
    "weight-without-effect": [
        (
            {f"{P}/principals/ann/weight": 2},
            "profile.principals.ann.weight",
            {f"{P}/principals/ann/weight": 2, f"{P}/scheduling": {"kind": "deficit"}},
        )
    ],
    "tokens-above-bucket": [
        (
            {f"{WS}/tokens_per_second": 2000, f"{WS}/tokens_burst": 99},
            "streams[0].work",
            {f"{WS}/tokens_per_second": 2000, f"{WS}/tokens_burst": 100},
        ),
        (
            {
                f"{WS}/tokens_per_second": 300,
                "streams/1/work/tokens": {"kind": "mixture", "of": [["0.9", 10], ["0.1", 301]]},
            },
            "streams[1].work",
            {
                f"{WS}/tokens_per_second": 300,
                "streams/1/work/tokens": {"kind": "mixture", "of": [["0.9", 10], ["0.1", 300]]},
            },
        ),
        (
            {f"{WS}/tokens_per_second": 300, "streams/0/work": capped(201)},
            "streams[0].work",
            {f"{WS}/tokens_per_second": 300, "streams/0/work": capped(200)},
        ),
        (
            {f"{WS}/tokens_per_second": 300, "streams/0/work": scaled("2.01")},
            "streams[0].work",
            {f"{WS}/tokens_per_second": 300, "streams/0/work": scaled("2")},
        ),
    ],
    "zero-rate": [
        ({f"{WS}/requests_per_minute": 0}, "profile.workspace.requests_per_minute", {f"{WS}/requests_per_minute": 60})
    ],
    "tokens-above-budget": [
        ({f"{WS}/max_tokens": 99}, "streams[0].work", {f"{WS}/max_tokens": 100}),
    ],
    "size-above-limit": [
        (
            {f"{WS}/max_items": 3, "streams/0/work/items": 4},
            "streams[0].work.items",
            {f"{WS}/max_items": 4, "streams/0/work/items": 4},
        ),
        (
            {f"{P}/principals/bob/max_cost_usd": "0.5", "streams/1/work/cost_micros": 500001},
            "streams[1].work.cost_micros",
            {f"{P}/principals/bob/max_cost_usd": "0.5", "streams/1/work/cost_micros": 500000},
        ),
    ],
    "unknown-size-refused": [
        (
            {f"{WS}/max_cost_usd": 1, "streams/0/work/cost_micros": "unknown"},
            "streams[0].work.cost_micros",
            {f"{WS}/max_cost_usd": 1, f"{WS}/allow_unknown_cost": True, "streams/0/work/cost_micros": "unknown"},
        )
    ],
    "attempts-above-budget": [
        (
            {f"{WS}/max_attempts": 2, "streams/0/client/retry": RETRY},
            "streams[0].client",
            {f"{WS}/max_attempts": 3, "streams/0/client/retry": RETRY},
        )
    ],
    "timeout-below-service": [
        ({"streams/0/client/timeout_ms": 49}, "streams[0].client.timeout_ms", {"streams/0/client/timeout_ms": 50})
    ],
    "reservations-leave-none": [
        (
            {f"{WS}/concurrency": 2, f"{P}/principals/ann": {"reserved_concurrency": 2}},
            "profile.principals.bob",
            {f"{WS}/concurrency": 3, f"{P}/principals/ann": {"reserved_concurrency": 2}},
        )
    ],
    "reservation-of-nobody": [
        (
            {f"{P}/principals/zoe": {"reserved_concurrency": 1}},
            "profile.principals.zoe.reserved_concurrency",
            {f"{P}/principals/ann/reserved_concurrency": 1},
        )
    ],
    "layers-multiply": [
        (
            {"streams/0/client/layers": TWO_LAYERS},
            "streams[0].client.layers",
            {"streams/0/client/layers": [TWO_LAYERS[0], TWO_LAYERS[1] | {"max_attempts": 1}]},
        )
    ],
    "refusals-retried": [
        (
            {"streams/0/client": {"on_refusal": "retry", "retry": RETRY}},
            "streams[0].client.on_refusal",
            {"streams/0/client": {"on_refusal": "give-up", "retry": RETRY}},
        )
    ],
    "retry-beyond-timeout": [
        (
            {"streams/0/client": {"timeout_ms": 100, "retry": RETRY}},
            "streams[0].client.timeout_ms",
            {"streams/0/client": {"timeout_ms": 101, "retry": RETRY}},
        ),
        (
            {"streams/0/client": {"timeout_ms": 100, "retry": RETRY}},
            "streams[0].client.timeout_ms",
            {"streams/0/client": {"timeout_ms": 100, "retry": RETRY | {"jitter": "full"}}},
        ),
    ],
    "cancellation-beyond-timeout": [
        (
            {"streams/0/client": {"timeout_ms": 400, "cancellation": {"probability": "0.1", "after_ms": 401}}},
            "streams[0].client.cancellation.after_ms",
            {"streams/0/client": {"timeout_ms": 400, "cancellation": {"probability": "0.1", "after_ms": 399}}},
        )
    ],
    "principal-without-stream": [({f"{P}/principals/zoe": {}}, "profile.principals.zoe", {})],
    "provider-without-stream": [({f"{P}/providers/v": {}}, "profile.providers.v", {})],
    "stream-without-arrivals": [
        (
            {"phases/0/rate_multiplier": ZERO, "phases/1/rate_multiplier": ZERO},
            "streams[0]",
            {"phases/0/rate_multiplier": ZERO},
        )
    ],
    "phase-within-warmup": [({"warmup_seconds": 20}, "phases[0]", {"warmup_seconds": "19.999"})],
    "burst-outside-run": [
        (
            {"streams/0/arrivals": BURSTS | {"first_seconds": 40}},
            "streams[0].arrivals.first_seconds",
            {"streams/0/arrivals": BURSTS | {"first_seconds": 39}},
        )
    ],
    "profile-assumed": [
        (
            {"provenance": [{"path": "profile", "value": "round figures", "kind": "assumed", "source": "a guess"}]},
            "provenance[0]",
            {"provenance": [{"path": "profile", "value": "the ones we run", "kind": "measured", "source": "the file"}]},
        )
    ],
    "gate-implied": [
        (
            {"gates/1": gate(metric="active.max", op="<=", bound=4)},
            "gates[1]",
            {"gates/1": gate(metric="active.max", op="<=", bound=3)},
        ),
        (
            {"gates/1": gate(metric="queue.wait.p99", op="<=", bound=500, estimand="mean"), "replications": {"n": 30}},
            "gates[1]",
            {"gates/1": gate(metric="queue.wait.p99", op="<", bound=500, estimand="mean"), "replications": {"n": 30}},
        ),
    ],
    "gate-impossible": [
        ({"gates/1": gate(bound="1.01")}, "gates[1]", {"gates/1": gate(bound="1")}),
        (
            {"gates/1": gate(metric="retry.amplification", op="<", bound=1)},
            "gates[1]",
            {"gates/1": gate(metric="shed", op="<=", bound=0)},
        ),
    ],
    "no-deciding-gate": [({"gates/0/severity": "warn"}, "gates", {})],
    "gate-without-traffic": [
        (
            {"gates/1": gate(where=ANN_IN_B), "phases/1/rate_multiplier": ZERO},
            "gates[1].where",
            {"gates/1": gate(where=ANN_IN_B), "phases/0/rate_multiplier": ZERO},
        ),
        (
            {"gates/1": gate(where={"class": "ann", "principal": "bob"})},
            "gates[1].where",
            {"gates/1": gate(where={"class": "bob", "principal": "bob"})},
        ),
    ],
    "gate-needs-replications": [({"gates/1": MEAN}, "gates[1].estimand", {"gates/1": MEAN, "replications": {"n": 30}})],
}

TRIALS = [(code, *case) for code, cases in CASES.items() for case in cases]


def test_the_manifest_that_the_others_are_changes_of_is_clean(found):
    assert found({}) == []


def test_every_rule_is_tried_here():
    assert [rule.code for rule in RULES] == list(CASES)


@pytest.mark.parametrize(("code", "trigger", "path", "neighbour"), TRIALS, ids=[trial[0] for trial in TRIALS])
def test_a_rule_finds_what_it_is_about_and_nothing_next_to_it(found, code, trigger, path, neighbour):
    hits = [finding for finding in found(trigger) if finding.code == code]
    assert path in [finding.path for finding in hits]
    assert [finding for finding in found(neighbour) if finding.code == code] == []
    for finding in hits:
        assert finding.says
        assert finding.advice.endswith(".")


def test_only_what_is_said_to_follow_from_the_load_does():
    assert [rule.code for rule in RULES if rule.basis is Basis.OFFERED_LOAD] == ["bucket-out-of-reach"]


def test_a_base_of_shares_and_reservations_is_no_idle_limit(found):
    """A workspace of 9 over a provider of 4 is never full, and yet half of it is what one principal may hold."""
    changes = {f"{WS}/concurrency": 9, f"{P}/providers/u/concurrency": 4}
    paths = [finding.path for finding in found(changes)]
    assert "profile.workspace.concurrency" in paths
    assert "profile.workspace.concurrency" not in [
        finding.path for finding in found(changes | {f"{WS}/max_principal_share": "0.3"})
    ]


def test_a_reservation_is_counted_as_taken_from_its_pool(found):
    """Six permits over a provider of 4: with 2 reserved and unused, the fifth request meets the workspace's limit."""
    changes = {f"{WS}/concurrency": 6, f"{P}/providers/u/concurrency": 4, f"{P}/principals/ann/reserved_concurrency": 2}
    assert "profile.workspace.concurrency" not in [finding.path for finding in found(changes)]
    roomy = changes | {f"{WS}/concurrency": 7}
    assert "profile.workspace.concurrency" in [finding.path for finding in found(roomy)]


def test_limits_of_a_template_are_told_once_under_its_own_name(found):
    hits = found({f"{P}/principals/ann/concurrency": 5, "streams/0/count": 3})
    assert [finding.path for finding in hits if finding.code == "limit-cannot-bind"] == [
        "profile.principals.ann.concurrency"
    ]


def test_retries_under_a_budget_are_not_complained_of(found):
    client = {"on_refusal": "retry", "retry": RETRY | {"budget": BUDGET}}
    assert [finding for finding in found({"streams/0/client": client}) if finding.code == "refusals-retried"] == []


def test_a_queue_longer_than_all_callers_of_closed_loops_together_is_idle(found):
    """Three and four callers, each with one request at a time: an eighth never waits."""
    loops = {
        f"streams/{at}/arrivals": {"kind": "closed", "population": n, "think_ms": 100} for at, n in enumerate((3, 4))
    }
    assert "profile.workspace.max_queue_length" in [finding.path for finding in found(loops)]
    short = loops | {f"{WS}/max_queue_length": 7}
    assert "profile.workspace.max_queue_length" not in [finding.path for finding in found(short)]
