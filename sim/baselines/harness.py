"""The reference's offline load harness: drives the reference controller through a seed manifest's arrivals.

The order of everything inside one instant is the harness's own and part of its results: an arrival is submitted before
any consequence of it, admissions are delivered in the order in which they were decided, and all consequences of a timer
are over before the next one fires. This module owns that order and the callers' behaviour: retry, cancellation. It must
not know how admission is decided or what is observed of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Final

from sim.baselines.caller import Caller
from sim.baselines.observer import Observer
from sim.baselines.reference import Controller
from sim.baselines.state import Ask
from sim.baselines.timeline import Timeline
from sim.manifest.model import SEED_SCHEMAS, Manifest, SeedFamilyModel
from sim.trace import AttemptOutcome, RequestOutcome, Trace
from sim.workload.seed_family import seed_family_blocks
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, Outcome
from tollgate.core.deny import DenyReason
from tollgate.core.errors import ConfigError, InvariantViolation
from tollgate.core.units import NS_PER_MS

_TOLD: Final[dict[AttemptOutcome, Outcome]] = {
    AttemptOutcome.COMPLETED: SUCCESS,
    AttemptOutcome.FAILED: FAILURE,
    AttemptOutcome.ABORTED: CANCELLED,
}
"""What the controller is told of a call's end."""


@dataclass(frozen=True, slots=True)
class ReferenceOptions:
    """Departures from the reference, for comparisons.

    Attributes:
        correct_breaker: Put the shipped breaker in the place of the reference's and leave all else as it is.
    """

    correct_breaker: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceRun:
    """What a run leaves behind, beside its rows.

    Attributes:
        end_ms: When the drain ended, ms from the start.
        controller: The controller, as it was then.
    """

    end_ms: int
    controller: Controller


def run_reference(
    manifest: Manifest,
    trace: Trace,
    *,
    options: ReferenceOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ReferenceRun:
    """Run a seed manifest through the reference controller.

    Args:
        manifest: A manifest with the seed's arrival model.
        trace: Where the run's rows go; closed at the end.
        options: Departures from the reference.
        progress: Is told the simulated instant and the end of the arrivals, ns, now and then.

    Raises:
        ConfigError: If the manifest has another arrival model.
    """
    model = manifest.seed_family
    if model is None:
        raise ConfigError(
            "target.discipline", "reference", f"default; the reference runs {' and '.join(SEED_SCHEMAS)} only"
        )
    return _Harness(manifest, model, Observer(manifest, trace), options or ReferenceOptions(), progress).run()


class _Harness:
    def __init__(
        self,
        manifest: Manifest,
        model: SeedFamilyModel,
        observer: Observer,
        options: ReferenceOptions,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._manifest = manifest
        self._model = model
        self._observer = observer
        self._progress = progress
        self._time: Timeline[Caller] = Timeline()
        self._controller = Controller(manifest.profile, self._time, correct_breaker=options.correct_breaker)
        self._principals = [info.name for info in manifest.principals]
        self._providers = [provider.id for provider in manifest.providers]
        wait_ns = manifest.profile.workspace.max_queue_wait_ns
        self._patience = inf if wait_ns is None else wait_ns // NS_PER_MS
        self._unsettled: dict[int, Caller] = {}
        self._undelivered: list[Caller] = []

    def run(self) -> ReferenceRun:
        arrivals = 0
        for caller in self._arrivals():
            if caller.arrived_at > self._time.now:
                self._advance(caller.arrived_at)
            self._unsettled[caller.ordinal] = caller
            arrivals += 1
            if caller.cancel_after is not None:
                self._time.after(caller.cancel_after, self._signal, caller)
            self._attempt(caller)
        self._drain()
        for caller in self._unsettled.values():
            self._observer.settled(caller, RequestOutcome.IN_FLIGHT, None, self._time.now)
        self._observer.ended(self._controller, arrivals, self._time.now)
        return ReferenceRun(self._time.now, self._controller)

    def _arrivals(self) -> Iterator[Caller]:
        ends = [phase.end_ns for phase in self._manifest.phases]
        ordinal = phase = 0
        for block in seed_family_blocks(self._model):
            if self._progress is not None and len(block):
                self._progress(block.at_ns[0], self._manifest.horizon_ns)
            for at_ns, _, principal, provider, tokens, service_ns, fails, cancel_ns, _, _ in block.rows():
                while at_ns >= ends[phase] and phase < len(ends) - 1:
                    phase += 1
                cancel_after = None if cancel_ns < 0 else cancel_ns // NS_PER_MS
                yield Caller(
                    ordinal,
                    phase,
                    at_ns // NS_PER_MS,
                    principal,
                    provider,
                    tokens,
                    service_ns // NS_PER_MS,
                    fails,
                    cancel_after,
                )
                ordinal += 1

    def _drain(self) -> None:
        """Advance in whole steps, at least one, until everything is settled.

        The reference has no other end: two requests that block each other for good (Q3) would keep it going for ever
        where nothing limits their wait. Here the manifest's drain ends it, and they are counted as unsettled.
        """
        step = max(1, self._model.service_max_ms + self._model.backoff_ms)
        last = self._time.now + self._manifest.drain_ns // NS_PER_MS
        self._advance(self._time.now + step)
        while self._unsettled and self._time.now < last:
            self._advance(self._time.now + step)

    def _advance(self, to: int) -> None:
        self._time.advance(to, self._wake, self._deliver)

    # ----------------------------------------------------------------------------------------------------- what happens

    def _attempt(self, caller: Caller) -> None:
        """Ask for admission, for the first time or again."""
        now = self._time.now
        caller.attempts += 1
        caller.ask = ask = Ask(
            budget_id=f"arrival-{caller.ordinal}",
            principal=self._principals[caller.principal],
            provider=self._providers[caller.provider],
            deadline=now + self._patience + caller.service,
            tokens=caller.tokens,
            cost_micros=0,
            items=1,
            attempts=1,
            batch_size=1,
            retained_work=1,
            ordinal=caller.ordinal,
            is_cancelled=caller.signalled_at is not None,
        )
        self._controller.ask(ask, now)
        self._note_decisions()
        if ask.is_waiting:
            caller.is_queued = True
            self._observer.queued(caller, 1, now)

    def _wake(self) -> None:
        self._controller.pump(self._time.now)
        self._note_decisions()

    def _note_decisions(self) -> None:
        """Take what the controller has just decided. The callers hear of it when it is delivered."""
        now = self._time.now
        for ask in self._controller.take_decided():
            caller = self._unsettled[ask.ordinal]
            if caller.is_queued:
                caller.is_queued = False
                self._observer.queued(caller, -1, now)
            if ask.permit is not None:
                self._observer.admitted(caller, now)
            self._undelivered.append(caller)

    def _deliver(self) -> None:
        """Let each caller hear of its decision: a call begins, or the arrival is settled."""
        if not self._undelivered:
            return
        delivered = self._undelivered
        self._undelivered = []
        for caller in delivered:
            refusal = caller.current_ask.refusal
            if refusal is None:
                caller.is_calling = True
                self._time.after(caller.service, self._complete, caller)
                continue
            self._observer.refused(caller, refusal, self._time.now)
            outcome = RequestOutcome.CANCELLED if refusal is DenyReason.CANCELLED else RequestOutcome.SHED
            self._settle(caller, outcome, refusal)

    def _complete(self, caller: Caller) -> None:
        """End a call at its time, unless its caller has ended it before."""
        if not caller.is_calling:
            return
        if not caller.fails >> (caller.attempts - 1) & 1:
            self._end_call(caller, AttemptOutcome.COMPLETED)
            self._settle(caller, RequestOutcome.COMPLETED, None)
            return
        self._end_call(caller, AttemptOutcome.FAILED)
        if caller.attempts <= self._model.max_retries:
            self._time.after(self._model.backoff_ms, self._attempt, caller)
        else:
            self._settle(caller, RequestOutcome.FAILED, None)

    def _signal(self, caller: Caller) -> None:
        """Fire a caller's cancellation. Between two attempts nobody listens: the next attempt meets it."""
        if caller.is_settled:
            return
        caller.signalled_at = self._time.now
        if caller.is_calling:
            self._end_call(caller, AttemptOutcome.ABORTED)
            self._settle(caller, RequestOutcome.CANCELLED, None)
        elif caller.current_ask.is_waiting:
            self._controller.cancel(caller.current_ask, self._time.now)
            self._note_decisions()

    def _end_call(self, caller: Caller, outcome: AttemptOutcome) -> None:
        """Release a call's permit.

        The reference's breaker takes an aborted call for a failure, the correct one does not (Q7).
        """
        caller.is_calling = False
        self._observer.call_ended(caller, outcome, self._time.now)
        permit = caller.current_ask.permit
        if permit is None:
            raise InvariantViolation(f"arrival {caller.ordinal} ended a call that was never admitted")
        self._controller.release(permit, _TOLD[outcome], self._time.now)
        self._note_decisions()

    def _settle(self, caller: Caller, outcome: RequestOutcome, reason: DenyReason | None) -> None:
        caller.is_settled = True
        del self._unsettled[caller.ordinal]
        self._controller.settle(caller.current_ask.budget_id)
        self._observer.settled(caller, outcome, reason, self._time.now)
