"""Where calls are served: so many at a time, in turn or sharing, at a speed that may depend on how many there are.

All calls in service run at one rate, so a single figure, the work that each of them has been given so far, says when
any of them ends: a call that began when the figure stood at v and needs w ends when it reaches v + w (virtual time,
as in Parekh and Gallager, IEEE/ACM ToN 1993, with equal weights). Beginning, ending and leaving cost the logarithm of
the number of calls.

**Arithmetic.** The figure counts *grains*, parts of a nanosecond of work so small that every rate seen so far gives a
whole number of them each nanosecond; a rate with a new denominator makes them smaller. So nothing is rounded but the
end of a call: it ends at the first whole nanosecond at which its work is done, and keeps its place until then. A
nanosecond has never more than 2^512 grains; beyond, a rate is rounded down to whole grains.

This module owns that arithmetic. It must not know what a call is for, or why the speed changes.
"""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import Final, Literal

from sim.manifest.providers import Slowdown
from tollgate.core.errors import InvariantViolation

SCALE_BITS_MAX: Final = 512
"""Grains a nanosecond: at most two to this. Shares of 1/n are exact for all n up to about 350 then, and what a rate
loses beyond that is below 2^-200 of it."""


class Visit:
    """One call in a station.

    Attributes:
        call: Whose it is; the station does not look at it.
        attempt: Which attempt of that call.
        cause: How it is going to end; the station does not look at it either.
        is_over: Whether it has ended or left.
        is_served: Whether it is in service; until then it queues.
    """

    __slots__ = ("attempt", "call", "cause", "is_over", "is_served")

    def __init__(self, call: object, attempt: int, cause: int) -> None:
        """Make a visit that has not begun."""
        self.call = call
        self.attempt = attempt
        self.cause = cause
        self.is_over = False
        self.is_served = False


class Station:
    """Servers and the queue before them.

    Instants must not go back, and none may be passed at which a call ends: ask :meth:`next_ns`, then :meth:`finished`.

    Attributes:
        in_service: Calls in service.
        queued: Calls that queue.
    """

    __slots__ = (
        "_at_ns",
        "_due",
        "_given",
        "_next_ns",
        "_number",
        "_pace",
        "_paces",
        "_queue",
        "_scale",
        "_seats",
        "_servers",
        "_slowdown",
        "_speed",
        "in_service",
        "queued",
    )

    def __init__(
        self,
        servers: int | None = None,
        sharing: Literal["fifo", "processor"] = "fifo",
        slowdown: Slowdown | None = None,
    ) -> None:
        """Open at instant 0 with nobody there.

        Args:
            servers: Calls served at full speed at once; None for any number.
            sharing: What becomes of more calls than that: they queue, or all share the servers alike.
            slowdown: How calls in service slow each other down besides; None for not at all.
        """
        self.in_service = 0
        self.queued = 0
        self._servers = servers
        self._seats = servers if sharing == "fifo" else None
        self._slowdown = slowdown
        self._speed = Fraction(1)
        self._at_ns = 0
        self._given = 0  # grains of work that each call in service has been given by now, since nobody was there
        self._scale = 1  # grains to a nanosecond of work
        self._pace = 0  # grains each call is given a nanosecond
        self._paces: dict[int, int] = {}  # by calls in service, at the present speed and scale
        self._due: list[
            tuple[int, int, Visit]
        ] = []  # what `_given` must reach, in order; visits that left stay for a while
        self._queue: deque[tuple[Visit, int]] = deque()  # likewise
        self._number = 0
        self._next_ns: int | None = None

    def begin(self, visit: Visit, work_ns: int, now_ns: int) -> None:
        """Take in a call.

        Args:
            visit: The call.
            work_ns: What it takes alone at full speed, ns, at least 1.
            now_ns: The instant.
        """
        self._advance(now_ns)
        if self._seats is not None and self.in_service >= self._seats:
            self._queue.append((visit, work_ns))
            self.queued += 1
            return
        self._serve(visit, work_ns)
        self._repace()

    def leave(self, visit: Visit, now_ns: int) -> None:
        """Take out a call that is not over: its place is free at once."""
        self._advance(now_ns)
        if visit.is_over:
            raise InvariantViolation("a call left its provider twice")
        visit.is_over = True
        if visit.is_served:
            self.in_service -= 1
            self._fill()
        else:
            self.queued -= 1
        self._repace()

    def set_speed(self, speed: Fraction, now_ns: int) -> None:
        """Let every call run at a share of its usual rate from now on; 0 stops them all.

        Args:
            speed: From 0 to 1.
            now_ns: The instant.
        """
        self._advance(now_ns)
        self._speed = speed
        self._paces.clear()
        self._repace()

    def finished(self, now_ns: int) -> list[Visit]:
        """Return the calls that end at this instant, in the order in which their work was done; their places are free.

        Raises:
            InvariantViolation: If one should have ended before it.
        """
        self._advance(now_ns)
        over = []
        while self._due and (self._due[0][2].is_over or self._due[0][0] <= self._given):
            _, _, visit = heappop(self._due)
            if not visit.is_over:
                visit.is_over = True
                over.append(visit)
        if over:
            self.in_service -= len(over)
            self._fill()
            self._repace()
        return over

    def next_ns(self) -> int | None:
        """Return when the next call ends if nothing changes; None where none does."""
        return self._next_ns

    def _advance(self, now_ns: int) -> None:
        if now_ns < self._at_ns or (self._next_ns is not None and now_ns > self._next_ns):
            raise InvariantViolation(
                f"a provider that stands at {self._at_ns} ns, with a call that ends at {self._next_ns} ns,"
                f" was asked about {now_ns} ns"
            )
        self._given += self._pace * (now_ns - self._at_ns)
        self._at_ns = now_ns

    def _serve(self, visit: Visit, work_ns: int) -> None:
        visit.is_served = True
        self.in_service += 1
        self._number += 1
        heappush(self._due, (self._given + work_ns * self._scale, self._number, visit))

    def _fill(self) -> None:
        """Let those who queue take the places that are free."""
        while self._queue and (self._seats is None or self.in_service < self._seats):
            visit, work_ns = self._queue.popleft()
            if not visit.is_over:
                self.queued -= 1
                self._serve(visit, work_ns)

    def _repace(self) -> None:
        """Work out the rate of each call, and when the next one ends."""
        if self.in_service == 0:
            self._due.clear()
            self._given = self._pace = 0
            self._next_ns = None
            return
        pace = self._paces.get(self.in_service)
        if pace is None:
            pace = self._paces[self.in_service] = self._grains(self._rate(self.in_service))
        self._pace = pace
        while self._due[0][2].is_over:
            heappop(self._due)
        left = self._due[0][0] - self._given
        self._next_ns = self._at_ns if left <= 0 else self._at_ns - (-left // pace) if pace else None

    def _rate(self, calls: int) -> Fraction:
        """Return the rate of each of so many calls in service, from 0 to 1."""
        rate = self._speed
        if self._servers is not None and calls > self._servers:
            rate *= Fraction(self._servers, calls)
        if self._slowdown is not None and calls > self._slowdown.above:
            rate /= 1 + self._slowdown.per_call * (calls - self._slowdown.above)
        return rate

    def _grains(self, rate: Fraction) -> int:
        """Return a rate in grains a nanosecond, after making them smaller if they do not divide it."""
        finer = lcm(self._scale, rate.denominator) // self._scale
        if finer > 1 and (self._scale * finer).bit_length() <= SCALE_BITS_MAX:
            self._scale *= finer
            self._given *= finer
            self._due = [(due * finer, number, visit) for due, number, visit in self._due]
            self._paces = {calls: pace * finer for calls, pace in self._paces.items()}
        return rate.numerator * self._scale // rate.denominator
