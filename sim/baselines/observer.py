"""The rows by which our own metrics see a run of the reference.

This module owns the translation of a baseline run, in ms, into trace rows. It must not know the order of events or who
decides; it is told.
"""

from __future__ import annotations

from sim.baselines.caller import Caller
from sim.baselines.reference import Controller
from sim.manifest.model import Manifest
from sim.trace import NONE, REASON_CODE, AttemptOutcome, Cause, LevelKind, RequestOutcome, Trace
from tollgate.core.deny import DenyReason
from tollgate.core.units import NS_PER_MS

STREAM = 0
"""The seed's manifests have one source of arrivals."""


class Observer:
    """Takes the events of a run in order and writes them down."""

    def __init__(self, manifest: Manifest, trace: Trace) -> None:
        self._providers = {provider.id: index for index, provider in enumerate(manifest.providers)}
        self._trace = trace

    def queued(self, caller: Caller, delta: int, now: int) -> None:
        """Note that a request begins (+1) or ceases (-1) to wait."""
        owed = (
            0 if delta > 0 else NONE
        )  # the reference does not tell a head that was held from one that was passed over
        self._trace.levels.extend((now * NS_PER_MS, delta, LevelKind.QUEUE, caller.principal, caller.provider, owed))

    def admitted(self, caller: Caller, now: int) -> None:
        """Take an admission."""
        caller.admissions += 1
        caller.decided_at = now
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
                caller.admissions,
                NONE if caller.signalled_at is None else caller.signalled_at * NS_PER_MS,
                caller.tokens,
                caller.tokens,
                NONE,
            )
        )
        self._trace.flush_if_full()

    def ended(self, controller: Controller, arrivals: int, now: int) -> None:
        """Take the end of the drain and close the trace."""
        # The shipped breaker stamps its turn to half-open with the instant it was due, which may lie before the look.
        for change, ordinal in sorted(controller.changes, key=lambda caused: caused[0].at_ms):
            self._trace.transitions.append(
                (
                    self._providers[change.provider],
                    change.from_state,
                    change.to_state,
                    change.at_ms * NS_PER_MS,
                    change.failures,
                    ordinal,
                )
            )
        self._trace.close(now * NS_PER_MS, arrivals)

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
                Cause.PROVIDER_ERROR if outcome is AttemptOutcome.FAILED else NONE,
            )
        )
