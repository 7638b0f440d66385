"""The waiting room: requests that could not go at once, in their lanes, and which lane is to be looked at next.

A lane is *ready* while its head may be tried, and *rests* while a known event has to come first: the end of one of its
principal's calls, or the instant of a refill. Providers that are full, paused or broken are passed over as a whole, so
that a decision costs the logarithm of the lanes that wait and not their number. (Lanes that a shared token bucket holds
all wake at its refill, and one goes: there the cost is their number. Heads kept back for a larger request are the
exception: they stay ready and are tried again with every decision.)

This module owns who waits, until when, and in which order heads are tried. It must not admit, refuse or spend.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from tollgate.core.agenda import Agenda
from tollgate.core.breaker import BreakerState
from tollgate.core.errors import InvariantViolation
from tollgate.core.lanes import DeficitTurns, Turns
from tollgate.decision.directory import Pools
from tollgate.decision.eligibility import Eligibility
from tollgate.decision.evidence import REQUEST_HOLDS, Hold
from tollgate.decision.limits import SCOPES, Scope
from tollgate.decision.pools import Pool, PrincipalPool, ProviderPool, RequestLane, Ticket
from tollgate.decision.profile import Scheduling
from tollgate.decision.terms import UNLIMITED

# Module names for what the hot path looks at: reading a member off an enum class costs a descriptor call each time.
_NONE: Final = Hold.NONE
_PAUSED: Final = Hold.PROVIDER_PAUSED
_BROKEN: Final = Hold.BREAKER_OPEN
_LARGER_FIRST: Final = Hold.LARGER_REQUEST_FIRST
_CLOSED: Final = BreakerState.CLOSED
_UNTIL_OWN_RELEASE: Final = frozenset({Hold.PRINCIPAL_CONCURRENCY, Hold.WORKSPACE_SHARE, Hold.PROVIDER_SHARE})
_BY_TOKENS: Final = frozenset({Hold.PRINCIPAL_TOKENS, Hold.WORKSPACE_TOKENS, Hold.PROVIDER_TOKENS})
_EMPTY_OF_REQUESTS: Final[dict[Hold, Scope]] = {hold: scope for scope, hold in REQUEST_HOLDS.items()}
_FOR_SHARED_PERMITS: Final = frozenset(
    {Hold.WORKSPACE_CONCURRENCY, Hold.PROVIDER_CONCURRENCY, Hold.PROVIDER_PAUSED, Hold.BREAKER_OPEN}
)
"""Holds that do not end a head's eligible wait. A pause and a breaker are its provider's and hold all heads alike: the
time until the provider is open again is taken off when the head goes (``ProviderPool.open_since_ns``)."""


class WaitingRoom:
    """Who waits in one controller.

    Attributes:
        earliest_ns: No expiry and no wake-up comes before this instant, ns; it can be early.
        ready: How many lanes there are whose head may be tried. Only the room writes it.
    """

    __slots__ = (
        "_eligibility",
        "_entered",
        "_expiries",
        "_pools",
        "_turns",
        "_wakeups",
        "_workspace",
        "earliest_ns",
        "ready",
    )

    def __init__(self, pools: Pools, eligibility: Eligibility, scheduling: Scheduling) -> None:
        """Start empty."""
        self._pools = pools
        self._workspace = pools.workspace
        self._eligibility = eligibility
        self._turns = _discipline(scheduling)
        self.ready = 0
        self._entered = 0
        self.earliest_ns = UNLIMITED
        self._expiries: Agenda[Ticket] = Agenda(attrgetter("expires_ns"))
        self._wakeups: Agenda[RequestLane | Pool] = Agenda(attrgetter("wake_ns"))

    def __len__(self) -> int:
        """Return how many wait."""
        return self._workspace.waiting

    def is_full_for(self, lane: RequestLane) -> bool:
        """Return whether one more request of this lane finds no place."""
        principal = lane.principal
        provider = lane.provider
        workspace = self._workspace
        return (
            principal.waiting >= principal.max_waiting
            or workspace.waiting >= workspace.max_waiting
            or provider.waiting >= provider.max_waiting
            or principal.waiting >= lane.terms.max_waiting_of_principal
            or lane.size >= lane.terms.max_waiting
        )

    def enter(self, ticket: Ticket, lane: RequestLane, hold: Hold, now_ns: int) -> None:
        """Let a request wait at the end of its lane for the reason given."""
        self._entered += 1
        ticket.place = self._entered
        ticket.hold = hold
        ticket.is_waiting = True
        lane.append(ticket)
        principal, workspace, provider = lane.pools
        principal.waiting += 1
        workspace.waiting += 1
        provider.waiting += 1
        self._let_expire(ticket, lane)
        if lane.size == 1:
            self._turns.join(lane)
            if not self.hold_back(ticket, lane, hold, now_ns):
                self.make_ready(lane)

    def leave(self, ticket: Ticket, lane: RequestLane, now_ns: int) -> None:
        """Take out a request that is not to be served, wherever it stands."""
        was_head = self._take_out(ticket, lane)
        if was_head:
            self._turns.new_round()
        if was_head and lane.head is not None:
            lane.head.eligible_since_ns = now_ns
            lane.wake_ns = -1
            self.make_ready(lane)

    def served(self, ticket: Ticket, lane: RequestLane, now_ns: int) -> None:
        """Take out a head that was admitted, and give its lane its new place."""
        self._take_out(ticket, lane)
        head = lane.head
        if head is not None:
            head.eligible_since_ns = now_ns
            self._turns.served(lane, ticket.cost, head.cost)
            hold = self._eligibility.own_hold(lane)
            if hold is _NONE or not self.hold_back(head, lane, hold, now_ns):
                self.make_ready(lane)

    def new_pass(self) -> None:
        """Begin to look for requests that may go."""
        if self._turns.is_weighted:
            self._turns.new_round()

    def take_next(self, now_ns: int) -> RequestLane | None:
        """Take the lane whose head is to be tried off the ready ones: the lowest turn that no shared pool holds.

        Returns:
            The lane, or None when there is no such lane.
        """
        workspace = self._workspace
        gauge = workspace.gauge
        while self.ready and gauge.in_use < gauge.limit and now_ns >= workspace.wake_ns:
            lane = self._next_lane(gauge.limit - gauge.in_use, now_ns)
            if lane is None:
                break
            lane.ready.drop(lane)
            lane.queued_turn = 0
            self.ready -= 1
            if lane.head is None:
                raise InvariantViolation("a lane without requests had its turn")
            if not self._turns.is_weighted or self._turns.may_serve(lane, lane.head.cost, lane.principal.limits.weight):
                return lane
            self.make_ready(lane)  # under its new turn: others go first
        return None

    def _next_lane(self, free: int, now_ns: int) -> RequestLane | None:
        """Return the ready lane with the lowest turn that its provider does not hold, or None.

        Args:
            free: Free permits of the workspace, at least 1.
            now_ns: The instant, ns.
        """
        unused = self._workspace.unused_reserved
        best: RequestLane | None = None
        for provider in self._pools.providers.values():
            if not provider.waiting:
                continue
            gauge = provider.gauge
            its_free = gauge.limit - gauge.in_use
            if its_free <= 0 or now_ns < provider.wake_ns:
                continue
            breaker = provider.breaker
            # Nearly every provider nearly always; only for the others is a call worth it.
            is_plain = now_ns >= provider.paused_until_ns and (breaker is None or breaker.state is _CLOSED)
            if (provider.is_shut or not is_plain) and not self._is_open(provider, now_ns):
                continue
            if provider.ready_reserved.entries:
                lane = provider.ready_reserved.first()
                if lane is not None and (best is None or lane.turn < best.turn):
                    best = lane
            if unused and (free <= unused or its_free <= unused):
                continue  # every free permit is kept back, and the other lanes have no reservation
            if provider.ready.entries:
                lane = provider.ready.first()
                if lane is not None and (best is None or lane.turn < best.turn):
                    best = lane
        return best

    def hold_back(self, ticket: Ticket, lane: RequestLane, hold: Hold, now_ns: int) -> bool:
        """Note what holds a lane's head.

        Returns:
            Whether the lane can rest until a known event makes it ready again.
        """
        lane.hold = hold
        if hold not in _FOR_SHARED_PERMITS:
            ticket.eligible_since_ns = -1
        elif ticket.eligible_since_ns < 0:
            ticket.eligible_since_ns = now_ns
        if hold in _UNTIL_OWN_RELEASE:
            lane.principal.rest(lane)
            return True
        if hold in _BY_TOKENS or hold is _LARGER_FIRST:
            self._eligibility.claim(ticket)
        if hold is _PAUSED or hold is _BROKEN:
            self._note_opening(lane.provider, now_ns)
            return False
        if hold in _EMPTY_OF_REQUESTS:
            return self._rest_for_request(lane, _EMPTY_OF_REQUESTS[hold], now_ns)
        if hold in _BY_TOKENS:
            self._wake(lane, lane.refilled_ns(ticket.tokens, now_ns))
            return True
        if hold is _LARGER_FIRST and (kept := self._eligibility.kept_for(ticket, now_ns)) is not None:
            bucket, holder = kept
            both_ns = bucket.ready_ns(ticket.tokens + holder.tokens, now_ns)
            if both_ns is not None:
                self._wake(lane, both_ns)
        return False

    def _rest_for_request(self, lane: RequestLane, scope: Scope, now_ns: int) -> bool:
        """Wait for a request bucket; returns whether the lane rests.

        A principal's bucket holds its own lanes, which rest. The workspace's or a provider's holds every lane of its
        pool
        alike: the pool is passed over as a whole, and no lane has to rest.
        """
        pool = lane.pools[SCOPES.index(scope)]
        ready_ns = None if pool.requests is None else pool.requests.ready_ns(1, now_ns)
        if ready_ns is None:
            raise InvariantViolation("a request waits for a bucket that can never pay for it")
        is_own = pool is lane.principal
        self._wake(lane if is_own else pool, ready_ns)
        return is_own

    def make_ready(self, lane: RequestLane) -> None:
        """Let the head of a lane be tried; its turn stays."""
        if lane.size and not lane.queued_turn:
            lane.queued_turn = lane.turn
            lane.ready.add(lane)
            self.ready += 1

    def _not_ready(self, lane: RequestLane) -> None:
        """Take a lane off the ready ones; its entry goes when it surfaces."""
        if lane.queued_turn:
            lane.queued_turn = 0
            self.ready -= 1

    def call_ended(self, principal: PrincipalPool) -> None:
        """One of a principal's calls has ended: its lanes may go again."""
        lanes, principal.resting = principal.resting, None
        for lane in lanes or ():
            self.make_ready(lane)

    def expired(self, until_ns: int) -> Ticket | None:
        """Return a request whose time was up by an instant, the earliest first; None if there is none."""
        return self._expiries.due(until_ns)

    def wake_due(self, now_ns: int) -> bool:
        """Make the lanes ready whose instant has come, and return whether anything has; expiries come first."""
        any_due = False
        while (item := self._wakeups.due(now_ns)) is not None:
            item.wake_ns = -1
            any_due = True
            if isinstance(item, RequestLane):
                self.make_ready(item)
        self.earliest_ns = min(self._expiries.first_key(UNLIMITED), self._wakeups.first_key(UNLIMITED))
        return any_due

    def next_instant_ns(self) -> int | None:
        """Return the earliest instant at which time alone could change a decision, ns; None for never."""
        expiry_ns = self._expiries.first_key(UNLIMITED)
        wake_ns = self._wakeups.first_key(UNLIMITED) if self._wakeups.entries else UNLIMITED
        self.earliest_ns = earliest_ns = min(wake_ns, expiry_ns)
        gauge = self._workspace.gauge
        if gauge.in_use >= gauge.limit:
            earliest_ns = expiry_ns
        return earliest_ns if earliest_ns < UNLIMITED else None

    def provider_held(self, provider: ProviderPool, now_ns: int) -> None:
        """Those who wait for a provider that has just asked for a pause are to be looked at when that is over."""
        if provider.waiting and now_ns < provider.paused_until_ns:
            self._note_opening(provider, now_ns)

    def follow(self, scheduling: Scheduling) -> None:
        """Take over a profile's discipline; lanes keep their order, and under the same discipline their credit."""
        discipline = _discipline(scheduling)
        discipline.count_on_from(self._turns)
        if discipline.is_weighted != self._turns.is_weighted:
            for lane in self._pools.all_lanes():
                lane.credit = 0
        self._turns = discipline

    def set_up_again(self, lanes: Iterable[RequestLane], waiting: Iterable[Ticket]) -> None:
        """Let lanes whose limits have changed be tried, and requests expire when the new limits say.

        Args:
            lanes: Every lane.
            waiting: Every request that waits, in the order in which they came.
        """
        for lane in lanes:
            self._not_ready(lane)
            lane.wake_ns = -1
            self.make_ready(lane)
        self._expiries = Agenda(attrgetter("expires_ns"))
        for ticket in waiting:
            self._let_expire(ticket, ticket.lane)

    def _let_expire(self, ticket: Ticket, lane: RequestLane) -> None:
        """Have a request that waits refused when the limits of its lane say, or its own deadline."""
        expires_ns = ticket.expires_ns = lane.expiry_ns(ticket.requested_ns, ticket.request.deadline_ns)
        if expires_ns >= 0:
            self._expiries.add(ticket)
            if expires_ns < self.earliest_ns:  # noqa: PLR1730 - see the controller
                self.earliest_ns = expires_ns

    def _take_out(self, ticket: Ticket, lane: RequestLane) -> bool:
        """Take a request out of its lane and of every count; returns whether it was the head."""
        was_head = lane.withdraw(ticket)
        principal, workspace, provider = lane.pools
        principal.waiting -= 1
        workspace.waiting -= 1
        provider.waiting -= 1
        ticket.is_waiting = False
        ticket.expires_ns = -1
        if ticket.claim:
            self._eligibility.forget(ticket)
        if not lane.size:
            self._not_ready(lane)
            lane.wake_ns = -1
            self._turns.left(lane)
        return was_head

    def _wake(self, item: RequestLane | Pool, at_ns: int) -> None:
        """Look again at an instant."""
        if item.wake_ns != at_ns:
            item.wake_ns = at_ns
            self._wakeups.add(item)
            self.earliest_ns = min(self.earliest_ns, at_ns)

    def _is_open(self, provider: ProviderPool, now_ns: int) -> bool:
        """Return whether no pause and no breaker keeps a provider shut; if they end at a known instant, note that."""
        breaker = provider.breaker
        if now_ns < provider.paused_until_ns or (
            breaker is not None and breaker.state is not _CLOSED and not breaker.may_acquire(now_ns)
        ):
            self._note_opening(provider, now_ns)
            return False
        if provider.is_shut:
            provider.is_shut = False
            provider.open_since_ns = now_ns
        return True

    def _note_opening(self, provider: ProviderPool, now_ns: int) -> None:
        """Look at a provider again when its pause and its breaker's opening are over and a request may be asked for.

        A half-open breaker with every probe in flight opens at no known instant: the end of a probe decides.
        """
        provider.is_shut = True
        wait_ns = 0 if provider.breaker is None else provider.breaker.wait_ns(now_ns)
        if wait_ns is None:
            return
        opens_ns = max(provider.paused_until_ns, now_ns + wait_ns)
        for pool in (self._workspace, provider):
            if pool.requests is not None:
                opens_ns = max(opens_ns, pool.requests.ready_ns(1, now_ns) or 0)
        self._wake(provider, opens_ns)


def _discipline(scheduling: Scheduling) -> Turns:
    return DeficitTurns(scheduling.quantum_tokens) if scheduling.kind == "deficit" else Turns()
