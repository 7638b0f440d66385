"""What the reference's harness observes, and the rows by which our own metrics see the same run.

This module owns the reference's observations, its two texts and their digests, and the translation of a baseline run
into trace rows. It must not know the order of events or who decides; it is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from sim.baselines.breakers import BreakerChange
from sim.baselines.caller import Caller
from sim.baselines.reference import Controller
from sim.manifest.model import Manifest
from sim.textformats import LineDigest, OutcomeDigest, TextOut, arrival_line, outcome_line
from sim.trace import NONE, REASON_CODE, AttemptOutcome, LevelKind, RequestOutcome, Trace
from tollgate.core.deny import DenyReason
from tollgate.core.units import NS_PER_MS, decimal_text

STREAM = 0
"""The seed's manifests have one source of arrivals."""


@dataclass(slots=True)
class PrincipalTally:
    """One principal's arrivals by what became of them; ``admitted`` counts arrivals with at least one admission."""

    submitted: int = 0
    admitted: int = 0
    completed: int = 0
    failed: int = 0
    shed: int = 0
    cancelled: int = 0


Observations = dict[str, "int | float | dict[str, int]"]
"""The reference's observations under its own names: counts and ms as integers, ratios rounded to six decimals."""


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """What the reference observes in one run.

    Attributes:
        observations: By the reference's names.
        by_principal: Tallies in the order of the manifest.
        changes: Every breaker change, in order.
        history: Those the controller remembers at the end.
        arrivals_sha256: Of the arrivals text, hex.
        outcomes_sha256: Of the outcomes text without its last column, hex.
        outcomes_with_reason_sha256: Of the outcomes text, hex.
        end_ms: When the drain ended, ms from the start.
        pumps: Times the controller went through its lanes.
        judged: Times it put a head to the admission tests.
    """

    observations: Observations
    by_principal: dict[str, PrincipalTally]
    changes: tuple[BreakerChange, ...]
    history: tuple[BreakerChange, ...]
    arrivals_sha256: str
    outcomes_sha256: str
    outcomes_with_reason_sha256: str
    end_ms: int
    pumps: int
    judged: int


class Observer:
    """Takes the events of a run in order and adds them up."""

    def __init__(
        self, manifest: Manifest, trace: Trace, arrivals_out: TextOut | None, outcomes_out: TextOut | None
    ) -> None:
        self._principals = manifest.principals
        self._providers = tuple(provider.id for provider in manifest.providers)
        self._trace = trace
        self._arrivals = LineDigest(arrivals_out)
        self._outcomes = OutcomeDigest(outcomes_out)
        self._lines_ahead: dict[int, str] = {}
        self._lines_out = 0
        self._tallies = [PrincipalTally() for _ in self._principals]
        self._shed_reasons: Counter[str] = Counter()
        self._attempts = 0
        self._active_max = 0
        self._queued_max = 0
        self._queue_delay_max = 0
        self._cancel_latency_max = 0

    # ---------------------------------------------------------------------------------------------------------- events

    def arrived(self, caller: Caller) -> None:
        """Take an arrival."""
        self._tallies[caller.principal].submitted += 1
        self._arrivals.add(
            arrival_line(
                caller.ordinal,
                caller.arrived_at * NS_PER_MS,
                self._principals[caller.principal].name,
                self._providers[caller.provider],
                caller.tokens,
                caller.service * NS_PER_MS,
                caller.fails,
                -1 if caller.cancel_after is None else caller.cancel_after * NS_PER_MS,
            )
        )

    def sampled(self, queued: int, active: int) -> None:
        """Take a look at the levels; maxima are over looks, not over time."""
        self._queued_max = max(self._queued_max, queued)
        self._active_max = max(self._active_max, active)

    def queued(self, caller: Caller, delta: int, now: int) -> None:
        """Note that a request begins (+1) or ceases (-1) to wait."""
        self._trace.levels.extend((now * NS_PER_MS, delta, LevelKind.QUEUE, caller.principal, caller.provider, 0))

    def admitted(self, caller: Caller, queue_delay: int, now: int) -> None:
        """Take an admission."""
        if not caller.delays:
            self._tallies[caller.principal].admitted += 1
        caller.delays.append(queue_delay)
        caller.decided_at = now
        self._queue_delay_max = max(self._queue_delay_max, queue_delay)
        self._trace.levels.extend(
            (now * NS_PER_MS, 1, LevelKind.ACTIVE, caller.principal, caller.provider, caller.tokens)
        )

    def call_ended(self, caller: Caller, outcome: AttemptOutcome, now: int) -> None:
        """Take the end of a call."""
        self._trace.levels.extend((now * NS_PER_MS, -1, LevelKind.ACTIVE, caller.principal, caller.provider, 0))
        self._attempt_row(caller, outcome, None, now)

    def refused(self, caller: Caller, reason: DenyReason, now: int) -> None:
        """Take a refusal; it ends the attempt."""
        caller.decided_at = now
        outcome = AttemptOutcome.CANCELLED if reason is DenyReason.CANCELLED else AttemptOutcome.SHED
        self._attempt_row(caller, outcome, reason, now)

    def settled(self, caller: Caller, outcome: RequestOutcome, reason: DenyReason | None, now: int) -> None:
        """Take the outcome of an arrival, which may be that the run ended before it had one."""
        tally = self._tallies[caller.principal]
        match outcome:
            case RequestOutcome.COMPLETED:
                tally.completed += 1
            case RequestOutcome.FAILED:
                tally.failed += 1
            case RequestOutcome.SHED:
                tally.shed += 1
                self._shed_reasons[str(reason)] += 1
            case RequestOutcome.CANCELLED:
                tally.cancelled += 1
                if caller.signalled_at is not None:
                    self._cancel_latency_max = max(self._cancel_latency_max, now - caller.signalled_at)
        self._attempts += caller.attempts
        self._request_row(caller, outcome, reason, now)
        word = outcome.name.lower().replace("_", "-")
        delays_ns = [delay * NS_PER_MS for delay in caller.delays]
        self._lines_ahead[caller.ordinal] = outcome_line(
            caller.ordinal, word, caller.attempts, now * NS_PER_MS, delays_ns, reason
        )
        while self._lines_out in self._lines_ahead:
            self._outcomes.add(self._lines_ahead.pop(self._lines_out))
            self._lines_out += 1

    # ---------------------------------------------------------------------------------------------------------- results

    def result(self, controller: Controller, end_ms: int) -> ReferenceResult:
        """Close the trace and return what was observed."""
        index = {provider: place for place, provider in enumerate(self._providers)}
        # The shipped breaker stamps its turn to half-open with the instant it was due, which may lie before the look.
        for change, ordinal in sorted(controller.changes, key=lambda caused: caused[0].at_ms):
            self._trace.transitions.append(
                (
                    index[change.provider],
                    change.from_state,
                    change.to_state,
                    change.at_ms * NS_PER_MS,
                    change.failures,
                    ordinal,
                )
            )
        arrivals = self._total("submitted")
        self._trace.close(end_ms * NS_PER_MS, arrivals)
        return ReferenceResult(
            observations={
                "arrivals": arrivals,
                "attempts": self._attempts,
                "completed": self._total("completed"),
                "failed": self._total("failed"),
                "shed": self._total("shed"),
                "cancelled": self._total("cancelled"),
                "shedReasons": dict(sorted(self._shed_reasons.items())),
                "maximumActiveCalls": self._active_max,
                "maximumQueuedCalls": self._queued_max,
                "maximumEligibleLaneWaitMs": self._queue_delay_max,
                "retryAmplificationRatio": _ratio(self._attempts, arrivals),
                "maximumCancellationLatencyMs": self._cancel_latency_max,
                "quietPrincipalAdmissionRatio": self._admission_ratio("quiet"),
                "noisyPrincipalAdmissionRatio": self._admission_ratio("noisy"),
                "virtualDurationMs": max(1, end_ms),
            },
            by_principal={info.name: tally for info, tally in zip(self._principals, self._tallies, strict=True)},
            changes=tuple(change for change, _ in controller.changes),
            history=tuple(controller.history),
            arrivals_sha256=self._arrivals.hexdigest(),
            outcomes_sha256=self._outcomes.without_reason,
            outcomes_with_reason_sha256=self._outcomes.with_reason,
            end_ms=end_ms,
            pumps=controller.pumps,
            judged=controller.judged,
        )

    def _total(self, field: str) -> int:
        return sum(getattr(tally, field) for tally in self._tallies)

    def _admission_ratio(self, cls: str) -> float:
        tallies = [tally for info, tally in zip(self._principals, self._tallies, strict=True) if info.cls == cls]
        return _ratio(sum(tally.admitted for tally in tallies), sum(tally.submitted for tally in tallies))

    def _attempt_row(self, caller: Caller, outcome: AttemptOutcome, reason: DenyReason | None, now: int) -> None:
        ask = caller.current_ask
        self._trace.attempts.extend(
            (
                caller.ordinal,
                STREAM,
                caller.principal,
                caller.provider,
                caller.phase,
                caller.attempts,
                ask.asked_at * NS_PER_MS,
                caller.decided_at * NS_PER_MS,
                now * NS_PER_MS,
                outcome,
                NONE if reason is None else REASON_CODE[reason],
                ask.first_hold or NONE,
                ask.queue_delay * NS_PER_MS,  # the reference takes the wait before an admission for an eligible one
                caller.tokens,
            )
        )

    def _request_row(self, caller: Caller, outcome: RequestOutcome, reason: DenyReason | None, now: int) -> None:
        self._trace.requests.extend(
            (
                caller.ordinal,
                STREAM,
                caller.principal,
                caller.provider,
                caller.phase,
                caller.arrived_at * NS_PER_MS,
                now * NS_PER_MS,
                outcome,
                NONE if reason is None else REASON_CODE[reason],
                caller.attempts,
                len(caller.delays),
                NONE if caller.signalled_at is None else caller.signalled_at * NS_PER_MS,
            )
        )
        self._trace.flush_if_full()


def _ratio(value: int, total: int) -> float:
    """Return ``value / total`` to six decimals, ties upward from the quotient's exact double; 1 for a total of 0."""
    return float(decimal_text(Fraction(value / total), 6)) if total else 1.0
