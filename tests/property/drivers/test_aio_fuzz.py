"""Callers that come, cancel, run out of time, crash and release twice, in any order: held + free is always the limit.

A caller's own notes are the model: it holds a permit from the moment at which it got one until it gave it back, and
waits from its question to its answer. After each step, once nothing more happens at that instant, the controller must
count exactly these.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from tests.unit.drivers.fake_loop import simulated
from tests.unit.drivers.gate import BREAKER, MS, ask, assert_nothing_left, gate
from tollgate.core.errors import Refused
from tollgate.decision import AdmissionLimits

STEPS = 10_000
LIMIT = 4
CROWD = 12


class CrashError(Exception):
    """What a caller's own code may raise."""


class Caller:
    """One task that asks once, holds what it gets until it is told how to end, and keeps notes."""

    def __init__(self, loop, admission, request, timeout_s):
        self.permit = None
        self.is_holding = False
        self.end = loop.create_future()
        self.task = loop.create_task(self._run(admission, request, timeout_s))

    @property
    def is_waiting(self):
        return not self.task.done() and self.permit is None

    async def _run(self, admission, request, timeout_s):
        async with asyncio.timeout(timeout_s):
            self.permit = await admission.acquire(request)
        self.is_holding = True
        try:
            async with self.permit:
                await self.end
        finally:
            self.is_holding = False


async def fuzz(loop, admission, dice, steps, seen):
    callers = []
    released = []
    for _ in range(steps):
        callers = [caller for caller in callers if not caller.task.done()]
        holding = [caller for caller in callers if caller.is_holding]
        kind = dice.choice(["ask", "ask", "cancel", "end", "crash", "pass time", "again", "cancel and end"])
        if kind == "ask" and len(callers) < CROWD:
            name = dice.choice(["ann", "bob"])
            deadline_ns = dice.choice([None, None, loop.now_ns + dice.randrange(1, 20 * MS)])
            request = ask(name, tokens=dice.randrange(20), deadline_ns=deadline_ns)
            callers.append(Caller(loop, admission, request, dice.choice([None, None, 0.007])))
        elif kind == "cancel" and callers:
            dice.choice(callers).task.cancel()
        elif kind == "end" and holding:
            ended = dice.choice(holding)
            ended.end.set_result(None)
            released.append(ended.permit)
        elif kind == "crash" and holding:
            dice.choice(holding).end.set_exception(CrashError())
        elif kind == "cancel and end" and holding:
            # The permit passes on while the one it passes to is cancelled in the same tick.
            dice.choice(holding).end.set_result(None)
            for waiting in (caller for caller in callers if caller.is_waiting):
                if dice.random() < 0.5:
                    await asyncio.sleep(0)
                    waiting.task.cancel()
        elif kind == "again" and released:
            assert dice.choice(released).release() is False
        elif kind == "pass time":
            await asyncio.sleep(dice.randrange(1, 10) / 1000)
        await loop.quiet()
        seen[kind] += 1
        held = sum(caller.is_holding for caller in callers)
        waiting = sum(caller.is_waiting for caller in callers)
        assert (admission.controller.active, admission.controller.waiting) == (held, waiting)
        assert 0 <= held <= LIMIT
        assert len(admission._waiters) == waiting
        seen["full"] += held == LIMIT
        seen["waited"] += waiting > 0
    for caller in callers:
        caller.task.cancel()
    await loop.quiet()
    assert_nothing_left(admission, loop)


@pytest.mark.parametrize(
    "limits",
    [
        {"concurrency": LIMIT},
        {"concurrency": LIMIT, "max_queue_wait_ns": 9 * MS},
        {"concurrency": LIMIT, "max_queue_wait_ns": 25 * MS, "tokens_per_second": 5000, "tokens_burst": 40},
        {"concurrency": LIMIT, "providers": {"llm": AdmissionLimits(circuit_breaker=BREAKER)}},
    ],
    ids=["permits", "dwell", "bucket", "breaker"],
)
def test_held_and_free_are_the_limit_after_every_step(limits):
    seen = Counter()
    with simulated() as loop:
        admission = gate(loop, **limits)
        # A caller's end is its own affair here: cancelled, refused, out of time or crashed.
        ours = (CrashError, Refused, TimeoutError)
        keep = loop.faults.append
        loop.set_exception_handler(
            lambda _, context: None if isinstance(context.get("exception"), ours) else keep(context)
        )
        loop.run_until_complete(fuzz(loop, admission, random.Random(2601), STEPS // 4, seen))
    for kind in ("ask", "cancel", "end", "crash", "again", "cancel and end", "full", "waited"):
        assert seen[kind] > 30, kind
