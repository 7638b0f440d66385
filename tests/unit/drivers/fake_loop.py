"""An event loop under simulated time: asyncio's own scheduling, and a clock that moves only when everybody waits.

What asyncio would block for in ``select``, this loop adds to its clock. It can call back after every step (one callback
run to its end), which is how the tests cancel a task at each place where it can be cancelled.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from tollgate.core.units import NS_PER_S


class EveryoneWaitsError(Exception):
    """Nothing is ready and no timer is set: what still waits would wait for ever."""


BLOCKED_MAX = 10_000
"""How often a test's loop may let time pass; one that does so more often is going round in circles."""


class FakeLoop(asyncio.BaseEventLoop):
    """The loop.

    Attributes:
        now_ns: Its clock, ns.
        steps: Callbacks run so far.
        after_step: Called with ``steps`` after each of them.
        blocked: How often it had nothing to do but let time pass.
        faults: What asyncio reported: exceptions that nobody retrieved, tasks destroyed while pending.
    """

    def __init__(self, start_ns: int = 0) -> None:
        super().__init__()
        self.now_ns = start_ns
        self.steps = 0
        self.after_step: Callable[[int], None] = lambda _: None
        self.blocked = 0
        self.faults: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.faults.append(context))
        self._selector = self

    def clock(self) -> int:
        return self.now_ns

    def time(self) -> float:
        return self.now_ns / NS_PER_S

    def select(self, timeout: float | None) -> list[object]:
        if timeout is None:
            raise EveryoneWaitsError
        if timeout > 0:
            self.blocked += 1
            assert self.blocked <= BLOCKED_MAX
            self.now_ns += max(1, round(timeout * NS_PER_S))
        return []

    def _process_events(self, events: list[object]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def call_soon(self, callback, *args, context=None):
        return super().call_soon(self._step, callback, args, context=context)

    def call_at(self, when, callback, *args, context=None):
        return super().call_at(when, self._step, callback, args, context=context)

    def _step(self, callback, args):
        callback(*args)
        self.steps += 1
        self.after_step(self.steps)

    async def quiet(self) -> None:
        """Return when nothing more happens at this instant."""
        await asyncio.sleep(0)
        while self._ready:  # noqa: ASYNC110 - the loop's own queue has no event
            await asyncio.sleep(0)

    @property
    def timers(self) -> int:
        """Timers that are set and not cancelled."""
        return sum(not handle.cancelled() for handle in self._scheduled)


@contextmanager
def simulated(start_ns: int = 0) -> Iterator[FakeLoop]:
    """Give a loop and see at the end that nothing of it is left: no timer, no report of asyncio."""
    gc.freeze()  # what was there before is not searched: only this loop's tasks are to be found
    loop = FakeLoop(start_ns)
    try:
        yield loop
        assert loop.timers == 0
    finally:
        loop.close()
        gc.collect()
        gc.unfreeze()
    assert loop.faults == []


def simulate(main: Callable[[FakeLoop], Coroutine[Any, Any, Any]], start_ns: int = 0) -> Any:
    """Run ``main(loop)`` in a loop of its own and return what it returns."""
    with simulated(start_ns) as loop:
        return loop.run_until_complete(main(loop))
