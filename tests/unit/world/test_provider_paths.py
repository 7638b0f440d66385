"""The same draws through the lab's providers and through recursions of a few lines: equal to the nanosecond."""

from __future__ import annotations

import hashlib
import heapq
from fractions import Fraction
from math import ceil, floor, log

import pytest
from numpy.random import Philox, SeedSequence

from sim.workload.arrivals import arrival_blocks
from tests.unit.world.lab import MS, manifest, ms, run

S = 10**9
SEEDS = (1, 2, 3)
FAST = {"kind": "poisson", "per_second": 60}


@pytest.mark.parametrize("seed", SEEDS)
def test_c_servers_in_turn_are_a_heap_of_c_free_instants(seed):
    _, arrivals, outcomes = run(manifest(provider={"servers": 3}, arrivals=FAST, seed=seed))
    free = [0, 0, 0]
    waited = 0
    for row, outcome in zip(arrivals, outcomes, strict=True):
        begins_ns = max(row.at_ns, heapq.heappop(free))
        heapq.heappush(free, begins_ns + row.service_ns)
        waited += begins_ns > row.at_ns
        assert (outcome.delays, outcome.settled) == (("0",), ms(begins_ns + row.service_ns))
    assert waited > 100


def shared(arrivals, rate_of):
    """Return the end of each call where all in service run at ``rate_of(calls)``, and leave at whole nanoseconds."""
    left: dict[int, Fraction] = {}
    ends = {}
    now = 0
    for number, row in [*enumerate(arrivals), (None, None)]:
        while left:
            rate = rate_of(len(left))
            first_ns = now + ceil(min(left.values()) / rate)
            stop_ns = first_ns if row is None else min(first_ns, row.at_ns)
            left = {who: work - rate * (stop_ns - now) for who, work in left.items()}
            now = stop_ns
            for who in [who for who, work in left.items() if work <= 0]:
                ends[who] = now
                del left[who]
            if row is not None and now == row.at_ns:
                break
        if row is not None:
            now = row.at_ns
            left[number] = Fraction(row.service_ns)
    return [ends[number] for number in range(len(arrivals))]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("servers", [1, 3])
def test_shared_servers_are_a_recursion_in_fractions(seed, servers):
    arrivals_of = {"kind": "poisson", "per_second": 15 * servers}
    provider = {"servers": servers, "sharing": "processor"}
    _, arrivals, outcomes = run(manifest(provider=provider, arrivals=arrivals_of, seed=seed, seconds=10))
    ends = shared(arrivals, lambda calls: min(Fraction(1), Fraction(servers, calls)))
    assert [outcome.settled for outcome in outcomes] == [ms(end_ns) for end_ns in ends]
    assert sum(end_ns > row.at_ns + row.service_ns for row, end_ns in zip(arrivals, ends, strict=True)) > 50


@pytest.mark.parametrize("seed", SEEDS)
def test_a_slowdown_is_a_recursion_in_fractions(seed):
    provider = {"slowdown": {"above": 1, "per_call": "0.07"}}
    _, arrivals, outcomes = run(manifest(provider=provider, arrivals=FAST, seed=seed, seconds=10))
    ends = shared(arrivals, lambda calls: 1 / (1 + Fraction(7, 100) * max(0, calls - 1)))
    assert [outcome.settled for outcome in outcomes] == [ms(end_ns) for end_ns in ends]


@pytest.mark.parametrize("seed", SEEDS)
def test_work_by_size_is_the_base_and_a_time_a_token(seed):
    of = manifest(
        provider={"service_ms": None, "service": {"kind": "tokens", "base_ms": 3, "ms_per_prompt_token": "0.0333333"}},
        streams=[
            {
                "name": "ann",
                "principal": "ann",
                "class": "ann",
                "arrivals": FAST,
                "work": {"tokens": {"kind": "uniform", "min": 1, "max": 4000}},
                "providers": {"p": 1},
            }
        ],
        seed=seed,
    )
    _, arrivals, outcomes = run(of)
    tokens = [size for block in arrival_blocks(of) for size in block.tokens]
    for row, size, outcome in zip(arrivals, tokens, outcomes, strict=True):
        assert outcome.settled == ms(row.at_ns + floor(3 * MS + size * Fraction(333333, 10)))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_stall_moves_whatever_is_left_behind_its_end(seed):
    outage = {"kind": "stall", "from_seconds": 5, "for_seconds": 3}
    _, arrivals, outcomes = run(manifest(provider={"outages": [outage]}, arrivals=FAST, seed=seed))
    moved = 0
    for row, outcome in zip(arrivals, outcomes, strict=True):
        end_ns = row.at_ns + row.service_ns
        if row.at_ns < 8 * S and end_ns > 5 * S:
            end_ns += 8 * S - max(row.at_ns, 5 * S)
            moved += 1
        assert outcome.settled == ms(end_ns)
    assert moved > 100


@pytest.mark.parametrize("seed", SEEDS)
def test_429s_of_the_providers_own_bucket_are_those_of_an_integer_bucket(seed):
    # 600 a minute with a burst of 4, answered after 1 ms; nobody tries again, and a pause holds who comes during it.
    limit = {"requests_per_minute": 600, "requests_burst": 4, "answer_ms": 1}
    of = manifest(provider={"rate_limit": limit}, arrivals={"kind": "poisson", "per_second": 12}, seed=seed)
    done, arrivals, outcomes = run(of)
    per_ns = 100 * MS
    full_ns = refused = 0
    waiting_until = []
    for row, outcome in zip(arrivals, outcomes, strict=True):
        # Whoever was let out by the end of a pause drew at that end, in order.
        begins_ns = max([row.at_ns] + [until for from_ns, until in waiting_until if from_ns <= row.at_ns])
        level_at = max(full_ns, begins_ns)
        if level_at + per_ns - begins_ns > 4 * per_ns:
            wait_ns = level_at + per_ns - begins_ns - 4 * per_ns
            announced_ns = max(0, wait_ns - MS)
            assert (outcome.outcome, outcome.settled) == ("failed", ms(begins_ns + MS))
            waiting_until.append((begins_ns + MS, begins_ns + MS + announced_ns))
            refused += 1
        else:
            full_ns = level_at + per_ns
            assert (outcome.outcome, outcome.settled) == ("completed", ms(begins_ns + row.service_ns))
    assert refused > 5
    until_ns = paused_ns = 0
    for from_ns, to_ns in sorted(waiting_until):  # pauses of one provider may overlap
        paused_ns += max(0, to_ns - max(from_ns, until_ns))
        until_ns = max(until_ns, to_ns)
    assert until_ns < done.end_ns
    assert Fraction(done.value("pause.time")) == Fraction(paused_ns, MS)


def words(seed, name):
    digest = hashlib.sha256(name.encode()).digest()
    key = [int.from_bytes(digest[k : k + 4], "big") for k in range(0, 32, 4)]
    generator = Philox(SeedSequence(seed, spawn_key=(0, *key)))
    while True:
        yield from generator.random_raw(64).tolist()


def mixed(word, k):
    z = (word + (k + 1) * 0x9E3779B97F4A7C15) % 2**64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def hits(word, attempt, which, chance):
    return mixed(mixed(word, 2**32), 3 * (attempt - 1) + which) < chance * 2**64


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("limits", [{}, {"concurrency": 1}])
def test_an_outage_hits_by_the_word_of_the_arrival_whatever_the_limits_are(seed, limits):
    outage = {"kind": "error", "from_seconds": 5, "for_seconds": 10, "probability": "0.3", "answer_ms": 1}
    of = manifest(
        workspace=limits, provider={"service_ms": 10, "outages": [outage]}, arrivals=FAST, seed=seed, seconds=20
    )
    _, arrivals, outcomes = run(of)
    own = words(seed, "ann/jitter")
    seen = 0
    for row, word, outcome in zip(arrivals, own, outcomes, strict=False):
        begins_ns = row.at_ns + round(Fraction(outcome.delays[0]) * MS)
        inside = 5 * S <= begins_ns < 15 * S
        is_hit = inside and hits(word, 1, 0, Fraction(3, 10))
        assert outcome.outcome == ("failed" if is_hit else "completed")
        seen += is_hit
    assert seen > 100


def bad_times(seed, good_ns, bad_ns):
    """Yield (from, until) of each bad time: stays are exponential, rounded as every draw of the lab is."""
    own = words(seed, "provider/p/bursts")
    at_ns = 0
    while True:
        pairs = [next(own) for _ in range(128)]
        for good, bad in zip(pairs[0::2], pairs[1::2], strict=True):
            stays = []
            for word, mean in ((good, good_ns), (bad, bad_ns)):
                units = round(-log(((word >> 11) + 1) / 2**53) * 2**40)
                stays.append(max(1, round(float(units) * (mean * 2.0**-40))))
            yield at_ns + stays[0], at_ns + sum(stays)
            at_ns += sum(stays)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("limits", [{}, {"concurrency": 1}])
def test_bursts_are_two_states_in_time_whatever_the_limits_are(seed, limits):
    failures = {
        "kind": "bursty",
        "good_mean_seconds": 2,
        "bad_mean_seconds": 1,
        "good_probability": "0.1",
        "bad_probability": "0.9",
    }
    of = manifest(workspace=limits, provider={"service_ms": 10, "failures": failures}, arrivals=FAST, seed=seed)
    _, arrivals, outcomes = run(of)
    spans = bad_times(seed, 2 * S, S)
    bad_from_ns, bad_until_ns = next(spans)
    failed = 0
    for row, word, outcome in zip(arrivals, words(seed, "ann/jitter"), outcomes, strict=False):
        begins_ns = row.at_ns + round(Fraction(outcome.delays[0]) * MS)
        while begins_ns >= bad_until_ns:
            bad_from_ns, bad_until_ns = next(spans)
        chance = Fraction(9, 10) if begins_ns >= bad_from_ns else Fraction(1, 10)
        assert outcome.outcome == ("failed" if hits(word, 1, 2, chance) else "completed")
        failed += outcome.outcome == "failed"
    assert 100 < failed < len(outcomes) - 100


@pytest.mark.parametrize("seed", SEEDS)
def test_an_outage_that_slows_and_fades_is_a_factor_at_the_beginning_of_a_call(seed):
    outage = {
        "kind": "slow",
        "from_seconds": 5,
        "for_seconds": 3,
        "factor": "2.7",
        "ramp_seconds": 7,
        "ramp_steps": 7,
    }
    _, arrivals, outcomes = run(manifest(provider={"outages": [outage]}, arrivals=FAST, seed=seed))
    for row, outcome in zip(arrivals, outcomes, strict=True):
        left = Fraction(0)
        if 5 * S <= row.at_ns < 15 * S:
            step = max(0, (row.at_ns - 8 * S) // S)  # a second each
            left = Fraction(1) if row.at_ns < 8 * S else 1 - Fraction(2 * step + 1, 14)
        work_ns = ceil(row.service_ns * (1 + Fraction(17, 10) * left))
        assert outcome.settled == ms(row.at_ns + work_ns)
