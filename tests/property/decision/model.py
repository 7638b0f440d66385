"""A slow and plain admission controller, written from specification 01, to compare the real one with.

It keeps dictionaries, lists and exact fractions, looks at every lane for every decision, and knows no heap, no index
and no memory of what it found before. Where the specification leaves a choice, the reading taken here is marked
``Reading``. It covers the discipline of turns; the weighted one has a property of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor

from tollgate.core.breaker import BreakerConfig
from tollgate.decision import AdmissionLimits, AdmissionProfile, Request

SIX_HOURS_NS = 6 * 3600 * 10**9
NOBODY: Mapping[int, tuple[int, int]] = {}
TOKEN_REASONS = {"tokens:principal", "tokens:workspace", "tokens:provider", "larger-first"}


@dataclass(eq=False)
class Item:
    """One request on its way."""

    number: int
    request: Request
    at_ns: int
    claim: int | None = None
    state: str = "new"  # new, waiting, active, done
    probe_of: tuple[str, int] | None = None
    generation: int = 0
    first_holds: frozenset[str] = frozenset()  # of a request that found its lane empty

    @property
    def lane(self) -> tuple[str, str]:
        return (self.request.principal, self.request.provider)

    @property
    def tokens(self) -> int:
        return self.request.estimate.tokens or 0

    @property
    def attempts(self) -> int:
        return 1 if self.request.estimate.attempts is None else self.request.estimate.attempts


@dataclass
class Bucket:
    """Rate in units a ns, as a fraction; a level and the instant at which it held."""

    rate: Fraction
    burst: int
    level: Fraction
    at_ns: int

    def level_at(self, now_ns: int) -> Fraction:
        return min(Fraction(self.burst), self.level + self.rate * (now_ns - self.at_ns))

    def draw(self, n: int, now_ns: int) -> None:
        self.level = self.level_at(now_ns) - n
        self.at_ns = now_ns
        assert self.level >= 0

    def holds_from(self, n: int, now_ns: int, drawn: int = 0) -> int | None:
        """First instant, not before now, at which it holds n after ``drawn`` were taken now."""
        level = self.level_at(now_ns) - drawn
        if n > self.burst:
            return None
        if level >= n:
            return now_ns
        return now_ns + ceil((n - level) / self.rate) if self.rate else None


@dataclass
class Breaker:
    """Closed, open until an instant, or half-open; calls remember in which visit they were let in."""

    config: BreakerConfig
    state: str = "closed"
    visit: int = 0
    failures: int = 0
    reopens_ns: int = 0
    probes: int = 0
    recent: list[bool] = field(default_factory=list)
    moves: list[tuple[str, str, int]] = field(default_factory=list)

    def lets_through(self, now_ns: int) -> bool:
        if self.state == "open":
            return now_ns >= self.reopens_ns
        return self.state == "closed" or self.probes < self.config.half_open_max_calls

    def enter(self, state: str, at_ns: int) -> None:
        self.moves.append((self.state, state, at_ns))
        self.state, self.visit, self.probes, self.recent = state, self.visit + 1, 0, []

    def let_through(self, now_ns: int) -> tuple[int, bool]:
        if self.state == "open":
            assert now_ns >= self.reopens_ns
            self.enter("half-open", self.reopens_ns)
        if self.state == "half-open":
            self.probes += 1
        return self.visit, self.state == "half-open"

    def open(self, now_ns: int, for_ns: int) -> None:
        self.reopens_ns = now_ns + for_ns
        self.enter("open", now_ns)

    def ended(self, visit: int, outcome: str, pause_ns: int, now_ns: int) -> None:
        if visit != self.visit:
            return
        if self.state == "half-open":
            self.probes -= 1
            if outcome == "success":
                self.failures = 0
                self.enter("closed", now_ns)
            elif outcome == "failure":
                self.failures += 1
                self.open(now_ns, self.config.open_ns)
            elif outcome == "retry-after":
                self.open(now_ns, max(pause_ns, self.config.open_ns))
        elif outcome == "success":
            self.failures = 0
            self.remember(failed=False)
        elif outcome == "failure":
            self.failures += 1
            self.remember(failed=True)
            if self.failures >= self.config.failure_threshold or self.rate_is_reached():
                self.open(now_ns, self.config.open_ns)

    def remember(self, *, failed: bool) -> None:
        """Reading: a window sees the calls since the profile that first had one."""
        if self.config.window is not None:
            self.recent.append(failed)

    def rate_is_reached(self) -> bool:
        window = self.config.window
        if window is None:
            return False
        last = self.recent[-window.calls :]
        return len(last) >= window.minimum_calls and Fraction(sum(last), len(last)) >= window.failure_rate


@dataclass(frozen=True)
class Outcome:
    """What the model decided: who, when, and ``admitted`` or why not."""

    number: int
    at_ns: int
    word: str
    active: int
    queued: int


class Model:
    """The controller of one workspace, by brute force."""

    def __init__(self, profile: AdmissionProfile) -> None:
        self.profile = profile
        self.now_ns = 0
        self.scopes: set[tuple[str, str]] = set()
        self.buckets: dict[tuple[str, str, str], Bucket] = {}
        self.breakers: dict[str, Breaker] = {}
        self.paused_until: dict[str, int] = defaultdict(int)
        self.used: dict[tuple[str, str, str], list[int]] = {}
        self.lanes: dict[tuple[str, str], list[Item]] = defaultdict(list)
        self.last_turn: dict[tuple[str, str], int] = {}
        self.turn = 0
        self.claims = 0
        self.active: list[Item] = []
        self.undelivered: list[Outcome] = []
        self.clamped = 0
        self.count = 0
        self.follow(profile)

    # ------------------------------------------------------------------------------------------ limits and counts

    def limits(self, scope: str, name: str) -> AdmissionLimits:
        if scope == "workspace":
            return self.profile.workspace
        known = self.profile.principals if scope == "principal" else self.profile.providers
        return known.get(name, AdmissionLimits())

    def scopes_of(self, item: Item) -> list[tuple[str, str]]:
        return [("principal", item.lane[0]), ("workspace", ""), ("provider", item.lane[1])]

    def follow(self, profile: AdmissionProfile) -> None:
        """Take over a profile; what exists keeps its level and its state, what is gone and idle is forgotten.

        Reading: a scope's buckets begin, full, when it first takes part: workspace and providers with the profile that
        names them, a principal with its first request.
        """
        self.profile = profile
        for key in [key for key in self.scopes if not self.is_named(*key) and self.is_idle(*key)]:
            self.scopes.remove(key)
            self.buckets = {bucket: state for bucket, state in self.buckets.items() if bucket[1:] != key}
            if key[0] == "provider":
                self.breakers.pop(key[1], None)
        self.scopes |= {("workspace", ""), *(("provider", name) for name in profile.providers)}
        for key in self.scopes:
            if self.is_named(*key):
                self.make_or_change(*key)

    def is_named(self, scope: str, name: str) -> bool:
        return scope == "workspace" or name in (
            self.profile.principals if scope == "principal" else self.profile.providers
        )

    def is_idle(self, scope: str, name: str) -> bool:
        """Whether forgetting a scope changes nothing."""
        who = {scope: name}
        if self.in_flight(**who) or self.waiting(**who):
            return False
        if any(
            state.level_at(self.now_ns) < state.burst for key, state in self.buckets.items() if key[1:] == (scope, name)
        ):
            return False
        breaker = self.breakers.get(name) if scope == "provider" else None
        if scope == "provider" and self.paused_until[name] > self.now_ns:
            return False
        return breaker is None or (breaker.state == "closed" and not breaker.failures and not any(breaker.recent))

    def make_or_change(self, scope: str, name: str) -> None:
        limits = self.limits(scope, name)
        for kind, rate, burst in (
            ("requests", limits.requests_per_minute, limits.requests_burst),
            ("tokens", limits.tokens_per_second, limits.tokens_burst),
        ):
            if rate is None:
                continue
            per_ns = Fraction(rate) / (60 * 10**9 if kind == "requests" else 10**9)
            size = burst if burst is not None else max(1, floor(rate))
            old = self.buckets.get((kind, scope, name))
            level = Fraction(size) if old is None else min(old.level_at(self.now_ns), Fraction(size))
            self.buckets[kind, scope, name] = Bucket(per_ns, size, level, self.now_ns)
        if limits.circuit_breaker is not None:
            breaker = self.breakers.setdefault(name, Breaker(limits.circuit_breaker))
            if breaker.state == "open" and self.now_ns >= breaker.reopens_ns:
                breaker.enter("half-open", breaker.reopens_ns)
            breaker.config = limits.circuit_breaker
            if breaker.config.window is not None:
                breaker.recent = breaker.recent[-breaker.config.window.calls :]
            else:
                breaker.recent = []

    def breaker_of(self, provider: str) -> Breaker | None:
        limits = self.limits("provider", provider)
        return None if limits.circuit_breaker is None else self.breakers[provider]

    def bucket(self, kind: str, scope: str, name: str) -> Bucket | None:
        limits = self.limits(scope, name)
        rate = limits.requests_per_minute if kind == "requests" else limits.tokens_per_second
        return None if rate is None else self.buckets.get((kind, scope, name))

    def in_flight(self, *, principal: str | None = None, provider: str | None = None) -> int:
        return sum(principal in (None, item.lane[0]) and provider in (None, item.lane[1]) for item in self.active)

    def waiting(self, *, principal: str | None = None, provider: str | None = None) -> int:
        return sum(
            len(items)
            for lane, items in self.lanes.items()
            if principal in (None, lane[0]) and provider in (None, lane[1])
        )

    def kept_back_from(self, principal: str) -> int:
        return sum(
            max(0, limits.reserved_concurrency - self.in_flight(principal=name))
            for name, limits in self.profile.principals.items()
            if name != principal
        )

    def reservation_of(self, principal: str) -> int:
        return self.limits("principal", principal).reserved_concurrency

    # ------------------------------------------------------------------------------------------------- may it go?

    def holds(self, item: Item, now_ns: int, claims: dict[Item, int]) -> set[str]:
        """Everything that keeps a head from going at an instant."""
        principal, provider = item.lane
        found: set[str] = set()
        here = {
            "principal": self.in_flight(principal=principal),
            "workspace": self.in_flight(),
            "provider": self.in_flight(provider=provider),
        }
        for scope, name in self.scopes_of(item):
            limit = self.limits(scope, name).concurrency
            if limit is not None and here[scope] >= limit:
                found.add(f"concurrency:{scope}")
        in_pool = {"workspace": here["principal"], "provider": self.in_flight(principal=principal, provider=provider)}
        beyond = here["principal"] >= self.reservation_of(principal)
        for scope, name in self.scopes_of(item)[1:]:
            limits = self.limits(scope, name)
            if limits.concurrency is None:
                continue
            share = limits.max_principal_share
            if share is not None and in_pool[scope] >= max(1, floor(share * limits.concurrency)):
                found.add(f"share:{scope}")
            kept = self.kept_back_from(principal)
            if beyond and kept and here[scope] + kept >= limits.concurrency:
                found.add(f"reserved:{scope}")
        if now_ns < self.paused_until[provider]:
            found.add("paused")
        breaker = self.breaker_of(provider)
        if breaker is not None and not breaker.lets_through(now_ns):
            found.add("breaker")
        for scope, name in self.scopes_of(item):
            requests = self.bucket("requests", scope, name)
            if requests is not None and requests.level_at(now_ns) < 1:
                found.add(f"requests:{scope}")
            tokens = self.bucket("tokens", scope, name)
            if tokens is not None and tokens.level_at(now_ns) < item.tokens:
                found.add(f"tokens:{scope}")
        if not any(hold.startswith("tokens:") for hold in found) and self.delays_a_holder(item, now_ns, claims):
            found.add("larger-first")
        return found

    def token_buckets(self, item: Item) -> dict[tuple[str, str], Bucket]:
        found = {}
        for scope, name in self.scopes_of(item):
            bucket = self.bucket("tokens", scope, name)
            if bucket is not None:
                found[scope, name] = bucket
        return found

    def is_live(self, item: Item, now_ns: int) -> bool:
        """A claim counts while only tokens, or something of its own principal's, can be what keeps its request."""
        _, provider = item.lane
        if self.lanes[item.lane][0] is not item or now_ns < self.paused_until[provider]:
            return False
        breaker = self.breaker_of(provider)
        if breaker is not None and not breaker.lets_through(now_ns):
            return False
        for scope, name in self.scopes_of(item):
            requests = self.bucket("requests", scope, name)
            if requests is not None and requests.level_at(now_ns) < 1:
                return False
        for limit, here in (
            (self.limits("workspace", "").concurrency, self.in_flight()),
            (self.limits("provider", provider).concurrency, self.in_flight(provider=provider)),
        ):
            if limit is not None and here >= limit:
                return False
        return True

    def due_ns(self, item: Item, now_ns: int, drawn: dict[tuple[str, str], int]) -> int:
        """Earliest instant at which all its token buckets hold its tokens if nobody draws after this."""
        instants = [
            bucket.holds_from(item.tokens, now_ns, drawn.get(key, 0))
            for key, bucket in self.token_buckets(item).items()
        ]
        assert None not in instants, "a request that can never fit is refused, it does not wait"
        return max((instant for instant in instants if instant is not None), default=now_ns)

    def delays_a_holder(self, item: Item, now_ns: int, claims: dict[Item, int]) -> bool:
        if not self.profile.scheduling.protect_large_requests:
            return False
        live = sorted((number, other) for other, number in claims.items() if self.is_live(other, now_ns))
        holders: dict[tuple[str, str], Item] = {}
        for _, other in live:
            for key in self.token_buckets(other):
                holders.setdefault(key, other)
        own = claims.get(item)
        draw = dict.fromkeys(self.token_buckets(item), item.tokens)
        return any(
            (own is None or claims[holder] < own)
            and self.due_ns(holder, now_ns, draw) != self.due_ns(holder, now_ns, {})
            for holder in holders.values()
            if holder is not item
        )

    def over_budget(self, item: Item) -> str | None:
        """The first budget that the request asks more of than is left; who asks for nothing is never over."""
        asked = (item.attempts, item.request.estimate.cost_micros or 0, item.tokens)
        for scope, name in self.scopes_of(item):
            limits = self.limits(scope, name)
            budgets = (limits.max_attempts, limits.max_cost_micros, limits.max_tokens)
            used = self.used.get((item.request.budget_id, scope, name), (0, 0, 0))
            for word, ask, limit, spent in zip(("attempts", "cost", "tokens"), asked, budgets, used, strict=True):
                if limit is not None and ask and spent + ask > limit:
                    return word
        return None

    def unacceptable(self, item: Item) -> str | None:
        """The checks on arrival that no other request can change, in the order of the specification."""
        request, estimate = item.request, item.request.estimate
        if request.is_cancelled:
            return "cancelled"
        if request.provider not in self.profile.providers:
            return "unconfigured-provider"
        if request.principal not in self.profile.principals:
            return "unconfigured-principal"
        if request.deadline_ns is not None and request.deadline_ns <= self.now_ns:
            return "deadline-exceeded"
        figures = [getattr(estimate, name) for name in ("tokens", "cost_micros", "request_bytes", "items")]
        figures += [getattr(estimate, name) for name in ("attempts", "batch_size", "retained_work")]
        if any(x is not None and (type(x) is not int or not 0 <= x <= 2**53 - 1) for x in figures):
            return "invalid-estimate"
        for scope, name in self.scopes_of(item):
            limits = self.limits(scope, name)
            for figure, limit, word in (
                (estimate.batch_size, limits.max_batch_size, "batch-size"),
                (estimate.request_bytes, limits.max_request_bytes, "request-too-large"),
                (estimate.items, limits.max_items, "too-many-items"),
            ):
                if figure is not None and limit is not None and figure > limit:
                    return word
            if limits.max_retained_work is not None:
                if estimate.retained_work is None:
                    return "unknown-retained-work"
                if estimate.retained_work > limits.max_retained_work:
                    return "retained-work"
            if limits.max_cost_micros is not None and estimate.cost_micros is None and not limits.allow_unknown_cost:
                return "unknown-cost"
            if limits.max_tokens is not None and estimate.tokens is None:
                return "unknown-tokens"
        for scope, name in self.scopes_of(item):
            requests, tokens = self.bucket("requests", scope, name), self.bucket("tokens", scope, name)
            if requests is not None and requests.rate == 0:
                return "requests-per-minute"
            if tokens is not None and item.tokens and (tokens.rate == 0 or item.tokens > tokens.burst):
                return "tokens-per-second"
        return None

    def no_room(self, item: Item) -> bool:
        principal, provider = item.lane
        places = {
            "principal": self.waiting(principal=principal),
            "workspace": self.waiting(),
            "provider": self.waiting(provider=provider),
        }
        own = {"workspace": places["principal"], "provider": self.waiting(principal=principal, provider=provider)}
        for scope, name in self.scopes_of(item):
            limits = self.limits(scope, name)
            length, share = limits.max_queue_length, limits.max_principal_share
            if length is None:
                continue
            if places[scope] >= length:
                return True
            if share is not None and own[scope] >= max(1, floor(share * length)):
                return True
        return False

    def expiry(self, item: Item) -> tuple[int, str] | None:
        waits = [self.limits(scope, name).max_queue_wait_ns for scope, name in self.scopes_of(item)]
        dwell = min((item.at_ns + wait for wait in waits if wait is not None), default=None)
        deadline = item.request.deadline_ns
        if deadline is not None and (dwell is None or deadline <= dwell):
            return deadline, "deadline-exceeded"
        return None if dwell is None else (dwell, "queue-timeout")

    # ------------------------------------------------------------------------------------------- what is decided

    def expired(self, until_ns: int) -> list[tuple[int, int, str, Item]]:
        found = []
        for items in self.lanes.values():
            for item in items:
                expiry = self.expiry(item)
                if expiry is not None and expiry[0] <= until_ns:
                    found.append((expiry[0], item.number, expiry[1], item))
        return sorted(found, key=lambda entry: entry[:2])

    def walk(
        self, now_ns: int, refused_for_budget: Mapping[int, tuple[int, int]] = NOBODY
    ) -> tuple[Item | None, str, dict[Item, int]]:
        """The next thing to happen to a waiting head, and the claims as they stand after looking for it.

        Reading: an invocation's budget is looked at "again at dispatch"; a head found over its budget while it waits
        may be refused there and then, which the controller does whenever it tries it. ``refused_for_budget`` says
        whom, when, and after how many decisions not yet delivered.
        Reading: "deferred only by token buckets" includes tokens that are kept for a larger request.
        """
        claims = {item: item.claim for items in self.lanes.values() for item in items if item.claim is not None}
        for lane in sorted((lane for lane, items in self.lanes.items() if items), key=self.last_turn.__getitem__):
            item = self.lanes[lane][0]
            holds = self.holds(item, now_ns, claims)
            over = self.over_budget(item)
            if over is not None and (
                not holds or refused_for_budget.get(item.number) == (now_ns, len(self.undelivered))
            ):
                return item, over, claims
            if not holds:
                return item, "admitted", claims
            if holds <= TOKEN_REASONS and item not in claims and self.profile.scheduling.protect_large_requests:
                claims[item] = max([self.claims, *claims.values()]) + 1
        return None, "", claims

    def settle(self, refused_for_budget: Mapping[int, tuple[int, int]]) -> None:
        """Expire, then let go whoever may, one after the other."""
        for _, _, word, item in self.expired(self.now_ns):
            self.refuse(item, word)
        while True:
            item, word, claims = self.walk(self.now_ns, refused_for_budget)
            for claimed, number in claims.items():
                claimed.claim = number
                self.claims = max(self.claims, number)
            if item is None:
                return
            if word == "admitted":
                self.admit(item)
            else:
                self.refuse(item, word)

    def admit(self, item: Item) -> None:
        _, provider = item.lane
        if item.state == "waiting":
            self.lanes[item.lane].remove(item)
            self.turn += 1
            self.last_turn[item.lane] = self.turn
        for scope, name in self.scopes_of(item):
            requests, tokens = self.bucket("requests", scope, name), self.bucket("tokens", scope, name)
            if requests is not None:
                requests.draw(1, self.now_ns)
            if tokens is not None:
                tokens.draw(item.tokens, self.now_ns)
            used = self.used.setdefault((item.request.budget_id, scope, name), [0, 0, 0])
            used[0] += item.attempts
            used[1] += item.request.estimate.cost_micros or 0
            used[2] += item.tokens
        breaker = self.breaker_of(provider)
        if breaker is not None:
            item.generation, _ = breaker.let_through(self.now_ns)
        item.state = "active"
        self.active.append(item)
        self.tell(item, "admitted")

    def refuse(self, item: Item, word: str) -> None:
        if item.state == "waiting":
            self.lanes[item.lane].remove(item)
        item.state = "done"
        self.tell(item, word)

    def tell(self, item: Item, word: str) -> None:
        active = self.in_flight(principal=item.lane[0])
        self.undelivered.append(Outcome(item.number, self.now_ns, word, active, len(self.lanes[item.lane])))

    # ------------------------------------------------------------------------------------------------ what happens

    def request(
        self, request: Request, now_ns: int, refused_for_budget: Mapping[int, tuple[int, int]] = NOBODY
    ) -> Item:
        self.now_ns = max(self.now_ns, now_ns)
        self.settle(refused_for_budget)
        item = Item(self.count, request, self.now_ns)
        self.count += 1
        key = ("principal", request.principal)
        if key not in self.scopes and self.is_named(*key) and ("provider", request.provider) in self.scopes:
            self.scopes.add(key)
            self.make_or_change(*key)
        word = self.unacceptable(item) or self.over_budget(item)
        if word is not None:
            self.refuse(item, word)
            return item
        claims = {other: other.claim for items in self.lanes.values() for other in items if other.claim is not None}
        alone = not self.lanes[item.lane]
        holds = self.holds(item, self.now_ns, claims)
        if alone and not holds:
            self.admit(item)
        elif self.no_room(item):
            self.refuse(item, "queue-full")
        else:
            item.state = "waiting"
            item.first_holds = frozenset(holds) if alone else frozenset()
            self.lanes[item.lane].append(item)
            if alone:
                self.turn += 1
                self.last_turn[item.lane] = self.turn
                if holds <= TOKEN_REASONS and self.profile.scheduling.protect_large_requests:
                    self.claims += 1
                    item.claim = self.claims
        return item

    def release(self, item: Item, outcome: str, pause_ns: object, now_ns: int) -> bool:
        if item.state != "active":
            return False
        self.now_ns = max(self.now_ns, now_ns)
        item.state = "done"
        self.active.remove(item)
        if outcome == "retry-after":
            pause_ns = self.hold_provider(item.lane[1], pause_ns)
        breaker = self.breakers.get(item.lane[1])
        if breaker is not None:
            breaker.ended(item.generation, outcome, pause_ns, self.now_ns)  # type: ignore[arg-type]
        return True

    def hold_provider(self, provider: str, pause_ns: object) -> int:
        honoured = min(max(pause_ns, 0), SIX_HOURS_NS) if type(pause_ns) is int else 0
        self.clamped += honoured != pause_ns
        self.paused_until[provider] = max(self.paused_until[provider], self.now_ns + honoured)
        return honoured

    def pause(self, provider: str, pause_ns: object, now_ns: int) -> None:
        self.now_ns = max(self.now_ns, now_ns)
        self.hold_provider(provider, pause_ns)

    def cancel(self, item: Item, now_ns: int) -> bool:
        """Cancels come before the expiries of their own instant and after those of earlier ones."""
        self.now_ns = max(self.now_ns, now_ns)
        for _, _, word, other in self.expired(self.now_ns - 1):
            self.refuse(other, word)
        if item.state != "waiting":
            return False
        self.refuse(item, "cancelled")
        return True

    def settle_budget(self, budget_id: str) -> None:
        self.used = {key: used for key, used in self.used.items() if key[0] != budget_id}

    def poll(self, now_ns: int, refused_for_budget: Mapping[int, tuple[int, int]]) -> list[Outcome]:
        self.now_ns = max(self.now_ns, now_ns)
        self.settle(refused_for_budget)
        decided, self.undelivered = self.undelivered, []
        return decided

    def set_profile(
        self, profile: AdmissionProfile, now_ns: int, refused_for_budget: Mapping[int, tuple[int, int]] = NOBODY
    ) -> None:
        self.now_ns = max(self.now_ns, now_ns)
        self.settle(refused_for_budget)
        self.follow(profile)
        for item in sorted((item for items in self.lanes.values() for item in items), key=lambda item: item.number):
            word = self.unacceptable(item)
            if word is not None:
                self.refuse(item, word)

    # ----------------------------------------------------------------------------------------------------- when next

    def would_change_at(self, now_ns: int) -> bool:
        """Whether a poll at an instant would decide anything, or give anybody a claim."""
        if self.undelivered or self.expired(now_ns):
            return True
        item, _, claims = self.walk(now_ns)
        known = sum(item.claim is not None for items in self.lanes.values() for item in items)
        return item is not None or len(claims) != known

    def instants_after(self, now_ns: int) -> list[int]:
        """Every instant at which time alone could matter: expiries, ends of pauses and openings, and each level."""
        found = {expiry[0] for items in self.lanes.values() for item in items if (expiry := self.expiry(item))}
        found |= set(self.paused_until.values())
        found |= {breaker.reopens_ns for breaker in self.breakers.values() if breaker.state == "open"}
        for bucket in self.buckets.values():
            found |= {bucket.holds_from(n, now_ns) or 0 for n in range(bucket.burst + 1)}
        return sorted(instant for instant in found if instant > now_ns)
