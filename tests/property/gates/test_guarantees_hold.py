"""What a configuration is said to guarantee holds in every run of it; what it is not said to, some run crosses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

import sim
from sim.evidence.build import guarantees_of
from sim.manifest import parse
from sim.metrics import BY_NAME, METRICS
from tests.property.gates.configurations import examples, manifests

PAIRS = ({"class": "noisy", "provider": "u"}, {"principal": "ann", "provider": "v"}, {"class": "quiet", "phase": "b"})


GATES = [
    {"id": f"g{at}-{place}", "metric": metric.name, "where": where, "op": ">=", "bound": 0, "estimand": "path"}
    for at, metric in enumerate(METRICS)
    for place, where in enumerate(PAIRS)
    if where.keys() <= set(metric.selectors)
]
"""A gate makes a run list the figure that it asks for; these ask for selections by two labels."""


def crossed(document: dict) -> list[str]:
    """Run a manifest and return the figures beyond what is guaranteed."""
    manifest = parse(json.dumps(document | {"gates": GATES}).encode(), path=Path("any.json"))
    guarantees = guarantees_of(manifest)
    run = sim.run(manifest, observations_only=True)
    if run.value("in_flight.end"):
        return []  # nothing is judged: every gate is INVALID for that, whatever its bound
    found: list[str] = []
    for row in run.observations:
        if BY_NAME.get(row["metric"]) is None:
            continue
        value = Fraction(row["value"])
        for op, beyond in (("<=", lambda bound, value=value: value > bound), (">=", lambda b, value=value: value < b)):
            bound = guarantees.value(row["metric"], row["labels"], op)
            if bound is not None and beyond(rounded(bound)):
                found.append(f"{row['metric']} {row['labels']}: {value} {op} {bound}")
    return found


def rounded(bound: Fraction) -> Fraction:
    """Return a bound as a record holds figures: six places, half up."""
    return Fraction((bound * 2 * 10**6 + 1) // 2, 10**6)


@examples(80)
@given(manifests())
def test_no_run_crosses_what_its_configuration_guarantees(document):
    assert crossed(document) == []


def base(**workspace) -> dict:
    return {
        "schema": "capacity-manifest/v1",
        "name": "one",
        "version": "1.0.0",
        "mode": "offline-fake-provider",
        "seed": 7,
        "target": {"kind": "admission-controller", "discipline": "default"},
        "profile": {
            "profile_version": "one-1",
            "workspace": workspace,
            "providers": {"u": {"circuit_breaker": {"failure_threshold": 2, "open_ms": 100, "half_open_max_calls": 1}}},
            "principals": {"ann": {}, "bob": {}},
        },
        "phases": [{"name": "a", "seconds": 4}],
        "drain_seconds": 600,
        "streams": [
            {
                "name": name,
                "principal": name,
                "arrivals": {"kind": "poisson", "per_second": rate},
                "work": {"tokens": 5},
                "providers": {"u": 1},
                "client": {
                    "retry": {"kind": "fixed", "base_ms": 10, "max_attempts": 3},
                    "on_refusal": "give-up",
                },
            }
            for name, rate in (("ann", 60), ("bob", 1))
        ],
        "providers": [
            {
                "id": "u",
                "service_ms": {"kind": "uniform", "min": 10, "max": 90},
                "failures": {"kind": "independent", "probability": "0.3"},
            }
        ],
        "gates": [{"id": "g", "metric": "admission.ratio", "op": ">=", "bound": "0.1", "estimand": "path"}],
    }


TIGHT = {"concurrency": 2, "max_queue_length": 6, "max_queue_wait_ms": 120}


@pytest.mark.parametrize("metric", ["active.max", "queue.length.max", "queue.dwell.max"])
def test_a_ceiling_is_met_by_a_run_so_that_a_bound_below_it_can_be_missed(metric):
    manifest = parse(json.dumps(base(**TIGHT)).encode(), path=Path("one.json"))
    assert Fraction(sim.run(manifest).value(metric)) == guarantees_of(manifest).value(metric, {}, "<=")


def test_amplification_reaches_its_ceiling_where_every_call_fails():
    document = base()
    del document["profile"]["providers"]["u"]["circuit_breaker"]
    document["providers"][0]["failures"]["probability"] = "1"
    manifest = parse(json.dumps(document).encode(), path=Path("one.json"))
    for metric in ("retry.amplification", "retry.amplification.peak_10s"):
        assert Fraction(sim.run(manifest).value(metric)) == 3 == guarantees_of(manifest).value(metric, {}, "<=")


@pytest.mark.parametrize("metric", ["queue.wait.max", "sojourn.p99", "shed.queue-full", "breaker.transitions", "shed"])
def test_what_nothing_bounds_has_no_ceiling(metric):
    manifest = parse(json.dumps(base(concurrency=2, max_queue_length=6)).encode(), path=Path("one.json"))
    assert guarantees_of(manifest).value(metric, {}, "<=") is None
    assert sim.run(manifest).value(metric) not in {0, "0.000000"}


def test_the_index_of_jain_falls_far_below_1():
    document = base(concurrency=2, max_queue_length=6, max_principal_share="0.5")
    manifest = parse(json.dumps(document).encode(), path=Path("one.json"))
    floor = guarantees_of(manifest).value("fairness.jain", {}, ">=")
    assert floor == Fraction(1, 2)
    assert floor < Fraction(sim.run(manifest).value("fairness.jain")) < Fraction(9, 10)


def test_callers_who_come_back_as_their_wait_runs_out_are_owed_no_turn_of_before():
    """Refused after 25 ms and back after another 25: often in the instant in which refusals leave their lane empty."""
    document = base(max_queue_length=5, max_queue_wait_ms=25)
    document["profile"]["providers"]["u"] = {"concurrency": 2}
    own, other = document["streams"]
    retry = {"kind": "exponential", "base_ms": 25, "cap_ms": 62, "max_attempts": 3}
    own |= {"count": 2, "arrivals": {"kind": "batch", "per_second": 2, "size": 5}}
    own |= {"client": {"retry": retry, "on_refusal": "retry", "retry_after": "ignore"}}
    other |= {"arrivals": {"kind": "poisson", "per_second": 40}, "client": {}}
    document["providers"] = [{"id": "u", "service_ms": {"kind": "mixture", "of": [["0.25", 1], ["0.75", 25]]}}]
    lags = [sim.run(parse(json.dumps(document | {"seed": seed}).encode(), path=Path("one.json"))) for seed in range(4)]
    assert [run.value("fairness.service_lag.max") for run in lags] == [1] * 4
