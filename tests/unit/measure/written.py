"""Traces written by hand: requests in plain values, turned into the rows a world would write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sim.manifest.model import Phase
from sim.manifest.providers import Outage
from sim.measure.shape import RunShape
from sim.trace import (
    NONE,
    REASON_CODE,
    AttemptOutcome,
    Cause,
    Consumer,
    LevelKind,
    RequestOutcome,
    Trace,
)
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile, Scheduling

MS = 10**6
S = 10**9

REQUEST_OUTCOME = {
    AttemptOutcome.COMPLETED: RequestOutcome.COMPLETED,
    AttemptOutcome.FAILED: RequestOutcome.FAILED,
    AttemptOutcome.SHED: RequestOutcome.SHED,
    AttemptOutcome.CANCELLED: RequestOutcome.CANCELLED,
    AttemptOutcome.ABORTED: RequestOutcome.CANCELLED,
}
CAUSE = {AttemptOutcome.FAILED: Cause.PROVIDER_ERROR}
ADMITTED = (AttemptOutcome.COMPLETED, AttemptOutcome.FAILED, AttemptOutcome.ABORTED)


@dataclass(frozen=True)
class Try:
    """One attempt; times in ns."""

    requested: int
    wait: int = 0
    service: int = 0
    outcome: AttemptOutcome = AttemptOutcome.COMPLETED
    reason: DenyReason | None = None
    hold: Hold = Hold.NONE
    eligible: int = 0
    tokens: int = 1

    @property
    def decided(self) -> int:
        return self.requested + self.wait

    @property
    def ended(self) -> int:
        return self.decided + self.service

    @property
    def admitted(self) -> bool:
        return self.outcome in ADMITTED


@dataclass(frozen=True)
class Ask:
    """One request; indices into the shape's lists, times in ns. It settles as and when its last attempt ends.

    It uses as many tokens as it is estimated at, unless ``actual`` says otherwise.
    """

    tries: tuple[Try, ...]
    principal: int = 0
    provider: int = 0
    signal: int = NONE
    actual: int | None = None
    stopped: int = NONE

    @property
    def intended(self) -> int:
        return self.tries[0].requested

    @property
    def settled(self) -> int:
        return self.tries[-1].ended

    @property
    def outcome(self) -> RequestOutcome:
        return REQUEST_OUTCOME[self.tries[-1].outcome]

    @property
    def reason(self) -> DenyReason | None:
        return self.tries[-1].reason

    @property
    def admissions(self) -> int:
        return sum(attempt.admitted for attempt in self.tries)


def shape(
    principals: Mapping[str, str] = MappingProxyType({"a": "x", "b": "y", "c": "y"}),
    *,
    providers: Sequence[str] = ("u", "v"),
    phases: Sequence[tuple[str, int, int]] = (("load", 0, 10 * S), ("spike", 10 * S, 30 * S)),
    warmup: int = 0,
    workspace: AdmissionLimits | None = None,
    provider_limits: AdmissionLimits | None = None,
    principal_limits: AdmissionLimits | None = None,
    reserved: Sequence[str] = (),
    scheduling: Scheduling | None = None,
    outages: Sequence[Outage] = (),
) -> RunShape:
    """Return a run's shape: principals with their classes, and the same limits for every member of a scope."""
    classes = tuple(dict.fromkeys(principals.values()))
    profile = AdmissionProfile(
        profile_version="written",
        workspace=workspace or AdmissionLimits(),
        providers={name: provider_limits or AdmissionLimits() for name in providers},
        principals={
            name: AdmissionLimits(reserved_concurrency=1) if name in reserved else principal_limits or AdmissionLimits()
            for name in principals
        },
        scheduling=scheduling or Scheduling(),
    )
    return RunShape(
        principals=tuple(principals),
        classes=classes,
        class_of=tuple(classes.index(cls) for cls in principals.values()),
        providers=tuple(providers),
        phases=tuple(Phase(name, start, end) for name, start, end in phases),
        warmup_ns=warmup,
        profile=profile,
        outages=tuple(outages),
    )


@dataclass
class Written:
    """The rows of a trace, to be changed by a test before they are read."""

    attempts: list[list[int]] = field(default_factory=list)
    requests: list[list[int]] = field(default_factory=list)
    levels: list[list[int]] = field(default_factory=list)
    transitions: list[tuple[int, str, str, int, int, int]] = field(default_factory=list)
    pauses: list[tuple[int, int, int]] = field(default_factory=list)
    heads: list[tuple[int, int, int]] = field(default_factory=list)
    end: int = 0
    arrivals: int = 0

    def read(self, consumers: Iterable[Consumer], *, block_rows: int = 1 << 14) -> None:
        """Hand the rows to consumers as a world would: in order of time, in blocks."""
        trace = Trace(tuple(consumers), block_rows=block_rows)
        events = [(row[0], 0, trace.levels, row) for row in self.levels]
        events += [(row[8], 1, trace.attempts, row) for row in self.attempts]
        events += [(row[6], 2, trace.requests, row) for row in self.requests]
        for _, _, rows, row in sorted(events, key=lambda event: event[:2]):
            rows.extend(row)
            trace.flush_if_full()
        trace.transitions.extend(self.transitions)
        trace.pauses.extend(self.pauses)
        trace.heads.extend(self.heads)
        trace.close(self.end, self.arrivals)


def write(of: RunShape, asks: Iterable[Ask], *, end: int | None = None) -> Written:
    """Return the rows of these requests, ordinals in order of intended arrival."""
    written = Written()
    ordered = sorted(asks, key=lambda ask: ask.intended)
    for ordinal, ask in enumerate(ordered):
        phase = phase_of(of, ask.intended)
        for number, attempt in enumerate(ask.tries, start=1):
            written.attempts.append(
                [
                    ordinal,
                    0,
                    ask.principal,
                    ask.provider,
                    phase,
                    number,
                    attempt.requested,
                    attempt.decided,
                    attempt.ended,
                    attempt.outcome,
                    NONE if attempt.reason is None else REASON_CODE[attempt.reason],
                    attempt.hold,
                    attempt.eligible,
                    attempt.tokens,
                    CAUSE.get(attempt.outcome, NONE),
                ]
            )
            if attempt.wait:
                written.levels.append([attempt.requested, 1, LevelKind.QUEUE, ask.principal, ask.provider, 0])
                written.levels.append(
                    [attempt.decided, -1, LevelKind.QUEUE, ask.principal, ask.provider, attempt.eligible]
                )
            if attempt.admitted:
                written.levels.append(
                    [attempt.decided, 1, LevelKind.ACTIVE, ask.principal, ask.provider, attempt.tokens]
                )
                written.levels.append([attempt.ended, -1, LevelKind.ACTIVE, ask.principal, ask.provider, 0])
        written.requests.append(
            [
                ordinal,
                0,
                ask.principal,
                ask.provider,
                phase,
                ask.intended,
                ask.settled,
                ask.outcome,
                NONE if ask.reason is None else REASON_CODE[ask.reason],
                len(ask.tries),
                ask.admissions,
                ask.signal,
                ask.tries[0].tokens,
                ask.tries[0].tokens if ask.actual is None else ask.actual,
                ask.stopped,
            ]
        )
    written.levels.sort(key=lambda row: row[0])
    written.arrivals = len(ordered)
    last = max((ask.settled for ask in ordered), default=0)
    written.end = max(last, of.horizon_ns) if end is None else end
    return written


def phase_of(of: RunShape, at_ns: int) -> int:
    """Return the index of the phase an instant lies in."""
    return next(index for index, phase in enumerate(of.phases) if phase.start_ns <= at_ns < phase.end_ns)
