"""Typed rows of one run: what the world writes and what ``sim.measure`` reads.

Owns the layout of the rows, their codes, and the hand-over in blocks. The world (or a baseline) extends the flat
lists ``attempts``, ``requests`` and ``levels`` with one tuple a row; once a block is full it becomes a numpy array of
shape ``(n, width)`` and goes to every consumer. Memory is one block, whatever the length of the run.

Must not know: manifests, controllers, metrics. Times are integer nanoseconds from the start of the run; principals,
providers, streams and phases are indices into the manifest's lists, in its order.

What a writer promises:

* Ordinals count arrivals from 0 in order of intended arrival, and attempt 1 is requested at the intended arrival.
* An attempt's row is written when it ends, a request's row when it settles, after the rows of its attempts. A request
  whose caller left a call that goes on has its rows when that call ends; it settled when it was left.
* Level rows are written in order of time: ``+1`` and ``-1`` on ``QUEUE`` for every attempt that waits (one that is
  decided as soon as it asks never joins the queue), ``+1`` and ``-1`` on ``ACTIVE`` for every call. What leaves the
  queue to be served has its ``ACTIVE`` row right behind its ``QUEUE`` row.
* What is unsettled at the end gets a request row with ``IN_FLIGHT`` and ``settled_ns`` = end.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tollgate.core.deny import DenyReason
from tollgate.core.errors import InvariantViolation

Rows = NDArray[np.int64]
"""A block of rows, shape ``(n, width)``; columns by ``AttemptCol``, ``RequestCol`` or ``LevelCol``."""

NONE: Final = -1
"""Stands for "no reason", "no hold" and "no signal" in a column of codes or times."""

REASONS: Final = tuple(DenyReason)
"""Reason codes are positions in this tuple."""

REASON_CODE: Final = {reason: code for code, reason in enumerate(REASONS)}

BLOCK_ROWS: Final = 1 << 14
"""Rows a block: large enough to spread numpy's cost a call (about 1 us), small enough to stay in a 2 MB cache."""


class AttemptOutcome(IntEnum):
    """How one attempt ended."""

    COMPLETED = 0
    FAILED = 1
    SHED = 2  # refused by admission; decided == ended
    CANCELLED = 3  # left before it was admitted; decided == ended
    ABORTED = 4  # left while in service


class RequestOutcome(IntEnum):
    """How one request settled."""

    COMPLETED = 0
    FAILED = 1
    SHED = 2
    CANCELLED = 3
    IN_FLIGHT = 4  # unsettled when the run ended


class Cause(IntEnum):
    """Why an attempt that was admitted did not do what it was to do; ``NONE`` for one that did, or was cancelled."""

    PROVIDER_ERROR = 0  # the provider failed
    OUTAGE = 1  # it failed because of an outage
    RATE_LIMIT = 2  # its own limits turned the call away: 429
    THROTTLE_STORM = 3  # an outage turned the call away: 429
    TIMEOUT = 4  # its caller lost patience

    @property
    def text(self) -> str:
        """What is told of such an attempt, in half a sentence."""
        return _CAUSE_TEXTS[self]


_CAUSE_TEXTS: Final = {
    Cause.PROVIDER_ERROR: "the provider failed",
    Cause.OUTAGE: "the provider had an outage",
    Cause.RATE_LIMIT: "the provider's own limits had no room (429)",
    Cause.THROTTLE_STORM: "the provider turned calls away in an outage (429)",
    Cause.TIMEOUT: "the caller's time-out was over",
}


class Stop(IntEnum):
    """What kept a client from an attempt that its policy had left."""

    BUDGET = 0  # its retry budget was used up
    RETRY_AFTER = 1  # the announced wait was beyond what it waits out


class LevelKind(IntEnum):
    """Which level a row changes."""

    ACTIVE = 0  # calls in service
    QUEUE = 1  # requests waiting for admission


class AttemptCol(IntEnum):
    """Columns of an attempt row; the first five are a request row's too, so that a writer makes them once a request."""

    ORDINAL = 0
    STREAM = 1
    PRINCIPAL = 2
    PROVIDER = 3
    PHASE = 4  # the arrival's phase, for retries too
    ATTEMPT = 5  # from 1
    REQUESTED = 6  # ns
    DECIDED = 7  # ns; admitted, refused or left
    ENDED = 8  # ns
    OUTCOME = 9  # AttemptOutcome
    REASON = 10  # index into REASONS, or NONE
    HOLD = 11  # tollgate.decision.evidence.Hold of the first deferral, or NONE
    ELIGIBLE_WAIT = 12  # ns that it was eligible at the head of its lane and not served, refused ones included
    TOKENS = 13
    CAUSE = 14  # Cause, or NONE


class RequestCol(IntEnum):
    """Columns of a request row."""

    ORDINAL = 0
    STREAM = 1
    PRINCIPAL = 2
    PROVIDER = 3
    PHASE = 4
    INTENDED = 5  # ns; when the client meant to ask
    SETTLED = 6  # ns
    OUTCOME = 7  # RequestOutcome
    REASON = 8  # index into REASONS, or NONE
    ATTEMPTS = 9
    ADMISSIONS = 10
    SIGNAL = 11  # ns the cancellation fired, or NONE
    TOKENS = 12  # as estimated
    ACTUAL_TOKENS = 13  # as used: prompt and output
    STOPPED = 14  # Stop, or NONE


class LevelCol(IntEnum):
    """Columns of a level row."""

    AT = 0  # ns
    DELTA = 1  # +1 or -1
    KIND = 2  # LevelKind
    PRINCIPAL = 3
    PROVIDER = 4
    AMOUNT = 5  # ACTIVE +1: tokens drawn; QUEUE -1: ELIGIBLE_WAIT of what leaves, NONE if not known; else 0


class TransitionRow(NamedTuple):
    """A breaker's change of state, in order of time."""

    provider: int
    from_state: str
    to_state: str
    at_ns: int
    failures: int
    cause_ordinal: int


class PauseRow(NamedTuple):
    """A provider's announced pause (Retry-After), in order of ``from_ns``; pauses of one provider may overlap."""

    provider: int
    from_ns: int
    until_ns: int


class HeadRow(NamedTuple):
    """A lane whose head is eligible when the run ends."""

    principal: int
    provider: int
    since_ns: int


class RunEnd(NamedTuple):
    """What a consumer learns when the run is over."""

    at_ns: int
    arrivals: int  # offered, counted where they were offered and not from the rows
    transitions: tuple[TransitionRow, ...]
    pauses: tuple[PauseRow, ...]
    heads: tuple[HeadRow, ...] = ()


class Consumer:
    """Reads a trace block by block; a subclass overrides what it reads.

    A block's levels come first, then its attempts, then its requests. A block belongs to the call: copy what must
    outlive it, change nothing in it.
    """

    def levels(self, rows: Rows) -> None:
        """Take level rows, shape ``(n, len(LevelCol))``, times never falling."""

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows, shape ``(n, len(AttemptCol))``."""

    def requests(self, rows: Rows) -> None:
        """Take request rows, shape ``(n, len(RequestCol))``."""

    def close(self, end: RunEnd) -> None:
        """Take the end of the run."""


class Trace:
    """The writer's side: three flat lists of integers, three lists of rare rows, and the hand-over.

    The lists keep their identity, so a writer may hold ``trace.attempts.extend`` in a local name.
    """

    __slots__ = ("_consumers", "_full", "attempts", "heads", "levels", "pauses", "requests", "transitions")

    def __init__(self, consumers: Sequence[Consumer], *, block_rows: int = BLOCK_ROWS) -> None:
        """Create an empty trace; ``block_rows`` is about how many rows of one kind a block holds."""
        self._consumers = tuple(consumers)
        self._full = (block_rows * len(LevelCol), block_rows * len(AttemptCol))
        self.attempts: list[int] = []
        self.requests: list[int] = []
        self.levels: list[int] = []
        self.transitions: list[tuple[int, str, str, int, int, int]] = []
        self.pauses: list[tuple[int, int, int]] = []
        self.heads: list[tuple[int, int, int]] = []

    def flush_if_full(self) -> None:
        """Hand over the block if one of the lists holds a block's worth of rows. Cheap: call it once per arrival."""
        levels_full, attempts_full = self._full
        if len(self.levels) >= levels_full or len(self.attempts) >= attempts_full:
            self.flush()

    def flush(self) -> None:
        """Hand over what is there.

        Raises:
            InvariantViolation: If a list does not hold whole rows.
        """
        attempts = _block(self.attempts, len(AttemptCol), "attempts")
        requests = _block(self.requests, len(RequestCol), "requests")
        levels = _block(self.levels, len(LevelCol), "levels")
        for consumer in self._consumers:
            if len(levels):
                consumer.levels(levels)
            if len(attempts):
                consumer.attempts(attempts)
            if len(requests):
                consumer.requests(requests)

    def close(self, end_ns: int, arrivals: int) -> None:
        """Hand over the rest and the end of the run.

        Args:
            end_ns: The instant the run ended, ns.
            arrivals: How many arrivals were offered, counted where they were offered and not from the rows.
        """
        self.flush()
        transitions = tuple(TransitionRow(*row) for row in self.transitions)
        pauses = tuple(PauseRow(*row) for row in self.pauses)
        end = RunEnd(end_ns, arrivals, transitions, pauses, tuple(HeadRow(*row) for row in self.heads))
        for consumer in self._consumers:
            consumer.close(end)


def _block(flat: list[int], width: int, name: str) -> Rows:
    """Turn a flat list into rows and empty it in place (``fromiter`` is twice as fast here as ``np.array``)."""
    if len(flat) % width:
        raise InvariantViolation(f"trace.{name}: {len(flat)} integers are no whole number of rows of {width}")
    rows = np.fromiter(flat, dtype=np.int64, count=len(flat)).reshape(-1, width)
    flat.clear()
    return rows
