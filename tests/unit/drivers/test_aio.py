"""What the asyncio driver does when all goes well, when it does not, and how it keeps time."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.unit.drivers.fake_loop import FakeLoop, simulate, simulated
from tests.unit.drivers.gate import BREAKER, MS, ask, assert_nothing_left, gate, profile
from tollgate.core.breaker import FAILURE, BreakerState
from tollgate.core.deny import Denial, DenyReason
from tollgate.core.errors import CallerError, Refused
from tollgate.decision import AdmissionController, AdmissionLimits, Request
from tollgate.drivers.aio import EARLY_RETRY_NS, AsyncAdmission

# Asking


def test_a_request_that_may_go_at_once_does_not_give_way():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        before = loop.steps
        permit = await admission.acquire(ask())
        assert loop.steps == before
        assert permit.decision.is_admitted
        assert admission.controller.active == 1
        assert permit.release()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_release_lets_the_next_one_go_in_the_same_instant():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        went_ns = []

        async def call():
            async with admission.admitted(ask()):
                went_ns.append(loop.now_ns)
                await asyncio.sleep(0.005)

        await asyncio.gather(*(call() for _ in range(4)))
        assert went_ns == [0, 5 * MS, 10 * MS, 15 * MS]
        assert_nothing_left(admission, loop)

    simulate(main)


def test_the_permit_is_released_once():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        permit = await admission.acquire(ask())
        assert [permit.release(), permit.release()] == [True, False]
        async with await admission.acquire(ask()) as permit:
            permit.release()
            other = await admission.acquire(ask())
        assert admission.controller.active == 1  # leaving the block gave back nothing that is not its own
        other.release()

    simulate(main)


def test_a_denial_is_raised_by_acquire_and_returned_by_try_acquire():
    async def main(loop):
        admission = gate(loop, concurrency=1, max_queue_length=0)
        async with admission.admitted(ask()):
            with pytest.raises(Refused) as caught:
                await admission.acquire(ask())
            with pytest.raises(Refused):
                async with admission.admitted(ask()):
                    pytest.fail("it was let in")
            denial = await admission.try_acquire(ask())
            assert isinstance(denial, Denial)
            assert denial == caught.value.denial
            assert denial.reason is DenyReason.QUEUE_FULL
        permit = await admission.try_acquire(ask())
        assert not isinstance(permit, Denial)
        permit.release()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_client_that_waits_as_long_as_it_was_told_is_admitted():
    async def main(loop):
        admission = gate(loop, requests_per_minute=60, requests_burst=1, max_queue_length=0)
        (await admission.acquire(ask())).release()
        with pytest.raises(Refused) as caught:
            await admission.acquire(ask())
        assert caught.value.denial.retry_after_ns == 1000 * MS
        await asyncio.sleep(caught.value.denial.retry_after_ns / 1e9)
        (await admission.acquire(ask())).release()

    simulate(main)


def test_a_request_for_another_workspace_is_the_callers_fault_and_leaves_nothing():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        with pytest.raises(CallerError):
            await admission.acquire(Request("job", "ann", "elsewhere", "llm"))
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_context_manager_asks_once():
    async def main(loop):
        admission = gate(loop)
        admitted = admission.admitted(ask())
        async with admitted:
            pass
        with pytest.raises(CallerError):
            await admitted.__aenter__()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_an_invocation_is_settled_on_the_controller():
    async def main(loop):
        admission = gate(loop, max_attempts=1)
        (await admission.acquire(ask())).release()
        denial = await admission.try_acquire(ask())
        assert denial.reason is DenyReason.ATTEMPTS
        admission.settle("job")
        (await admission.acquire(ask())).release()

    simulate(main)


# How a call ended


@pytest.mark.parametrize(
    ("ending", "state"),
    [
        (None, BreakerState.CLOSED),
        (OSError("provider"), BreakerState.OPEN),
        (TimeoutError(), BreakerState.OPEN),
        (asyncio.CancelledError(), BreakerState.CLOSED),
        (GeneratorExit(), BreakerState.CLOSED),
    ],
)
def test_the_end_of_the_block_is_the_outcome_of_the_call(ending, state):
    async def main(loop):
        admission = gate(loop, providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)})

        async def call():
            async with admission.admitted(ask()):
                if ending is not None:
                    raise ending

        if ending is None:
            await call()
        else:
            with pytest.raises(type(ending)):
                await call()
        assert breaker_state(admission) is state
        assert_nothing_left(admission, loop)

    simulate(main)


@pytest.mark.parametrize(
    ("said", "ending", "state", "failures"),
    [
        ("failed", None, BreakerState.OPEN, 1),
        ("succeeded", ValueError("ours, not the provider's"), BreakerState.CLOSED, 0),
        ("failed", asyncio.CancelledError(), BreakerState.OPEN, 1),
    ],
)
def test_what_the_caller_says_of_the_call_stands(said, ending, state, failures):
    async def main(loop):
        admission = gate(loop, providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)})
        try:
            async with admission.admitted(ask()) as permit:
                getattr(permit, said)()
                if ending is not None:
                    raise ending
        except type(ending):
            pass
        assert breaker_state(admission) is state
        assert len(admission.controller.breaker_transitions) == failures

    simulate(main)


def test_a_pause_that_the_provider_asked_for_holds_everybody_until_it_ends():
    async def main(loop):
        admission = gate(loop)

        async def call():
            async with admission.admitted(ask()) as permit:
                permit.retry_after(250 * MS)
                raise OSError("429")

        with pytest.raises(OSError, match="429"):
            await call()
        async with admission.admitted(ask("bob")):
            assert loop.now_ns == 250 * MS
        assert_nothing_left(admission, loop)

    simulate(main)


@pytest.mark.parametrize("pause_ns", [-1, 1.5, None, "1m0s", 10**30])
def test_a_pause_that_makes_no_sense_is_clamped_and_counted_and_no_failure(pause_ns):
    async def main(loop):
        controller = AdmissionController("w", profile(providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)}))
        admission = AsyncAdmission(controller, clock=loop.clock)
        async with admission.admitted(ask()) as permit:
            permit.retry_after(pause_ns)
        assert admission.controller.clamped_pauses == 1
        assert breaker_state(admission) is BreakerState.CLOSED
        assert_nothing_left(admission, loop)

    simulate(main)


def breaker_state(admission):
    transitions = admission.controller.breaker_transitions
    return transitions[-1].transition.to_state if transitions else BreakerState.CLOSED


# Time


def test_a_bucket_that_refills_lets_the_next_one_go_at_exactly_that_instant():
    async def main(loop):
        admission = gate(loop, requests_per_minute=7, requests_burst=1)
        went_ns = []
        for _ in range(4):
            (await admission.acquire(ask())).release()
            went_ns.append(loop.now_ns)
        # 60 s / 7 is 8 571 428 571 3/7 ns, and a bucket of one earns nothing in the 4/7 ns before it is drawn on.
        assert went_ns == [0, 8_571_428_572, 17_142_857_144, 25_714_285_716]
        assert loop.blocked == 3
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_wait_ends_at_exactly_its_longest_and_a_deadline_at_exactly_its_instant():
    async def main(loop):
        admission = gate(loop, concurrency=1, max_queue_wait_ns=30 * MS)
        async with admission.admitted(ask()):
            denials = await asyncio.gather(
                admission.try_acquire(ask()),
                admission.try_acquire(ask("bob", deadline_ns=admission.deadline_after(20 * MS))),
            )
            assert [denial.reason for denial in denials] == [DenyReason.QUEUE_TIMEOUT, DenyReason.DEADLINE_EXCEEDED]
            assert loop.now_ns == 30 * MS
            assert loop.blocked == 2
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_deadline_counts_from_the_drivers_clock():
    async def main(loop):
        admission = AsyncAdmission(AdmissionController("w", profile()), clock=lambda: loop.now_ns + 10**15)
        assert admission.deadline_after(5) == 10**15 + 5
        denial = await admission.try_acquire(ask(deadline_ns=10**15))
        assert denial.reason is DenyReason.DEADLINE_EXCEEDED

    simulate(main)


def test_the_two_clocks_may_have_different_origins():
    async def main(loop):
        admission = AsyncAdmission(
            AdmissionController("w", profile(concurrency=1, max_queue_wait_ns=30 * MS)),
            clock=lambda: loop.now_ns + 1_700_000_000 * 10**9,
        )
        async with admission.admitted(ask()):
            denial = await admission.try_acquire(ask())
        assert denial.reason is DenyReason.QUEUE_TIMEOUT
        assert loop.now_ns == 12 * MS + 30 * MS
        assert_nothing_left(admission, loop)

    simulate(main, start_ns=12 * MS)


def test_one_timer_serves_everybody_and_none_is_set_when_nobody_waits_for_the_time():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        permit = await admission.acquire(ask())
        waiting = [asyncio.create_task(admission.acquire(ask())) for _ in range(3)]
        await loop.quiet()
        assert loop.timers == 0  # only a release can help them
        admission.set_profile(profile("v2", concurrency=1, max_queue_wait_ns=40 * MS))
        assert loop.timers == 1
        permit.release()
        await loop.quiet()
        assert loop.timers == 1
        assert [task.done() for task in waiting] == [True, False, False]
        await asyncio.sleep(0.040)
        await loop.quiet()
        assert [type(task.exception()) for task in waiting[1:]] == [Refused, Refused]
        assert admission._timer is None
        waiting[0].result().release()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_timer_that_goes_off_early_is_set_again():
    async def main(loop):
        # The driver's clock falls behind the loop's by a millisecond in ten.
        admission = AsyncAdmission(
            AdmissionController("w", profile(concurrency=1, max_queue_wait_ns=900 * MS)),
            clock=lambda: loop.now_ns - loop.now_ns // 10,
        )
        async with admission.admitted(ask()):
            denial = await admission.try_acquire(ask())
            assert denial.reason is DenyReason.QUEUE_TIMEOUT
            assert loop.now_ns - loop.now_ns // 10 >= 900 * MS
            assert loop.now_ns <= 1001 * MS
            assert loop.blocked <= 5
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_clock_that_stands_still_costs_no_busy_loop():
    async def main(loop):
        stopped_ns = 10 * MS
        admission = AsyncAdmission(
            AdmissionController("w", profile(concurrency=1, max_queue_wait_ns=10 * MS + 1)),
            clock=lambda: min(loop.now_ns, stopped_ns),
        )
        permit = await admission.acquire(ask())
        waiting = asyncio.create_task(admission.try_acquire(ask()))
        await asyncio.sleep(1)
        assert loop.blocked <= 1000 * MS // EARLY_RETRY_NS + 2
        permit.release()
        (await waiting).release()
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_loop_that_is_late_lets_nobody_go_past_their_time():
    async def main(loop):
        admission = gate(loop, concurrency=1, max_queue_wait_ns=10 * MS)
        permit = await admission.acquire(ask())
        waiting = asyncio.create_task(admission.try_acquire(ask()))
        await loop.quiet()
        loop.now_ns += 25 * MS  # a callback kept the loop busy
        permit.release()
        assert (await waiting).reason is DenyReason.QUEUE_TIMEOUT
        assert_nothing_left(admission, loop)

    simulate(main)


# The controller's other ways


def test_a_tightened_profile_refuses_those_who_wait_at_once():
    async def main(loop):
        admission = gate(loop, concurrency=1)
        async with admission.admitted(ask()):
            waiting = asyncio.create_task(admission.try_acquire(ask(tokens=100)))
            await loop.quiet()
            admission.set_profile(profile("v2", concurrency=1, tokens_per_second=50))
            assert (await waiting).reason is DenyReason.TOKENS_PER_SECOND
            assert loop.now_ns == 0
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_controller_that_was_changed_directly_is_followed_after_wake():
    async def main(loop):
        admission = gate(loop)
        admission.controller.pause("llm", 70 * MS, loop.now_ns)
        waiting = asyncio.create_task(admission.acquire(ask()))
        await loop.quiet()
        admission.controller.pause("llm", 90 * MS, loop.now_ns)
        admission.wake()
        (await waiting).release()
        assert loop.now_ns == 90 * MS
        assert_nothing_left(admission, loop)

    simulate(main)


def test_a_second_driver_on_the_same_controller_is_noticed():
    async def main(loop):
        first = gate(loop, concurrency=1)
        second = AsyncAdmission(first.controller, clock=loop.clock)
        permit = await first.acquire(ask())
        waiting = asyncio.create_task(first.acquire(ask()))
        await loop.quiet()
        first.controller.release(permit._permit, FAILURE, loop.now_ns)
        with pytest.raises(CallerError, match="one driver"):
            second.wake()
        waiting.cancel()

    loop = FakeLoop()
    loop.run_until_complete(main(loop))
    loop.close()


# Loops


def test_a_driver_moves_to_another_loop_when_nobody_waits():
    controller = AdmissionController("w", profile(concurrency=1, max_queue_wait_ns=10 * MS))
    admission = AsyncAdmission(controller, clock=lambda: current.now_ns)

    async def once():
        async with admission.admitted(ask()):
            assert (await admission.try_acquire(ask())).reason is DenyReason.QUEUE_TIMEOUT

    for start_ns in (0, 50 * MS):
        with simulated(start_ns) as current:
            current.run_until_complete(once())
    assert controller.is_idle


def test_a_driver_serves_one_loop_at_a_time():
    with simulated() as first, simulated() as second:
        admission = gate(first, concurrency=1)
        permit = first.run_until_complete(admission.acquire(ask()))
        waiting = first.create_task(admission.acquire(ask()))
        first.run_until_complete(asyncio.sleep(0))
        with pytest.raises(CallerError, match="another event loop"):
            second.run_until_complete(admission.acquire(ask()))
        permit.release()
        first.run_until_complete(waiting).release()
        assert_nothing_left(admission, first)


def test_what_waited_in_a_loop_that_was_closed_is_withdrawn():
    closed = FakeLoop()
    admission = gate(closed, concurrency=1, max_queue_wait_ns=10 * MS)
    permit = closed.run_until_complete(admission.acquire(ask()))
    waiting = [closed.create_task(admission.acquire(ask())) for _ in range(2)]
    closed.run_until_complete(closed.quiet())
    closed.close()
    assert admission.controller.waiting == 2

    async def main(loop):
        next_one = asyncio.create_task(admission.acquire(ask()))
        await loop.quiet()
        assert admission.controller.waiting == 1
        permit.release()
        (await next_one).release()
        assert_nothing_left(admission, loop)

    simulate(main)
    for task in waiting:
        task._log_destroy_pending = False


def test_a_permit_given_back_after_its_loop_was_closed_goes_to_nobody():
    closed = FakeLoop()
    admission = gate(closed, concurrency=1, max_queue_wait_ns=10 * MS)
    permit = closed.run_until_complete(admission.acquire(ask()))
    waiting = [closed.create_task(admission.acquire(ask())) for _ in range(2)]
    closed.run_until_complete(closed.quiet())
    closed.close()
    assert permit.release()
    assert admission.controller.is_idle
    assert admission._timer is None
    for task in waiting:
        task._log_destroy_pending = False


def test_a_listener_that_raises_stops_nothing(caplog):
    async def main(loop):
        admission = gate(loop, concurrency=1, providers={"llm": AdmissionLimits(circuit_breaker=BREAKER)})
        admission.controller.on_breaker_transition(lambda _: 1 // 0)
        permit = await admission.acquire(ask())
        waiting = asyncio.create_task(admission.acquire(ask()))
        await loop.quiet()
        permit.release(FAILURE)
        (await waiting).release()
        assert loop.now_ns == BREAKER.open_ns
        assert_nothing_left(admission, loop)

    with caplog.at_level(logging.ERROR):
        simulate(main)
    assert "ZeroDivisionError" in caplog.text
