"""Fair lanes: first in, first out inside a lane, and a turn among lanes.

A lane is a queue of items that belong together (one principal's requests to one provider). Lanes take turns: each lane
that has items holds a *turn number*, the lowest number goes next, and a lane that was served, or that was empty and now
is not, takes a new number. The lane served longest ago therefore always goes first, and a lane passed over (because its
head is held by something of its own) keeps its number and with it its place.

:class:`DeficitTurns` is the weighted form, deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): a lane keeps its
turn until its credit no longer covers its head, and gains ``quantum * weight`` with each new turn.

This module owns order only. It must not know permits, buckets, time or why a head is held.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

from tollgate.core.errors import InvariantViolation

T = TypeVar("T")


class Lane(Generic[T]):
    """A first-in, first-out queue from which any item can be withdrawn in constant time.

    Attributes:
        head: The item that waits longest, None in an empty lane.
        size: How many items wait.
        turn: Turn number, from 1; meaningful while the lane is not empty.
        credit: What is left of the lane's quantum (weighted discipline only).
        credited_turn: The turn that was last credited (weighted discipline only).
    """

    __slots__ = ("_items", "credit", "credited_turn", "head", "size", "turn")

    def __init__(self) -> None:
        """Make an empty lane."""
        self.head: T | None = None
        self.size = 0
        self.turn = 0
        self.credit = 0
        self.credited_turn = 0
        self._items: OrderedDict[T, None] | None = None  # made when something first waits: most lanes never need it

    def __iter__(self) -> Iterator[T]:
        """Iterate over the items, the head first."""
        return iter(self._items or ())

    def append(self, item: T) -> None:
        """Put an item at the end."""
        if self._items is None:
            self._items = OrderedDict()
        if not self.size:
            self.head = item
        self._items[item] = None
        self.size += 1

    def withdraw(self, item: T) -> bool:
        """Take an item out, wherever it stands.

        Returns:
            Whether it was the head.

        Raises:
            InvariantViolation: If the item does not wait here.
        """
        if self._items is None or item not in self._items:
            raise InvariantViolation("the item does not wait in this lane")
        del self._items[item]
        self.size -= 1
        if item is not self.head:
            return False
        self.head = next(iter(self._items), None)
        return True


class Turns:
    """Hand out turn numbers; the plain discipline: a lane is served once a turn.

    Attributes:
        is_weighted: Whether a lane may have its turn for nothing, so that :meth:`may_serve` has to be asked.
    """

    __slots__ = ("_next",)

    is_weighted: ClassVar[bool] = False

    def __init__(self) -> None:
        """Start at turn 1."""
        self._next = 1

    def join(self, lane: Lane[T]) -> None:
        """Give a lane that has just become non-empty its place: as if it had been served this moment."""
        lane.turn = self._next
        self._next += 1

    def may_serve(self, lane: Lane[T], cost: int, weight: int) -> bool:  # noqa: ARG002 - the weighted form uses both
        """Return whether the lane whose turn it is may be served now; False gives it a new turn."""
        return True

    def served(self, lane: Lane[T], cost: int, next_cost: int) -> None:  # noqa: ARG002 - the weighted form uses both
        """Move a lane that was served and still has items behind all others."""
        self.join(lane)

    def new_round(self) -> None:
        """Forget which lanes had their turn for nothing: a head has changed, or time has passed."""

    def left(self, lane: Lane[T]) -> None:
        """Note that a lane has become empty."""

    def count_on_from(self, other: Turns) -> None:
        """Take over where another discipline stopped, so that lanes keep their order."""
        self._next = other._next


class DeficitTurns(Turns):
    """Deficit round robin: credit by weight, spent by cost.

    The service of two lanes that both always have an item that may go differs, each divided by its weight, by at most
    ``quantum + 2 * largest cost`` over any interval (Shreedhar and Varghese, theorem 3, with the quantum of weight 1).

    Attributes:
        quantum: Credit that a lane of weight 1 gains with each turn, in units of cost.
    """

    __slots__ = ("_short", "quantum")

    is_weighted = True

    def __init__(self, quantum: int) -> None:
        """Start with no credit anywhere."""
        super().__init__()
        self.quantum = quantum
        # Lanes that had their turn for nothing since anybody was last served: the cost of their head, their quantum.
        self._short: dict[Lane[Any], tuple[int, int]] = {}

    def may_serve(self, lane: Lane[T], cost: int, weight: int) -> bool:
        """Credit the lane once in this turn; when that does not cover ``cost``, give it a new turn."""
        quantum = self.quantum * weight
        if lane.credited_turn != lane.turn:
            lane.credited_turn = lane.turn
            lane.credit += quantum
        if lane.credit >= cost:
            self._short.clear()
            return True
        if lane in self._short:
            self._skip_rounds()
        self._short[lane] = (cost, quantum)
        self.join(lane)
        return False

    def _skip_rounds(self) -> None:
        """Give all lanes of a round in which nobody was served the credit of the rounds that would pass just so.

        A head far above the quantum would otherwise cost a round for each quantum of it.
        """
        rounds = min((cost - lane.credit - 1) // quantum for lane, (cost, quantum) in self._short.items())
        for lane, (_, quantum) in self._short.items():
            lane.credit += max(rounds, 0) * quantum
        self._short.clear()

    def served(self, lane: Lane[T], cost: int, next_cost: int) -> None:
        """Charge the lane; it keeps its turn while its credit covers the next item."""
        lane.credit -= cost
        if lane.credit < next_cost:
            self.join(lane)

    def new_round(self) -> None:
        """Forget which lanes had their turn for nothing."""
        self._short.clear()

    def left(self, lane: Lane[T]) -> None:
        """Forget the credit of a lane that has become empty: an idle lane saves nothing up."""
        lane.credit = 0
