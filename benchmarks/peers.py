"""What our own code is compared with, written as one would write it without us.

Each peer is the plain way of doing its job, and no slower than that way has to be: a comparison with a straw man says
nothing. This module must not know tollgate or the lab.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from simpy import Environment, Event, Resource

Steps = Generator[Event, Any, None]


def textbook_queue(customers: int, *, arrivals_per_s: float, services_per_s: float, servers: int, seed: int) -> float:
    """Simulate an M/M/c queue as SimPy's introductions do: a process for each customer, a resource for the servers.

    All times are drawn in advance, as our own generator draws them too.

    Args:
        customers: How many arrive.
        arrivals_per_s: Rate of arrivals, per simulated second.
        services_per_s: Rate of service of one server, per simulated second.
        servers: How many serve.
        seed: Of the draws.

    Returns:
        The mean wait before service, seconds.
    """
    draws = np.random.default_rng(seed)
    gaps: list[float] = draws.exponential(1 / arrivals_per_s, customers).tolist()
    services: list[float] = draws.exponential(1 / services_per_s, customers).tolist()
    environment = Environment()
    desk = Resource(environment, servers)
    waits: list[float] = []
    environment.process(_source(environment, desk, zip(gaps, services, strict=True), waits))
    environment.run()
    return sum(waits) / customers


def _source(
    environment: Environment, desk: Resource, customers: Iterable[tuple[float, float]], waits: list[float]
) -> Steps:
    for gap, service in customers:
        yield environment.timeout(gap)
        environment.process(_customer(environment, desk, service, waits))


def _customer(environment: Environment, desk: Resource, service: float, waits: list[float]) -> Steps:
    arrived = environment.now
    turn = desk.request()
    yield turn
    waits.append(environment.now - arrived)
    yield environment.timeout(service)
    desk.release(turn)


def heap_pairs(pairs: int, *, size: int, seed: int) -> float:
    """Take the first event off a heap and put a later one on, over and over: all that any event queue has to do.

    The entries are those of SimPy's own queue: instant, priority, number, event.

    Args:
        pairs: How often.
        size: Events that stand in the heap.
        seed: Of the draws.

    Returns:
        The instant of the last event taken off.
    """
    gaps: list[float] = np.random.default_rng(seed).exponential(1, pairs).tolist()
    heap: list[tuple[float, int, int, None]] = [(gap, 1, -number, None) for number, gap in enumerate(gaps[:size])]
    heapify(heap)
    now = 0.0
    for number, gap in enumerate(gaps, 1):
        now = heappop(heap)[0]
        heappush(heap, (now + gap, 1, number, None))
    return now


class SlottedBucket:
    """A token bucket in integers as one writes it by hand: what it holds, since when, and no questions asked.

    Attributes:
        level: Units it holds, times ``per_ns``.
        at_ns: Instant of ``level``, ns.
    """

    __slots__ = ("at_ns", "cap", "level", "per_ns", "units")

    def __init__(self, units: int, per_ns: int, burst: int) -> None:
        """Start full, refilling by ``units`` every ``per_ns`` up to ``burst``."""
        self.units = units
        self.per_ns = per_ns
        self.cap = burst * per_ns
        self.level = self.cap
        self.at_ns = 0

    def try_take(self, n: int, now_ns: int) -> bool:
        """Take ``n`` units if it holds them."""
        level = self.level + (now_ns - self.at_ns) * self.units
        if level > self.cap:  # noqa: PLR1730 - min() costs more than the rest of the function
            level = self.cap
        self.at_ns = now_ns
        need = n * self.per_ns
        if level < need:
            self.level = level
            return False
        self.level = level - need
        return True
