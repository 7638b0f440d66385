"""The circuit breaker: stops calls to a provider that fails, and lets a few probes ask whether it is back.

::

    closed ──(failures in a row, or failure rate)──> open ──(open_ns later)──> half-open
       ^                                              ^                          │  │
       └────────────────(a probe succeeds)────────────┼──────────────────────────┘  │
                                                      └────(a probe fails, or is told to wait)

Every admission carries the *generation* of the breaker, which changes at each transition, and an outcome from another
generation is ignored: a slow call that was let in before the breaker opened can neither close it nor use up a probe's
place. Source of the rules: specification 01, "Retry-After, breakers, retry pressure".

The breaker knows nothing of providers or of what a call is. It is not safe to share between threads without a lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from tollgate.core.errors import ConfigError

__all__ = [
    "CANCELLED",
    "FAILURE",
    "SUCCESS",
    "TRANSITIONS_HELD_MAX",
    "Breaker",
    "BreakerConfig",
    "BreakerState",
    "Cancelled",
    "Failure",
    "FailureRateWindow",
    "Outcome",
    "Pass",
    "Probe",
    "RetryAfter",
    "Success",
    "Transition",
]

TRANSITIONS_HELD_MAX = 1024
"""Transitions kept for :meth:`Breaker.drain_transitions`; older ones are dropped. One call makes at most one, so that a
caller who drains after each call misses none, and one who never does cannot fill the memory."""


class BreakerState(StrEnum):
    """The three states; the values are labels in evidence."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


@dataclass(frozen=True, slots=True)
class FailureRateWindow:
    """Open on a rate of failures over the last calls, besides failures in a row.

    Args:
        calls: How many of the latest successes and failures are looked at, at least 1.
        minimum_calls: How many there must be before the rate means anything, from 1 to ``calls``.
        failure_rate: Share of failures, above 0 and at most 1, from which the breaker opens.

    Raises:
        ConfigError: Naming the field.
    """

    calls: int
    minimum_calls: int
    failure_rate: Fraction

    def __post_init__(self) -> None:
        _check_positive("calls", self.calls)
        _check_positive("minimum_calls", self.minimum_calls)
        if self.minimum_calls > self.calls:
            raise ConfigError("minimum_calls", self.minimum_calls, f"at most the window of {self.calls} calls")
        if type(self.failure_rate) is not Fraction or not 0 < self.failure_rate <= 1:
            raise ConfigError("failure_rate", self.failure_rate, "an exact fraction above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class BreakerConfig:
    """When to open, for how long, and how carefully to try again.

    Args:
        failure_threshold: Failures in a row that open it, at least 1.
        open_ns: How long it lets nothing through, nanoseconds, at least 1.
        half_open_max_calls: Probes in flight at once when half-open, at least 1: with 0 it could never close again.
        window: Also open on a rate of failures.

    Raises:
        ConfigError: Naming the field.
    """

    failure_threshold: int
    open_ns: int
    half_open_max_calls: int
    window: FailureRateWindow | None = None

    def __post_init__(self) -> None:
        _check_positive("failure_threshold", self.failure_threshold)
        _check_positive("open_ns", self.open_ns)
        _check_positive("half_open_max_calls", self.half_open_max_calls)


@dataclass(frozen=True, slots=True)
class Success:
    """The call did what it was asked."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider failed."""


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The caller left: this says nothing about the provider."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """The provider is there and asked for a pause.

    Attributes:
        ns: Nanoseconds from the moment of the answer, as the provider said. What a header holds may be negative, absurd
            or no number at all; the controller clamps it before anything relies on it.
    """

    ns: int


Outcome = Success | Failure | Cancelled | RetryAfter
"""How a call ended, as far as a breaker cares."""

SUCCESS = Success()
FAILURE = Failure()
CANCELLED = Cancelled()


class Pass:
    """Admission by a closed breaker. One object is shared by all calls of a generation.

    Attributes:
        generation: The breaker's generation when it was given.
    """

    __slots__ = ("generation",)

    def __init__(self, generation: int) -> None:
        self.generation = generation


class Probe:
    """Admission of one probe by a half-open breaker.

    Attributes:
        generation: The breaker's generation when it was given.
        is_settled: Whether its outcome was recorded; a second one is ignored.
    """

    __slots__ = ("generation", "is_settled")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.is_settled = False


class Transition(NamedTuple):
    """One change of state.

    Attributes:
        from_state: State before.
        to_state: State after.
        at_ns: When. Half-open begins at exactly the instant the opening ends, whenever it was noticed.
        failures: Failures in a row at that moment; a failed probe counts as one more.
    """

    from_state: BreakerState
    to_state: BreakerState
    at_ns: int
    failures: int


class Breaker:
    """A circuit breaker.

    Attributes:
        config: The thresholds; change them with :meth:`set_config`.
        state: Where it stands. An open breaker whose time is up stays ``OPEN`` here until :meth:`try_acquire` needs to
            know; the transition then carries the true instant.
        generation: Number of transitions so far.
        failures: Failures in a row. A success, and closing, sets it to 0.

    >>> breaker = Breaker(BreakerConfig(failure_threshold=1, open_ns=30, half_open_max_calls=1))
    >>> breaker.record(breaker.try_acquire(now_ns=0), FAILURE, now_ns=5)
    >>> breaker.try_acquire(now_ns=34) is None, breaker.wait_ns(now_ns=34)
    (True, 1)
    >>> breaker.record(breaker.try_acquire(now_ns=35), SUCCESS, now_ns=40)
    >>> breaker.state
    <BreakerState.CLOSED: 'closed'>
    """

    __slots__ = (
        "_pass",
        "_probes_in_flight",
        "_recent",
        "_reopens_ns",
        "_transitions",
        "config",
        "failures",
        "generation",
        "state",
    )

    def __init__(self, config: BreakerConfig) -> None:
        self.config = config
        self.state = BreakerState.CLOSED
        self.generation = 0
        self.failures = 0
        self._pass = Pass(0)
        self._probes_in_flight = 0
        self._reopens_ns = 0  # when it turns half-open; means something only while open
        self._recent: deque[bool] = deque(maxlen=config.window.calls if config.window else 0)  # True = failed
        self._transitions: deque[Transition] = deque(maxlen=TRANSITIONS_HELD_MAX)

    def __repr__(self) -> str:
        return f"Breaker(state={self.state.value}, generation={self.generation}, failures={self.failures})"

    @property
    def is_fresh(self) -> bool:
        """Whether a new breaker in its place would decide the same: closed, and no failure that still counts."""
        return self.state is BreakerState.CLOSED and self.failures == 0 and not any(self._recent)

    def try_acquire(self, now_ns: int) -> Pass | Probe | None:
        """Let a call through, or not.

        Returns:
            A :class:`Pass` while closed, a :class:`Probe` while half-open with a place for one, otherwise None. What
            is returned goes back to :meth:`record` once the call has ended.
        """
        if self.state is BreakerState.CLOSED:
            return self._pass
        if self.state is BreakerState.OPEN:
            if now_ns < self._reopens_ns:
                return None
            self._move(BreakerState.HALF_OPEN, self._reopens_ns)
        if self._probes_in_flight >= self.config.half_open_max_calls:
            return None
        self._probes_in_flight += 1
        return Probe(self.generation)

    def may_acquire(self, now_ns: int) -> bool:
        """Return whether :meth:`try_acquire` would let a call through at this instant; changes nothing."""
        if self.state is BreakerState.CLOSED:
            return True
        if self.state is BreakerState.OPEN:
            return now_ns >= self._reopens_ns
        return self._probes_in_flight < self.config.half_open_max_calls

    def wait_ns(self, now_ns: int) -> int | None:
        """Return how long until a call could be let through.

        Returns:
            Nanoseconds, 0 if one would be let through now; None when half-open with every probe in flight, since only
            an outcome can change that.
        """
        if self.state is BreakerState.OPEN:
            return max(self._reopens_ns - now_ns, 0)
        return 0 if self.may_acquire(now_ns) else None

    def record(self, handle: Pass | Probe, outcome: Outcome, now_ns: int) -> None:
        """Take in how a call ended.

        Args:
            handle: What :meth:`try_acquire` returned for it. Of another generation, or a probe recorded before, it has
                no effect. A shared pass cannot tell: its caller records each call once.
            outcome: How it ended.
            now_ns: When it ended.
        """
        if handle.generation != self.generation:
            return
        if isinstance(handle, Probe):
            if not handle.is_settled:
                handle.is_settled = True
                self._probes_in_flight -= 1
                self._judge_probe(outcome, now_ns)
        else:
            self._count(outcome, now_ns)

    def set_config(self, config: BreakerConfig, now_ns: int) -> None:
        """Change the thresholds; state, failures and probes in flight stay.

        An opening under way ends when it was announced to end, and a lower threshold acts at the next failure.

        Args:
            config: The new thresholds.
            now_ns: The instant; an open breaker whose time is up by then turns half-open first, under the old ones.
        """
        if self.state is BreakerState.OPEN and now_ns >= self._reopens_ns:
            self._move(BreakerState.HALF_OPEN, self._reopens_ns)
        self.config = config
        self._recent = deque(self._recent, maxlen=config.window.calls if config.window else 0)

    def drain_transitions(self) -> tuple[Transition, ...]:
        """Return the transitions since the last call, oldest first, and forget them."""
        if not self._transitions:
            return ()
        drained = tuple(self._transitions)
        self._transitions.clear()
        return drained

    def _count(self, outcome: Outcome, now_ns: int) -> None:
        """Take in the outcome of an ordinary call while closed; the neutral ones change nothing."""
        if isinstance(outcome, Success):
            self.failures = 0
            self._recent.append(False)
        elif isinstance(outcome, Failure):
            self.failures += 1
            self._recent.append(True)
            if self.failures >= self.config.failure_threshold or self._rate_is_reached():
                self._open(now_ns, self.config.open_ns)

    def _judge_probe(self, outcome: Outcome, now_ns: int) -> None:
        """Take in the outcome of a probe; a cancelled one has freed its place and says nothing more."""
        if isinstance(outcome, Success):
            self.failures = 0
            self._move(BreakerState.CLOSED, now_ns)
        elif isinstance(outcome, Failure):
            self.failures += 1
            self._open(now_ns, self.config.open_ns)
        elif isinstance(outcome, RetryAfter):
            self._open(now_ns, max(outcome.ns, self.config.open_ns))

    def _rate_is_reached(self) -> bool:
        window = self.config.window
        if window is None or len(self._recent) < window.minimum_calls:
            return False
        rate = window.failure_rate
        return sum(self._recent) * rate.denominator >= rate.numerator * len(self._recent)

    def _open(self, now_ns: int, pause_ns: int) -> None:
        self._reopens_ns = now_ns + pause_ns
        self._move(BreakerState.OPEN, now_ns)

    def _move(self, to_state: BreakerState, at_ns: int) -> None:
        self._transitions.append(Transition(self.state, to_state, at_ns, self.failures))
        self.state = to_state
        self.generation += 1
        self._probes_in_flight = 0
        self._recent.clear()
        if to_state is BreakerState.CLOSED:
            self._pass = Pass(self.generation)


def _check_positive(field: str, value: int) -> None:
    if type(value) is not int or value < 1:
        raise ConfigError(field, value, "an integer of at least 1")
