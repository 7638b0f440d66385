"""Callers in a closed loop: whose turn it is, and when.

This module owns the events at which they ask, and which request belongs to whom. What they ask for, and how long they
think, is drawn by ``sim.workload.closed``; what happens to a request belongs to :mod:`sim.world.world`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sim.kernel import Callbacks, Event, Kernel, Order
from sim.workload.blocks import ArrivalRow
from sim.workload.closed import Population

_ARRIVAL: Final = int(Order.ARRIVAL)


Heard = Callable[[int, ArrivalRow], None]
"""Is told of an arrival: its ordinal and its row."""


class Arrival(Event):
    """The instant at which a request comes.

    Attributes:
        row: The request.
    """

    __slots__ = ("row",)

    row: ArrivalRow


class Turn(Arrival):
    """One caller of a closed loop, as the event at which it asks next."""

    __slots__ = ("caller", "number", "population")

    def __init__(self, population: Population, caller: int) -> None:
        """Stand before the first request."""
        super().__init__()
        self.population = population
        self.caller = caller
        self.number = 0


class Loops:
    """All callers of a run that ask again once they are answered."""

    __slots__ = ("_asked", "_heard", "_kernel", "_on_arrival")

    def __init__(
        self, populations: Sequence[Population], kernel: Kernel, on_arrival: Callbacks, heard: Heard | None
    ) -> None:
        """Let everybody think from instant 0 on.

        Args:
            populations: The callers.
            kernel: The clock.
            on_arrival: What happens when one of them asks; it is called with the :class:`Turn`.
            heard: Is told of every arrival of the run, those of others included.
        """
        self._kernel = kernel
        self._on_arrival = on_arrival
        self._heard = heard
        self._asked: dict[int, Turn] = {}
        for population in populations:
            for caller in range(population.size):
                self._think(Turn(population, caller), 0)

    def asked(self, arrival: Arrival, ordinal: int) -> None:
        """Take an arrival; if it is that of a caller here, note which request it waits for now."""
        if self._heard is not None:
            self._heard(ordinal, arrival.row)
        if isinstance(arrival, Turn):
            self._asked[ordinal] = arrival

    def answered(self, ordinal: int, now_ns: int) -> None:
        """A request is over for its caller, who begins to think if it is one of those here."""
        turn = self._asked.pop(ordinal, None)
        if turn is not None:
            turn.number += 1
            self._think(turn, now_ns)

    def _think(self, turn: Turn, now_ns: int) -> None:
        row = turn.population.request(turn.caller, turn.number, now_ns)
        if row is not None:
            turn.row = row
            turn.callbacks = self._on_arrival
            self._kernel.schedule(turn, _ARRIVAL, row[0] - now_ns)
