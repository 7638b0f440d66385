"""Closed loops through the lab and through recursions of a few lines: equal to the nanosecond."""

from __future__ import annotations

import heapq
import io

import pytest

import sim
from sim.explain import explain
from sim.workload.closed import populations
from tests.unit.world.lab import manifest, ms, run
from tollgate.core.errors import ConfigError

S = 10**9


def loop(population, think, **more):
    return manifest(arrivals={"kind": "closed", "population": population, "think_ms": think}, **more)


def recursion(of, servers):
    """Serve the callers of a loop in the order in which they come; returns (arrives, begins, ends) of each request."""
    (callers,) = populations(of)
    asking = []
    for caller in range(callers.size):
        row = callers.request(caller, 0, 0)
        if row is not None:
            heapq.heappush(asking, (row[0], caller, 0, row[5]))
    free = [0] * servers
    served = []
    while asking:
        at_ns, caller, number, service_ns = heapq.heappop(asking)
        begins_ns = max(at_ns, heapq.heappop(free))
        ends_ns = begins_ns + service_ns
        heapq.heappush(free, ends_ns)
        served.append((at_ns, begins_ns, ends_ns))
        row = callers.request(caller, number + 1, ends_ns)
        if row is not None:
            heapq.heappush(asking, (row[0], caller, number + 1, row[5]))
    return served


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_loop_is_its_recursion_to_the_tick(servers, seed):
    of = loop(6, {"kind": "exponential", "mean": 200}, workspace={"concurrency": servers}, seed=seed)
    _, _, outcomes = run(of)
    served = recursion(of, servers)
    assert len(outcomes) == len(served) > 200
    for (at_ns, begins_ns, ends_ns), outcome in zip(served, outcomes, strict=True):
        assert (outcome.outcome, outcome.delays, outcome.settled) == (
            "completed",
            (ms(begins_ns - at_ns),),
            ms(ends_ns),
        )
    assert any(begins_ns > at_ns for at_ns, begins_ns, _ in served)


def test_nobody_asks_again_before_being_answered_and_nobody_after_the_last_phase():
    of = loop(4, 500, provider={"service_ms": 3000}, seconds=11)
    done, _, outcomes = run(of)
    # Each asks at 0.5, 4.0, 7.5 s, and would next at 11 s, which is the end.
    assert [outcome.settled for outcome in outcomes] == ["3500"] * 4 + ["7000"] * 4 + ["10500"] * 4
    assert done.value("active.max") == 4


def test_a_caller_comes_back_however_the_request_ended():
    limits = {"concurrency": 1, "max_queue_length": 0}
    client = {"timeout_ms": 100, "cancellation": {"probability": "0.3", "after_ms": 40}}
    done, _, outcomes = run(loop(3, 60, workspace=limits, client=client, provider={"service_ms": 90}))
    ends = {outcome.outcome for outcome in outcomes}
    assert ends == {"completed", "shed", "cancelled"}
    assert done.value("arrivals") > 300


def test_arrivals_are_told_as_they_come_in_their_order():
    of = loop(3, {"kind": "uniform", "min": 10, "max": 90}, workspace={"concurrency": 1})
    text, again = io.StringIO(), io.StringIO()
    done = sim.run(of, arrivals_out=text)
    assert sim.run(of, arrivals_out=again).arrivals_sha256 == done.arrivals_sha256
    rows = [line.split(",") for line in text.getvalue().splitlines()]
    assert [int(row[0]) for row in rows] == list(range(done.value("arrivals")))
    instants = [float(row[1]) for row in rows]
    assert instants == sorted(instants)
    assert again.getvalue() == text.getvalue()


def test_open_and_closed_arrivals_share_one_order():
    stream = {"principal": "ann", "class": "ann", "work": {"tokens": 1}, "providers": {"p": 1}}
    closed = {"kind": "closed", "population": 2, "think_ms": {"kind": "uniform", "min": 10, "max": 90}}
    both = [
        stream | {"name": "open", "arrivals": {"kind": "poisson", "per_second": 20}},
        stream | {"name": "loop", "arrivals": closed},
    ]
    text = io.StringIO()
    done = sim.run(manifest(streams=both), arrivals_out=text)
    assert [check for check in done.checks if not check["ok"]] == []
    instants = [float(line.split(",")[1]) for line in text.getvalue().splitlines()]
    assert instants == sorted(instants)
    alone = io.StringIO()
    sim.run(manifest(streams=both[:1]), arrivals_out=alone)
    of_open = {line.split(",", 1)[1] for line in alone.getvalue().splitlines()}
    assert of_open <= {line.split(",", 1)[1] for line in text.getvalue().splitlines()}


def test_the_run_says_that_it_is_a_closed_loop():
    done, _, _ = run(loop(3, 500))
    (note,) = [check["detail"] for check in done.checks if check["name"] == "observations"]
    assert "ann is a closed loop of 3 callers" in note


def test_a_request_of_a_loop_is_explained():
    of = loop(2, 500, workspace={"concurrency": 1}, provider={"service_ms": 300}, seconds=3)
    assert explain(of, 3).heading == "request 3: ann to p, 1 token, 300 ms of service an attempt"
    assert [step.at_ns for step in explain(of, 3).steps] == [1600 * 10**6, 1600 * 10**6, 1900 * 10**6]
    with pytest.raises(ConfigError, match=r"got 99; allowed: 0 to \d, the places"):
        explain(of, 99)
