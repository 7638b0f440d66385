"""The admission controller of one workspace: who may go, who waits, who is refused.

Sans I/O: :meth:`AdmissionController.request`, ``release`` and ``cancel`` take in what happened,
:meth:`AdmissionController.poll` gives out the decisions, each once, and :meth:`AdmissionController.next_wakeup_ns` says
when the next one could fall due. Time comes in as integers; a clock that steps back is held at the latest instant seen.

Inside one instant the caller reports releases, then cancellations, then polls or asks: whatever is due (expiries first,
then waiting requests that may go) is decided before an arrival of that instant. This module owns that order, and what
an admission and a refusal consist of. It must not read a clock, draw a random number or wait.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from operator import attrgetter
from typing import Final

from tollgate.core.breaker import BreakerState, Outcome, RetryAfter, Transition
from tollgate.core.deny import REASONS, Denial, DenyReason
from tollgate.core.errors import CallerError
from tollgate.decision import preflight
from tollgate.decision.budgets import InvocationBudgets
from tollgate.decision.decisions import BreakerEvent, Decision, Permit
from tollgate.decision.diagnosis import diagnose, diagnose_queue
from tollgate.decision.directory import Pools
from tollgate.decision.eligibility import Eligibility
from tollgate.decision.evidence import Check, Hold
from tollgate.decision.pools import ProviderPool, RequestLane, Ticket
from tollgate.decision.pressure import RetryPressure
from tollgate.decision.profile import AdmissionProfile
from tollgate.decision.request import Request
from tollgate.decision.terms import UNLIMITED
from tollgate.decision.waiting import WaitingRoom

MAX_PAUSE_NS: Final = 21_600_000_000_000
"""Longest pause a provider can ask for, ns: six hours, the cap that urllib3 settled on for Retry-After (urllib3
#3743)."""

QUEUE_FULL_RETRY_NS: Final = 250_000_000
"""Least advice after ``queue-full``, ns: the seed's 250 ms. When the queue has room depends on calls whose length
nobody knows; alone, the request would go at once."""

TRANSITION_HISTORY: Final = 64
"""Breaker transitions kept, as many as the seed keeps."""

_CLOSED = BreakerState.CLOSED
_NONE = Hold.NONE

_log = logging.getLogger(__name__)


class AdmissionController:
    """Admission for one workspace under one profile at a time.

    Not safe to share between threads or to call from a listener; drivers serialise.

    Attributes:
        workspace: The workspace's id; requests must carry it.
        profile: The current limits.
        clamped_pauses: Answers whose Retry-After was malformed, negative or above :data:`MAX_PAUSE_NS`.

    >>> from tollgate.core.breaker import SUCCESS
    >>> from tollgate.decision import AdmissionLimits, Estimate
    >>> limits = AdmissionLimits(concurrency=1, max_queue_length=8)
    >>> profile = AdmissionProfile("v1", limits, {"llm": AdmissionLimits()}, {"ann": AdmissionLimits()})
    >>> controller = AdmissionController("w", profile)
    >>> first = controller.request(Request("job-1", "ann", "w", "llm", Estimate(tokens=200)), now_ns=0)
    >>> second = controller.request(Request("job-2", "ann", "w", "llm", Estimate(tokens=200)), now_ns=1)
    >>> [decision] = controller.poll(now_ns=1)
    >>> controller.release(decision.permit, SUCCESS, now_ns=5)
    True
    >>> controller.poll(now_ns=5)
    [<Decision admitted at 5 ns after 4 ns>]
    """

    def __init__(self, workspace: str, profile: AdmissionProfile) -> None:
        """Start with nothing in flight and every bucket full.

        Args:
            workspace: The workspace's id.
            profile: The limits.
        """
        self.workspace = workspace
        self.profile = profile
        self.clamped_pauses = 0
        self._now_ns = 0
        self._advanced_ns = -1  # up to when everything due has been decided
        self._pools = Pools(workspace, profile, 0)
        self._workspace = self._pools.workspace
        self._lanes = self._pools.lanes
        self._eligibility = Eligibility(self._workspace, protects_large=profile.scheduling.protect_large_requests)
        self._room = WaitingRoom(self._pools, self._eligibility, profile.scheduling)
        self._budgets = InvocationBudgets()
        self._pressure = RetryPressure()
        self._is_due = False
        self._decisions: list[Decision] = []
        self._history: deque[BreakerEvent] = deque(maxlen=TRANSITION_HISTORY)
        self._listeners: list[Callable[[BreakerEvent], None]] = []

    # What is so

    @property
    def active(self) -> int:
        """Calls in flight."""
        return self._workspace.gauge.in_use

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._workspace.waiting

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight, waits, or is decided but not yet delivered."""
        return not (self.active or self.waiting or self._decisions)

    def is_fresh(self, now_ns: int) -> bool:
        """Return whether a new controller in this one's place would decide the same.

        Args:
            now_ns: The instant, ns.
        """
        return self.is_idle and all(pool.is_fresh(now_ns) for pool in self._pools) and not len(self._budgets)

    @property
    def breaker_transitions(self) -> tuple[BreakerEvent, ...]:
        """The latest breaker transitions, oldest first, at most :data:`TRANSITION_HISTORY`."""
        return tuple(self._history)

    def on_breaker_transition(self, listener: Callable[[BreakerEvent], None]) -> None:
        """Call ``listener`` with each transition from now on. What it raises is logged and stops nothing."""
        self._listeners.append(listener)

    def diagnose(self, ticket: Ticket, now_ns: int) -> list[Check]:
        """Return every limit a request meets, what it stands at and whether it lets the request go. Changes nothing.

        Args:
            ticket: A request, waiting or not.
            now_ns: The instant, ns.
        """
        return diagnose(ticket, self._workspace, now_ns, self._eligibility.kept_for(ticket, now_ns))

    def diagnose_queue(self, ticket: Ticket) -> list[Check]:
        """Return the limits on how many may wait, as the request meets them when it cannot go at once.

        Args:
            ticket: A request, waiting or not.
        """
        return diagnose_queue(ticket.lane)

    def eligible_since_ns(self, ticket: Ticket, now_ns: int) -> int | None:
        """Return since when a request has been its lane's head and lacked nothing but shared permits, ns.

        Args:
            ticket: A request, waiting or not.
            now_ns: The instant, ns.

        Returns:
            The instant; None if it does not wait, is not the head, was last seen held by something of its own, or if
            its provider is paused or its breaker lets nothing through.
        """
        lane = ticket.lane
        if not ticket.is_waiting or lane.head is not ticket or ticket.eligible_since_ns < 0:
            return None
        provider = lane.provider
        breaker = provider.breaker
        if now_ns < provider.paused_until_ns or (breaker is not None and not breaker.may_acquire(now_ns)):
            return None
        return max(ticket.eligible_since_ns, provider.open_since_ns)

    def next_wakeup_ns(self, before_ns: int = UNLIMITED) -> int | None:
        """Return when :meth:`poll` is next to be called if nothing else happens: an instant, ns; None for never.

        Args:
            before_ns: An instant at which the caller will poll in any case, ns. A later one need not be found out: None
                is returned instead.

        It is not after the latest instant seen while a decision is due or undelivered. Otherwise it is the earliest
        instant at which a waiting request expires, or at which what holds one (a bucket, a pause, a breaker) is over;
        while every permit of the workspace is in use only an expiry counts. It is never late. It can be early where a
        head is held twice, by a bucket of its own and, for longer, by its provider.
        """
        if self._decisions or self._is_due:
            return self._now_ns
        if not self._workspace.waiting or self._room.earliest_ns >= before_ns:
            return None
        return self._room.next_instant_ns()

    # What happens

    def request(self, request: Request, now_ns: int) -> Ticket:
        """Take in a request. Its decision comes from :meth:`poll`, at once if it is not to wait.

        Args:
            request: Who asks for what.
            now_ns: The instant, ns.

        Raises:
            CallerError: If the request is for another workspace.
        """
        if request.workspace != self.workspace:
            raise CallerError("the request is for another workspace than this controller's")
        now_ns = self._advance(now_ns)
        try:
            lane = self._lanes[request.provider][request.principal]
        except KeyError:
            lane = self._pools.new_lane(request.principal, request.provider, now_ns)
        ticket = Ticket(request, lane, now_ns)
        reason = preflight.refusal(request, lane, now_ns)
        terms = lane.terms
        if reason is None and (terms.has_counts or (terms.has_costs and request.estimate.cost_micros)):
            reason = self._budgets.refusal(request.budget_id, request.estimate, lane.pools)
        if reason is not None:
            self._refuse(ticket, lane, reason, now_ns)
            return ticket
        hold = lane.hold if lane.size else self._eligibility.pay(ticket, lane, now_ns)
        if hold is _NONE:
            self._admit(ticket, lane, now_ns)
            self._is_due = self._workspace.waiting > 0 and self._eligibility.may_free_others(lane)
        elif self._room.is_full_for(lane):
            self._refuse(ticket, lane, DenyReason.QUEUE_FULL, now_ns)
        else:
            self._room.enter(ticket, lane, hold, now_ns)
        return ticket

    def release(self, permit: Permit, outcome: Outcome, now_ns: int) -> bool:
        """Give a permit back and say how the call ended.

        Args:
            permit: From the decision that admitted it.
            outcome: Success, failure, the caller's cancellation, or the pause the provider asked for.
            now_ns: The instant, ns.

        Returns:
            True the first time; False afterwards, with no effect.
        """
        if not permit.release():
            return False
        if now_ns < self._now_ns:  # noqa: PLR1730 - see _advance
            now_ns = self._now_ns
        self._now_ns = now_ns
        self._eligibility.holders_at_ns = -1
        decision, permit.decision = permit.decision, None
        lane = permit.lane
        principal = lane.principal
        if principal.gauge.in_use < principal.reserved:
            self._workspace.unused_reserved += 1
        if type(outcome) is RetryAfter:
            outcome = self._hold_provider(lane.provider, outcome.ns, now_ns)
        breaker = permit.breaker
        if breaker is not None and breaker is lane.provider.breaker and permit.handle is not None:
            generation = breaker.generation
            breaker.record(permit.handle, outcome, now_ns)
            if breaker.generation != generation and decision is not None:
                decision.transitions += self._publish(lane.provider.name, breaker.drain_transitions())
        if principal.resting:
            self._room.call_ended(principal)
        if self._workspace.waiting:
            room = self._room
            self._is_due = room.ready > 0 or room.earliest_ns <= now_ns
        return True

    def cancel(self, ticket: Ticket, now_ns: int) -> bool:
        """Give a request up that still waits; its decision is then ``cancelled``.

        Args:
            ticket: From :meth:`request`.
            now_ns: The instant, ns.

        Returns:
            True if it waited; False if it has been decided, with no effect: a permit it was given is to be released.
        """
        self._now_ns = max(now_ns, self._now_ns)
        self._expire(self._now_ns - 1)
        if not ticket.is_waiting:
            return False
        self._refuse(ticket, ticket.lane, DenyReason.CANCELLED, self._now_ns)
        return True

    def pause(self, provider: str, pause_ns: int, now_ns: int) -> None:
        """Hold everything to a provider back for a while, as its Retry-After does.

        Args:
            provider: Name of a provider of the profile.
            pause_ns: How long, ns. Above :data:`MAX_PAUSE_NS` it is clamped to that, malformed or negative to nothing;
                both are counted.
            now_ns: The instant, ns.

        Raises:
            CallerError: For a provider that the profile does not name.
        """
        pool = self._pools.providers.get(provider)
        if pool is None:
            raise CallerError("the profile names no such provider")
        self._now_ns = max(now_ns, self._now_ns)
        self._hold_provider(pool, pause_ns, self._now_ns)
        self._is_due = self._workspace.waiting > 0

    def settle(self, budget_id: str) -> None:
        """Forget what an invocation has used, once it has ended."""
        if self._budgets.used:
            self._budgets.settle(budget_id)

    def poll(self, now_ns: int) -> list[Decision]:
        """Decide whatever is due and return every decision not yet delivered, in the order in which they fell.

        Args:
            now_ns: The instant, ns.
        """
        if self._is_due or now_ns > self._advanced_ns:
            self._advance(now_ns)
        decisions = self._decisions
        self._decisions = []
        return decisions

    def set_profile(self, profile: AdmissionProfile, now_ns: int) -> None:
        """Change all limits at once.

        What is in flight, what was earned and what waits stays; what waits is judged again at this instant.

        Args:
            profile: The new limits.
            now_ns: The instant, ns.
        """
        now_ns = self._advance(now_ns)
        self.profile = profile
        self._pools.configure(profile, now_ns)
        for name, provider in self._pools.providers.items():
            if provider.breaker is not None:  # one whose time was up has turned half-open under the old thresholds
                self._publish(name, provider.breaker.drain_transitions())
        self._eligibility.protects_large = profile.scheduling.protect_large_requests
        self._eligibility.holders_at_ns = -1
        self._room.follow(profile.scheduling)
        lanes = list(self._pools.all_lanes())
        waiting = sorted((ticket for lane in lanes for ticket in lane), key=attrgetter("place"))
        for ticket in waiting:
            reason = preflight.refusal(ticket.request, ticket.lane, now_ns)
            if reason is not None:
                self._refuse(ticket, ticket.lane, reason, now_ns)
        self._room.set_up_again(lanes, [ticket for ticket in waiting if ticket.is_waiting])
        self._is_due = self._workspace.waiting > 0

    # What follows

    def _advance(self, now_ns: int) -> int:
        """Bring the controller to an instant and return it: expire, wake, let go. It is never before the latest one."""
        if now_ns < self._now_ns:  # noqa: PLR1730 - a call of max() takes three times as long, on every event
            now_ns = self._now_ns
        self._now_ns = self._advanced_ns = now_ns
        if self._room.earliest_ns <= now_ns:
            self._expire(now_ns)
            self._is_due = self._room.wake_due(now_ns) or self._is_due
        if self._is_due:
            self._dispatch(now_ns)
            self._is_due = False
        return now_ns

    def _expire(self, until_ns: int) -> None:
        """Refuse every waiting request whose time was up by an instant, in the order in which they expired."""
        while (ticket := self._room.expired(until_ns)) is not None:
            deadline_ns = ticket.request.deadline_ns
            is_deadline = deadline_ns is not None and deadline_ns <= ticket.expires_ns
            reason = DenyReason.DEADLINE_EXCEEDED if is_deadline else DenyReason.QUEUE_TIMEOUT
            self._refuse(ticket, ticket.lane, reason, self._now_ns)

    def _dispatch(self, now_ns: int) -> None:
        """Let every waiting request go that may, the lane served longest ago first."""
        room = self._room
        passed_over: list[RequestLane] = []
        room.new_pass()
        while (lane := room.take_next(now_ns)) is not None:
            ticket: Ticket = lane.head  # type: ignore[assignment]  # the room has looked
            may_free_others = passed_over and self._eligibility.may_free_others(lane)
            request = ticket.request
            reason = None
            terms = lane.terms
            if terms.has_counts or (terms.has_costs and request.estimate.cost_micros):
                reason = self._budgets.refusal(request.budget_id, request.estimate, lane.pools)
            if reason is not None:
                self._refuse(ticket, lane, reason, now_ns)
            else:
                hold = self._eligibility.pay(ticket, lane, now_ns)
                if hold is not _NONE:
                    if not room.hold_back(ticket, lane, hold, now_ns):
                        passed_over.append(lane)
                    continue
                self._admit(ticket, lane, now_ns)
                room.served(ticket, lane, now_ns)
            if may_free_others:
                self._try_again(passed_over)
        if passed_over:
            self._try_again(passed_over)

    def _try_again(self, lanes: list[RequestLane]) -> None:
        """Let lanes that were passed over be looked at again, and forget that they were."""
        for lane in lanes:
            self._room.make_ready(lane)
        lanes.clear()

    def _admit(self, ticket: Ticket, lane: RequestLane, now_ns: int) -> None:
        """Give a request that nothing holds, and that is paid for, its permit, and record the decision."""
        principal = lane.principal
        provider = lane.provider
        request = ticket.request
        estimate = request.estimate
        self._eligibility.holders_at_ns = -1
        permit = Permit(lane.gauges)
        permit.lane = lane
        active = principal.gauge.in_use
        if active <= principal.reserved:
            self._workspace.unused_reserved -= 1
        transitions: tuple[Transition, ...] = ()
        breaker = permit.breaker = provider.breaker
        state = _CLOSED
        if breaker is None:
            permit.handle = None
        elif breaker.state is _CLOSED:
            permit.handle = breaker.try_acquire(now_ns)
        else:
            permit.handle = breaker.try_acquire(now_ns)
            transitions = self._publish(provider.name, breaker.drain_transitions())
            state = breaker.state
        terms = lane.terms
        if terms.has_counts or (terms.has_costs and estimate.cost_micros):
            self._budgets.charge(request.budget_id, estimate, lane.pools)
        decision = Decision(
            ticket,
            permit,
            None,
            now_ns,
            _eligible_wait_ns(ticket, provider, now_ns) if ticket.is_waiting else 0,
            active,
            lane.size - ticket.is_waiting,
            self._pressure.level_micros(now_ns) if self._pressure.is_raised else 0,
            state,
            transitions,
        )
        permit.decision = decision
        self._decisions.append(decision)

    def _refuse(self, ticket: Ticket, lane: RequestLane, reason: DenyReason, now_ns: int) -> None:
        """Record a refusal, taking the request out of its lane if it waits there."""
        eligible_ns = 0
        if ticket.is_waiting:
            since_ns = self.eligible_since_ns(ticket, now_ns)
            if since_ns is not None:
                eligible_ns = now_ns - since_ns
            self._eligibility.holders_at_ns = -1
            self._room.leave(ticket, lane, now_ns)
            self._is_due = self._workspace.waiting > 0
        breaker = lane.provider.breaker
        self._decisions.append(
            Decision(
                ticket,
                None,
                Denial(reason, self._retry_after_ns(ticket, lane, reason, now_ns)),
                now_ns,
                eligible_ns,
                lane.principal.gauge.in_use,
                lane.size,
                self._pressure.level_micros(now_ns) if self._pressure.is_raised else 0,
                _CLOSED if breaker is None else breaker.state,
                (),
            )
        )

    def _retry_after_ns(self, ticket: Ticket, lane: RequestLane, reason: DenyReason, now_ns: int) -> int | None:
        """Return after how long the same request, alone, would be admitted; None for never."""
        if not REASONS[reason].may_retry or lane.never_fits(ticket.tokens) or self._is_kept_out(lane):
            return None
        provider = lane.provider
        ready_ns = max(provider.paused_until_ns, lane.refilled_ns(ticket.tokens, now_ns))
        if provider.breaker is not None:
            ready_ns = max(ready_ns, now_ns + (provider.breaker.wait_ns(now_ns) or 0))
        return max(ready_ns - now_ns, QUEUE_FULL_RETRY_NS if reason is DenyReason.QUEUE_FULL else 0)

    def _is_kept_out(self, lane: RequestLane) -> bool:
        """Return whether the reservations of others, all unused, would leave a lane without any permit."""
        own = lane.principal.reserved
        permits = min(self._workspace.gauge.limit, lane.provider.gauge.limit)
        return own == 0 and self._pools.reserved >= permits

    def _hold_provider(self, provider: ProviderPool, pause_ns: int, now_ns: int) -> RetryAfter:
        """Pause a provider as it asked, within bounds; returns what is honoured."""
        asked_ns = pause_ns if type(pause_ns) is int else 0
        honoured_ns = min(max(asked_ns, 0), MAX_PAUSE_NS)
        if honoured_ns != pause_ns:
            self.clamped_pauses += 1
        provider.paused_until_ns = max(provider.paused_until_ns, now_ns + honoured_ns)
        self._pressure.add(now_ns)
        self._eligibility.holders_at_ns = -1
        self._room.provider_held(provider, now_ns)
        return RetryAfter(honoured_ns)

    def _publish(self, provider: str, transitions: tuple[Transition, ...]) -> tuple[Transition, ...]:
        """Keep a breaker's new transitions in the history, tell the listeners, and return them."""
        for transition in transitions:
            event = BreakerEvent(provider, transition)
            self._history.append(event)
            for listener in self._listeners:
                try:
                    listener(event)
                except Exception:  # noqa: BLE001 - a listener's fault must not undo a decision that stands
                    _log.exception("a breaker listener raised")
        return transitions


def _eligible_wait_ns(ticket: Ticket, provider: ProviderPool, now_ns: int) -> int:
    """Return how long a waiting head lacked nothing but shared permits, ns.

    Counted from the last instant at which it was seen held by something of its own, or its provider shut.
    """
    since_ns = ticket.eligible_since_ns
    if since_ns < 0:
        return 0
    return now_ns - max(since_ns, provider.open_since_ns)
