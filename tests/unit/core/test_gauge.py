"""Cases by hand; any history against a model is in tests/property/core/test_gauge.py."""

import pytest

from tollgate.core.errors import ConfigError, InvariantViolation
from tollgate.core.gauge import Gauge, Permit, acquire_all


@pytest.mark.parametrize("limit", [0, -1, 1.0, True, None])
def test_a_limit_that_can_never_admit_is_refused(limit):
    with pytest.raises(ConfigError, match="limit"):
        Gauge(limit)
    gauge = Gauge(2)
    with pytest.raises(ConfigError, match="limit"):
        gauge.set_limit(limit)
    assert gauge.limit == 2


def test_lowered_limit_evicts_nobody_and_admits_nobody():
    gauge = Gauge(3)
    permits = [gauge.try_acquire() for _ in range(3)]
    gauge.set_limit(1)
    assert (gauge.in_use, gauge.free) == (3, 0)
    permits[0].release()
    permits[1].release()
    assert gauge.try_acquire() is None
    permits[2].release()
    assert gauge.try_acquire() is not None


def test_permit_over_no_gauge_is_released_once_too():
    permit = acquire_all(())
    assert permit.release() is True
    assert permit.release() is False


def test_permit_beyond_a_limit_raises_and_puts_everything_back():
    wide, narrow = Gauge(9), Gauge(1)
    narrow.try_acquire()
    with pytest.raises(InvariantViolation, match=r"Gauge\(limit=1, in_use=1\)"):
        Permit((wide, narrow))
    assert (wide.in_use, narrow.in_use) == (0, 1)


def test_gauge_named_twice_takes_two_places_or_none():
    gauge, other = Gauge(2), Gauge(2)
    permit = Permit((gauge, other, gauge))
    assert (gauge.in_use, other.in_use) == (2, 1)
    permit.release()
    held = gauge.try_acquire()
    with pytest.raises(InvariantViolation):
        Permit((gauge, other, gauge))
    assert (gauge.in_use, other.in_use) == (1, 0)
    assert held.release()


def test_release_into_an_empty_gauge_is_an_invariant_violation():
    gauge = Gauge(1)
    permit = gauge.try_acquire()
    gauge.in_use = 0
    with pytest.raises(InvariantViolation, match="empty gauge"):
        permit.release()


def test_subclass_of_permit_may_carry_more():
    class Noted(Permit):
        __slots__ = ("note",)

        def __init__(self, gauges, note):
            super().__init__(gauges)
            self.note = note

    gauge = Gauge(1)
    permit = Noted((gauge,), "n")
    assert (permit.note, gauge.in_use, permit.release(), gauge.in_use) == ("n", 1, True, 0)
    assert not hasattr(permit, "__dict__")
