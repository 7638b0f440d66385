"""Gauges and permits against plain numbers, step by step, and the bugs that the comparison catches.

The model is a limit for each gauge and the set of permits that are out; ``in_use`` is counted from it anew each time.
"""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tollgate.core import gauge as gauge_module
from tollgate.core.errors import InvariantViolation
from tollgate.core.gauge import Gauge, Permit

COUNT = 3
some_gauges = st.lists(st.integers(0, COUNT - 1), unique=True, max_size=COUNT).map(tuple)
limits = st.integers(1, 4)


class GaugeMachine(RuleBasedStateMachine):
    gauge_type = Gauge
    permit_type = Permit
    acquire_all = staticmethod(gauge_module.acquire_all)

    live = Bundle("live")
    released = Bundle("released")

    @initialize(at_first=st.tuples(*[limits] * COUNT))
    def begin(self, at_first):
        self.limits = list(at_first)
        self.gauges = tuple(self.gauge_type(limit) for limit in at_first)
        self.out: dict[int, tuple[int, ...]] = {}
        self.serial = 0

    def in_use(self, index):
        return sum(index in places for places in self.out.values())

    def has_room(self, chosen):
        return all(self.in_use(index) < self.limits[index] for index in chosen)

    def taken(self, permit, chosen):
        """Note a permit that was given; the model tells them apart by a serial number."""
        self.serial += 1
        self.out[self.serial] = chosen
        return self.serial, permit

    @rule(target=live, chosen=some_gauges)
    def acquire(self, chosen):
        permit = self.acquire_all(tuple(self.gauges[index] for index in chosen))
        assert (permit is not None) == self.has_room(chosen)
        return multiple() if permit is None else self.taken(permit, chosen)

    @rule(target=live, index=st.integers(0, COUNT - 1))
    def acquire_one(self, index):
        permit = self.gauges[index].try_acquire()
        assert (permit is not None) == self.has_room((index,))
        return multiple() if permit is None else self.taken(permit, (index,))

    @rule(target=live, chosen=some_gauges)
    def construct_without_asking(self, chosen):
        gauges = tuple(self.gauges[index] for index in chosen)
        if self.has_room(chosen):
            return self.taken(self.permit_type(gauges), chosen)
        with pytest.raises(InvariantViolation):
            self.permit_type(gauges)
        return multiple()

    @rule(target=released, held=consumes(live))
    def release(self, held):
        serial, permit = held
        assert permit.release() is True
        del self.out[serial]
        return permit

    @rule(permit=released)
    def release_again(self, permit):
        assert permit.release() is False

    @rule(index=st.integers(0, COUNT - 1), limit=limits)
    def set_limit(self, index, limit):
        self.gauges[index].set_limit(limit)
        self.limits[index] = limit

    @invariant()
    def counts_agree(self):
        for index, gauge in enumerate(getattr(self, "gauges", ())):
            assert (gauge.limit, gauge.in_use) == (self.limits[index], self.in_use(index))
            assert gauge.free == max(self.limits[index] - self.in_use(index), 0)


checked = settings(stateful_step_count=30)  # how many histories: the profile of tests/conftest.py
# Planted bugs only need to be found, not to be made small.
hunted = settings(checked, derandomize=True, max_examples=200, phases=[Phase.generate])


def test_gauges_follow_the_model_through_any_history():
    run_state_machine_as_test(GaugeMachine, settings=checked)


# ------------------------------------------------------------------------------------------------ planted bugs


class ReleasesTwice(Permit):
    __slots__ = ("kept",)

    def __init__(self, gauges):
        super().__init__(gauges)
        self.kept = gauges

    def release(self):
        self.gauges = self.kept
        return super().release()


class ReleasesTheFirstGaugeOnly(Permit):
    __slots__ = ()

    def release(self):
        self.gauges = self.gauges and self.gauges[:1]
        return super().release()


class KeepsPlacesOfARefusedPermit(Permit):
    __slots__ = ()

    def __init__(self, gauges):
        for gauge in gauges:
            if gauge.in_use >= gauge.limit:
                raise InvariantViolation
            gauge.in_use += 1
        self.gauges = gauges


class DoesNotCheckWhatItWrites(Permit):
    __slots__ = ()

    def __init__(self, gauges):
        for gauge in gauges:
            gauge.in_use += 1
        self.gauges = gauges


class ForgetsOccupancyOnANewLimit(Gauge):
    __slots__ = ()

    def set_limit(self, limit):
        super().set_limit(limit)
        self.in_use = 0


class ClampsOccupancyToANewLimit(Gauge):
    __slots__ = ()

    def set_limit(self, limit):
        super().set_limit(limit)
        self.in_use = min(self.in_use, limit)


class LetsOneMoreIn(Gauge):
    __slots__ = ()

    def try_acquire(self):
        return None if self.in_use > self.limit else Permit((self,))


def takes_as_it_goes(gauges):
    for gauge in gauges:
        if gauge.in_use >= gauge.limit:
            return None
        gauge.in_use += 1
    permit = Permit(())
    permit.gauges = gauges
    return permit


def looks_at_the_first_gauge_only(gauges):
    return Permit(gauges) if all(gauge.free for gauge in gauges[:1]) else None


PLANTED = (
    {"permit_type": ReleasesTwice},
    {"permit_type": ReleasesTheFirstGaugeOnly},
    {"permit_type": KeepsPlacesOfARefusedPermit},
    {"permit_type": DoesNotCheckWhatItWrites},
    {"gauge_type": ForgetsOccupancyOnANewLimit},
    {"gauge_type": ClampsOccupancyToANewLimit},
    {"gauge_type": LetsOneMoreIn},
    {"acquire_all": staticmethod(takes_as_it_goes)},
    {"acquire_all": staticmethod(looks_at_the_first_gauge_only)},
)


def bug_name(parts):
    return next(getattr(part, "__func__", part).__name__ for part in parts.values())


@pytest.mark.parametrize("parts", PLANTED, ids=bug_name)
def test_planted_bug_turns_the_machine_red(parts):
    broken = type("BrokenMachine", (GaugeMachine,), parts)
    # The second kind is the gauge's own check where it writes, the other half of the pair.
    with pytest.raises((AssertionError, InvariantViolation, pytest.fail.Exception)):
        run_state_machine_as_test(broken, settings=hunted)
