"""The workspaces of a registry on one event loop: one driver each, and new profiles reach those who wait."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from tests.unit.drivers.fake_loop import simulate
from tests.unit.drivers.gate import MS, ask, assert_nothing_left, profile
from tollgate.core.deny import DenyReason
from tollgate.decision import AdmissionController, AdmissionRegistry, InvalidDefinition, RegistryFull
from tollgate.drivers.aio import AsyncRegistry


def test_a_workspace_has_one_driver_however_often_it_is_asked_for():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(), clock=loop.clock)
        first = workspaces.register("w", profile(concurrency=1))
        assert workspaces.register("w", profile(concurrency=1)) is first
        assert workspaces.admission("w") is first
        assert workspaces.admission("elsewhere") is None
        async with first.admitted(ask()):
            waiting = asyncio.create_task(workspaces.admission("w").try_acquire(ask()))
            await loop.quiet()
        (await waiting).release()
        assert_nothing_left(first, loop)

    simulate(main)


@pytest.mark.parametrize("through_the_driver", [True, False])
def test_a_new_version_decides_at_once_about_those_who_wait(through_the_driver):
    async def main(loop):
        registry = AdmissionRegistry()
        workspaces = AsyncRegistry(registry, clock=loop.clock)
        admission = workspaces.register("w", profile("v1", concurrency=1))
        async with admission.admitted(ask()):
            waiting = [asyncio.create_task(admission.try_acquire(ask(tokens=tokens))) for tokens in (10, 100)]
            await loop.quiet()
            looser = profile("v2", concurrency=2, tokens_per_second=50)
            if through_the_driver:
                workspaces.register("w", looser)
            else:
                registry.register("w", looser, loop.now_ns)
            admitted, refused = await asyncio.gather(*waiting)
            assert refused.reason is DenyReason.TOKENS_PER_SECOND
            admitted.release()
        assert loop.now_ns == 0
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_version_with_other_limits_is_refused_and_those_who_wait_do_not_notice():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(), clock=loop.clock)
        admission = workspaces.register("w", profile(concurrency=1))
        async with admission.admitted(ask()):
            waiting = asyncio.create_task(admission.acquire(ask()))
            await loop.quiet()
            with pytest.raises(InvalidDefinition):
                workspaces.register("w", profile(concurrency=2))
            await loop.quiet()
            assert not waiting.done()
        (await waiting).release()

    simulate(main)


def test_a_workspace_in_which_somebody_waits_is_not_evicted():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(max_workspaces=1), clock=loop.clock)
        admission = workspaces.register("w", profile(concurrency=1))
        async with admission.admitted(ask()):
            with pytest.raises(RegistryFull):
                workspaces.register("other", profile())
        workspaces.register("other", profile())
        assert workspaces.admission("w") is None

    simulate(main)


def test_a_driver_held_through_an_eviction_is_the_workspaces_driver_when_it_comes_back():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(max_workspaces=1), clock=loop.clock)
        held = workspaces.register("w", profile(requests_per_minute=1, max_queue_wait_ns=MS))
        workspaces.register("other", profile())
        (await held.acquire(ask())).release()
        back = workspaces.register("w", profile(requests_per_minute=1, max_queue_wait_ns=MS))
        assert back is held
        assert (await back.try_acquire(ask())).reason is DenyReason.QUEUE_TIMEOUT

    simulate(main)


def test_a_driver_nobody_holds_is_gone_and_its_controller_keeps_what_was_spent():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(), clock=loop.clock)
        limits = profile(requests_per_minute=1, max_queue_wait_ns=MS)
        permit = await workspaces.register("w", limits).acquire(ask())
        driver = weakref.ref(workspaces.admission("w"))
        gc.collect()
        assert driver() is not None  # its permit keeps it
        permit.release()
        del permit
        gc.collect()
        assert driver() is None
        assert (await workspaces.admission("w").try_acquire(ask())).reason is DenyReason.QUEUE_TIMEOUT

    simulate(main)


def test_a_waiting_task_keeps_its_driver():
    async def main(loop):
        workspaces = AsyncRegistry(AdmissionRegistry(), clock=loop.clock)
        admission = workspaces.register("w", profile(concurrency=1, max_queue_wait_ns=MS))
        permit = await admission.acquire(ask())
        waiting = asyncio.create_task(admission.try_acquire(ask()))
        await loop.quiet()
        del admission
        gc.collect()
        assert (await waiting).reason is DenyReason.QUEUE_TIMEOUT
        permit.release()

    simulate(main)


def test_the_default_clock_is_the_monotonic_one():
    workspaces = AsyncRegistry(AdmissionRegistry())
    admission = workspaces.register("w", profile())
    assert isinstance(admission.controller, AdmissionController)
    assert admission.deadline_after(5) > 5
