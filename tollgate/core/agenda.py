"""An agenda: items in order of a key of their own that may change while they stand in it.

One heap serves every "what comes next" of the library: expiries, wake-ups and turns. An entry counts only while its
item still has the key under which it was put in, so withdrawing or moving an item costs nothing: change its key (and
put it in again, if it still belongs here). Stale entries go when they surface, and all at once when they could be more
than half.

This module owns the order. It must not know what a key means.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from operator import itemgetter
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_SMALLEST_SWEEP: Final = 64
"""Below this many entries a sweep is not worth its set-up; the heap then fits a few cache lines."""


class Agenda(Generic[T]):
    """Items by key, the lowest first; equal keys in the order in which they were put in.

    Attributes:
        entries: The heap of (key, sequence, item), stale entries included. Public so that a hot loop can see that it is
            empty; only this class writes it.
    """

    __slots__ = ("_key", "_sequence", "_sweep_at", "entries")

    def __init__(self, key: Callable[[T], int]) -> None:
        """Make an empty agenda.

        Args:
            key: Reads an item's present key. A key that no entry was made under (such as 0 or -1) takes the item out.
        """
        self._key = key
        self.entries: list[tuple[int, int, T]] = []
        self._sequence = 0
        self._sweep_at = _SMALLEST_SWEEP

    def __len__(self) -> int:
        """Return the number of entries, stale ones included."""
        return len(self.entries)

    def add(self, item: T) -> None:
        """Put an item in under its present key."""
        self._sequence += 1
        entries = self.entries
        heappush(entries, (self._key(item), self._sequence, item))
        if len(entries) >= self._sweep_at:
            self._sweep()

    def first_key(self, otherwise: int) -> int:
        """Return the lowest key, or ``otherwise`` when there is none."""
        entries = self.entries
        while entries:
            key, _, item = entries[0]
            if self._key(item) == key:
                return key
            heappop(entries)
        return otherwise

    def first(self) -> T | None:
        """Return the item with the lowest key and leave it in; None when there is none."""
        entries = self.entries
        while entries:
            key, _, item = entries[0]
            if self._key(item) == key:
                return item
            heappop(entries)
        return None

    def due(self, until: int) -> T | None:
        """Return the item with the lowest key if that is at most ``until``, and leave it in; otherwise None."""
        entries = self.entries
        while entries and entries[0][0] <= until:
            key, _, item = entries[0]
            if self._key(item) == key:
                return item
            heappop(entries)
        return None

    def drop(self, item: T) -> None:
        """Take out the entry of an item that :meth:`first` has just returned; another's is left alone."""
        if self.entries and self.entries[0][2] is item:
            heappop(self.entries)

    def _sweep(self) -> None:
        """Drop stale entries, and all but the first of an item that was put in twice under one key.

        The next sweep comes when the rest has doubled, so that an entry is swept past a constant number of times.
        """
        key = self._key
        live = [entry for entry in self.entries if key(entry[2]) == entry[0]]
        live.sort(key=itemgetter(0, 1))  # the live ones only: of those who expire, most have long been served
        kept: dict[int, tuple[int, int, T]] = {}
        for entry in live:
            kept.setdefault(id(entry[2]), entry)
        self.entries = list(kept.values())  # in order, and so a heap
        self._sweep_at = max(_SMALLEST_SWEEP, 2 * len(self.entries))
