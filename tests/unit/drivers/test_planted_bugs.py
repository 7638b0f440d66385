"""Each defence of the driver taken away on purpose, and the test that must notice.

A planted bug shows itself by a failed assertion, or by a task that waits for ever: the loop then says that nothing can
happen any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter

import pytest

from tests.property.drivers import test_aio_fuzz
from tests.unit.drivers import test_aio, test_async_registry, test_cancellation, test_lost_permits
from tests.unit.drivers.fake_loop import EveryoneWaitsError, FakeLoop
from tests.unit.drivers.gate import MS, gate
from tests.unit.drivers.test_cancellation import LIMITS, with_block
from tollgate.drivers import aio
from tollgate.drivers.aio import AsyncAdmission, AsyncPermit


def permit_dropped_when_cancelled_in_the_tick_of_its_decision(patch):
    kept = AsyncAdmission._abandon

    def abandon(self, waiter):
        if not waiter.done() or waiter.cancelled():
            kept(self, waiter)

    patch.setattr(AsyncAdmission, "_abandon", abandon)


def cancelled_waiter_left_in_the_queue(patch):
    patch.setattr(AsyncAdmission, "_withdraw", lambda self, _: self._given_up.clear())


def given_up_noted_only_when_the_task_runs_again(patch):
    patch.setattr(aio._Waiter, "cancel", asyncio.Future.cancel)

    def abandon(self, waiter):
        self._given_up.append(waiter.ticket)
        self.wake()

    patch.setattr(AsyncAdmission, "_abandon", abandon)


def permit_of_a_cancelled_waiter_kept(patch):
    """The classic: the decision goes to a future that nobody reads."""

    def deliver(self, now_ns, *, least_wait_ns=0):
        while decisions := self.controller.poll(now_ns):
            for decision in decisions:
                waiter = self._waiters.pop(decision.ticket)
                with contextlib.suppress(asyncio.InvalidStateError, AttributeError):
                    waiter.set_result(decision)
        self._set_timer(now_ns, least_wait_ns)

    patch.setattr(AsyncAdmission, "_deliver", deliver)
    cancelled_waiter_left_in_the_queue(patch)


def timer_not_set(patch):
    patch.setattr(AsyncAdmission, "_set_timer", lambda *_: None)


def timer_not_set_again(patch):
    kept = AsyncAdmission._set_timer

    def once(self, now_ns, least_wait_ns):
        if self._timer is None:
            kept(self, now_ns, least_wait_ns)

    patch.setattr(AsyncAdmission, "_set_timer", once)


def timer_not_taken_back(patch):
    patch.setattr(asyncio.TimerHandle, "cancel", lambda _: None)


def early_timer_taken_for_the_instant(patch):
    def went_off(self):
        self._timer = None
        self._deliver(self._clock())

    patch.setattr(AsyncAdmission, "_timer_went_off", went_off)


def no_least_wait_after_an_early_timer(patch):
    patch.setattr(aio, "EARLY_RETRY_NS", 0)


def release_delivers_nothing(patch):
    patch.setattr(
        AsyncAdmission,
        "_release",
        lambda self, permit, outcome: self.controller.release(permit, outcome, self._clock()),
    )


def permit_not_given_back_by_a_cancelled_block(patch):
    kept = AsyncPermit.__aexit__

    async def leave(self, kind, error, traceback):
        if kind is not asyncio.CancelledError:
            await kept(self, kind, error, traceback)

    patch.setattr(AsyncPermit, "__aexit__", leave)


def cancellation_counted_as_a_failure(patch):
    patch.setattr(aio, "CANCELLED", aio.FAILURE)


def what_the_caller_says_is_not_heard(patch):
    patch.setattr(AsyncPermit, "failed", lambda _: None)


def new_profile_not_followed(patch):
    patch.setattr(aio.AsyncRegistry, "_changed", lambda *_: None)


def every_step(call, limits):
    return lambda: test_cancellation.test_a_task_cancelled_after_any_step_leaves_nothing_behind_and_the_others_end(
        call, LIMITS[limits]
    )


def c068(release_first):
    return lambda: test_lost_permits.test_c068_a_cancelled_waiter_still_listed_does_not_strand_the_next(release_first)


def fuzz():
    loop = FakeLoop()
    loop.set_exception_handler(lambda *_: None)
    try:
        admission = gate(loop, concurrency=test_aio_fuzz.LIMIT, max_queue_wait_ns=9 * MS)
        loop.run_until_complete(test_aio_fuzz.fuzz(loop, admission, random.Random(2601), 500, Counter()))
    finally:
        loop.close()


BUGS = [
    (permit_dropped_when_cancelled_in_the_tick_of_its_decision, every_step(with_block, "permits")),
    (permit_dropped_when_cancelled_in_the_tick_of_its_decision, c068(release_first=True)),
    (permit_dropped_when_cancelled_in_the_tick_of_its_decision, fuzz),
    (
        cancelled_waiter_left_in_the_queue,
        test_cancellation.test_a_request_given_up_spends_nothing_even_if_a_permit_comes_before_its_task_runs,
    ),
    (cancelled_waiter_left_in_the_queue, fuzz),
    (
        given_up_noted_only_when_the_task_runs_again,
        test_cancellation.test_a_request_given_up_spends_nothing_even_if_a_permit_comes_before_its_task_runs,
    ),
    (
        permit_of_a_cancelled_waiter_kept,
        test_lost_permits.test_c071_waiters_that_gave_up_get_no_permit_when_the_holders_release,
    ),
    (permit_of_a_cancelled_waiter_kept, c068(release_first=False)),
    (permit_of_a_cancelled_waiter_kept, fuzz),
    (timer_not_set, test_aio.test_a_wait_ends_at_exactly_its_longest_and_a_deadline_at_exactly_its_instant),
    (timer_not_set_again, test_aio.test_a_wait_ends_at_exactly_its_longest_and_a_deadline_at_exactly_its_instant),
    (timer_not_taken_back, every_step(with_block, "permits and dwell")),
    (early_timer_taken_for_the_instant, test_aio.test_a_timer_that_goes_off_early_is_set_again),
    (no_least_wait_after_an_early_timer, test_aio.test_a_clock_that_stands_still_costs_no_busy_loop),
    (release_delivers_nothing, test_aio.test_a_release_lets_the_next_one_go_in_the_same_instant),
    (permit_not_given_back_by_a_cancelled_block, every_step(with_block, "permits")),
    (
        permit_not_given_back_by_a_cancelled_block,
        test_lost_permits.test_c070_callers_cancelled_with_the_permit_in_hand_give_it_back,
    ),
    (cancellation_counted_as_a_failure, test_cancellation.test_a_cancelled_caller_says_nothing_about_the_provider),
    (
        what_the_caller_says_is_not_heard,
        lambda: test_aio.test_what_the_caller_says_of_the_call_stands("failed", None, test_aio.BreakerState.OPEN, 1),
    ),
    (
        new_profile_not_followed,
        lambda: test_async_registry.test_a_new_version_decides_at_once_about_those_who_wait(through_the_driver=True),
    ),
]


@pytest.mark.parametrize(
    ("plant", "witness"), BUGS, ids=[f"{index} {plant.__name__}" for index, (plant, _) in enumerate(BUGS)]
)
def test_the_planted_bug_is_seen(plant, witness):
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with pytest.raises((AssertionError, EveryoneWaitsError)):
            witness()
