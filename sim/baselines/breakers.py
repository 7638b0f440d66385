"""Two breakers for the reference controller: its own, and the shipped one in its place.

The quirky breaker is the reference's. The correct one is ``tollgate.core.breaker`` behind the same four methods, so
that a comparison can tell what the breaker's quirks do from what everything else does. This module owns both; it must
not know lanes, permits or waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from sim.baselines.limits import BreakerLimits
from tollgate.core.breaker import (
    CANCELLED,
    Breaker,
    BreakerConfig,
    BreakerState,
    Outcome,
    Pass,
    Probe,
    RetryAfter,
    Success,
)
from tollgate.core.errors import InvariantViolation
from tollgate.core.units import NS_PER_MS

PROBE_WAIT_MS: Final = 25
"""How long the reference waits for the outcome of a half-open breaker's calls, before its usual factor of 7/8."""


class BreakerChange(NamedTuple):
    """One change of state: whose, from what to what, when, and the failures counted at that moment."""

    provider: str
    from_state: BreakerState
    to_state: BreakerState
    at_ms: int
    failures: int


class ProviderBreaker(Protocol):
    """What the controller asks of a breaker. Handles are opaque: what ``admit`` returns goes back to ``release``."""

    def wait_ms(self, now: int) -> int | None:
        """Return None if a call may go, else after how many ms to look again. It may turn half-open here."""
        ...

    def admit(self, now: int) -> object:
        """Count a call that goes."""
        ...

    def release(self, handle: object, outcome: Outcome | None, now: int) -> None:
        """Take the end of a call; None where nobody told how it went."""
        ...


class NoBreaker:
    """A provider without a breaker: everything may go."""

    def wait_ms(self, now: int) -> int | None:  # noqa: ARG002, D102
        return None

    def admit(self, now: int) -> object:  # noqa: ARG002, D102
        return None

    def release(self, handle: object, outcome: Outcome | None, now: int) -> None:  # noqa: D102
        pass


class QuirkyBreaker:
    """The reference's breaker.

    It keeps no account of which call is a probe: whatever ends while it is half-open counts as one (Q6), any success
    closes it whenever its call was admitted (Q5), a cancelled call is a failure (Q7), and a Retry-After settles nothing
    (Q8). The count of failures goes on growing while it is open; only a success clears it.
    """

    __slots__ = ("_changed", "_failures", "_half_open_calls", "_limits", "_opened_at", "_provider", "_state")

    def __init__(self, provider: str, limits: BreakerLimits, changed: Callable[[BreakerChange], None]) -> None:
        self._provider = provider
        self._limits = limits
        self._changed = changed
        self._state = BreakerState.CLOSED
        self._failures = 0
        self._opened_at = 0
        self._half_open_calls = 0

    def wait_ms(self, now: int) -> int | None:
        """Return None if a call may go, else after how many ms to look again.

        It turns half-open here, at a look, and stays so even if something else then holds the call (Q18).
        """
        if self._state is BreakerState.CLOSED:
            return None
        if self._state is BreakerState.OPEN:
            ready_at = self._opened_at + self._limits.open_ms
            if now < ready_at:
                return ready_at - now
            self._half_open_calls = 0
            self._move(BreakerState.HALF_OPEN, now)
        return PROBE_WAIT_MS if self._half_open_calls >= self._limits.half_open_max_calls else None

    def admit(self, now: int) -> object:  # noqa: ARG002 - the correct breaker needs the time
        """Count a call that goes."""
        if self._state is BreakerState.HALF_OPEN:
            self._half_open_calls += 1
        return None

    def release(self, handle: object, outcome: Outcome | None, now: int) -> None:  # noqa: ARG002 - it knows no calls apart
        """Take the end of a call, whichever state it was admitted in."""
        if self._state is BreakerState.HALF_OPEN and self._half_open_calls > 0:
            self._half_open_calls -= 1
        if outcome is None or isinstance(outcome, RetryAfter):
            return
        if isinstance(outcome, Success):
            self._failures = 0
            if self._state is not BreakerState.CLOSED:
                self._move(BreakerState.CLOSED, now)
            return
        self._failures += 1
        if self._failures >= self._limits.failure_threshold and self._state is not BreakerState.OPEN:
            self._opened_at = now
            self._move(BreakerState.OPEN, now)

    def _move(self, to_state: BreakerState, now: int) -> None:
        self._changed(BreakerChange(self._provider, self._state, to_state, now, self._failures))
        self._state = to_state


class CorrectBreaker:
    """The shipped breaker in the reference's place: true probes, generations, cancellations neutral."""

    __slots__ = ("_breaker", "_changed", "_provider")

    def __init__(self, provider: str, limits: BreakerLimits, changed: Callable[[BreakerChange], None]) -> None:
        self._provider = provider
        self._changed = changed
        self._breaker = Breaker(
            BreakerConfig(
                failure_threshold=limits.failure_threshold,
                open_ns=limits.open_ms * NS_PER_MS,
                half_open_max_calls=limits.half_open_max_calls,
            )
        )

    def wait_ms(self, now: int) -> int | None:
        """Return None if a call may go, else after how many ms to look again."""
        now_ns = now * NS_PER_MS
        if self._breaker.may_acquire(now_ns):
            return None
        wait_ns = self._breaker.wait_ns(now_ns)
        return PROBE_WAIT_MS if wait_ns is None else -(-wait_ns // NS_PER_MS)

    def admit(self, now: int) -> object:
        """Take a place among the calls it lets through.

        Raises:
            InvariantViolation: If it lets none through although ``wait_ms`` said so.
        """
        handle = self._breaker.try_acquire(now * NS_PER_MS)
        if handle is None:
            raise InvariantViolation(f"the breaker of {self._provider} refused a call at {now} ms that it had let pass")
        self._report()
        return handle

    def release(self, handle: object, outcome: Outcome | None, now: int) -> None:
        """Take the end of a call.

        Raises:
            InvariantViolation: If the handle is not one of its own.
        """
        if not isinstance(handle, Pass | Probe):
            raise InvariantViolation(f"the breaker of {self._provider} was given {handle!r} for a handle")
        self._breaker.record(handle, CANCELLED if outcome is None else outcome, now * NS_PER_MS)
        self._report()

    def _report(self) -> None:
        for change in self._breaker.drain_transitions():
            at_ms = change.at_ns // NS_PER_MS
            self._changed(BreakerChange(self._provider, change.from_state, change.to_state, at_ms, change.failures))
