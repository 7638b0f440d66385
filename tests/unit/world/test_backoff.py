"""Waits between attempts, by their closed forms."""

from __future__ import annotations

import pytest

from sim.manifest.model import Retry
from sim.seeds import derived_word
from sim.world.backoff import backoff_ns

MS = 10**6


def exponential(base, cap, jitter="none"):
    return Retry(kind="exponential", base_ns=base, cap_ns=cap, jitter=jitter, max_attempts=62)


def test_fixed_waits_the_same_each_time():
    retry = Retry(kind="fixed", base_ns=250 * MS, max_attempts=9)
    assert [backoff_ns(retry, attempt, 0) for attempt in (1, 2, 8)] == [250 * MS] * 3


def test_exponential_doubles_up_to_its_cap():
    retry = exponential(100, 1000)
    assert [backoff_ns(retry, attempt, 0) for attempt in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]


@pytest.mark.parametrize("attempt", [1025, 2000, 10_000])
def test_c047_attempt_1025_waits_the_cap_and_does_not_overflow(attempt):
    assert backoff_ns(exponential(2 * 10**9, 5 * 10**9), attempt, 0) == 5 * 10**9


def test_c046_a_base_of_nothing_stays_nothing():
    assert backoff_ns(exponential(0, 60 * 10**9), 1025, 0) == 0


def test_full_jitter_is_the_word_scaled_to_the_wait_both_ends_included():
    retry = exponential(9, 9, "full")
    words = [derived_word(word, 0) for word in range(4000)]
    waits = [backoff_ns(retry, 1, word) for word in range(4000)]
    assert waits == [word * 10 // 2**64 for word in words]
    assert set(waits) == set(range(10))


def test_each_attempt_has_a_jitter_of_its_own():
    retry = Retry(kind="fixed", base_ns=10**12, jitter="full", max_attempts=9)
    assert len({backoff_ns(retry, attempt, 77) for attempt in range(1, 9)}) == 8
