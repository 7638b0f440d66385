"""A simulated provider that is more than a service time: own limits, outages, failures and load, at given instants.

What happens to a call is settled when it begins, in this order: an error outage answers it, a throttling one does,
the provider's own limits do; else it is served, for its own work times the factor of an outage that slows it, and
ends well or failed. Answers that are no service take no server. A call that is served where load or a stall matters
is a visit in the :mod:`station <sim.world.provider_station>`; everywhere else its end is known at once.

What is drawn is derived from the arrival's own word and the attempt, or comes from the provider's own stream in time,
so that limits shift nothing (decision 0031). This module owns that order. It has no clock and schedules nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from typing import Final, NamedTuple, Protocol

from sim.manifest.providers import Outage, ProviderModel
from sim.seeds import Words, derived_word
from sim.trace import NONE, Cause
from sim.workload.distributions import WORD_VALUES
from sim.world.provider_bursts import BadTimes
from sim.world.provider_limits import OwnLimits
from sim.world.provider_outages import share_left, speeds
from sim.world.provider_station import Station, Visit
from tollgate.core.errors import InvariantViolation
from tollgate.decision import Estimate

_CHANCES: Final = 2**32
"""Which word of an arrival's own the chances of its attempts are derived from; jitter takes the first few."""

_ERROR, _THROTTLE, _BURST = range(3)
_DRAWS: Final = 3
"""Words an attempt has for its chances, one for each of the above."""


class Asked(Protocol):
    """What a provider has to know of a call.

    Attributes:
        estimate: The tokens it is estimated at.
        service_ns: Its work, ns.
        fails: Bit k set: attempt k + 1 fails, by an independent failure.
        jitter: The arrival's own 64-bit word.
        attempts: Which attempt this is, from 1.
    """

    estimate: Estimate
    service_ns: int
    fails: int
    jitter: int
    attempts: int


class Reply(NamedTuple):
    """The end of a call that is known when it begins.

    Attributes:
        at_ns: When, ns.
        cause: A ``Cause``; ``NONE`` where it ends well.
        announced_ns: The wait that is announced, ns; 0 for none.
    """

    at_ns: int
    cause: int
    announced_ns: int


class Provider:
    """One provider of one run, told the time at every call; instants must not go back.

    Like :class:`~sim.world.provider_station.Station` it must be asked for what is finished at every :meth:`next_ns`.
    """

    __slots__ = ("_bad_times", "_changes", "_hits", "_limits", "_model", "_next_change", "_slows", "_station")

    def __init__(self, model: ProviderModel, words: Callable[[int], Words]) -> None:
        """Begin at instant 0 with no call in progress.

        Args:
            model: What it is like.
            words: Takes the next raw words of its own named stream.
        """
        self._model = model
        self._hits = [outage for outage in model.outages if outage.kind in {"error", "throttle"}]
        self._hits.sort(key=lambda outage: outage.kind)  # errors answer first
        self._slows = [outage for outage in model.outages if outage.kind == "slow"]
        self._limits = None if model.rate_limit is None else OwnLimits(model.rate_limit)
        self._bad_times = None if model.bursts is None else BadTimes(model.bursts, words)
        self._changes = speeds(model.outages)
        self._next_change = next(self._changes, None)
        needs_station = (
            model.servers is not None
            or model.slowdown is not None
            or self._next_change is not None
            or (model.rate_limit is not None and model.rate_limit.concurrency is not None)
        )
        self._station = Station(model.servers, model.sharing, model.slowdown) if needs_station else None

    @property
    def in_progress(self) -> int:
        """Calls in service or queued, where it keeps count of them; else 0."""
        return 0 if self._station is None else self._station.in_service + self._station.queued

    def begin(self, call: Asked, now_ns: int) -> Reply | Visit:
        """Take in a call.

        Returns:
            How and when it ends; or a visit, where that depends on what comes, which :meth:`finished` hands back.
        """
        self._advance(now_ns)
        reply = self._turned_away(call, now_ns)
        if reply is not None:
            return reply
        model = self._model
        cause: int = Cause.PROVIDER_ERROR if self._fails(call, now_ns) else NONE
        if cause != NONE and model.failure_ns is not None:
            return Reply(now_ns + model.failure_ns, cause, 0)
        work_ns = self._work_ns(call, now_ns)
        if self._station is None:
            return Reply(now_ns + work_ns, cause, 0)
        visit = Visit(call, call.attempts, cause)
        self._station.begin(visit, work_ns, now_ns)
        return visit

    def leave(self, visit: Visit, now_ns: int) -> None:
        """Stop working on a call that is not over."""
        self._advance(now_ns)
        self._its_station.leave(visit, now_ns)

    def finished(self, now_ns: int) -> list[Visit]:
        """Return the visits that end at this instant, in order."""
        self._advance(now_ns)
        return [] if self._station is None else self._station.finished(now_ns)

    def next_ns(self) -> int | None:
        """Return when to ask again: the next end of a visit, or change of speed while there is one; None for never."""
        station = self._station
        if station is None or station.in_service == 0:
            return None
        ends_ns = station.next_ns()
        if self._next_change is None:
            return ends_ns
        return self._next_change[0] if ends_ns is None else min(ends_ns, self._next_change[0])

    @property
    def _its_station(self) -> Station:
        if self._station is None:
            raise InvariantViolation("a provider without a station was asked about a visit")
        return self._station

    def _advance(self, now_ns: int) -> None:
        """Carry out the changes of speed that are due."""
        while self._next_change is not None and self._next_change[0] <= now_ns:
            at_ns, speed = self._next_change
            self._its_station.set_speed(speed, at_ns)
            self._next_change = next(self._changes, None)

    def _turned_away(self, call: Asked, now_ns: int) -> Reply | None:
        """Return the answer of an outage or of the provider's own limits, if there is one."""
        for outage in self._hits:
            if outage.start_ns <= now_ns < outage.ramp_end_ns and self._is_hit(outage, call, now_ns):
                cause = Cause.OUTAGE if outage.kind == "error" else Cause.THROTTLE_STORM
                return Reply(now_ns + outage.answer_ns, cause, outage.retry_after_ns)
        rate_limit = self._model.rate_limit
        if self._limits is None or rate_limit is None:
            return None
        wait_ns = self._limits.wait_ns(call.estimate.draw, self.in_progress, now_ns)
        return None if wait_ns is None else Reply(now_ns + rate_limit.answer_ns, Cause.RATE_LIMIT, wait_ns)

    def _is_hit(self, outage: Outage, call: Asked, now_ns: int) -> bool:
        chance = outage.probability * share_left(outage, now_ns)
        return _happens(chance, call, _ERROR if outage.kind == "error" else _THROTTLE)

    def _fails(self, call: Asked, now_ns: int) -> bool:
        bursts = self._model.bursts
        if bursts is None or self._bad_times is None:
            return bool(call.fails >> (call.attempts - 1) & 1)
        is_bad = self._bad_times.is_bad(now_ns)
        return _happens(bursts.bad_probability if is_bad else bursts.good_probability, call, _BURST)

    def _work_ns(self, call: Asked, now_ns: int) -> int:
        """Return a call's work, ns, rounded up to a whole one where an outage slows it."""
        for outage in self._slows:
            if outage.start_ns <= now_ns < outage.ramp_end_ns:
                return ceil(call.service_ns * (1 + (outage.factor - 1) * share_left(outage, now_ns)))
        return call.service_ns


def _happens(chance: Fraction, call: Asked, which: int) -> bool:
    """Return whether something of this chance happens to an attempt: its word over 2^64 is below the chance."""
    word = derived_word(derived_word(call.jitter, _CHANCES), (call.attempts - 1) * _DRAWS + which)
    return word < floor(chance * WORD_VALUES)
