"""Cancelled at whichever step: every permit comes back, nobody is left waiting, and the others get their turn.

The scenarios run once undisturbed to count their steps, then once for each step and each task, which is cancelled right
after that step; the loop's own callbacks (a future's wake-up, a timer) count as steps, so that the tick between a
decision and the task that learns of it is among them.
"""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from tests.unit.drivers.fake_loop import simulated
from tests.unit.drivers.gate import BREAKER, MS, ask, assert_nothing_left, gate
from tollgate.core.breaker import BreakerState
from tollgate.core.errors import Refused
from tollgate.decision import AdmissionLimits
from tollgate.drivers.aio import AsyncAdmission, AsyncPermit

SERVICE_S = 0.010
NAMES = ("a", "b", "c", "d")


async def with_block(admission, name):
    async with admission.admitted(ask(tokens=10, budget_id=name)):
        await asyncio.sleep(SERVICE_S)


async def with_release(admission, name):
    permit = await admission.acquire(ask(tokens=10, budget_id=name))
    try:
        await asyncio.sleep(SERVICE_S)
    finally:
        permit.release()


async def with_awaited_block(admission, name):
    async with await admission.acquire(ask(tokens=10, budget_id=name)):
        await asyncio.sleep(SERVICE_S)


async def with_timeout(admission, name):
    async with asyncio.timeout(0.015):
        await with_block(admission, name)


async def with_wait_for(admission, name):
    await asyncio.wait_for(with_block(admission, name), 0.015)


async def in_a_group(admission, name):
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(with_block(admission, name))


async def twice(admission, name):
    """The second attempt comes while the first is being cleaned up after."""
    try:
        await with_block(admission, name)
    except asyncio.CancelledError:
        await with_block(admission, name)


CALLS = [with_block, with_release, with_awaited_block, with_timeout, with_wait_for, in_a_group, twice]
LIMITS = {
    "permits": {"concurrency": 1},
    "permits and dwell": {"concurrency": 1, "max_queue_wait_ns": 15 * MS},
    "bucket": {"tokens_per_second": 1000, "tokens_burst": 10},
    "bucket and permits": {"concurrency": 2, "tokens_per_second": 500, "tokens_burst": 10},
}


def run(call, limits, victims, at_step):
    """Run the four tasks and cancel ``victims`` after a step (0: before the first); returns how each ended."""
    with simulated() as loop:
        admission = gate(loop, **limits)
        tasks = {}

        def cancel(step):
            if step == at_step:
                for name in victims:
                    tasks[name].cancel()

        async def main():
            ended = await asyncio.gather(*tasks.values(), return_exceptions=True)
            await loop.quiet()
            assert_nothing_left(admission, loop)
            # Whatever was in flight has come back: as many go at once as the limit says, after the bucket's refill.
            await asyncio.sleep(1)
            permits = [await admission.acquire(ask()) for _ in range(limits.get("concurrency", 1))]
            assert admission.controller.active == len(permits)
            for permit in permits:
                permit.release()
            assert_nothing_left(admission, loop)
            return ended

        for name in NAMES:
            tasks[name] = loop.create_task(call(admission, name))
        loop.after_step = cancel
        cancel(0)
        last = []
        done = loop.create_task(main())
        for name in NAMES:
            tasks[name].add_done_callback(lambda _: last.append(loop.steps))
        ended = loop.run_until_complete(done)
        return dict(zip(NAMES, ended, strict=True)), max(last)


def undisturbed(call, limits):
    return run(call, limits, (), 0)


def may_end_with(call, limits):
    """What can end a task that nobody cancelled: its own timeout, or the longest wait."""
    timeout = (TimeoutError,) if call in {with_timeout, with_wait_for} else ()
    dwell = (Refused, ExceptionGroup) if "max_queue_wait_ns" in limits else ()
    return (*timeout, *dwell)


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_task_cancelled_after_any_step_leaves_nothing_behind_and_the_others_end(call, limits):
    _, steps = undisturbed(call, limits)
    for victim in NAMES:
        for step in range(steps + 1):
            ended, _ = run(call, limits, (victim,), step)
            for name, end in ended.items():
                assert name == victim or end is None or isinstance(end, may_end_with(call, limits))


@pytest.mark.parametrize("limits", [LIMITS["permits"], LIMITS["bucket and permits"]], ids=["permits", "both"])
def test_two_tasks_cancelled_in_the_same_step_leave_nothing_behind(limits):
    _, steps = undisturbed(with_block, limits)
    for victims in [("a", "b"), ("b", "c"), ("c", "b"), ("a", "d"), NAMES]:
        for step in range(steps + 1):
            ended, _ = run(with_block, limits, victims, step)
            assert all(end is None for name, end in ended.items() if name not in victims)


def test_the_others_lose_no_time_to_a_task_that_was_cancelled_while_it_waited():
    ended, steps = undisturbed(with_block, {"concurrency": 1})
    assert all(end is None for end in ended.values())
    for step in range(steps + 1):
        with simulated() as loop:
            admission = gate(loop, concurrency=1)
            tasks = [loop.create_task(with_block(admission, name)) for name in NAMES]
            waited = []

            def cancel(now, step=step, victim=tasks[1], waited=waited, loop=loop, admission=admission):
                if now == step:
                    # The first holds the permit until 10 ms; from then on it is the victim's.
                    waited.append(loop.now_ns < 10 * MS)
                    victim.cancel()

            loop.after_step = cancel
            loop.run_until_complete(asyncio.wait(tasks))
            if waited == [True]:
                assert loop.now_ns == 30 * MS
            assert not any(task.cancelled() for index, task in enumerate(tasks) if index != 1)
            assert_nothing_left(admission, loop)


def test_the_steps_reach_every_way_in_which_a_wait_can_end():
    """The enumeration would be empty if no task were ever cancelled between its decision and its next step."""
    seen = Counter()
    kept = AsyncAdmission._abandon

    def counting(self, waiter):
        decided = waiter.done() and not waiter.cancelled()
        permit = decided and waiter.result().permit is not None
        seen["granted in that tick" if permit else "denied in that tick" if decided else "still waiting"] += 1
        kept(self, waiter)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncAdmission, "_abandon", counting)
        limits = LIMITS["permits and dwell"]
        _, steps = undisturbed(with_block, limits)
        for victim in NAMES:
            for step in range(steps + 1):
                run(with_block, limits, (victim,), step)
    assert seen["granted in that tick"] > 0
    assert seen["denied in that tick"] > 0
    assert seen["still waiting"] > 0


def test_a_task_cancelled_before_it_ran_asked_nothing():
    with simulated() as loop:
        admission = gate(loop, concurrency=1, max_attempts=1)
        task = loop.create_task(admission.acquire(ask()))
        task.cancel()
        loop.run_until_complete(asyncio.wait([task]))
        assert task.cancelled()
        loop.run_until_complete(admission.acquire(ask())).release()
        assert_nothing_left(admission, loop)


def test_a_request_given_up_spends_nothing_even_if_a_permit_comes_before_its_task_runs():
    async def main(loop):
        admission = gate(loop, concurrency=1, max_attempts=2, tokens_per_second=1, tokens_burst=300)
        permit = await admission.acquire(ask(tokens=100))
        waiting = asyncio.create_task(admission.acquire(ask(tokens=200)))
        await loop.quiet()
        waiting.cancel()
        permit.release()
        # In the same step: neither the 200 tokens nor the second attempt is gone.
        other = await admission.try_acquire(ask("bob", tokens=200))
        assert isinstance(other, AsyncPermit)
        assert loop.now_ns == 0
        await loop.quiet()
        other.release()
        assert_nothing_left(admission, loop)

    with simulated() as loop:
        loop.run_until_complete(main(loop))


def test_a_cancelled_caller_says_nothing_about_the_provider():
    async def main(loop):
        admission = gate(loop, providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)})
        tasks = [asyncio.create_task(with_block(admission, name)) for name in NAMES]
        await loop.quiet()
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert admission.controller.breaker_transitions == ()
        assert_nothing_left(admission, loop)

    with simulated() as loop:
        loop.run_until_complete(main(loop))


def test_a_probe_that_is_cancelled_makes_room_for_another():
    async def main(loop):
        admission = gate(loop, providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)})
        async with admission.admitted(ask()) as permit:
            permit.failed()
        probe = asyncio.create_task(with_block(admission, "probe"))
        await asyncio.sleep(0.101)
        other = asyncio.create_task(with_block(admission, "other"))
        await loop.quiet()
        assert (admission.controller.active, admission.controller.waiting) == (1, 1)
        probe.cancel()
        await other
        assert loop.now_ns == 111 * MS
        assert admission.controller.breaker_transitions[-1].transition.to_state is BreakerState.CLOSED
        assert_nothing_left(admission, loop)

    with simulated() as loop:
        loop.run_until_complete(main(loop))


def test_a_coroutine_that_is_closed_while_it_waits_or_holds_leaves_nothing_behind():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        holding = with_block(admission, "a")
        holding.send(None)
        waiting = [with_block(admission, name) for name in ("b", "c")]
        for coroutine in waiting:
            coroutine.send(None)
        assert (admission.controller.active, admission.controller.waiting) == (1, 2)
        waiting[0].close()
        assert (admission.controller.active, admission.controller.waiting) == (1, 1)
        holding.close()
        assert (admission.controller.active, admission.controller.waiting) == (1, 0)  # the third one's, not yet told
        waiting[1].close()
        assert_nothing_left(admission, loop)

    with simulated() as loop:
        loop.run_until_complete(main(loop))
