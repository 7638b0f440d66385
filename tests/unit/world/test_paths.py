"""The same draws through the lab and through recursions of a few lines: equal to the nanosecond."""

from __future__ import annotations

import heapq

import pytest

from tests.unit.world.lab import MS, manifest, ms, run

SEEDS = (1, 2, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_permit_is_lindleys_recursion(seed):
    _, arrivals, outcomes = run(manifest(workspace={"concurrency": 1}, seed=seed, seconds=40))
    free_ns = 0
    for row, outcome in zip(arrivals, outcomes, strict=True):
        begins_ns = max(row.at_ns, free_ns)
        free_ns = begins_ns + row.service_ns
        assert (outcome.outcome, outcome.delays) == ("completed", (ms(begins_ns - row.at_ns),))
        assert outcome.settled == ms(free_ns)
    assert sum(outcome.delays != ("0",) for outcome in outcomes) > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_c_permits_are_a_heap_of_c_free_instants(seed):
    arrivals_of = {"kind": "poisson", "per_second": 60}
    _, arrivals, outcomes = run(manifest(workspace={"concurrency": 3}, arrivals=arrivals_of, seed=seed))
    free = [0, 0, 0]
    for row, outcome in zip(arrivals, outcomes, strict=True):
        begins_ns = max(row.at_ns, heapq.heappop(free))
        heapq.heappush(free, begins_ns + row.service_ns)
        assert (outcome.delays, outcome.settled) == ((ms(begins_ns - row.at_ns),), ms(begins_ns + row.service_ns))
    assert sum(outcome.delays != ("0",) for outcome in outcomes) > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_no_place_to_wait_is_a_loss_system(seed):
    limits = {"concurrency": 2, "max_queue_length": 0}
    arrivals_of = {"kind": "poisson", "per_second": 40}
    _, arrivals, outcomes = run(manifest(workspace=limits, arrivals=arrivals_of, seed=seed))
    busy = []
    for row, outcome in zip(arrivals, outcomes, strict=True):
        busy = [end_ns for end_ns in busy if end_ns > row.at_ns]
        if len(busy) < 2:
            busy.append(row.at_ns + row.service_ns)
            assert (outcome.outcome, outcome.delays) == ("completed", ("0",))
        else:
            assert (outcome.outcome, outcome.reason) == ("shed", "queue-full")
    assert sum(outcome.outcome == "shed" for outcome in outcomes) > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_a_longest_wait_is_a_queue_with_deadlines(seed):
    limits = {"concurrency": 1, "max_queue_wait_ms": 150}
    arrivals_of = {"kind": "poisson", "per_second": 30}
    _, arrivals, outcomes = run(manifest(workspace=limits, arrivals=arrivals_of, seed=seed))
    free_ns = 0
    for row, outcome in zip(arrivals, outcomes, strict=True):
        begins_ns = max(row.at_ns, free_ns)
        if begins_ns - row.at_ns >= 150 * MS:
            assert (outcome.outcome, outcome.reason) == ("shed", "queue-timeout")
            assert outcome.settled == ms(row.at_ns + 150 * MS)
        else:
            free_ns = begins_ns + row.service_ns
            assert (outcome.outcome, outcome.settled) == ("completed", ms(free_ns))
    assert sum(outcome.outcome == "shed" for outcome in outcomes) > 50


@pytest.mark.parametrize("seed", SEEDS)
def test_a_request_bucket_spaces_starts_as_an_integer_bucket_does(seed):
    # 600 a minute with a burst of 3: one start each 100 ms once the burst is used; nobody else is in the way.
    limits = {"requests_per_minute": 600, "requests_burst": 3}
    _, arrivals, outcomes = run(manifest(workspace=limits, arrivals={"kind": "poisson", "per_second": 9}, seed=seed))
    per_ns = 100 * MS
    full_at_ns = began_ns = 0
    for row, outcome in zip(arrivals, outcomes, strict=True):
        began_ns = max(row.at_ns, began_ns, full_at_ns - 2 * per_ns)
        full_at_ns = max(full_at_ns, began_ns) + per_ns
        assert outcome.delays == (ms(began_ns - row.at_ns),)
    assert sum(outcome.delays != ("0",) for outcome in outcomes) > 20


ARRIVALS = {
    "curve": {"kind": "nhpp", "curve": [[0, 0], [10, 30], [20, 5]]},
    "steps": {"kind": "nhpp", "curve": [[0, 5], [10, 25], [20, 0]], "between": "step"},
    "states": {"kind": "mmpp", "per_second": [2, 40], "mean_seconds": [3, 2]},
    "steady": {"kind": "renewal", "per_second": 14, "gaps": "gamma", "cv": "0.3"},
    "clustered": {"kind": "renewal", "per_second": 14, "gaps": "weibull", "cv": 3},
    "batches": {"kind": "batch", "per_second": 3, "size": {"kind": "uniform", "min": 1, "max": 9}},
    "spread": {"kind": "batch", "per_second": 3, "size": 5, "within_ms": 400},
}
SERVICES = {
    "constant": 55,
    "uniform": {"kind": "uniform", "min": 1, "max": 120},
    "lognormal": {"kind": "lognormal", "mean": 60, "cv": "1.5"},
    "quantiles": {"kind": "lognormal", "median": 40, "p99": 400},
    "gamma": {"kind": "gamma", "mean": 60, "cv": "0.5"},
    "pareto": {"kind": "bounded-pareto", "alpha": "1.3", "min": 15, "max": 2000},
    "mixture": {"kind": "mixture", "of": [["0.9", 30], ["0.1", {"kind": "exponential", "mean": 300}]]},
}


@pytest.mark.parametrize(("arrivals_of", "service"), list(zip(ARRIVALS, SERVICES, strict=True)))
def test_every_kind_of_arrivals_and_of_service_goes_the_way_of_the_recursions(arrivals_of, service):
    provider = {"service_ms": SERVICES[service]}
    for permits in (1, 3):
        limits = {"concurrency": permits}
        of = manifest(workspace=limits, arrivals=ARRIVALS[arrivals_of], provider=provider, drain_seconds=900)
        _, arrivals, outcomes = run(of)
        assert len(arrivals) > 100
        free = [0] * permits
        for row, outcome in zip(arrivals, outcomes, strict=True):
            begins_ns = max(row.at_ns, heapq.heappop(free))
            heapq.heappush(free, begins_ns + row.service_ns)
            assert (outcome.delays, outcome.settled) == ((ms(begins_ns - row.at_ns),), ms(begins_ns + row.service_ns))
        if permits == 1:
            assert sum(outcome.delays != ("0",) for outcome in outcomes) > 30
