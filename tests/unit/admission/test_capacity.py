"""Who may execute: no gate, one pool, a pool with a reserve."""

import pytest

from tollgate.admission.capacity import NoGate, Reserved, Uniform
from tollgate.core.errors import ConfigError
from tollgate.core.snapshot import CapacityClass

ASSURED, BEST_EFFORT = CapacityClass


def test_no_gate_lets_everything_in():
    gate = NoGate()
    assert all(gate.try_enter(each) is not None for each in (ASSURED, BEST_EFFORT) * 50)


def test_one_pool_does_not_look_at_the_class():
    gate = Uniform(2)
    first = gate.try_enter(BEST_EFFORT)
    assert gate.try_enter(ASSURED) is not None
    assert gate.try_enter(ASSURED) is None
    first.release()
    assert gate.try_enter(ASSURED) is not None


def test_best_effort_work_never_reaches_the_reserve():
    gate = Reserved(5, 2)
    assert [gate.try_enter(BEST_EFFORT) is not None for _ in range(4)] == [True, True, True, False]
    assert [gate.try_enter(ASSURED) is not None for _ in range(3)] == [True, True, False]


def test_assured_work_uses_what_is_shared_first_and_then_everything():
    gate = Reserved(5, 2)
    assert gate.try_enter(ASSURED) is not None
    assert (gate.shared.in_use, gate.reserve.in_use) == (1, 0)
    assert [gate.try_enter(ASSURED) is not None for _ in range(5)] == [True, True, True, True, False]


def test_reserve_of_everything_leaves_best_effort_work_nothing():
    gate = Reserved(1, 1)
    assert gate.try_enter(BEST_EFFORT) is None
    assert gate.try_enter(ASSURED) is not None


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: Uniform(0), "total"),
        (lambda: Uniform(1.0), "total"),
        (lambda: Reserved(0, 1), "total"),
        (lambda: Reserved(2, 0), "assured_reserve"),
        (lambda: Reserved(2, 3), "assured_reserve: got 3; allowed: at most the total, which is 2"),
    ],
)
def test_a_gate_that_makes_no_sense_is_not_built(make, path):
    with pytest.raises(ConfigError, match=path):
        make()
