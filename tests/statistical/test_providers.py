"""Providers and permits against queueing theory, on fixed seeds.

The closed form must lie in the interval over independent runs, Student's t at 99.9 %, and the interval must be narrow
enough to bite. Formulas and values are those of specification 07.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from math import exp, factorial, sqrt
from statistics import fmean, stdev

import pytest

import sim
from sim import seeds
from sim.kernel import Kernel
from sim.manifest.providers import Bursts
from sim.targets.controller import build
from sim.trace import AttemptCol, Consumer, Trace
from sim.workload.arrivals import arrival_blocks
from sim.world import World
from sim.world.provider_bursts import BadTimes
from tests.unit.world.lab import manifest

S = 10**9
T_999 = {8: 5.408, 10: 4.781, 12: 4.437}
"""Two-sided 99.9 % points of Student's t, by the number of runs (one more than the degrees of freedom)."""


def covers(values, truth, *, within):
    """Assert that the interval over runs holds the truth and is no wider than a share of it."""
    half = T_999[len(values)] * stdev(values) / sqrt(len(values))
    assert half < within * truth, f"an interval of +-{half:.4g} says little about {truth:.4g}"
    assert abs(fmean(values) - truth) <= half, f"{fmean(values):.5g} +- {half:.2g}, theory has {truth:.5g}"


def erlang_b(servers, load):
    inverse = 1.0
    for n in range(1, servers + 1):
        inverse = 1 + n / load * inverse
    return 1 / inverse


def erlang_c(servers, load):
    lost = erlang_b(servers, load)
    return lost / (1 - load / servers * (1 - lost))


def lab(per_second, *, seed, seconds, mean_ms=1000, warmup=50, **more):
    service = {"service_ms": {"kind": "exponential", "mean": mean_ms}, **more.pop("provider", {})}
    arrivals = {"kind": "poisson", "per_second": per_second}
    return manifest(provider=service, arrivals=arrivals, seed=seed, seconds=seconds, warmup_seconds=warmup, **more)


class Attempts(Consumer):
    """Every attempt: its ordinal, how long it was in service and when it ended; and all breaker transitions."""

    def __init__(self):
        self.ordinals, self.took, self.ended = [], [], []
        self.transitions = ()

    def attempts(self, rows):
        self.ordinals += rows[:, AttemptCol.ORDINAL].tolist()
        self.took += (rows[:, AttemptCol.ENDED] - rows[:, AttemptCol.DECIDED]).tolist()
        self.ended += rows[:, AttemptCol.ENDED].tolist()

    def close(self, end):
        self.transitions = end.transitions


def attempts_of(of):
    """Run a manifest with nothing but its attempts kept."""
    seen, kernel = Attempts(), Kernel()
    world = World(of, arrival_blocks(of), build(of), Trace([seen]), kernel)
    kernel.run(of.horizon_ns + of.drain_ns)
    world.close(of.horizon_ns + of.drain_ns)
    return seen


def in_service(of):
    """Return (how long a call was at its provider, its work), s, of each call after the warm-up."""
    seen = attempts_of(of)
    at_ns = [at for block in arrival_blocks(of) for at in block.at_ns]
    work_ns = [work for block in arrival_blocks(of) for work in block.service_ns]
    return [
        (took / S, work_ns[ordinal] / S)
        for ordinal, took in zip(seen.ordinals, seen.took, strict=True)
        if at_ns[ordinal] >= of.warmup_ns
    ]


def measured(of, *metrics):
    """Return the figures of a run, each as a float."""
    done = sim.run(of, observations_only=True)
    assert [check for check in done.checks if not check["ok"]] == []
    return tuple(float(done.value(metric)) for metric in metrics)


def test_the_formulas_give_the_values_of_the_specification():
    assert erlang_b(10, 8) == pytest.approx(0.1216611, abs=5e-8)
    assert erlang_b(10, 15) == pytest.approx(0.4103405, abs=5e-8)
    assert erlang_c(10, 8) == pytest.approx(0.4091802, abs=5e-8)
    assert erlang_c(10, 8) / (10 - 8) == pytest.approx(0.2045901, abs=5e-8)


def test_servers_of_a_provider_queue_as_erlang_c_says():
    waiting, waits = [], []
    for seed in range(12):
        calls = in_service(lab(8, seed=seed, seconds=650, provider={"servers": 10}))
        waiting.append(fmean(took > work for took, work in calls))
        waits.append(fmean(took - work for took, work in calls))
    covers(waiting, erlang_c(10, 8), within=0.2)
    covers(waits, erlang_c(10, 8) / 2, within=0.5)


def test_permits_queue_as_servers_of_a_provider_do():
    inside = in_service(lab(8, seed=1, seconds=300, provider={"servers": 10}))
    (before,) = measured(lab(8, seed=1, seconds=300, workspace={"concurrency": 10}), "queue.wait.mean")
    assert before == pytest.approx(1000 * fmean(took - work for took, work in inside), abs=1e-6)


def test_a_shared_server_keeps_a_call_for_one_over_mu_less_lambda():
    sojourns = []
    for seed in range(10):
        of = lab(0.5, seed=seed, seconds=4000, provider={"servers": 1, "sharing": "processor"})
        sojourns.append(fmean(took for took, _ in in_service(of)))
    covers(sojourns, 1 / (1 - 0.5), within=0.15)


@pytest.mark.parametrize(("servers", "load"), [(10, 8), (10, 15)])
def test_permits_without_a_queue_lose_what_erlang_b_says(servers, load):
    limits = {"concurrency": servers, "max_queue_length": 0}
    of = [lab(load, seed=seed, seconds=450, workspace=limits) for seed in range(8)]
    covers([1 - measured(one, "admission.ratio")[0] for one in of], erlang_b(servers, load), within=0.3)


def test_a_bounded_queue_is_a_birth_and_death_process():
    servers, places, rate = 2, 5, 1.6
    weights = [1.0]
    for n in range(1, places + 1):
        weights.append(weights[-1] * rate / min(n, servers))
    blocked = weights[places] / sum(weights)
    queued = sum((n - servers) * weights[n] for n in range(servers, places + 1)) / sum(weights)
    wait = queued / (rate * (1 - blocked))
    assert (blocked, wait) == pytest.approx((0.1027442, 0.5054515), abs=5e-8)
    limits = {"concurrency": servers, "max_queue_length": places - servers}
    found = [
        measured(lab(rate, seed=seed, seconds=1500, workspace=limits), "admission.ratio", "queue.wait.mean")
        for seed in range(10)
    ]
    covers([1 - admitted for admitted, _ in found], blocked, within=0.25)
    covers([mean_ms / 1000 for _, mean_ms in found], wait, within=0.15)


def test_a_longest_wait_refuses_as_a_queue_with_deadlines_does():
    c, lam, tau = 10, 12.0, 0.5
    # Above c - 1 calls the wait that a new one would have is a birth and death process up to tau; what it finds beyond
    # leaves. Normalised over the states below c and that wait.
    drift = c - lam
    below = sum(lam**n / factorial(n) for n in range(c))
    last = lam ** (c - 1) / factorial(c - 1)
    p_last = 1 / (below / last + lam * (1 - exp(-drift * tau)) / drift + exp(-drift * tau) * lam / c)
    refused = lam * p_last * exp(-drift * tau) / c
    assert refused == pytest.approx(0.1995542, abs=5e-8)
    limits = {"concurrency": c, "max_queue_wait_ms": tau * 1000}
    metrics = "admission.ratio", "queue.wait.mean", "active.mean"
    found = [measured(lab(lam, seed=seed, seconds=400, workspace=limits), *metrics) for seed in range(8)]
    covers([1 - admitted for admitted, _, _ in found], refused, within=0.2)
    covers([mean_ms / 1000 for _, mean_ms, _ in found], 0.2292844, within=0.15)
    covers([active / c for _, _, active in found], 0.9605349, within=0.03)


def test_bad_times_are_their_share_of_time():
    model = Bursts(9 * S, S, Fraction(0), Fraction(1))
    shares = []
    for seed in range(10):
        times = BadTimes(model, seeds.words(seed, "provider/p/bursts"))
        shares.append(fmean(times.is_bad(k * S // 4) for k in range(40_000)))
    covers(shares, 0.1, within=0.2)


def test_calls_fail_in_bursts_as_often_as_the_chain_says():
    failures = {
        "kind": "bursty",
        "good_mean_seconds": 0.6,
        "bad_mean_seconds": 0.2,
        "good_probability": "0.02",
        "bad_probability": "0.8",
        "answer_ms": 1,
    }
    of = [lab(20, seed=seed, seconds=120, mean_ms=10, warmup=0, provider={"failures": failures}) for seed in range(8)]
    shares = [failed / arrivals for failed, arrivals in (measured(one, "failed", "arrivals") for one in of)]
    covers(shares, 0.75 * 0.02 + 0.25 * 0.8, within=0.35)


def closed_spans(of):
    """Return how many calls ended between each closing of the breaker and its next opening, that one included."""
    seen = attempts_of(of)
    ended = sorted(seen.ended)
    closed_ns, counts = -1, []
    for row in seen.transitions:
        if row.to_state == "closed":
            closed_ns = row.at_ns
        elif (row.from_state, row.to_state) == ("closed", "open"):
            counts.append(bisect_right(ended, row.at_ns) - bisect_right(ended, closed_ns))
    return counts


def test_a_breaker_trips_on_an_outage_after_the_calls_that_theory_has():
    p, k = 0.5, 5
    expected = (1 - p**k) / (p**k * (1 - p))
    assert expected == 62
    outage = {"kind": "error", "from_seconds": 0, "for_seconds": 500, "probability": "0.5", "answer_ms": 1}
    breaker = {"failure_threshold": k, "open_ms": 1, "half_open_max_calls": 1}
    per_run = []
    for seed in range(8):
        of = manifest(
            provider={"service_ms": 1, "outages": [outage]},
            arrivals={"kind": "poisson", "per_second": 8},
            profile={
                "profile_version": "x",
                "workspace": {"concurrency": 1},
                "providers": {"p": {"circuit_breaker": breaker}},
                "principals": {"ann": {}},
            },
            seed=seed,
            seconds=500,
        )
        per_run.append(fmean(closed_spans(of)))
    covers(per_run, expected, within=0.35)
