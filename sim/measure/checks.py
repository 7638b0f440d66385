"""Checks that every run makes on itself. A breach makes the run INVALID: its numbers are not to be believed.

Owns the identities that hold for any correct controller and any correct world: requests conserved, Little's law,
envelopes of token buckets, limits, permits, order of times. It must not know how decisions were made, and reads all
rows, warm-up and drain included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypedDict, TypeVar

import numpy as np

from sim.measure.envelope import Envelope
from sim.measure.levels import LevelTracker, Scope
from sim.measure.quantiles import Mask
from sim.measure.shape import RunShape
from sim.measure.tally import Ints
from sim.trace import (
    NONE,
    AttemptCol,
    AttemptOutcome,
    Consumer,
    LevelCol,
    LevelKind,
    RequestCol,
    RequestOutcome,
    Rows,
    RunEnd,
)
from tollgate.core.units import ms_text
from tollgate.decision.limits import AdmissionLimits

T = TypeVar("T")

SHOWN_MAX: Final = 3
"""Breaches a detail spells out; the rest are counted."""


_LEVEL_LIMITS: Final[tuple[tuple[LevelKind, str, Callable[[AdmissionLimits], int | None]], ...]] = (
    (LevelKind.ACTIVE, "in flight", lambda limits: limits.concurrency),
    (LevelKind.QUEUE, "waiting", lambda limits: limits.max_queue_length),
)
"""Each kind of level, in words, and the limit on it."""


class CheckResult(TypedDict):
    """One check as records carry it."""

    name: str
    ok: bool
    detail: str


class _Limited(NamedTuple):
    """One scope's members and their limits, in the order of the level tracker.

    Members often share one limits object, by the hundred thousand: each object is kept once.
    """

    scope: Scope
    names: tuple[str, ...]
    distinct: tuple[AdmissionLimits, ...]
    which: tuple[int, ...]

    @classmethod
    def of(cls, scope: Scope, names: tuple[str, ...], limits: Sequence[AdmissionLimits]) -> _Limited:
        """Take the members of a scope with the limits of each."""
        distinct = {id(each): each for each in limits}
        position = {key: index for index, key in enumerate(distinct)}
        return cls(scope, names, tuple(distinct.values()), tuple([position[id(each)] for each in limits]))

    def each(self, figure: Callable[[AdmissionLimits], T]) -> list[T]:
        """Return a figure of each member's limits; it is worked out once for members that share them."""
        figures = [figure(limits) for limits in self.distinct]
        return [figures[index] for index in self.which]


class OrdinalLedger:
    """Whether every ordinal from 0 came exactly once. Memory follows how far out of order they come."""

    __slots__ = ("_ahead", "front", "repeated")

    def __init__(self) -> None:
        """Expect ordinal 0 first."""
        self._ahead: Ints = np.empty(0, np.int64)
        self.front = 0
        """Every ordinal below this one has come."""
        self.repeated = 0
        """How often one came again."""

    @property
    def gaps(self) -> int:
        """Ordinals that are missing below the highest one."""
        return int(self._ahead[-1]) - self.front + 1 - len(self._ahead) if len(self._ahead) else 0

    def add(self, ordinals: Ints) -> None:
        """Take ordinals in any order."""
        waiting = np.sort(np.concatenate([self._ahead, ordinals]))
        fresh = np.diff(waiting, prepend=-1) > 0
        fresh &= waiting >= self.front
        self.repeated += len(waiting) - int(fresh.sum())
        waiting = waiting[fresh]
        in_place = waiting == self.front + np.arange(len(waiting))
        reached = len(waiting) if in_place.all() else int(np.argmin(in_place))
        self.front += reached
        self._ahead = waiting[reached:]


class Checks(Consumer):
    """A consumer that gathers what the checks compare; it needs the run's level tracker beside it."""

    def __init__(self, shape: RunShape, tracker: LevelTracker) -> None:
        """Gather nothing yet; ``tracker`` has to follow the same trace."""
        self._shape = shape
        self._tracker = tracker
        profile = shape.profile
        self._scopes = (
            _Limited.of((), ("workspace",), [profile.workspace]),
            _Limited.of(("provider",), shape.providers, [profile.providers[name] for name in shape.providers]),
            _Limited.of(("principal",), shape.principals, [profile.principals[name] for name in shape.principals]),
        )
        self._envelopes = [
            (scope, kind, Envelope(buckets))
            for scope in self._scopes
            for kind, buckets in (
                ("requests", scope.each(lambda limits: limits.request_rate)),
                ("tokens", scope.each(lambda limits: limits.token_rate)),
            )
            if any(bucket is not None for bucket in buckets)
        ]
        self._ledger = OrdinalLedger()
        self._settled = [0] * len(RequestOutcome)
        self._attempts_told = 0
        self._admissions_told = 0
        self._attempt_rows = 0
        self._admitted_rows = 0
        providers = len(shape.providers)
        self._owed = [0, 0]  # eligible waits as attempts and as what leaves the queue tell them
        self._is_owed_known = True
        self._stay = {kind: [0] * providers for kind in LevelKind}
        self._enters = dict.fromkeys(LevelKind, 0)
        self._disorder: dict[str, int] = {}
        self._last_level_ns = 0
        self._last_ns = 0
        self._end = RunEnd(0, 0, (), ())

    # ------------------------------------------------------------------------------------------------------- consumer

    def levels(self, rows: Rows) -> None:
        """Take level rows."""
        at, delta, kind = rows[:, LevelCol.AT], rows[:, LevelCol.DELTA], rows[:, LevelCol.KIND]
        self._count("level rows before their predecessor", np.diff(at, prepend=self._last_level_ns) < 0)
        self._last_level_ns = int(at[-1])
        self._saw(at)
        entered = delta > 0
        admitted = entered & (kind == LevelKind.ACTIVE)
        self._enters[LevelKind.ACTIVE] += int(admitted.sum())
        self._enters[LevelKind.QUEUE] += int(entered.sum()) - int(admitted.sum())
        owed = rows[np.flatnonzero(~entered & (kind == LevelKind.QUEUE)), LevelCol.AMOUNT]
        self._owed[1] += exact_sum(owed)
        self._is_owed_known = self._is_owed_known and int(owed.min(initial=0)) != NONE
        if self._envelopes:
            draws = rows[admitted]
            at, units = draws[:, LevelCol.AT], draws[:, LevelCol.AMOUNT]
            for scope, counted, envelope in self._envelopes:
                envelope.add(_members(scope.scope, draws), at, units if counted == "tokens" else np.ones_like(units))

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        requested, decided, ended = (
            rows[:, column] for column in (AttemptCol.REQUESTED, AttemptCol.DECIDED, AttemptCol.ENDED)
        )
        outcome, provider = rows[:, AttemptCol.OUTCOME], rows[:, AttemptCol.PROVIDER]
        refused = (outcome == AttemptOutcome.SHED) | (outcome == AttemptOutcome.CANCELLED)
        wait, service = decided - requested, ended - decided
        self._count("attempts decided before they were requested", wait < 0)
        self._count("attempts ended before they were decided", service < 0)
        self._count("refused attempts that went on", refused & (service > 0))
        eligible = rows[:, AttemptCol.ELIGIBLE_WAIT]
        self._count("attempts eligible for longer than they waited", eligible > wait)
        self._owed[0] += exact_sum(eligible)
        self._saw(ended)
        self._attempt_rows += len(rows)
        self._admitted_rows += len(rows) - int(refused.sum())
        for index in range(len(self._shape.providers)):
            here = provider == index
            self._stay[LevelKind.QUEUE][index] += exact_sum(wait[here])
            self._stay[LevelKind.ACTIVE][index] += exact_sum(service[here])

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        intended, settled = rows[:, RequestCol.INTENDED], rows[:, RequestCol.SETTLED]
        attempts, admissions = rows[:, RequestCol.ATTEMPTS], rows[:, RequestCol.ADMISSIONS]
        self._count("requests settled before they were made", settled < intended)
        self._count("requests with more admissions than attempts", admissions > attempts)
        self._saw(settled)
        self._ledger.add(rows[:, RequestCol.ORDINAL])
        by_outcome = np.bincount(rows[:, RequestCol.OUTCOME], minlength=len(RequestOutcome))
        self._settled = [total + more for total, more in zip(self._settled, by_outcome.tolist(), strict=True)]
        self._attempts_told += int(attempts.sum())
        self._admissions_told += int(admissions.sum())

    def close(self, end: RunEnd) -> None:
        """Take the end of the run."""
        self._end = end

    # -------------------------------------------------------------------------------------------------------- results

    def results(self) -> list[CheckResult]:
        """Return every check, in a fixed order; call it once the trace is closed."""
        return [
            self._requests_conserved(),
            self._attempts_conserved(),
            self._little("little-queue", LevelKind.QUEUE),
            self._little("little-pool", LevelKind.ACTIVE),
            self._bucket_envelope(),
            self._within_limits(),
            self._never_negative(),
            self._nothing_leaked(),
            self._times_in_order(),
        ]

    @property
    def _in_flight(self) -> int:
        return self._settled[RequestOutcome.IN_FLIGHT]

    def _requests_conserved(self) -> CheckResult:
        outcomes = " + ".join(
            f"{count} {outcome.name.lower().replace('_', ' ')}"
            for outcome, count in zip(RequestOutcome, self._settled, strict=True)
        )
        breaches = []
        if sum(self._settled) != self._end.arrivals:
            breaches.append(f"they add up to {sum(self._settled)}")
        if self._ledger.repeated:
            breaches.append(f"{self._ledger.repeated} requests settled more than once")
        if self._ledger.gaps or self._ledger.front != self._end.arrivals:
            breaches.append(f"of the ordinals only those below {self._ledger.front} are complete")
        return _result("requests-conserved", f"{self._end.arrivals} arrivals = {outcomes}", breaches)

    def _attempts_conserved(self) -> CheckResult:
        """Compare rows of attempts with what their requests tell; the unsettled may each have one under way."""
        breaches = []
        for what, told, rows in (
            ("attempts", self._attempts_told, self._attempt_rows),
            ("admissions", self._admissions_told, self._admitted_rows),
        ):
            if not 0 <= told - rows <= self._in_flight:
                breaches.append(f"requests tell of {told} {what}, there are rows of {rows}")
        if self._enters[LevelKind.ACTIVE] - self._admitted_rows not in range(self._in_flight + 1):
            breaches.append(f"{self._enters[LevelKind.ACTIVE]} permits were given out")
        by_attempts, by_queue = self._owed
        if self._is_owed_known and (by_attempts > by_queue or (by_attempts < by_queue and not self._in_flight)):
            breaches.append(
                f"heads left eligible for {ms_text(by_queue)} ms, their attempts tell {ms_text(by_attempts)} ms"
            )
        return _result("attempts-conserved", f"{self._attempt_rows} attempts, {self._admitted_rows} admitted", breaches)

    def _little(self, name: str, kind: LevelKind) -> CheckResult:
        """Compare the time integral of a level with the sum of the stays; the unsettled are in the first only."""
        breaches = []
        pairs = [
            (f"provider {provider}", self._tracker.integral(("provider",), kind, index), self._stay[kind][index])
            for index, provider in enumerate(self._shape.providers)
        ]
        whole = ("all", self._tracker.integral((), kind, 0), sum(self._stay[kind]))
        for where, area, stays in (whole, *pairs):
            if area < stays or (area > stays and not self._in_flight):
                breaches.append(f"{where}: level x time {ms_text(area)} ms, stays {ms_text(stays)} ms")
        detail = f"level x time = sum of stays = {ms_text(whole[1])} ms"
        if self._in_flight:
            detail = f"level x time {ms_text(whole[1])} ms, stays that ended {ms_text(whole[2])} ms"
        return _result(name, detail, breaches)

    def _bucket_envelope(self) -> CheckResult:
        breaches = []
        for scope, counted, envelope in self._envelopes:
            if envelope.breach is not None:
                member, at_ns, excess = envelope.breach
                breaches.append(f"{scope.names[member]}: {excess} {counted} too many at {ms_text(at_ns)} ms")
        detail = f"any window of {len(self._envelopes)} kinds of bucket is within burst + rate x length"
        return _result("bucket-envelope", detail, breaches)

    def _within_limits(self) -> CheckResult:
        breaches = []
        compared = 0
        for scope in self._scopes:
            for kind, word, limit_of in _LEVEL_LIMITS:
                limits = np.array([NONE if limit is None else limit for limit in scope.each(limit_of)])
                compared += int((limits != NONE).sum())
                peaks = self._tracker.peaks(scope.scope, kind)
                breaches += [
                    f"{scope.names[member]}: {peaks[member]} {word}, limit {limits[member]}"
                    for member in np.flatnonzero((limits != NONE) & (peaks > limits))
                ]
        return _result("within-limits", f"{compared} limits on calls in flight and requests waiting", breaches)

    def _never_negative(self) -> CheckResult:
        breaches = [
            f"{scope.names[member]}: {low[member]} {word}"
            for scope in self._scopes
            for kind, word, _ in _LEVEL_LIMITS
            for low in [self._tracker.lowest(scope.scope, kind)]
            for member in np.flatnonzero(low < 0)
        ]
        return _result("levels-never-negative", "no level fell below 0", breaches)

    def _nothing_leaked(self) -> CheckResult:
        """Every permit and every place in the queue was given back; the unsettled may hold one each."""
        left = sum(int(self._tracker.final((), kind)[0]) for kind in LevelKind)
        breaches = []
        if not 0 <= left <= self._in_flight:
            breaches.append(f"{left} places still taken at the end")
        if not self._in_flight:
            breaches += [
                f"{scope.names[member]}: {last[member]} {word} at the end"
                for scope in self._scopes
                for kind, word, _ in _LEVEL_LIMITS
                for last in [self._tracker.final(scope.scope, kind)]
                for member in np.flatnonzero(last)
            ]
        given = f"{self._enters[LevelKind.ACTIVE]} permits and {self._enters[LevelKind.QUEUE]} places in queue"
        detail = f"{given}, {left} held by what is in flight" if left else f"{given}, all given back"
        return _result("nothing-leaked", detail, breaches)

    def _times_in_order(self) -> CheckResult:
        breaches = [f"{count} {what}" for what, count in self._disorder.items()]
        if self._last_ns > self._end.at_ns:
            breaches.append(f"a row at {ms_text(self._last_ns)} ms, after the end at {ms_text(self._end.at_ns)} ms")
        return _result("times-in-order", "requested <= decided <= ended, intended <= settled <= end", breaches)

    # ---------------------------------------------------------------------------------------------------------- parts

    def _count(self, what: str, breached: Mask) -> None:
        count = int(np.count_nonzero(breached))
        if count:
            self._disorder[what] = self._disorder.get(what, 0) + count

    def _saw(self, at: Ints) -> None:
        self._last_ns = max(self._last_ns, int(at.max()))


def exact_sum(values: Ints) -> int:
    """Return the exact sum of integers of which each, but maybe not the sum, fits 64 bits."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def _members(scope: Scope, rows: Rows) -> Ints:
    if not scope:
        return np.zeros(len(rows), np.int64)
    return rows[:, LevelCol.PROVIDER if scope == ("provider",) else LevelCol.PRINCIPAL]


def _result(name: str, detail: str, breaches: list[str]) -> CheckResult:
    if not breaches:
        return {"name": name, "ok": True, "detail": detail}
    rest = f"; and {len(breaches) - SHOWN_MAX} more" if len(breaches) > SHOWN_MAX else ""
    return {"name": name, "ok": False, "detail": "; ".join(breaches[:SHOWN_MAX]) + rest}
