"""Cases by hand; any history against a plain dictionary is in tests/property/core/test_breaker.py."""

from fractions import Fraction

import pytest

from tollgate.core.breaker import (
    CANCELLED,
    FAILURE,
    SUCCESS,
    TRANSITIONS_HELD_MAX,
    Breaker,
    BreakerConfig,
    BreakerState,
    FailureRateWindow,
    Pass,
    Probe,
    RetryAfter,
    Transition,
)
from tollgate.core.errors import ConfigError

CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


def opened(at_ns=0, *, threshold=2, open_ns=100, probes=1):
    breaker = Breaker(BreakerConfig(threshold, open_ns, probes))
    for _ in range(threshold):
        breaker.record(breaker.try_acquire(at_ns), FAILURE, at_ns)
    return breaker


@pytest.mark.parametrize("field", ["failure_threshold", "open_ns", "half_open_max_calls"])
@pytest.mark.parametrize("value", [0, -1, 1.0, True])
def test_config_that_can_never_work_is_refused_by_field(field, value):
    fields = {"failure_threshold": 1, "open_ns": 1, "half_open_max_calls": 1, field: value}
    with pytest.raises(ConfigError, match=field):
        BreakerConfig(**fields)


@pytest.mark.parametrize(
    ("field", "calls", "minimum", "rate"),
    [
        ("calls", 0, 1, Fraction(1, 2)),
        ("minimum_calls", 5, 0, Fraction(1, 2)),
        ("minimum_calls", 5, 6, Fraction(1, 2)),
        ("failure_rate", 5, 1, Fraction(0)),
        ("failure_rate", 5, 1, Fraction(3, 2)),
        ("failure_rate", 5, 1, 0.5),
    ],
)
def test_window_that_can_never_work_is_refused_by_field(field, calls, minimum, rate):
    with pytest.raises(ConfigError, match=field):
        FailureRateWindow(calls, minimum, rate)


def test_closed_breaker_hands_out_one_shared_pass():
    breaker = Breaker(BreakerConfig(1, 1, 1))
    assert breaker.try_acquire(0) is breaker.try_acquire(5)
    assert isinstance(breaker.try_acquire(0), Pass)


def test_whole_round_is_recorded_with_true_instants():
    breaker = opened(at_ns=7)
    probe = breaker.try_acquire(250)  # noticed late: half-open began at 107
    assert isinstance(probe, Probe)
    breaker.record(probe, FAILURE, 260)
    breaker.record(breaker.try_acquire(360), SUCCESS, 365)
    assert breaker.drain_transitions() == (
        Transition(CLOSED, OPEN, 7, 2),
        Transition(OPEN, HALF_OPEN, 107, 2),
        Transition(HALF_OPEN, OPEN, 260, 3),
        Transition(OPEN, HALF_OPEN, 360, 3),
        Transition(HALF_OPEN, CLOSED, 365, 0),
    )
    assert breaker.drain_transitions() == ()
    assert (breaker.generation, breaker.failures) == (5, 0)


def test_open_ends_at_its_instant_and_not_before():
    breaker = opened(at_ns=7)
    assert (breaker.may_acquire(106), breaker.wait_ns(106), breaker.try_acquire(106)) == (False, 1, None)
    assert (breaker.may_acquire(107), breaker.wait_ns(107)) == (True, 0)
    assert breaker.state is OPEN, "asking changes nothing"
    assert isinstance(breaker.try_acquire(107), Probe)


def test_wait_is_none_while_only_an_outcome_can_free_a_probe():
    breaker = opened()
    probe = breaker.try_acquire(100)
    assert (breaker.wait_ns(100), breaker.may_acquire(100), breaker.try_acquire(100)) == (None, False, None)
    breaker.record(probe, CANCELLED, 110)
    assert (breaker.state, breaker.wait_ns(110)) == (HALF_OPEN, 0)


def test_late_outcomes_of_calls_from_before_the_opening_are_ignored():
    breaker = Breaker(BreakerConfig(1, 100, 1))
    slow = breaker.try_acquire(0)
    breaker.record(breaker.try_acquire(0), FAILURE, 0)
    breaker.record(slow, SUCCESS, 50)
    assert breaker.state is OPEN
    probe = breaker.try_acquire(100)
    breaker.record(slow, SUCCESS, 101)
    breaker.record(slow, FAILURE, 102)
    assert (breaker.state, breaker.try_acquire(103)) == (HALF_OPEN, None)
    breaker.record(probe, SUCCESS, 104)
    breaker.record(slow, FAILURE, 105)
    assert (breaker.state, breaker.failures) == (CLOSED, 0)


@pytest.mark.parametrize(("pause_ns", "until_ns"), [(500, 610), (10, 210)])
def test_probe_told_to_wait_reopens_for_the_longer_of_pause_and_opening(pause_ns, until_ns):
    breaker = opened()
    breaker.record(breaker.try_acquire(100), RetryAfter(pause_ns), 110)
    assert breaker.state is OPEN
    assert breaker.wait_ns(110) == until_ns - 110
    assert breaker.failures == 2, "a provider that answers has not failed once more"


def test_second_outcome_of_a_probe_frees_no_second_place():
    breaker = opened(probes=2)
    first, _second = breaker.try_acquire(100), breaker.try_acquire(100)
    breaker.record(first, CANCELLED, 101)
    breaker.record(first, CANCELLED, 102)
    assert isinstance(breaker.try_acquire(103), Probe)
    assert breaker.try_acquire(103) is None


def test_failure_rate_opens_from_its_minimum_on():
    breaker = Breaker(
        BreakerConfig(100, 10, 1, FailureRateWindow(calls=4, minimum_calls=3, failure_rate=Fraction(1, 2)))
    )
    for outcome, state in [(FAILURE, CLOSED), (FAILURE, CLOSED), (SUCCESS, CLOSED), (FAILURE, OPEN)]:
        breaker.record(breaker.try_acquire(0), outcome, 0)
        assert breaker.state is state


def test_failure_rate_looks_at_the_last_calls_only():
    breaker = Breaker(BreakerConfig(100, 10, 1, FailureRateWindow(calls=2, minimum_calls=2, failure_rate=Fraction(1))))
    for outcome in [FAILURE, SUCCESS] * 5:
        breaker.record(breaker.try_acquire(0), outcome, 0)
    assert breaker.state is CLOSED
    breaker.record(breaker.try_acquire(0), FAILURE, 0)
    breaker.record(breaker.try_acquire(0), FAILURE, 0)
    assert breaker.state is OPEN


def test_new_config_keeps_state_failures_and_probes():
    breaker = opened(open_ns=100)
    breaker.set_config(BreakerConfig(9, 5, 1), 50)
    assert (breaker.state, breaker.wait_ns(50), breaker.failures) == (OPEN, 50, 2)
    assert breaker.try_acquire(100) is not None
    breaker.set_config(BreakerConfig(9, 5, 2), 101)
    assert breaker.try_acquire(101) is not None
    assert breaker.try_acquire(101) is None


def test_lower_threshold_acts_at_the_next_failure():
    breaker = Breaker(BreakerConfig(5, 10, 1))
    for _ in range(3):
        breaker.record(breaker.try_acquire(0), FAILURE, 0)
    breaker.set_config(BreakerConfig(2, 10, 1), 1)
    assert breaker.state is CLOSED
    breaker.record(breaker.try_acquire(2), FAILURE, 2)
    assert breaker.state is OPEN


def test_transitions_nobody_drains_are_bounded():
    breaker = Breaker(BreakerConfig(1, 1, 1))
    for now_ns in range(0, 4 * TRANSITIONS_HELD_MAX, 2):
        breaker.record(breaker.try_acquire(now_ns), FAILURE, now_ns)
    drained = breaker.drain_transitions()
    assert len(drained) == TRANSITIONS_HELD_MAX
    assert drained[-1].at_ns == 4 * TRANSITIONS_HELD_MAX - 2, "the newest are kept"
