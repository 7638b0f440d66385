"""The reference harness's clock: whole milliseconds, timers by due time and then by age.

This module owns the order in which timers fire, which decides the order inside one instant. It must not know what
fires.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Generic, TypeVar

Subject = TypeVar("Subject")

NEVER: Final = (1 << 62, 0)
"""Later than every timer."""


class Timeline(Generic[Subject]):
    """A clock with timers, and with the controller's wake timer: one at most, replaced all the time.

    Attributes:
        now: Time, ms from the start.
    """

    __slots__ = ("_age", "_is_advancing", "_timers", "_wake_at", "now")

    def __init__(self) -> None:
        self.now = 0
        self._timers: list[tuple[int, int, Callable[[Subject], None], Subject]] = []
        self._wake_at = NEVER
        self._age = 0
        self._is_advancing = False

    def after(self, wait_ms: int, action: Callable[[Subject], None], subject: Subject) -> None:
        """Let ``action(subject)`` run ``wait_ms`` from now."""
        due, age = self._due(wait_ms)
        heappush(self._timers, (due, age, action, subject))

    def start(self, wait_ms: int) -> None:
        """Start the wake timer; as the youngest timer, it comes last in its instant."""
        self._wake_at = self._due(wait_ms)

    def drop(self) -> None:
        """Stop the wake timer."""
        self._wake_at = NEVER

    def advance(self, to: int, wake: Callable[[], None], between: Callable[[], None]) -> None:
        """Run every timer due up to and including ``to``, in order, and let it be ``to``.

        Args:
            to: Time to stop at, ms.
            wake: What the wake timer does.
            between: Run before the first timer and after each: the consequences of one are over before the next fires.
        """
        self._is_advancing = True
        between()
        timers = self._timers
        while True:
            if timers and timers[0][:2] < self._wake_at:
                if timers[0][0] > to:
                    break
                self.now, _, action, subject = heappop(timers)
                action(subject)
            else:
                if self._wake_at[0] > to:
                    break
                self.now = self._wake_at[0]
                self._wake_at = NEVER
                wake()
            between()
        self.now = to
        self._is_advancing = False

    def _due(self, wait_ms: int) -> tuple[int, int]:
        """Return when a timer fires, and its age. One of no length takes 1 ms while the clock advances."""
        self._age += 1
        return self.now + (wait_ms or int(self._is_advancing)), self._age
