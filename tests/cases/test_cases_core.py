"""Public faults of similar tools that a mechanism alone can express, each under its id.

The right values are those of the fault's report. Where the report is about another mechanism (a sliding window, a GCRA,
a leaky bucket) and the right answer carries over to the token bucket, the docstring says so; where only a part carries
over, it says which. Cases that need waiters are in test_cases_controller.py; tests/cases/register.py lists all of them.
"""

# ruff: noqa: N802 - the ids are written as their list writes them

from __future__ import annotations

from fractions import Fraction

import pytest

from tollgate.core.breaker import (
    CANCELLED,
    FAILURE,
    SUCCESS,
    Breaker,
    BreakerConfig,
    BreakerState,
    FailureRateWindow,
    Probe,
)
from tollgate.core.bucket import TokenBucket, try_take_all
from tollgate.core.canonical import canonical_bytes, digest
from tollgate.core.errors import ConfigError
from tollgate.core.gauge import Gauge, acquire_all
from tollgate.core.units import NS_PER_MIN, NS_PER_S, Rate, fraction

S = NS_PER_S
MS = NS_PER_S // 1000


def bucket(per_second, burst, level=None):
    return TokenBucket(rate=Rate.per_second(per_second), burst=burst, level=level)


def admitted(a_bucket, asks, now_ns):
    return sum(a_bucket.try_take(1, now_ns) for _ in range(asks))


def opened(threshold, open_ns, probes, at_ns=0):
    """A breaker that was opened by failures in a row at one instant."""
    breaker = Breaker(BreakerConfig(threshold, open_ns, probes))
    for _ in range(threshold):
        breaker.record(breaker.try_acquire(at_ns), FAILURE, at_ns)
    assert breaker.state is BreakerState.OPEN
    return breaker


# ------------------------------------------------------------------------------------------------ refill arithmetic


def test_C001_fresh_bucket_with_an_endless_decimal_rate_admits_its_first_request():
    fresh = bucket(Fraction(10, 13), 1)
    assert fresh.level(0) == 1
    assert fresh.wait_ns(1, 0) == 0
    assert fresh.try_take(1, 0)


def test_C002_long_idle_bucket_holds_exactly_its_burst():
    start = fraction("0.54990492004805558")
    slow = bucket(Fraction(1, 3600), 1, start)
    # (1 - level) * 3600 s, to the nanosecond; the report prints it to the microsecond.
    ready_ns = slow.ready_ns(1, 0)
    assert ready_ns == -(-(1 - start) * 3600 * S // 1)
    assert round(ready_ns, -3) == 1_620_342_288_000
    assert not slow.fits(1, ready_ns - 1)
    assert slow.level(100_000 * S) == 1
    assert slow.try_take(1, 100_000 * S)


def test_C004_tiny_rate_gives_a_true_wait_and_refuses_the_second():
    tiny = bucket("0.0000000001", 1)
    assert tiny.try_take(1, 0)
    assert not tiny.try_take(1, 0)
    assert tiny.wait_ns(1, 0) == 10**10 * S  # beyond a signed 64-bit count of nanoseconds


def test_C010_large_rate_over_a_long_period_neither_stalls_nor_turns_negative():
    fast = TokenBucket(rate=Rate(980_000_000, 10 * S), burst=980_000_000, level=0)
    for now_ns in range(0, S, 50 * MS):
        assert fast.level(now_ns) >= 0
    assert fast.level(S) == 98_000_000
    assert fast.try_take(98_000_000, S)
    assert fast.wait_ns(98_000_000, S) == S


def test_C013_frequent_polling_loses_no_part_earned_units():
    polled = bucket(10, 100, 0)
    for poll in range(1, 101):
        polled.try_take(100, poll * 90 * MS)  # refused each time
    assert polled.level(9 * S) == 90


def test_C014_refill_counts_parts_of_a_second():
    steady = bucket(2, 10)
    assert steady.try_take(1, 0)
    assert steady.try_take(10, 600 * MS)


def test_C017_rate_above_the_clocks_resolution_is_not_free():
    fast = bucket(1_000_000_001, 1)
    assert fast.try_take(1, 0)
    assert not fast.try_take(1, 0)


def test_C109_eleven_elevenths_are_one():
    """A budget is a bucket that does not refill; amounts are whole micro-units, or whole elevenths."""
    elevenths = TokenBucket(rate=Rate(0, 1), burst=11)
    micros = TokenBucket(rate=Rate(0, 1), burst=1_000_000)
    for _ in range(11):
        assert elevenths.try_take(1, 0)
        assert micros.try_take(1_000_000 // 11, 0)
    assert elevenths.level(0) == 0
    assert micros.level(0) == 1


def test_C110_exact_fit_is_accepted():
    """A budget is a bucket that does not refill; decimals become micro-units without passing through a float."""
    budget = TokenBucket(rate=Rate(0, 1), burst=int(fraction("3.3") * 10**6))
    assert budget.try_take(3 * int(fraction("1.1") * 10**6), 0)
    assert budget.level(0) == 0


# ---------------------------------------------------------------------------------- requests that can never fit


def test_C011_more_than_the_capacity_is_refused_for_ever():
    small = TokenBucket(rate=Rate(3, 2 * S), burst=3)
    before = small.level(0)
    assert not small.try_take(4, 0)
    assert small.wait_ns(4, 0) is None
    assert small.level(0) == before


def test_C026_cost_above_the_limit_leaves_the_limit_as_it_was():
    """Reported of a moving window; the bucket has to answer the same."""
    per_minute = TokenBucket(rate=Rate.per_minute(10), burst=10)
    assert per_minute.try_take(5, 0)
    assert not per_minute.try_take(100, 0)
    assert per_minute.wait_ns(100, 0) is None
    assert per_minute.level(0) == 10 - 5


def test_C064_probe_limit_of_zero_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"half_open_max_calls: got 0"):
        BreakerConfig(failure_threshold=5, open_ns=30 * S, half_open_max_calls=0)


def test_C112_requests_in_parallel_cannot_overrun_a_token_limit():
    """The part of admission: the declared maximum is taken at once. Settling with the true use comes later."""
    tokens = TokenBucket(rate=Rate.per_minute(100), burst=100)
    assert [tokens.try_take(n, 0) for n in (58, 80, 175, 175, 175)] == [True, False, False, False, False]
    assert 100 - tokens.level(0) == 58


# ------------------------------------------------------------------------------------------------------------ waits


def test_C019_wait_is_for_the_missing_part():
    """Reported of a leaky bucket, the mirror image of this one."""
    leaky = bucket(1, 3)
    assert leaky.try_take(1, 0)
    assert leaky.ready_ns(3, 0) == S


def test_C020_wait_allows_for_the_burst():
    """Reported of a GCRA, of which the bucket is the virtual scheduling form."""
    gcra = bucket(1, 5)
    assert admitted(gcra, 6, 0) == 5
    assert gcra.wait_ns(1, 0) == S


@pytest.mark.parametrize(("left", "cost", "seconds"), [(9, 10, 1), (5, 8, 3), (0, 1, 1), (4, 4, 0)])
def test_C022_retry_hint_is_the_price_of_the_missing_part(left, cost, seconds):
    hinted = bucket(1, 10, left)
    assert hinted.wait_ns(cost, 0) == seconds * S
    assert hinted.try_take(cost, seconds * S)


def test_C037_a_try_looks_before_it_gives_up():
    unused = bucket(1, 1)
    assert unused.try_take(1, 0)
    assert not unused.try_take(1, 0)


# ------------------------------------------------------------------------------------------------------ clock steps


def test_C023_state_lives_as_long_as_it_matters():
    """Reported of a GCRA whose state expired a second early; here nothing expires."""
    single = bucket(1, 1)
    assert single.try_take(1, 900 * MS)
    assert not single.try_take(1, 1500 * MS)
    assert single.ready_ns(1, 1500 * MS) == 1900 * MS


@pytest.mark.parametrize("origin_ns", [0, 10**18, -(10**18)])
def test_C038_shown_wait_never_exceeds_the_period(origin_ns):
    """A clock of another origin: taken at one reading, asked at another.

    Reported of a window of ten seconds. The stored instant that lies in the future shows itself by ``ready_ns``, which
    is further away than any wait can be.
    """
    shared = TokenBucket(rate=Rate(2, 10 * S), burst=2)
    assert admitted(shared, 3, 50 * S) == 2
    now_ns = 50 * S + min(origin_ns, 0)
    assert 0 < shared.wait_ns(1, now_ns) <= 10 * S
    if origin_ns < 0:
        assert shared.ready_ns(1, now_ns) - now_ns > 10 * S


def test_C032_counting_and_refilling_are_one_step():
    """Reported of a counter whose expiry was set by a second command; the bucket is one integer, written once."""
    limit = TokenBucket(rate=Rate(5, 60 * S), burst=5)
    assert admitted(limit, 6, 0) == 5
    assert limit.try_take(1, 61 * S)


# --------------------------------------------------------------------------- refusals that must not change anything


def test_C005_refused_request_does_not_delay_the_next():
    drained = bucket(10, 10)
    assert drained.try_take(10, 0)
    assert not drained.try_take(20, 0)
    assert drained.level(0) == 0
    assert drained.ready_ns(1, 0) == S // 10


def test_C034_request_refused_by_one_limit_uses_up_no_other():
    tens, ones = TokenBucket(rate=Rate.per_minute(10), burst=10), TokenBucket(rate=Rate.per_minute(1), burst=1)
    assert [try_take_all([tens, ones], 1, 0) for _ in range(3)] == [-1, 1, 1]
    assert (10 - tens.level(0), 1 - ones.level(0)) == (1, 1)


def test_C077_occupancy_above_the_limit_frees_nothing():
    """The part that is a gauge: 10 own places and 5 borrowed ones, 20 in use. Reserving for 4 takes none of them."""
    gauge = Gauge(20)
    held = [gauge.try_acquire() for _ in range(20)]
    gauge.set_limit(10 + 5)
    assert (gauge.free, gauge.try_acquire(), gauge.in_use) == (0, None, len(held))


# ----------------------------------------------------------------------------------------------- edges and instants


def test_C016_no_extra_request_after_the_clock_advances():
    five = bucket(5, 5)
    assert admitted(five, 6, 0) == 5
    assert admitted(five, 6, 2 * S) == 5


def test_C028_burst_at_one_instant_is_counted_in_full():
    """Reported of a moving window that keyed its entries by their time."""
    assert admitted(bucket(5, 5), 100, 0) == 5


def test_C029_what_has_aged_out_is_not_counted():
    """Reported of a moving window of 10 s; in a bucket of 2 per 10 s the first unit of an empty one is back after 5 s.

    The edge rule: the instant at which the unit is complete already admits.
    """
    window = TokenBucket(rate=Rate(2, 10 * S), burst=2)
    assert window.try_take(1, 0)
    assert window.try_take(1, 1 * S)
    assert window.try_take(1, 12 * S)
    edge = TokenBucket(rate=Rate(2, 10 * S), burst=2)
    assert admitted(edge, 2, 0) == 2
    assert not edge.fits(1, 5 * S - 1)
    assert edge.fits(1, 5 * S)
    assert not edge.fits(2, 10 * S - 1)
    assert edge.fits(2, 10 * S)


def test_C031_limit_of_one_admits_one():
    gauge = Gauge(1)
    first = gauge.try_acquire()
    assert gauge.try_acquire() is None
    first.release()
    assert gauge.try_acquire() is not None


def test_C073_no_request_above_the_limit_is_let_in():
    gauge = Gauge(10)
    assert [gauge.try_acquire() is not None for _ in range(11)] == [True] * 10 + [False]


def test_C074_arrivals_at_one_instant_do_not_pass_the_global_limit_together():
    everybody = Gauge(10)
    for _ in range(9):
        everybody.try_acquire()
    partitions = [Gauge(5) for _ in range(3)]
    permits = [acquire_all((partition, everybody)) for partition in partitions]
    assert [permit is not None for permit in permits] == [True, False, False]
    assert everybody.in_use == 10
    assert [partition.in_use for partition in partitions] == [1, 0, 0]


# -------------------------------------------------------------------------------------------------- permits and time


def test_C076_cut_off_stream_gives_its_place_back_once():
    gauge = Gauge(1)
    stream = gauge.try_acquire()
    assert stream.release()  # cut off at 2 s
    second = gauge.try_acquire()  # at 3 s
    assert second is not None
    assert not stream.release()  # the loop's own end, late
    assert gauge.in_use == 1


def test_C079_restarted_parts_are_counted_again():
    """A place for each unit of work: what was given back is not remembered as a credit."""
    units = Gauge(48)

    def start():
        return [units.try_acquire() for _ in range(16)]

    parts = [start() for _ in range(3)]
    for permit in parts[0] + parts[1]:
        assert permit.release()
    assert units.in_use == 16
    for permit in parts[2]:
        permit.release()
    restarted = [start() for _ in range(3)]
    assert all(permit is not None for part in restarted for permit in part)
    assert units.in_use == 48


# ---------------------------------------------------------------------------------------------------------- breakers


def test_C053_ignored_outcome_gives_the_probes_place_back():
    """The wedge itself: a probe that says nothing. Here one success closes, so that the ignored one comes first."""
    breaker = opened(1, 10, 2)
    first, second = breaker.try_acquire(10), breaker.try_acquire(10)
    assert breaker.try_acquire(10) is None
    breaker.record(second, CANCELLED, 11)
    assert isinstance(breaker.try_acquire(11), Probe)
    breaker.record(first, SUCCESS, 12)
    assert breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize(("outcome", "state"), [(SUCCESS, BreakerState.CLOSED), (FAILURE, BreakerState.OPEN)])
def test_C055_herd_at_the_reopening_is_held_back(outcome, state):
    """The report's breaker wants two successes, ours one; how many may run at once is the same question."""
    breaker = opened(3, 30 * S, 2)
    handles = [breaker.try_acquire(30 * S) for _ in range(10)]
    assert [handle is not None for handle in handles] == [True] * 2 + [False] * 8
    for probe in handles[:2]:
        breaker.record(probe, outcome, 31 * S)
    assert breaker.state is state


def test_C056_first_probe_takes_a_place_too():
    """The first part. The second (a refusal is not retried as a failure of the provider) is the controller's."""
    breaker = opened(1, 10 * S, 1)
    assert breaker.try_acquire(10 * S) is not None
    assert breaker.try_acquire(10 * S) is None


def test_C058_cancelled_calls_do_not_trip_the_breaker():
    config = BreakerConfig(5, 10 * S, 1, FailureRateWindow(calls=5, minimum_calls=1, failure_rate=Fraction(1, 5)))
    breaker = Breaker(config)
    for _ in range(5):
        breaker.record(breaker.try_acquire(0), CANCELLED, 0)
    assert (breaker.state, breaker.failures) == (BreakerState.CLOSED, 0)


def test_C059_success_ends_a_run_of_failures():
    breaker = Breaker(BreakerConfig(2, 10 * S, 1))
    for outcome in (FAILURE, SUCCESS, FAILURE):
        breaker.record(breaker.try_acquire(0), outcome, 0)
    assert (breaker.state, breaker.failures) == (BreakerState.CLOSED, 1)


def test_C061_failed_probe_reopens_below_the_volume_threshold():
    config = BreakerConfig(100, 10 * S, 1, FailureRateWindow(calls=20, minimum_calls=10, failure_rate=Fraction(1, 2)))
    breaker = Breaker(config)
    for _ in range(10):
        breaker.record(breaker.try_acquire(0), FAILURE, 0)
    probe = breaker.try_acquire(10 * S)
    assert breaker.state is BreakerState.HALF_OPEN
    breaker.record(probe, FAILURE, 11 * S)
    assert breaker.state is BreakerState.OPEN
    assert breaker.wait_ns(11 * S) == 10 * S
    assert breaker.try_acquire(21 * S) is not None


def test_C062_failures_at_one_instant_do_not_lose_the_reopening():
    breaker = Breaker(BreakerConfig(5, 30 * S, 1))
    calls = [breaker.try_acquire(0) for _ in range(6)]
    for call in calls:
        breaker.record(call, FAILURE, 0)
    assert breaker.try_acquire(30 * S - 1) is None
    assert breaker.try_acquire(30 * S) is not None
    assert [move.at_ns for move in breaker.drain_transitions()] == [0, 30 * S]


def test_C065_failed_probe_reopens_at_once_however_many_are_allowed():
    """A control: three probes run only if they overlap."""
    breaker = opened(1, 10, 3)
    ran = 0
    for _ in range(3):
        probe = breaker.try_acquire(10)
        if probe is not None:
            ran += 1
            breaker.record(probe, FAILURE, 10)
    assert (ran, breaker.state) == (1, BreakerState.OPEN)


# -------------------------------------------------------------------------------------------------- canonical bytes


def test_C137_equal_content_has_equal_bytes():
    first = {"name": "nn", "limits": {"rate": 3, "burst": 5}, "note": "π"}
    second = {"note": "π", "limits": {"burst": 5, "rate": 3}, "name": "nn"}
    expected = '{"limits":{"burst":5,"rate":3},"name":"nn","note":"π"}'.encode()
    assert canonical_bytes(first) == canonical_bytes(second) == expected
    assert digest(first) == digest(second)


def test_C139_nested_fields_are_covered_by_the_digest():
    assert digest({"a": 1, "g": {"v": ["safe"]}}) != digest({"a": 1, "g": {"v": ["malicious"]}})


def test_C140_keys_are_in_utf16_order_and_numbers_as_in_rfc_8785():
    value = {"\ufb33": 1e-7, "\U0001f600": [1e21, -0.0, 1.0]}
    expected = '{"\U0001f600":[1e+21,0,1],"\ufb33":1e-7}'.encode()
    assert canonical_bytes(value, allow_floats=True) == expected


# ------------------------------------------------------------ the numbers of the kinds that belong to no single case


def test_kind_3_polling_for_an_hour_admits_every_unit_that_was_earned():
    # 333 a minute is 0.999 units each 180 ms: the 10 at first and the 19,980 earned are fewer than the 20,001 asks.
    steady = TokenBucket(rate=Rate.per_minute(333), burst=10)
    assert sum(steady.try_take(1, now_ns) for now_ns in range(0, 60 * NS_PER_MIN + 1, 180 * MS)) == 10 + 333 * 60


def test_kind_4_clock_back_and_on_again():
    stepped = bucket(2, 4)
    assert stepped.try_take(4, 50 * S)
    assert not stepped.try_take(1, 20 * S)
    assert stepped.wait_ns(4, 20 * S) <= 2 * S
    assert stepped.level(51 * S) == 2


def test_kind_6_two_seconds_refill_five_and_not_six():
    five = bucket(5, 5)
    assert five.try_take(5, 0)
    assert admitted(five, 10, 2 * S) == 5
