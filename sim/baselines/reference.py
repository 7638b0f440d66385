"""The seed's reference admission controller, with its quirks, as a baseline.

It decides as the reference does, down to the order of its decisions and the last bit of its bucket levels, so that a
run of it is the reference's run. What is odd here is odd there: departures from what an admission controller should do
carry the number that the seed's notes give them (Q1 and so on) and are explained in
``docs/explanation/reference-discipline.md``. None of them is to be repaired.

This module owns who is admitted, when, and how long the waking timer runs. It must not know arrivals, calls or a clock:
times come in as integer milliseconds, and the one timer is the caller's (``WakeTimer``).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple, Protocol

from sim.baselines.breakers import BreakerChange, CorrectBreaker, NoBreaker, QuirkyBreaker
from sim.baselines.limits import ReferenceLimits, reference_limits
from sim.baselines.state import Ask, Lane, Permit, Pool, Provider
from tollgate.core.breaker import Outcome, RetryAfter
from tollgate.core.deny import DenyReason
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_MS
from tollgate.decision.evidence import REQUEST_HOLDS, TOKEN_HOLDS, Hold
from tollgate.decision.profile import AdmissionProfile

HISTORY: Final = 64
"""Breaker changes the reference remembers."""

LONGEST_WAIT_MS: Final = 30_000
"""The longest its timer runs."""

IDLE_WAIT_MS: Final = 25
"""What its timer runs when no waiting head names an instant."""


def hint(wait_ms: int) -> int:
    """Return after how long the reference looks again: 7/8 of ``wait_ms``, rounded half up (Q12)."""
    return min(max((7 * wait_ms + 4) // 8, 1), LONGEST_WAIT_MS)


class WakeTimer(Protocol):
    """The controller's one timer. When it fires, the caller calls ``Controller.pump``."""

    def start(self, wait_ms: int) -> None:
        """Let it fire ``wait_ms`` from now; only called when it is not running."""
        ...

    def drop(self) -> None:
        """Stop it, if it runs."""
        ...


# -------------------------------------------------------------------------------------------------------- what it keeps


class Spent(NamedTuple):
    """What one invocation has used of one pool's budgets."""

    attempts: int
    cost_micros: int
    tokens: int


NOTHING_SPENT: Final = Spent(0, 0, 0)


class Deferral(NamedTuple):
    """A head has to wait: what holds it, and after how many ms to look again."""

    hold: Hold
    wait_ms: int


PERMIT_LOOK_MS: Final = hint(10)
"""A head in want of a permit makes the controller go through all lanes again every 9 ms (Q12)."""

BUCKET_LOOK_MS: Final = hint(100)
"""And one in want of tokens every 88 ms, however long they take to come."""


# ----------------------------------------------------------------------------------------------------------- controller


class Controller:
    """The reference's controller of one workspace, for one profile.

    ``ask``, ``cancel``, ``release`` and ``pump`` decide on the spot; ``take_decided`` hands over what they decided, in
    order.

    Attributes:
        changes: Every breaker change so far, each with the ordinal of the request at whose test or release it happened.
        retry_pressure: Retry-After answers so far; the count never falls (Q18).
        pumps: Times it went through the lanes.
        judged: Times a head was put to the admission tests.
    """

    def __init__(self, profile: AdmissionProfile, timer: WakeTimer, *, correct_breaker: bool = False) -> None:
        """Create an idle controller; with ``correct_breaker`` its breakers are the shipped ones."""
        self._timer = timer
        self._breaker_kind: type[QuirkyBreaker | CorrectBreaker] = CorrectBreaker if correct_breaker else QuirkyBreaker
        self._workspace = Pool("workspace", reference_limits(profile.workspace))
        self._principals = {
            name: Pool("principal", reference_limits(limits)) for name, limits in profile.principals.items()
        }
        self._reserving = [pool for pool in self._principals.values() if pool.limits.reserved_concurrency > 0]
        self._providers = {
            name: self._new_provider(name, reference_limits(limits)) for name, limits in profile.providers.items()
        }
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._in_line: dict[Lane, None] = {}
        self._cursor = 0
        self._spent: dict[str, dict[Pool, Spent]] = {}  # by invocation
        self._decided: list[Ask] = []
        self._at_hand = -1
        self.changes: list[tuple[BreakerChange, int]] = []
        self.retry_pressure = 0
        self.pumps = 0
        self.judged = 0

    @property
    def waiting(self) -> int:
        """Requests waiting."""
        return self._workspace.waiting

    @property
    def in_flight(self) -> int:
        """Calls admitted and not released."""
        return self._workspace.in_flight

    @property
    def history(self) -> list[BreakerChange]:
        """The breaker changes it remembers."""
        return [change for change, _ in self.changes[-HISTORY:]]

    def take_decided(self) -> list[Ask]:
        """Return the requests decided since the last call, in the order of the decisions."""
        decided = self._decided
        self._decided = []
        return decided

    # --------------------------------------------------------------------------------------------- what the caller does

    def ask(self, ask: Ask, now: int) -> None:
        """Take a request: refuse it at once, or put it in line and decide."""
        lane = self._lane_of(ask)
        ask.asked_at = now
        refusal = _never(ask, lane, now) or _want_of_room(lane)
        if refusal is not None:
            self._refuse(ask, refusal)
            return
        lane.join(ask)
        self._in_line[lane] = None  # keeps its place if it has one
        self.pump(now)

    def cancel(self, ask: Ask, now: int) -> None:
        """Note that the caller has given up; a waiting request is refused for it."""
        ask.is_cancelled = True
        if ask.is_waiting:
            lane = self._lane_of(ask)
            lane.queue.remove(ask)
            lane.leave(ask)
            self._refuse(ask, DenyReason.CANCELLED)
            self.pump(now)

    def release(self, permit: Permit, outcome: Outcome | None, now: int) -> bool:
        """Take the end of an admitted call.

        Args:
            permit: Its admission.
            outcome: How it ended; None if nobody told.
            now: Time, ms.

        Returns:
            Whether this was its first release; a second one changes nothing.
        """
        if permit.is_released:
            return False
        permit.is_released = True
        principal, provider = permit.lane.principal, permit.lane.provider
        for pool in permit.lane.pools:
            pool.in_flight -= 1
            pool.calls_of[principal] -= 1
        self._at_hand = permit.ask.ordinal
        provider.breaker.release(permit.breaker_handle, outcome, now)
        if isinstance(outcome, RetryAfter):
            provider.paused_until = max(provider.paused_until, now + max(0, outcome.ns // NS_PER_MS))
            self.retry_pressure += 1
        self.pump(now)
        return True

    def settle(self, budget_id: str) -> None:
        """Forget what an invocation has spent, and all whose ids continue its id after a colon (Q17)."""
        prefix = f"{budget_id}:"
        for known in [known for known in self._spent if known == budget_id or known.startswith(prefix)]:
            del self._spent[known]

    # --------------------------------------------------------------------------------------------------------- the pump

    def pump(self, now: int) -> None:
        """Go through the lanes until nothing moves, and set the timer."""
        self._timer.drop()
        self.pumps += 1
        lanes = [lane for lane in self._in_line if lane.queue]
        if not lanes:
            return
        wait = inf
        moved = True
        while moved:
            moved, look = self._walk(lanes, now)
            wait = min(wait, look)
        for lane in [lane for lane in self._in_line if not lane.queue]:
            del self._in_line[lane]
        if self._in_line:
            self._timer.start(IDLE_WAIT_MS if wait == inf else min(max(int(wait), 1), LONGEST_WAIT_MS))

    def _walk(self, lanes: list[Lane], now: int) -> tuple[bool, float]:
        """Look at the head of each lane once, more or less.

        The position is computed from the cursor of that very moment, which an admission moves: the walk then passes
        over some lanes and visits others twice (Q1). And the cursor is a place in a list that differs from pump to
        pump, not a lane (Q2).

        Returns:
            Whether anything moved, and the shortest wait after which a head that stays wants to be looked at again.
        """
        moved, wait = False, inf
        for offset in range(len(lanes)):
            position = (self._cursor + offset) % len(lanes)
            lane = lanes[position]
            if not lane.queue:
                continue
            ask = lane.queue[0]
            verdict = self._verdict(ask, lane, now)
            if isinstance(verdict, Deferral):
                ask.first_hold = ask.first_hold or verdict.hold
                wait = min(wait, _next_look(verdict, ask, lane, now))
                continue
            moved = True
            lane.queue.popleft()
            lane.leave(ask)
            if verdict is None:
                self._cursor = (position + 1) % len(lanes)
                self._admit(ask, lane, now)
            else:
                self._refuse(ask, verdict)
        return moved, wait

    def _verdict(self, ask: Ask, lane: Lane, now: int) -> Deferral | DenyReason | None:
        """Judge a lane's head: it stays (a deferral), is refused (a reason) or admitted (None)."""
        if now >= ask.deadline:
            return DenyReason.DEADLINE_EXCEEDED
        if now - ask.asked_at >= lane.longest_wait:
            return DenyReason.QUEUE_TIMEOUT
        self.judged += 1
        self._at_hand = ask.ordinal
        hold = self._want_of_permit(lane)
        if hold:
            return Deferral(hold, PERMIT_LOOK_MS)
        return _want_of_provider(lane.provider, now) or self._want_of_budget(ask, lane, now)

    def _refuse(self, ask: Ask, reason: DenyReason) -> None:
        ask.refusal = reason
        self._decided.append(ask)

    def _admit(self, ask: Ask, lane: Lane, now: int) -> None:
        tokens = ask.tokens or 0
        ledger = self._spent.setdefault(ask.budget_id, {})
        for pool in lane.pools:
            if pool.requests is not None:
                pool.requests.take(1)
            if pool.tokens is not None:
                pool.tokens.take(tokens)
            spent = ledger.get(pool, NOTHING_SPENT)
            ledger[pool] = Spent(
                spent.attempts + _attempts(ask), spent.cost_micros + (ask.cost_micros or 0), spent.tokens + tokens
            )
            pool.in_flight += 1
            pool.calls_of[lane.principal] = pool.calls_of.get(lane.principal, 0) + 1
        ask.queue_delay = now - ask.asked_at
        ask.permit = Permit(ask, lane, lane.provider.breaker.admit(now))
        self._decided.append(ask)

    # ---------------------------------------------------------------------------------------------- the tests, in order

    def _want_of_permit(self, lane: Lane) -> Hold:
        """Return what keeps a permit from a lane: limits of calls in flight, shares, reservations of others."""
        principal, workspace, provider = lane.principal, lane.workspace, lane.provider
        if principal.in_flight >= principal.limits.concurrency:
            return Hold.PRINCIPAL_CONCURRENCY
        if workspace.in_flight >= workspace.limits.concurrency:
            return Hold.WORKSPACE_CONCURRENCY
        if provider.in_flight >= provider.limits.concurrency:
            return Hold.PROVIDER_CONCURRENCY
        if principal.in_flight >= workspace.share:
            return Hold.WORKSPACE_SHARE
        if provider.calls_of.get(principal, 0) >= provider.share:
            return Hold.PROVIDER_SHARE
        if self._is_withheld(principal, workspace):
            return Hold.WORKSPACE_RESERVED
        if self._is_withheld(principal, provider):
            return Hold.PROVIDER_RESERVED
        return Hold.NONE

    def _is_withheld(self, principal: Pool, pool: Pool) -> bool:
        """Return whether every free permit of a pool is kept for others' reservations.

        Each pool keeps them back for itself, whatever is in use elsewhere (Q9).
        """
        capacity = pool.limits.concurrency
        free = capacity - pool.in_flight
        if pool.calls_of.get(principal, 0) < min(principal.limits.reserved_concurrency, capacity):
            return free < 1
        for other in self._reserving:
            if other is not principal:
                free -= max(0, min(other.limits.reserved_concurrency, capacity) - pool.calls_of.get(other, 0))
        return free < 1

    def _want_of_budget(self, ask: Ask, lane: Lane, now: int) -> Deferral | DenyReason | None:
        """Return which budget or bucket is short.

        What can never be met is refused only here, behind all the waiting (Q10).
        """
        tokens = ask.tokens or 0
        ledger = self._spent.get(ask.budget_id, {})
        for pool in lane.pools:
            limits = pool.limits
            spent = ledger.get(pool, NOTHING_SPENT)
            if spent.attempts + _attempts(ask) > limits.max_attempts:
                return DenyReason.ATTEMPTS
            if _exceeds(ask.cost_micros, limits.max_cost_micros, spent.cost_micros):
                return DenyReason.COST
            if limits.max_tokens is not None and spent.tokens + tokens > limits.max_tokens:
                return DenyReason.TOKENS
            if limits.requests_per_minute == 0:
                return DenyReason.REQUESTS_PER_MINUTE
            if limits.tokens_per_second is not None and tokens > limits.tokens_per_second:
                return DenyReason.TOKENS_PER_SECOND
            if pool.requests is not None and pool.requests.fill(now) < 1:
                return Deferral(REQUEST_HOLDS[pool.scope], BUCKET_LOOK_MS)
            bucket = pool.tokens
            if bucket is not None:
                level = bucket.fill(now)
                if level < tokens + bucket.kept_from(ask):
                    if bucket.holder is None:
                        bucket.holder = ask
                    return Deferral(
                        TOKEN_HOLDS[pool.scope] if level < tokens else Hold.LARGER_REQUEST_FIRST, BUCKET_LOOK_MS
                    )
        return None

    # -------------------------------------------------------------------------------------------------- lanes and pools

    def _lane_of(self, ask: Ask) -> Lane:
        key = (ask.provider, ask.principal)
        lane = self._lanes.get(key)
        if lane is None:
            principal = self._principals.get(ask.principal) or Pool("principal", None)
            provider = self._providers.get(ask.provider) or self._new_provider(ask.provider, None)
            lane = self._lanes[key] = Lane(principal, self._workspace, provider)
        return lane

    def _new_provider(self, name: str, limits: ReferenceLimits | None) -> Provider:
        if limits is None or limits.breaker is None:
            return Provider(limits, NoBreaker())
        return Provider(limits, self._breaker_kind(name, limits.breaker, self._note_change))

    def _note_change(self, change: BreakerChange) -> None:
        self.changes.append((change, self._at_hand))


def _next_look(deferral: Deferral, ask: Ask, lane: Lane, now: int) -> float:
    """Return after how many ms a head that stays wants to be looked at again; never, without a deadline (Q19)."""
    if ask.deadline == inf:
        return inf
    return min(deferral.wait_ms, max(1, ask.deadline - now), max(1, lane.longest_wait - (now - ask.asked_at)))


def _want_of_provider(provider: Provider, now: int) -> Deferral | None:
    """Return what keeps calls from a provider: its pause, its breaker."""
    if now < provider.paused_until:
        return Deferral(Hold.PROVIDER_PAUSED, hint(provider.paused_until - now))
    wait = provider.breaker.wait_ms(now)
    return None if wait is None else Deferral(Hold.BREAKER_OPEN, hint(wait))


def _never(ask: Ask, lane: Lane, now: int) -> DenyReason | None:
    """Return why a request is refused before anything else is looked at.

    The reference repeats this for waiting heads. Limits never change here, so nothing but the deadline could come
    out otherwise.
    """
    if ask.is_cancelled:
        return DenyReason.CANCELLED
    if not (lane.principal.is_configured and lane.provider.is_configured):
        return DenyReason.UNCONFIGURED_PROVIDER
    if now >= ask.deadline:
        return DenyReason.DEADLINE_EXCEEDED
    if not all(_is_count(value) for value in _estimates(ask)):
        return DenyReason.INVALID_ESTIMATE
    for pool in lane.pools:
        refusal = _unfit(ask, pool.limits)
        if refusal is not None:
            return refusal
    return None


def _want_of_room(lane: Lane) -> DenyReason | None:
    """Return queue-full if a line may not grow, even where a permit is free and nobody would wait."""
    principal, provider = lane.principal, lane.provider
    if any(pool.waiting >= pool.limits.max_queue_length for pool in lane.pools):
        return DenyReason.QUEUE_FULL
    for pool, own in ((lane.workspace, principal.waiting), (provider, len(lane.queue))):
        if own >= pool.limits.share_of(pool.limits.max_queue_length):
            return DenyReason.QUEUE_FULL
    return None


def _estimates(ask: Ask) -> Sequence[int | None]:
    return (ask.tokens, ask.request_bytes, ask.items, ask.attempts, ask.batch_size, ask.retained_work, ask.cost_micros)


def _is_count(value: int | None) -> bool:
    return value is None or (type(value) is int and 0 <= value <= MAX_SAFE_INTEGER)


def _attempts(ask: Ask) -> int:
    return 1 if ask.attempts is None else ask.attempts


def _exceeds(value: int | None, limit: float | None, spent: int = 0) -> bool:
    """Return whether a given value goes beyond a set limit."""
    return value is not None and limit is not None and spent + value > limit


def _unfit(ask: Ask, limits: ReferenceLimits) -> DenyReason | None:
    """Return which limit on a single request one pool refuses it for."""
    if _exceeds(ask.batch_size, limits.max_batch_size):
        return DenyReason.BATCH_SIZE
    if _exceeds(ask.request_bytes, limits.max_request_bytes):
        return DenyReason.REQUEST_TOO_LARGE
    if _exceeds(ask.items, limits.max_items):
        return DenyReason.TOO_MANY_ITEMS
    if limits.max_retained_work is not None and ask.retained_work is None:
        return DenyReason.UNKNOWN_RETAINED_WORK
    if _exceeds(ask.retained_work, limits.max_retained_work):
        return DenyReason.RETAINED_WORK
    if limits.max_cost_micros is not None and ask.cost_micros is None and not limits.allow_unknown_cost:
        return DenyReason.UNKNOWN_COST
    if limits.max_tokens is not None and ask.tokens is None:
        return DenyReason.UNKNOWN_TOKENS
    return None
