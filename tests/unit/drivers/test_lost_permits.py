"""Permits lost, and permits given twice: the public faults of this kind, by their figures, through the driver."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.drivers.fake_loop import simulate
from tests.unit.drivers.gate import MS, ask, assert_nothing_left, gate
from tollgate.core.deny import DenyReason
from tollgate.core.errors import Refused
from tollgate.decision import AdmissionLimits


async def hold(admission, permits):
    permits.append(await admission.acquire(ask()))


def test_c071_waiters_that_gave_up_get_no_permit_when_the_holders_release():
    async def main(loop):
        admission = gate(loop, concurrency=8)
        held = [await admission.acquire(ask()) for _ in range(8)]

        async def impatient():
            async with asyncio.timeout(0.010):
                await admission.acquire(ask())

        ended = await asyncio.gather(*(impatient() for _ in range(8)), return_exceptions=True)
        assert [type(end) for end in ended] == [TimeoutError] * 8
        assert loop.now_ns == 10 * MS
        for permit in held:
            permit.release()
        assert_nothing_left(admission, loop)
        again = [await admission.acquire(ask()) for _ in range(8)]  # free = 8
        for permit in again:
            permit.release()

    simulate(main)


def test_c071_the_same_with_the_longest_wait_of_the_limits():
    async def main(loop):
        admission = gate(loop, concurrency=8, max_queue_wait_ns=10 * MS)
        held = [await admission.acquire(ask()) for _ in range(8)]
        denials = await asyncio.gather(*(admission.try_acquire(ask()) for _ in range(8)))
        assert {denial.reason for denial in denials} == {DenyReason.QUEUE_TIMEOUT}
        for permit in held:
            permit.release()
        assert_nothing_left(admission, loop)

    simulate(main)


@pytest.mark.parametrize("release_first", [True, False])
def test_c068_a_cancelled_waiter_still_listed_does_not_strand_the_next(release_first):
    async def main(loop):
        admission = gate(loop, concurrency=1)
        a = await admission.acquire(ask())
        permits = []
        b = asyncio.create_task(hold(admission, []))
        c = asyncio.create_task(hold(admission, permits))
        await loop.quiet()
        if release_first:  # B is granted, and cancelled before it can run
            a.release()
            b.cancel()
        else:  # B is cancelled, and has not yet left the queue
            b.cancel()
            a.release()
            assert admission.controller.waiting == 0  # C has it in this very step
        await c
        assert loop.now_ns == 0
        permits[0].release()
        assert b.cancelled()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_c067_who_tries_without_waiting_does_not_overtake_a_waiter_that_was_granted():
    async def main(loop):
        # X may not wait: its principal has no place in the queue.
        principals = {"ann": AdmissionLimits(), "x": AdmissionLimits(max_queue_length=0)}
        admission = gate(loop, concurrency=1, principals=principals)
        a = await admission.acquire(ask())
        permits = []
        b = asyncio.create_task(hold(admission, permits))
        await loop.quiet()
        a.release()
        with pytest.raises(Refused) as caught:  # before B has run again
            await admission.acquire(ask("x"))
        assert caught.value.denial.reason is DenyReason.QUEUE_FULL
        assert permits == []
        assert admission.controller.active == 1
        await b
        permits[0].release()
        (await admission.acquire(ask("x"))).release()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_c070_callers_cancelled_while_they_wait_for_quota_hold_no_permit():
    async def main(loop):
        admission = gate(loop, concurrency=5, requests_per_minute=1, requests_burst=1)
        (await admission.acquire(ask())).release()  # the quota is used up
        await asyncio.sleep(30)
        (await admission.acquire(ask())).release()  # granted at 60 s
        tasks = [asyncio.create_task(admission.acquire(ask())) for _ in range(5)]
        await asyncio.sleep(30)
        assert (loop.now_ns, admission.controller.waiting) == (90_000 * MS, 5)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert admission.controller.active == 0  # free = 5
        assert_nothing_left(admission, loop)

    simulate(main)


def test_c070_callers_cancelled_with_the_permit_in_hand_give_it_back():
    async def main(loop):
        admission = gate(loop, concurrency=5)

        async def call():
            async with admission.admitted(ask()):
                await asyncio.sleep(120)  # the provider's own quota

        tasks = [asyncio.create_task(call()) for _ in range(5)]
        await asyncio.sleep(90)
        assert admission.controller.active == 5
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert_nothing_left(admission, loop)

    simulate(main)


def test_c076_a_stream_that_the_client_cuts_off_gives_its_permit_back():
    async def main(loop):
        admission = gate(loop, concurrency=1)

        async def stream():
            async with admission.admitted(ask()):
                for part in range(10):
                    await asyncio.sleep(0.5)
                    yield part

        async def read():
            async for _ in stream():
                pass

        reader = asyncio.create_task(read())
        await asyncio.sleep(2)
        reader.cancel()
        await asyncio.sleep(1)
        (await admission.acquire(ask())).release()
        assert loop.now_ns == 3000 * MS
        assert_nothing_left(admission, loop)

    simulate(main)
