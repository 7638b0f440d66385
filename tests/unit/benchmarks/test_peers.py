from __future__ import annotations

from bisect import insort
from fractions import Fraction
from math import factorial, sqrt
from statistics import mean, stdev

import numpy as np

from benchmarks.bucket import BURST, STEP_NS
from benchmarks.peers import SlottedBucket, heap_pairs, textbook_queue
from tollgate.core.bucket import TokenBucket
from tollgate.core.units import Rate

T_9_999 = 4.781  # quantile of Student's t for 99.9 % on both sides, 9 degrees of freedom (any printed table)


def mean_wait_s(arrivals_per_s: float, services_per_s: float, servers: int) -> float:
    """Return the mean wait in an M/M/c queue: Erlang's C formula over the spare rate of service."""
    load = arrivals_per_s / services_per_s
    all_busy = load**servers / factorial(servers) / (1 - load / servers)
    waits = all_busy / (sum(load**k / factorial(k) for k in range(servers)) + all_busy)
    return waits / (servers * services_per_s - arrivals_per_s)


def test_textbook_queue_waits_as_erlang_says():
    waits = [
        textbook_queue(2000, arrivals_per_s=28, services_per_s=10, servers=4, seed=2601 + replication)
        for replication in range(10)
    ]
    half_width = T_9_999 * stdev(waits) / sqrt(len(waits))
    assert abs(mean(waits) - mean_wait_s(28, 10, 4)) <= half_width
    # And the interval is narrow enough to tell: one server more or fewer is far outside.
    assert abs(mean(waits) - mean_wait_s(28, 10, 3)) > half_width
    assert abs(mean(waits) - mean_wait_s(28, 10, 5)) > half_width


def test_heap_takes_events_in_order_of_time():
    gaps = np.random.default_rng(7).exponential(1, 300).tolist()
    waiting = sorted(gaps[:16])
    for gap in gaps:
        now = waiting.pop(0)
        insort(waiting, now + gap)
    assert heap_pairs(300, size=16, seed=7) == now


def test_handwritten_bucket_decides_as_exact_fractions_do():
    bucket = SlottedBucket(3, 7, burst=5)
    level, at_ns = Fraction(5), 0
    draws = np.random.default_rng(11)
    for step, n in zip(draws.integers(0, 12, 500).tolist(), draws.integers(1, 6, 500).tolist(), strict=True):
        level = min(Fraction(5), level + Fraction(3 * step, 7))
        at_ns += step
        fits = level >= n
        level -= n * fits
        assert bucket.try_take(n, at_ns) is fits


def test_both_buckets_admit_the_burst_and_what_was_earned():
    instants = range(0, 2000 * STEP_NS, STEP_NS)
    earned = instants[-1] // 1_000_000  # a unit a millisecond, and asked for too often to overflow
    for bucket in (SlottedBucket(1, 1_000_000, BURST), TokenBucket(rate=Rate.per_second(1000), burst=BURST)):
        assert sum(bucket.try_take(1, now_ns) for now_ns in instants) == BURST + earned
