"""Waits between attempts, by their closed forms."""

from __future__ import annotations

import pytest

from sim.manifest.clients import Retry
from sim.world.backoff import backoff_ns

MS = 10**6
LAST = 2**64 - 1
WORDS = [k * 2**64 // 4000 for k in range(4000)]


def exponential(base, cap, jitter="none"):
    return Retry(kind="exponential", base_ns=base, cap_ns=cap, jitter=jitter, max_attempts=62)


def decorrelated(base, cap):
    return Retry(kind="decorrelated", base_ns=base, cap_ns=cap, max_attempts=62)


def test_fixed_waits_the_same_each_time():
    retry = Retry(kind="fixed", base_ns=250 * MS, max_attempts=9)
    assert [backoff_ns(retry, tries, 0, 0) for tries in (1, 2, 8)] == [250 * MS] * 3


def test_exponential_doubles_up_to_its_cap():
    retry = exponential(100, 1000)
    assert [backoff_ns(retry, tries, 0, 0) for tries in range(1, 7)] == [100, 200, 400, 800, 1000, 1000]


@pytest.mark.parametrize("attempt", [1025, 2000, 10_000])
def test_c047_attempt_1025_waits_the_cap_and_does_not_overflow(attempt):
    assert backoff_ns(exponential(2 * 10**9, 5 * 10**9), attempt, 0, 0) == 5 * 10**9


@pytest.mark.parametrize("tries", [1025, 10_000])
def test_no_attempt_is_too_late_for_any_jitter(tries):
    assert backoff_ns(exponential(2 * 10**9, 5 * 10**9, "full"), tries, LAST, 0) == 5 * 10**9
    assert backoff_ns(exponential(2 * 10**9, 5 * 10**9, "equal"), tries, 0, 0) == 5 * 10**9 // 2
    assert backoff_ns(decorrelated(2 * 10**9, 5 * 10**9), tries, LAST, 5 * 10**9) == 5 * 10**9


def test_c046_a_base_of_nothing_stays_nothing():
    assert backoff_ns(exponential(0, 60 * 10**9), 1025, 0, 0) == 0


def test_full_jitter_is_the_word_scaled_to_the_wait_both_ends_included():
    waits = [backoff_ns(exponential(9, 9, "full"), 1, word, 0) for word in WORDS]
    assert waits == [word * 10 // 2**64 for word in WORDS]
    assert set(waits) == set(range(10))


@pytest.mark.parametrize(("wait", "low"), [(10, 5), (9, 4), (1, 0), (0, 0)])
def test_equal_jitter_is_half_of_the_wait_and_a_draw_from_the_other_half(wait, low):
    waits = [backoff_ns(exponential(wait, wait, "equal"), 1, word, 0) for word in WORDS]
    assert waits == [low + word * (wait - low + 1) // 2**64 for word in WORDS]
    assert set(waits) == set(range(low, wait + 1))


def test_decorrelated_draws_between_the_base_and_three_times_the_wait_before():
    waits = [backoff_ns(decorrelated(10, 1000), 3, word, 20) for word in WORDS]
    assert waits == [10 + word * 51 // 2**64 for word in WORDS]
    assert set(waits) == set(range(10, 61))


def test_decorrelated_is_capped_after_the_draw():
    waits = [backoff_ns(decorrelated(10, 40), 3, word, 20) for word in WORDS]
    assert waits == [min(40, 10 + word * 51 // 2**64) for word in WORDS]
    # A wait of nothing before draws nothing below the base.
    assert backoff_ns(decorrelated(10, 40), 3, LAST, 0) == 10
