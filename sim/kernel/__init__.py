"""The fake clock: SimPy's event queue in integer nanoseconds, and nothing else of SimPy.

A pending event is any object with the two names of :class:`Event`, ``callbacks`` and ``_ok``, so that the thing that is
to happen (a call that ends, a caller that gives up) can stand in the queue itself. Inside one instant events happen by
their :class:`Order`, then in the order in which they were scheduled. This package owns that order and is the only
importer of simpy. It must not know what an event means.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from heapq import heappop
from typing import Any, cast

from simpy import Environment

from tollgate.core.errors import InvariantViolation


class Order(IntEnum):
    """What goes first inside one instant: releases, cancellations, what is due, arrivals (spec 01), then the end."""

    RELEASE = 0
    CANCEL = 1
    WAKE = 2
    ARRIVAL = 3
    END = 4


Progress = Callable[[int, int], None]
"""Is told the simulated instant and the end of the arrivals, both in ns, now and then."""

Callbacks = tuple[Callable[[Any], None], ...]


class Event:
    """The smallest event: what happens when its instant comes.

    It is called with the event itself. An event may be scheduled again once it has happened.
    """

    __slots__ = ("callbacks",)

    _ok = True

    def __init__(self) -> None:
        """Make an event that is not scheduled."""
        self.callbacks: Callbacks | None = None


class _EndOfRun(Exception):  # noqa: N818 - a signal, not an error
    """Leaves the loop."""


class _Clock(Environment):
    """SimPy's environment, for events that cannot fail."""

    def drain(self) -> None:
        """Do what ``run()`` does without an end: let every event happen.

        In one loop; SimPy calls ``step`` for each event, which sets up two ``try`` blocks and asks whether the event
        has failed. That took a fifth of the time which the queue costs.
        """
        queue = cast("list[tuple[int, int, int, Event]]", self._queue)
        while queue:
            self._now, _, _, event = heappop(queue)
            callbacks, event.callbacks = event.callbacks, None
            for callback in callbacks or ():
                callback(event)


class Kernel:
    """An integer clock with a queue of events.

    Attributes:
        schedule: SimPy's own ``schedule(event, priority, delay)``, bound, for the hot path: the event's ``callbacks``
            must be set, the priority is an :class:`Order`, the delay an integer of nanoseconds from now.
    """

    __slots__ = ("_env", "next_ns", "schedule")

    def __init__(self) -> None:
        """Start at 0 with nothing scheduled."""
        self._env = _Clock(initial_time=0)
        self.next_ns: Callable[[], float] = self._env.peek
        self.schedule = cast("Callable[[Any, int, int], None]", self._env.schedule)

    @property
    def now_ns(self) -> int:
        """The present instant, ns from the start of the run."""
        return self._env.now  # type: ignore[return-value]  # int in, int out: SimPy only ever adds to it

    def at(self, at_ns: int, order: Order, event: Event, callbacks: Callbacks) -> None:
        """Schedule an event for an instant.

        Args:
            at_ns: When, ns from the start of the run.
            order: Its place inside that instant.
            event: The event, not scheduled at present.
            callbacks: What happens.

        Raises:
            InvariantViolation: If the instant has passed.
        """
        delay_ns = at_ns - self.now_ns
        if delay_ns < 0:
            raise InvariantViolation(f"an event was scheduled {-delay_ns} ns into the past")
        event.callbacks = callbacks
        self.schedule(event, order, delay_ns)

    def run(self, until_ns: int) -> None:
        """Let events happen until an instant, that instant included, or until none is left.

        Args:
            until_ns: The last instant, ns.
        """
        self.at(until_ns, Order.END, Event(), (_end,))
        try:
            self._env.drain()
        except _EndOfRun:
            return


def _end(_event: Event) -> None:
    raise _EndOfRun
