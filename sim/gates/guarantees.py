"""What a configuration guarantees by itself, so that a gate that only repeats it can be told apart.

Owns the value that each metric can never cross under given limits, callers and lengths of the run, whatever arrives and
however it is drawn: calls in flight stay within the concurrency, waits within the queue dwell, times to completion
within the callers' time-out. A gate whose bound lies beyond that value guards the code, not the limits. It must not
know runs or observations, and claims nothing that it would have to simulate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from tollgate.core.deny import DenyReason
from tollgate.core.units import NS_PER_MS
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile

FRACTIONS: Final = frozenset({"admission.ratio", "goodput.ratio", "fairness.jain", "recovery.metastable"})
"""Metrics that are at most 1 by definition."""

CALLS: Final = frozenset({"active.max", "active.mean"})
WAITERS: Final = frozenset({"queue.length.max", "queue.length.mean"})
WAITS: Final = ("queue.wait.", "queue.dwell.", "lane.eligible_wait.")
SOJOURNS: Final = "sojourn."

UTILISATION: Final = "utilisation"
JAIN: Final = "fairness.jain"
SERVICE_LAG: Final = "fairness.service_lag.max"
"""With the lane served longest ago first, no rival goes twice while one that may waits; by weight it has no value."""

CANCEL_LATENCY: Final = "cancel.latency.max"
UNSETTLED: Final = "in_flight.end"

AMPLIFICATION: Final = ("retry.amplification", "retry.amplification.peak_10s")
"""Attempts over arrivals: from 1 (each arrival makes an attempt) to the most attempts a client makes. An attempt is
counted where its arrival is, in a window as in a phase."""

TRANSITIONS: Final = "breaker.transitions"
OPEN_TIME: Final = "breaker.open_time"
PAUSE_TIME: Final = "pause.time"

NEEDS_LIMIT: Final[Mapping[str, str]] = {
    DenyReason.QUEUE_FULL: "max_queue_length",
    DenyReason.QUEUE_TIMEOUT: "max_queue_wait_ns",
    DenyReason.BATCH_SIZE: "max_batch_size",
    DenyReason.REQUEST_TOO_LARGE: "max_request_bytes",
    DenyReason.TOO_MANY_ITEMS: "max_items",
    DenyReason.RETAINED_WORK: "max_retained_work",
    DenyReason.ATTEMPTS: "max_attempts",
}
"""Reasons of refusals that exist only where some scope sets a certain limit."""


@dataclass(frozen=True, slots=True)
class Callers:
    """Those who make the requests of one stream.

    Attributes:
        principals: Their names.
        providers: Whom their requests may go to.
        max_attempts: Most attempts of one request, at least 1, or None where nothing bounds them.
        timeout_ns: After how long a request is given up, from its arrival, ns; None for never.
        heeds_cancellation: Whether a cancellation takes effect at once wherever the request is.
        population: How many they are where each makes one request at a time (a closed loop); None for any number.
        leaves_calls: Whether one who gives up may leave a call in service behind, with its permit.
    """

    principals: Sequence[str]
    providers: Sequence[str]
    max_attempts: int | None = None
    timeout_ns: int | None = None
    heeds_cancellation: bool = False
    population: int | None = None
    leaves_calls: bool = False


@dataclass(frozen=True)
class Guarantees:
    """The limits under test, and who they apply to.

    Attributes:
        profile: The limits.
        classes: Class of each principal of the traffic.
        callers: Who makes the requests, by stream.
        span_ns: The longest that a run is measured, from the end of warm-up to the end of the drain, ns; None where
            that is not known.
        is_shipped: Whether the controller that ships decides. Of another discipline only the plain ceilings are taken
            for granted.
    """

    profile: AdmissionProfile
    classes: Mapping[str, str]
    callers: Sequence[Callers]
    span_ns: int | None = None
    is_shipped: bool = True

    @cached_property
    def reserved(self) -> int:
        """Permits that all principals of the profile together have reserved."""
        return sum(limits.reserved_concurrency for limits in self.profile.principals.values())

    def value(self, metric: str, where: Mapping[str, str], op: str) -> Fraction | None:
        """Return the value that the configuration keeps ``metric`` from crossing.

        Args:
            metric: Dotted name.
            where: Selectors of the gate; they narrow the limits to those of that scope.
            op: The gate's operator; ``<=`` and ``<`` ask for the ceiling of the metric, ``>=`` and ``>`` for its floor.

        Returns:
            The ceiling or floor in the metric's unit (counts, ms, ratios), or None when the configuration sets none.
        """
        return self._ceiling(metric, _Scope(self, where)) if op.startswith("<") else self._floor(metric)

    def _floor(self, metric: str) -> Fraction:
        if metric in AMPLIFICATION:
            return Fraction(1)
        if metric == JAIN:
            return Fraction(1, max(1, len(self.classes)))  # of n shares; of fewer, where some ask for nothing, more
        return Fraction(0)  # every other metric is a count, a time or a share

    def _ceiling(self, metric: str, scope: _Scope) -> Fraction | None:
        if metric in FRACTIONS:
            return Fraction(1)
        if metric == SERVICE_LAG:
            return Fraction(1) if self.is_shipped else None
        if metric == UNSETTLED:
            return Fraction(0)  # a run that leaves any behind is INVALID before a gate is asked
        if metric in AMPLIFICATION:
            return _longest([callers.max_attempts for callers in scope.callers])
        if metric in CALLS:
            return scope.calls()
        if metric == UTILISATION:
            return scope.utilisation()
        if metric in WAITERS:
            return scope.waiters()
        if metric.startswith(WAITS):
            return _ms(_longest([_least([callers.timeout_ns, wait]) for callers, wait in scope.waits()]))
        if metric.startswith(SOJOURNS):
            return _ms(_longest([callers.timeout_ns for callers in scope.callers]))  # who completed did so in time
        if metric == CANCEL_LATENCY:
            return Fraction(0) if all(callers.heeds_cancellation for callers in scope.callers) else None
        if metric in {TRANSITIONS, OPEN_TIME} and not scope.breakers:
            return Fraction(0)
        if metric in {OPEN_TIME, PAUSE_TIME}:
            return scope.held_back(metric)
        reason = metric.removeprefix("shed.")
        if self.is_shipped and reason != metric and reason in NEEDS_LIMIT:
            return None if scope.sets(NEEDS_LIMIT[reason]) else Fraction(0)
        return None


class _Scope:
    """What a gate's selectors leave of a configuration, and how its limits add up there.

    The workspace's limit always holds. So do those of the providers in scope, and those of the principals in scope:
    calls and waiters of several add up, and one of them without a limit leaves them all without.
    """

    def __init__(self, configuration: Guarantees, where: Mapping[str, str]) -> None:
        """Find who and what is selected."""
        profile, classes = configuration.profile, configuration.classes
        self._configuration = configuration
        self._workspace = profile.workspace
        self._where = where
        self.callers: list[Callers] = []
        self._limits_of: list[list[AdmissionLimits]] = []
        principals: dict[str, AdmissionLimits] = {}
        providers: dict[str, AdmissionLimits] = {}
        for callers in configuration.callers:
            names = [
                name
                for name in callers.principals
                if where.get("principal", name) == name and where.get("class", classes.get(name)) == classes.get(name)
            ]
            reached = [name for name in callers.providers if where.get("provider", name) == name]
            if names and reached:
                found = {name: profile.principals.get(name, _NO_LIMITS) for name in names}
                self.callers.append(callers)
                self._limits_of.append(list({id(limits): limits for limits in found.values()}.values()))
                principals |= found
                providers |= {name: profile.providers.get(name, _NO_LIMITS) for name in reached}
        self._principals = list(principals.values())
        self.providers = providers

    @property
    def breakers(self) -> int:
        """Providers in scope that have a circuit breaker."""
        return sum(limits.circuit_breaker is not None for limits in self.providers.values())

    def sets(self, limit: str) -> bool:
        """Return whether any scope sets a limit."""
        scopes = (self._workspace, *self.providers.values(), *self._principals)
        return any(getattr(limits, limit) is not None for limits in scopes)

    def calls(self) -> Fraction | None:
        """Return the most calls in flight at once."""
        at_once = _total(None if callers.leaves_calls else callers.population for callers in self.callers)
        return _fewest(self._pooled(lambda limits: limits.concurrency, self._kept_from), at_once)

    def waiters(self) -> Fraction | None:
        """Return the most requests waiting at once."""
        at_once = _total(callers.population for callers in self.callers)
        return _fewest(self._pooled(lambda limits: limits.max_queue_length, lambda _: None), at_once)

    def waits(self) -> Iterator[tuple[Callers, int | None]]:
        """Yield the longest wait in each lane that is told apart by its limits, ns, with those who wait there."""
        for callers, distinct in zip(self.callers, self._limits_of, strict=True):
            for name in callers.providers:
                if name in self.providers:
                    for principal in distinct:
                        scopes = (principal, self._workspace, self.providers[name])
                        yield callers, _least([limits.max_queue_wait_ns for limits in scopes])

    def utilisation(self) -> Fraction:
        """Return the largest share of the pool in question that can be in use: of a provider, or the workspace."""
        pool = self._workspace
        if "provider" in self._where:
            pool = self.providers.get(self._where["provider"], _NO_LIMITS)
        calls = self.calls()
        if pool.concurrency is None or calls is None:
            return Fraction(1)
        return min(Fraction(1), calls / pool.concurrency)

    def held_back(self, metric: str) -> Fraction | None:
        """Return the longest time that providers can be shut, ms: each for the whole of the run."""
        span_ns = self._configuration.span_ns
        providers = self.breakers if metric == OPEN_TIME else len(self.providers)
        return None if span_ns is None else Fraction(span_ns * providers, NS_PER_MS)

    def _pooled(self, limit: _Limit, further: Callable[[AdmissionLimits], int | None]) -> int | None:
        """Return the least that workspace, providers and principals leave together.

        Args:
            limit: Which limit.
            further: What else a principal with certain limits cannot exceed.
        """
        shares = [_total(provider.share_of(limit(provider)) for provider in self.providers.values())]
        shares.append(self._workspace.share_of(limit(self._workspace)))
        each = (_least([limit(own), further(own), *shares]) for own in self._principals)
        of_providers = _total(limit(provider) for provider in self.providers.values())
        return _least([limit(self._workspace), of_providers, _total(each)])

    def _kept_from(self, own: AdmissionLimits) -> int | None:
        """Return the permits that the reservations of others leave one principal; None where they keep none from it.

        Whoever goes beyond its own reservation has to leave the unused part of all others' in the workspace.
        """
        total = self._workspace.concurrency
        if total is None or not self._configuration.is_shipped:
            return None
        of_others = self._configuration.reserved - own.reserved_concurrency
        return max(own.reserved_concurrency, total - of_others)


_Limit = Callable[[AdmissionLimits], int | None]

_NO_LIMITS: Final = AdmissionLimits()


def _total(limits: Iterable[int | None]) -> int | None:
    """Return limits added up; one scope without a limit leaves all without, and so does none at all."""
    found = list(limits)
    known = [limit for limit in found if limit is not None]
    return sum(known) if known and len(known) == len(found) else None


def _least(limits: Iterable[int | None]) -> int | None:
    """Return the smallest limit of those that exist; None where none does."""
    return min((limit for limit in limits if limit is not None), default=None)


def _fewest(*limits: int | None) -> Fraction | None:
    least = _least(limits)
    return None if least is None else Fraction(least)


def _longest(limits: Iterable[int | None]) -> Fraction | None:
    """Return the largest of limits that each hold for a part; None where one part has none, or there are no parts."""
    found = list(limits)
    known = [limit for limit in found if limit is not None]
    return Fraction(max(known)) if known and len(known) == len(found) else None


def _ms(ns: Fraction | None) -> Fraction | None:
    return None if ns is None else ns / NS_PER_MS
