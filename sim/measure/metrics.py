"""The definition of every metric.

Owns how a metric of ``sim.metrics`` is computed from what :class:`~sim.measure.accumulate.Accumulator` and
:class:`~sim.measure.levels.LevelTracker`, :class:`~sim.measure.lanes.LaneTracker` and
:class:`~sim.measure.recovery.Recoveries` kept. It must not know trace rows, gates or records. All arithmetic is in
integers and fractions; nothing is rounded here. ``docs/reference/metrics.md`` states the same in words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.measure.accumulate import ADMITTED, Accumulator, Chosen
from sim.measure.fairness import jain_of_admission
from sim.measure.lanes import LaneTracker
from sim.measure.levels import MEASURED, LevelTracker, scope_of
from sim.measure.quantiles import Samples, rank
from sim.measure.recovery import Recoveries
from sim.measure.shape import RunShape
from sim.metrics import METRICS, STOPS, Selector
from sim.trace import REASON_CODE, LevelKind, RequestOutcome, Stop
from tollgate.core.deny import DenyReason
from tollgate.core.errors import InvariantViolation
from tollgate.core.units import NS_PER_S
from tollgate.decision.evidence import Hold

P50: Final = Fraction(50, 100)
P95: Final = Fraction(95, 100)
P99: Final = Fraction(99, 100)


@dataclass(frozen=True)
class Reading:
    """One selection of one run, as the definitions below read it."""

    run: Accumulator
    tracker: LevelTracker
    lanes: LaneTracker
    recoveries: Recoveries
    chosen: Chosen

    @property
    def shape(self) -> RunShape:
        """The run's shape."""
        return self.run.shape

    @cached_property
    def requests(self) -> NDArray[np.int64]:
        """Requests by outcome, reason and whether admitted."""
        return self.run.request_counts(self.chosen)

    @cached_property
    def attempts(self) -> NDArray[np.int64]:
        """Attempts by outcome and first hold."""
        return self.run.attempt_counts(self.chosen)

    @cached_property
    def waits(self) -> Samples:
        """Waits above zero of admitted attempts, ns."""
        return self.run.wait_samples(self.chosen, only_admitted=True)

    @cached_property
    def dwells(self) -> Samples:
        """Times in queue of all attempts that queued, ns."""
        return self.run.wait_samples(self.chosen, only_admitted=False)

    @cached_property
    def sojourns(self) -> Samples:
        """Times from intended arrival to completion, ns."""
        return self.run.sojourn_samples(self.chosen)

    @cached_property
    def token_errors(self) -> tuple[int, int, int]:
        """Tokens estimated too much, estimated too little, and used, of completed requests."""
        return self.run.token_errors(self.chosen)

    @cached_property
    def shed_by_reason(self) -> list[int]:
        """Requests shed, by reason code."""
        by_reason: list[int] = self.requests[RequestOutcome.SHED, 1:].sum(axis=1).tolist()
        return by_reason

    @cached_property
    def attempts_by_hold(self) -> list[int]:
        """Attempts by first hold."""
        by_hold: list[int] = self.attempts.sum(axis=0).tolist()
        return by_hold

    @cached_property
    def arrivals(self) -> int:
        """Requests."""
        return int(self.requests.sum())

    @cached_property
    def admitted_attempts(self) -> int:
        """Attempts that got a permit."""
        return int(self.attempts[list(ADMITTED)].sum())

    @property
    def measured_ns(self) -> int:
        """Time in which the selected arrivals were offered, ns."""
        start, end = self.shape.warmup_ns, self.shape.horizon_ns
        if "phase" in self.chosen:
            phase = self.shape.phases[self.chosen["phase"]]
            start, end = max(start, phase.start_ns), min(end, phase.end_ns)
        return max(end - start, 0)

    def settled(self, outcome: RequestOutcome) -> int:
        """Return how many requests had this outcome."""
        return int(self.requests[outcome].sum())

    @cached_property
    def level(self) -> tuple[tuple[Selector, ...], int]:
        """The scope and member whose levels the selection means."""
        scope = scope_of(self.chosen)
        member = 0
        for selector in scope:
            member = member * len(self.shape.names(selector)) + self.chosen[selector]
        return scope, member


Value = int | Fraction | None
"""A count, a ratio or nanoseconds, exact; None where there is nothing to measure."""


_HOLDS_OF: Final = {reason: [hold for hold in Hold if hold.reason is reason] for reason in DenyReason}


def _shed(reason: DenyReason, of: Reading) -> Value:
    return of.shed_by_reason[REASON_CODE[reason]]


def _stopped(stop: Stop, of: Reading) -> Value:
    return of.run.stopped_count(of.chosen, stop)


def _deferrals(reason: DenyReason, of: Reading) -> Value:
    return sum(of.attempts_by_hold[hold] for hold in _HOLDS_OF[reason])


def _admission_ratio(of: Reading) -> Value:
    return Fraction(int(of.requests[:, :, 1].sum()), of.arrivals) if of.arrivals else None


def _goodput_ratio(of: Reading) -> Value:
    return Fraction(of.settled(RequestOutcome.COMPLETED), of.arrivals) if of.arrivals else None


def _goodput_rate(of: Reading) -> Value:
    return Fraction(of.settled(RequestOutcome.COMPLETED) * NS_PER_S, of.measured_ns) if of.measured_ns else None


def _utilisation(of: Reading) -> Value:
    limits = of.shape.profile.workspace
    if "provider" in of.chosen:
        limits = of.shape.profile.providers[of.shape.providers[of.chosen["provider"]]]
    if limits.concurrency is None or not of.measured_ns:
        return None
    return Fraction(_area(LevelKind.ACTIVE, of), limits.concurrency * of.measured_ns)


def _area(kind: LevelKind, of: Reading) -> int:
    """Time integral of a level over the measured window, or the part of the phase in it, ns."""
    scope, member = of.level
    if "phase" in of.chosen:
        return of.tracker.phase_integral(scope, kind, member, of.chosen["phase"])
    return of.tracker.integral(scope, kind, member, MEASURED)


def _level_max(kind: LevelKind, of: Reading) -> Value:
    scope, member = of.level
    return of.tracker.peak(scope, kind, member, since=MEASURED, phase=of.chosen.get("phase"))


def _level_mean(kind: LevelKind, of: Reading) -> Value:
    return Fraction(_area(kind, of), of.measured_ns) if of.measured_ns else None


def _wait_quantile(p: Fraction, of: Reading) -> Value:
    """Quantile over all admitted attempts; those that did not wait stand in front as zeros."""
    if not of.admitted_attempts:
        return None
    place = rank(p, of.admitted_attempts) - (of.admitted_attempts - of.waits.count)
    return of.waits.at_rank(place) if place > 0 else 0


def _wait_mean(of: Reading) -> Value:
    return Fraction(of.waits.total, of.admitted_attempts) if of.admitted_attempts else None


def _quantile(samples: Callable[[Reading], Samples], p: Fraction, of: Reading) -> Value:
    values = samples(of)
    return values.at_rank(rank(p, values.count)) if values.count else None


def _amplification(of: Reading) -> Value:
    return Fraction(sum(of.attempts_by_hold), of.arrivals) if of.arrivals else None


def _amplification_peak(of: Reading) -> Value:
    arrivals, attempts = of.run.windows(of.chosen)
    if not len(arrivals):
        return None
    pairs = zip(attempts.tolist(), arrivals.tolist(), strict=True)
    # Compared by cross-multiplication: making a fraction of each window takes ten times as long.
    return Fraction(*reduce(lambda best, pair: pair if pair[0] * best[1] > best[0] * pair[1] else best, pairs))


def _transitions(of: Reading) -> Value:
    return sum(_concerns(row.provider, of) and row.at_ns >= of.shape.warmup_ns for row in of.run.end.transitions)


def _open_time(of: Reading) -> Value:
    opened: dict[int, int] = {}
    total = 0
    for row in of.run.end.transitions:
        if row.from_state == "open" and row.provider in opened:
            total += _measured_part(opened.pop(row.provider), row.at_ns, of)
        if row.to_state == "open" and _concerns(row.provider, of):
            opened[row.provider] = row.at_ns
    return total + sum(_measured_part(since, of.run.end.at_ns, of) for since in opened.values())


def _pause_time(of: Reading) -> Value:
    """Length of the union of each provider's pauses, added up over the providers."""
    total = 0
    paused_until: dict[int, int] = {}
    for row in sorted(of.run.end.pauses, key=lambda row: row.from_ns):
        if _concerns(row.provider, of):
            start = max(row.from_ns, paused_until.get(row.provider, 0))
            total += _measured_part(start, row.until_ns, of)
            paused_until[row.provider] = max(start, row.until_ns)
    return total


def _concerns(provider: int, of: Reading) -> bool:
    return of.chosen.get("provider", provider) == provider


def _measured_part(start_ns: int, end_ns: int, of: Reading) -> int:
    """Return how much of a stretch lies between the end of warm-up and the end of the run, ns."""
    return max(min(end_ns, of.run.end.at_ns) - max(start_ns, of.shape.warmup_ns), 0)


def _jain(of: Reading) -> Value:
    return jain_of_admission(*of.run.admissions_by_principal(of.chosen))


def _of_lanes(figure: Callable[[LaneTracker, int | None, int | None, int | None], int | None], of: Reading) -> Value:
    """The worst figure of the selected lanes, if anything was to be asked for in one of them."""
    selected = (of.chosen.get("principal"), of.chosen.get("class"), of.chosen.get("provider"))
    return figure(of.lanes, *selected) if of.arrivals else None


def _recovery_time(of: Reading) -> Value:
    return of.recoveries.time_ns(of.chosen.get("provider"), of.chosen.get("class"))


def _metastable(of: Reading) -> Value:
    is_metastable = of.recoveries.is_metastable(of.chosen.get("provider"), of.chosen.get("class"))
    return None if is_metastable is None else int(is_metastable)


def _overestimate(of: Reading) -> Value:
    """Tokens estimated above the use of their request, over all tokens used: sum max(e - a, 0) / sum a."""
    over, _, used = of.token_errors
    return Fraction(over, used) if used else None


def _underestimate(of: Reading) -> Value:
    """Tokens used above the estimate of their request, over all tokens used: sum max(a - e, 0) / sum a."""
    _, under, used = of.token_errors
    return Fraction(under, used) if used else None


DEFINITIONS: Final[dict[str, Callable[[Reading], Value]]] = {
    "arrivals": lambda of: of.arrivals,
    "attempts": lambda of: sum(of.attempts_by_hold),
    "completed": lambda of: of.settled(RequestOutcome.COMPLETED),
    "failed": lambda of: of.settled(RequestOutcome.FAILED),
    "shed": lambda of: of.settled(RequestOutcome.SHED),
    **{f"shed.{reason.value}": partial(_shed, reason) for reason in DenyReason},
    "cancelled": lambda of: of.settled(RequestOutcome.CANCELLED),
    "in_flight.end": lambda of: of.settled(RequestOutcome.IN_FLIGHT),
    **{f"deferrals.{reason.value}": partial(_deferrals, reason) for reason in DenyReason},
    "admission.ratio": _admission_ratio,
    "goodput.ratio": _goodput_ratio,
    "goodput.per_second": _goodput_rate,
    "utilisation": _utilisation,
    "active.max": partial(_level_max, LevelKind.ACTIVE),
    "active.mean": partial(_level_mean, LevelKind.ACTIVE),
    "queue.length.max": partial(_level_max, LevelKind.QUEUE),
    "queue.length.mean": partial(_level_mean, LevelKind.QUEUE),
    "queue.wait.mean": _wait_mean,
    "queue.wait.p50": partial(_wait_quantile, P50),
    "queue.wait.p95": partial(_wait_quantile, P95),
    "queue.wait.p99": partial(_wait_quantile, P99),
    "queue.wait.max": lambda of: of.waits.maximum if of.admitted_attempts else None,
    "queue.dwell.p99": partial(_quantile, lambda of: of.dwells, P99),
    "queue.dwell.max": lambda of: of.dwells.maximum if of.dwells.count else None,
    "lane.eligible_wait.max": lambda of: of.run.eligible_wait_max(of.chosen) if of.attempts.any() else None,
    "sojourn.p50": partial(_quantile, lambda of: of.sojourns, P50),
    "sojourn.p95": partial(_quantile, lambda of: of.sojourns, P95),
    "sojourn.p99": partial(_quantile, lambda of: of.sojourns, P99),
    "cancel.latency.max": lambda of: of.run.cancel_latency_max(of.chosen),
    "retry.amplification": _amplification,
    "retry.amplification.peak_10s": _amplification_peak,
    **{f"retry.stopped.{name}": partial(_stopped, stop) for name, stop in zip(STOPS, Stop, strict=True)},
    "breaker.transitions": _transitions,
    "breaker.open_time": _open_time,
    "pause.time": _pause_time,
    "fairness.jain": _jain,
    "fairness.service_lag.max": partial(_of_lanes, LaneTracker.service_lag),
    "fairness.starvation.max": partial(_of_lanes, LaneTracker.starvation_ns),
    "recovery.time": _recovery_time,
    "recovery.metastable": _metastable,
    "tokens.overestimate.ratio": _overestimate,
    "tokens.underestimate.ratio": _underestimate,
}
"""How each metric is computed; exact, in its own unit but for times, which are in nanoseconds."""


def _check_registry() -> None:
    """Refuse to load if this module and the registry disagree on what is measured."""
    undefined = {metric.name for metric in METRICS if not metric.host} ^ set(DEFINITIONS)
    if undefined:
        raise InvariantViolation(f"sim.metrics and sim.measure.metrics disagree on {', '.join(sorted(undefined))}")


_check_registry()
