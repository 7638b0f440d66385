"""The world of one run: arrivals in, calls served, failures retried, every event written to the trace.

This module owns what happens at each event. When and in which order events happen belongs to :mod:`sim.kernel`, who is
admitted to the target.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from sim.kernel import Event, Kernel, Order
from sim.manifest.clients import Client
from sim.manifest.model import Manifest
from sim.targets.controller import WORKSPACE, Target
from sim.trace import NONE, REASON_CODE, AttemptOutcome, Cause, LevelKind, RequestOutcome, Trace
from sim.workload.blocks import UNKNOWN, ArrivalBlock, Figures
from sim.workload.closed import Population
from sim.world.call import Call, GiveUp
from sim.world.clients import Callers
from sim.world.loops import Arrival, Heard, Loops
from sim.world.service import Service
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, Outcome, RetryAfter, Transition
from tollgate.core.deny import DenyReason
from tollgate.core.errors import InvariantViolation
from tollgate.decision import Decision, Estimate, Hold, Permit
from tollgate.decision.controller import MAX_PAUSE_NS

ESTIMATES_KEPT: Final = 4096
"""Distinct token figures whose estimate is kept; one object a figure, as a gateway would cache it."""

ARRIVALS_A_LOOK: Final = 256
"""Arrivals between two looks at whether the trace's block is full; a block may so be larger by what they write."""

NEVER_NS: Final = 2**62
"""Later than every instant of a run, ns."""

_RELEASE, _ARRIVAL = int(Order.RELEASE), int(Order.ARRIVAL)
_ACTIVE, _QUEUE = int(LevelKind.ACTIVE), int(LevelKind.QUEUE)
_COMPLETED, _FAILED, _SHED, _LEFT, _ABORTED = (int(outcome) for outcome in AttemptOutcome)
_DONE, _LOST, _REFUSED, _GONE, _OPEN = (int(outcome) for outcome in RequestOutcome)
_NO_HOLD: Final = Hold.NONE
_ERROR, _TIMEOUT = int(Cause.PROVIDER_ERROR), int(Cause.TIMEOUT)
_ANSWERED_429: Final = frozenset({int(Cause.RATE_LIMIT), int(Cause.THROTTLE_STORM)})
_STATED: Final = ("tokens", *Figures._fields[2:])


class World:
    """Callers and providers of one run.

    Attributes:
        arrived: Arrivals so far.
        last_settled_ns: When the latest request settled, ns.
        last_arrival_ns: When the latest request arrived, ns.
    """

    # An object of more than thirty attributes keeps them in a plain dictionary, which every read goes through.
    __slots__ = (
        "_add_attempts",
        "_add_levels",
        "_add_requests",
        "_are_told",
        "_arrival",
        "_callers",
        "_clients",
        "_estimates",
        "_forget",
        "_is_special",
        "_kernel",
        "_last_phase",
        "_loops",
        "_next_ns",
        "_next_wakeup_ns",
        "_on_arrival",
        "_on_cancel",
        "_on_end_for_nobody",
        "_on_end_of_service",
        "_on_retry",
        "_on_timeout",
        "_on_wake",
        "_phase",
        "_phase_ends",
        "_poll",
        "_principals",
        "_providers",
        "_release_permit",
        "_request",
        "_rows",
        "_schedule",
        "_seed_wait_ns",
        "_service",
        "_streams",
        "_target",
        "_trace",
        "_unsettled",
        "_wake_ns",
        "arrived",
        "last_arrival_ns",
        "last_settled_ns",
    )

    def __init__(
        self,
        manifest: Manifest,
        blocks: Iterable[ArrivalBlock],
        target: Target,
        trace: Trace,
        kernel: Kernel,
        *,
        replication: int = 0,
        populations: Sequence[Population] = (),
        heard: Heard | None = None,
    ) -> None:
        """Stand ready at instant 0.

        Args:
            manifest: Who the callers and providers are.
            blocks: The arrivals, in order.
            target: What decides.
            trace: Where every event is written.
            kernel: The clock.
            replication: Number of the run, for what providers draw.
            populations: The callers in closed loops.
            heard: Is told of every arrival when it comes, where there are such callers.
        """
        self.arrived = 0
        self.last_settled_ns = 0
        self.last_arrival_ns = 0
        self._target = target
        self._trace = trace
        self._kernel = kernel
        # Bound once: what every event asks of kernel and target.
        self._schedule = kernel.schedule
        self._next_ns = kernel.next_ns
        self._request = target.request
        self._poll = target.poll
        self._release_permit = target.release
        self._forget = target.settle
        self._next_wakeup_ns = target.next_wakeup_ns
        # The trace's lists keep their identity, so that their methods can be kept too.
        self._add_levels = trace.levels.extend
        self._add_attempts = trace.attempts.extend
        self._add_requests = trace.requests.extend
        self._principals = [info.name for info in manifest.principals]
        self._providers = [provider.id for provider in manifest.providers]
        self._streams = manifest.streams
        self._clients: list[Client] = [stream.client for stream in manifest.streams]
        self._seed_wait_ns: int | None = None
        if manifest.client is not None:  # the seed's manifests: one client, and a deadline at every attempt
            self._clients = [manifest.client]
            self._seed_wait_ns = manifest.profile.workspace.max_queue_wait_ns
        self._service = Service(manifest, kernel, self._ended, self._decide_after_all, replication)
        self._is_special = self._service.takes
        self._callers = [Callers(client) for client in self._clients]
        self._are_told = any(callers.is_told for callers in self._callers)
        self._phase_ends = [phase.end_ns for phase in manifest.phases]
        self._last_phase = len(self._phase_ends) - 1
        self._phase = 0
        self._estimates: dict[int | tuple[int, ...], Estimate] = {}
        self._unsettled: dict[int, Call] = {}
        self._wake_ns = NEVER_NS
        self._rows = chain.from_iterable(block.rows() for block in blocks)
        self._arrival = Arrival()
        self._on_arrival = (self._arrive,)
        self._on_end_of_service = (self._end_service,)
        self._on_retry = (self._ask_again,)
        self._on_wake = (self._wake,)
        self._on_cancel = (self._cancel,)
        self._on_timeout = (self._lose_patience,)
        self._on_end_for_nobody = (self._end_for_nobody,)
        row = next(self._rows, None)
        if row is not None:
            self._arrival.row = row
            kernel.at(row[0], Order.ARRIVAL, self._arrival, self._on_arrival)
        self._loops = Loops(populations, kernel, self._on_arrival, heard) if populations else None

    @property
    def unsettled(self) -> int:
        """Requests that have arrived and not settled."""
        return len(self._unsettled)

    def audit(self) -> list[str]:
        """Compare what callers hold with what target and providers count; returns each difference as a sentence."""
        in_service = sum(call.permit is not None for call in self._unsettled.values())
        waiting = sum(call.permit is None and call.ticket.is_waiting for call in self._unsettled.values())
        counts = (("in service", in_service, self._target.active), ("waiting", waiting, self._target.waiting))
        found = [
            f"at {self._kernel.now_ns} ns {held} calls are {what} and the controller counts {counted}"
            for what, held, counted in counts
            if held != counted
        ]
        return [*found, *self._service.audit()]

    def layers(self) -> list[tuple[str, bool]]:
        """Return what the layers of each stream that has several have made of its requests, and whether it adds up."""
        return [
            (callers.account(stream.name), callers.is_consistent)
            for stream, callers in zip(self._streams, self._callers, strict=False)
            if len(stream.client.layers) > 1
        ]

    # Arrivals

    def _arrive(self, event: Arrival) -> None:
        """Let a request arrive, and schedule the next one of those that come whatever happens."""
        row = event.row
        at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns, jitter, figures = row
        while at_ns >= self._phase_ends[self._phase] and self._phase < self._last_phase:
            self._phase += 1  # (a seed's arrival is rounded to a ms, and can so fall on the very end of the last phase)
        ordinal = self.arrived
        if self._loops is not None:
            self._loops.asked(event, ordinal)
        call = Call(
            str(ordinal),
            self._principals[principal],
            WORKSPACE,
            self._providers[provider],
            (self._estimates.get(tokens) or self._estimate(tokens))
            if figures is None
            else self._estimate_of(tokens, figures),
            (ordinal, stream, principal, provider, self._phase),
            at_ns,
            service_ns,
            fails,
            jitter,
            figures,
        )
        self.arrived = ordinal + 1
        self.last_arrival_ns = at_ns
        self._unsettled[ordinal] = call
        if cancel_after_ns >= 0:
            self._kernel.at(at_ns + cancel_after_ns, Order.CANCEL, GiveUp(call), self._on_cancel)
        timeout_ns = self._clients[stream].timeout_ns
        if timeout_ns is not None:
            call.patience_ns = call.deadline_ns = at_ns + timeout_ns
            self._kernel.at(at_ns + timeout_ns, Order.CANCEL, GiveUp(call), self._on_timeout)
        if self._are_told:
            self._callers[stream].requested(principal, at_ns)
        self._ask(call, at_ns)
        if not ordinal % ARRIVALS_A_LOOK:
            self._trace.flush_if_full()
        if event is self._arrival:  # a caller in a loop comes back once it has been answered
            following = next(self._rows, None)
            if following is not None:
                event.row = following
                event.callbacks = self._on_arrival
                self._schedule(event, _ARRIVAL, following[0] - at_ns)

    def _estimate(self, tokens: int) -> Estimate:
        """Return what a request of so many tokens is expected to use: one item, one attempt, nothing to pay."""
        return self._kept(
            tokens, Estimate(tokens=tokens, cost_micros=0, items=1, attempts=1, batch_size=1, retained_work=1)
        )

    def _estimate_of(self, tokens: int, figures: Figures) -> Estimate:
        """Return what a request that is not plain is expected to use."""
        key = (tokens, *figures[2:])
        known = self._estimates.get(key)
        if known is not None:
            return known
        stated = zip(_STATED, key, strict=True)
        return self._kept(key, Estimate(**{name: value for name, value in stated if value != UNKNOWN}))

    def _kept(self, key: int | tuple[int, ...], estimate: Estimate) -> Estimate:
        if len(self._estimates) >= ESTIMATES_KEPT:
            self._estimates.clear()
        self._estimates[key] = estimate
        return estimate

    # Attempts

    def _ask(self, call: Call, now_ns: int) -> None:
        """Ask for admission once more."""
        call.attempts += 1
        call.requested_ns = now_ns
        if self._seed_wait_ns is not None:
            call.deadline_ns = now_ns + self._seed_wait_ns + call.service_ns
        call.ticket = ticket = self._request(call, now_ns)
        if ticket.is_waiting:
            self._add_levels((now_ns, 1, _QUEUE, call.principal_index, call.provider_index, 0))
        self._decide(now_ns)

    def _ask_again(self, call: Call) -> None:
        if not call.is_settled:
            now_ns = self._kernel.now_ns
            if self._are_told:
                self._callers[call.stream].retried(call, now_ns)
            self._ask(call, now_ns)

    def _decide(self, now_ns: int) -> None:
        """Carry out whatever the target has decided by now."""
        for decision in self._poll(now_ns):
            permit = decision.permit
            if permit is None:
                self._refused(decision, now_ns)
            else:
                self._admitted(decision, permit, now_ns)
        self._see_to_wakeup()

    def _decide_after_all(self, now_ns: int) -> None:
        """Let the target decide when every release and cancellation of this instant has been reported."""
        if self._next_ns() > now_ns:  # nothing else is to happen at this instant
            self._decide(now_ns)
        else:
            self._see_to_wakeup()

    def _see_to_wakeup(self) -> None:
        """See to it that the target is asked again when something falls due, be it at this very instant."""
        wake_ns = self._next_wakeup_ns(self._wake_ns)
        if wake_ns is not None and wake_ns < self._wake_ns:
            self._wake_ns = wake_ns
            self._kernel.at(wake_ns, Order.WAKE, Event(), self._on_wake)

    def _wake(self, _event: Event) -> None:
        now_ns = self._kernel.now_ns
        if now_ns == self._wake_ns:  # else an earlier wake-up has taken this one's place
            self._wake_ns = NEVER_NS
            self._decide(now_ns)

    def _admitted(self, decision: Decision, permit: Permit, now_ns: int) -> None:
        ticket = decision.ticket
        call: Call = ticket.request  # type: ignore[assignment]  # the target hands back what it was given
        call.permit = permit
        call.decided_ns = now_ns
        call.admissions += 1
        principal, provider = call.principal_index, call.provider_index
        tokens = ticket.tokens
        if ticket.hold is _NO_HOLD:
            self._add_levels((now_ns, 1, _ACTIVE, principal, provider, tokens))
        else:  # two rows at once
            waited_ns = decision.eligible_wait_ns
            self._add_levels(
                (now_ns, -1, _QUEUE, principal, provider, waited_ns, now_ns, 1, _ACTIVE, principal, provider, tokens)
            )
        if decision.transitions:
            self._note(decision.transitions, call)
        if self._is_special[provider]:
            self._service.begin(call, now_ns)
            return
        call.ends_ns = now_ns + call.service_ns
        call.callbacks = self._on_end_of_service
        self._schedule(call, _RELEASE, call.service_ns)

    def _refused(self, decision: Decision, now_ns: int) -> None:
        ticket = decision.ticket
        call: Call = ticket.request  # type: ignore[assignment]  # the target hands back what it was given
        denial = decision.denial
        if denial is None:
            raise InvariantViolation("a decision holds neither a permit nor a denial")
        call.decided_ns = now_ns
        if ticket.hold is not _NO_HOLD:
            left = (now_ns, -1, _QUEUE, call.principal_index, call.provider_index, decision.eligible_wait_ns)
            self._add_levels(left)
        reason = REASON_CODE[denial.reason]
        if denial.reason is DenyReason.CANCELLED:
            self._end_attempt(call, decision, now_ns, _LEFT, reason, _GONE)
            return
        is_retried = (
            denial.retry_after_ns is not None
            and self._clients[call.stream].on_refusal == "retry"
            and self._retry(call, now_ns, denial.retry_after_ns)
        )
        self._end_attempt(call, decision, now_ns, _SHED, reason, None if is_retried else _REFUSED)

    def _end_service(self, call: Call) -> None:
        """A call has run its course, unless its caller has left it before."""
        permit = call.permit
        if permit is None:
            return
        now_ns = call.ends_ns
        if call.fails and call.fails >> (call.attempts - 1) & 1:
            self._failed(call, permit, FAILURE, _ERROR, 0, now_ns)
        else:
            if self._are_told:
                self._callers[call.stream].succeeded(call.principal_index)
            self._release(call, permit, SUCCESS, now_ns, _COMPLETED, _DONE)
        if self._target.waiting:
            self._decide_after_all(now_ns)

    def _ended(self, call: Call, cause: int, announced_ns: int, now_ns: int) -> None:
        """A call at a provider of :mod:`sim.world.service` has ended."""
        permit = call.permit
        if permit is None:
            raise InvariantViolation("a call ended after its caller had left it")
        outcome = SUCCESS if cause == NONE else RetryAfter(announced_ns) if cause in _ANSWERED_429 else FAILURE
        if announced_ns:
            self._trace.pauses.append((call.provider_index, now_ns, now_ns + min(announced_ns, MAX_PAUSE_NS)))
        if call.is_settled:
            self._end_abandoned(call, outcome, now_ns)
        elif cause != NONE:
            self._failed(call, permit, outcome, cause, announced_ns, now_ns)
        else:
            if self._are_told:
                self._callers[call.stream].succeeded(call.principal_index)
            self._release(call, permit, SUCCESS, now_ns, _COMPLETED, _DONE)

    def _failed(self, call: Call, permit: Permit, outcome: Outcome, cause: int, announced_ns: int, now_ns: int) -> None:
        """A call did not succeed: its client may try again."""
        is_retried = self._retry(call, now_ns, announced_ns)
        self._release(call, permit, outcome, now_ns, _FAILED, None if is_retried else _LOST, cause)

    def _release(
        self,
        call: Call,
        permit: Permit,
        outcome: Outcome,
        now_ns: int,
        ended_as: int,
        settled_as: int | None,
        cause: int = NONE,
    ) -> None:
        """Give a call's permit back; its attempt ends, and with ``settled_as`` its request."""
        call.permit = None
        decision = permit.decision
        if decision is None:
            raise InvariantViolation("a permit was released behind its caller's back")
        before = decision.transitions
        if not self._release_permit(permit, outcome, now_ns):
            raise InvariantViolation("a permit was released twice")
        self._add_levels((now_ns, -1, _ACTIVE, call.principal_index, call.provider_index, 0))
        if decision.transitions is not before:
            self._note(decision.transitions[len(before) :], call)
        self._end_attempt(call, decision, now_ns, ended_as, NONE, settled_as, cause)

    def _retry(self, call: Call, now_ns: int, announced_ns: int) -> bool:
        """Schedule the next attempt, if the client makes one and has the patience for it.

        Args:
            call: The request whose attempt did not succeed.
            now_ns: The instant, ns.
            announced_ns: The wait that the service asked for, ns.
        """
        wait_ns = self._callers[call.stream].next_wait_ns(call, now_ns, announced_ns)
        if wait_ns is None:
            return False
        call.callbacks = self._on_retry
        self._schedule(call, _ARRIVAL, wait_ns)
        return True

    # Callers who give up

    def _cancel(self, event: GiveUp) -> None:
        """The caller cancels: wherever its request is, it is given up."""
        call = event.call
        if call.is_settled:
            return
        now_ns = self._kernel.now_ns
        call.signal_ns = now_ns
        call.is_cancelled = True
        if call.permit is not None:
            self._abort(call, call.permit, now_ns, NONE)
        elif call.ticket.is_waiting:
            self._target.cancel(call.ticket, now_ns)
        elif self._clients[call.stream].abortable_backoff:
            self._settle(call, _GONE, NONE, now_ns)
        self._decide_after_all(now_ns)

    def _lose_patience(self, event: GiveUp) -> None:
        """The time-out is over: a call in service is left; a request that waits has this instant as its deadline."""
        call = event.call
        permit = call.permit
        if permit is None:
            return
        now_ns = self._kernel.now_ns
        call.signal_ns = now_ns
        client = self._clients[call.stream]
        if client.abandon == "provider-stops":
            self._abort(call, permit, now_ns, _TIMEOUT)
        elif client.frees_abandoned:
            self._release(call, permit, CANCELLED, now_ns, _ABORTED, _GONE, _TIMEOUT)  # its provider is not told
        else:
            self._abandon(call, now_ns)
        self._decide_after_all(now_ns)

    def _abandon(self, call: Call, now_ns: int) -> None:
        """A request is over for its caller, and its call goes on with its permit."""
        call.is_settled = True
        call.callbacks = self._on_end_for_nobody
        if self._loops is not None:
            self._loops.answered(call.ordinal, now_ns)

    def _end_for_nobody(self, call: Call) -> None:
        """An abandoned call at a plain provider has run its course."""
        is_failed = call.fails >> (call.attempts - 1) & 1
        self._end_abandoned(call, FAILURE if is_failed else SUCCESS, call.ends_ns)
        self._decide_after_all(call.ends_ns)

    def _end_abandoned(self, call: Call, outcome: Outcome, now_ns: int) -> None:
        """Write down a request that its caller left long ago: the controller learns how its call really ended."""
        if call.permit is None:
            raise InvariantViolation("an abandoned call has lost its permit")
        self._release(call, call.permit, outcome, now_ns, _ABORTED, None, _TIMEOUT)
        self._settle(call, _GONE, NONE, call.signal_ns)
        self.last_settled_ns = now_ns  # nothing is over before its call is

    def _abort(self, call: Call, permit: Permit, now_ns: int, cause: int) -> None:
        if self._is_special[call.provider_index]:
            self._service.leave(call, now_ns)
        self._release(call, permit, CANCELLED, now_ns, _ABORTED, _GONE, cause)

    # The end of an attempt, of a request, and of the run

    def _end_attempt(
        self,
        call: Call,
        decision: Decision,
        now_ns: int,
        outcome: int,
        reason: int,
        settled_as: int | None,
        cause: int = NONE,
    ) -> None:
        """Write an attempt that has ended, and settle its request unless it is tried again (``settled_as`` None)."""
        ticket = decision.ticket
        self._add_attempts(call.who)
        self._add_attempts(
            (
                call.attempts,
                call.requested_ns,
                call.decided_ns,
                now_ns,
                outcome,
                reason,
                ticket.hold or NONE,
                decision.eligible_wait_ns,
                ticket.tokens,
                cause,
            )
        )
        if settled_as is not None:
            self._settle(call, settled_as, reason, now_ns)

    def _settle(self, call: Call, outcome: int, reason: int, now_ns: int) -> None:
        """A request is over."""
        call.is_settled = True
        del call.ticket  # whose request is this call: a cycle that only the garbage collector would find
        del self._unsettled[call.ordinal]
        self.last_settled_ns = now_ns
        self._write_request(call, outcome, reason, now_ns)
        self._forget(call.budget_id)
        if self._loops is not None:
            self._loops.answered(call.ordinal, now_ns)

    def close(self, end_ns: int) -> None:
        """Write what has not settled, and close the trace.

        Args:
            end_ns: The end of the run, ns.
        """
        for call in self._unsettled.values():
            self._write_request(call, _OPEN, NONE, end_ns)
            if call.permit is None and call.ticket.is_waiting:
                since_ns = self._target.eligible_since_ns(call.ticket, end_ns)
                if since_ns is not None:
                    self._trace.heads.append((call.principal_index, call.provider_index, since_ns))
        self._trace.close(end_ns, self.arrived)

    def _write_request(self, call: Call, outcome: int, reason: int, now_ns: int) -> None:
        self._add_requests(call.who)
        tokens = call.estimate.draw
        self._add_requests(
            (
                call.intended_ns,
                now_ns,
                outcome,
                reason,
                call.attempts,
                call.admissions,
                call.signal_ns,
                tokens,
                tokens if call.figures is None else call.figures.actual_tokens,
                call.stopped,
            )
        )

    def _note(self, transitions: Iterable[Transition], call: Call) -> None:
        """Write the breaker transitions that a call has caused."""
        for change in transitions:
            self._trace.transitions.append(
                (
                    call.provider_index,
                    change.from_state.value,
                    change.to_state.value,
                    change.at_ns,
                    change.failures,
                    call.ordinal,
                )
            )
