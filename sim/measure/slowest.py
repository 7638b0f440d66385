"""The requests that took longest, with what held them.

Owns which they are: the longest from intended arrival to settlement, the earlier arrival first where two took equally
long. Requests that their caller cancelled are left out, for their length is the caller's doing, and so is what was in
flight at the end. It must not know metrics.
"""

from __future__ import annotations

from typing import Final, TypedDict

import numpy as np

from sim.measure.shape import RunShape
from sim.trace import NONE, REASONS, AttemptCol, AttemptOutcome, Consumer, RequestCol, RequestOutcome, Rows
from tollgate.decision.evidence import Hold

KEPT: Final = 5
"""Spec 00: the five worst requests."""


class SlowAttempt(TypedDict):
    """One attempt of a slow request; times in ns."""

    attempt: int
    requested_ns: int
    wait_ns: int
    service_ns: int
    outcome: str
    reason: str | None
    hold: str | None  # the seed's reason of the first deferral
    hold_scope: str | None
    hold_text: str


class SlowRequest(TypedDict):
    """One slow request; times in ns from the start of the run."""

    ordinal: int
    principal: str
    cls: str
    provider: str
    phase: str
    outcome: str
    reason: str | None
    intended_ns: int
    settled_ns: int
    sojourn_ns: int
    wait_ns: int
    attempts: list[SlowAttempt]


class Slowest(Consumer):
    """A consumer that keeps the ``k`` slowest requests. Memory follows the requests in flight."""

    def __init__(self, shape: RunShape, k: int = KEPT) -> None:
        """Keep none yet."""
        self._shape = shape
        self._k = k
        self._open: Rows = np.empty((0, len(AttemptCol)), np.int64)
        self._kept: list[tuple[int, int, SlowRequest]] = []  # (-sojourn, ordinal, request), ascending

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows; those of requests that have not settled are kept until they do."""
        self._open = np.concatenate([self._open, rows])

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        outcome = rows[:, RequestCol.OUTCOME]
        eligible = rows[(outcome != RequestOutcome.CANCELLED) & (outcome != RequestOutcome.IN_FLIGHT)]
        sojourn = eligible[:, RequestCol.SETTLED] - eligible[:, RequestCol.INTENDED]
        worst = np.lexsort((eligible[:, RequestCol.ORDINAL], -sojourn))[: self._k]
        for row, length in zip(eligible[worst], sojourn[worst].tolist(), strict=True):
            key = (-length, int(row[RequestCol.ORDINAL]))
            if len(self._kept) == self._k and key >= self._kept[-1][:2]:
                break
            self._kept = sorted([*self._kept, (*key, self._describe(row))], key=lambda kept: kept[:2])[: self._k]
        ordinals = self._open[:, AttemptCol.ORDINAL]
        self._open = self._open[~np.isin(ordinals, rows[:, RequestCol.ORDINAL])]

    def worst(self) -> list[SlowRequest]:
        """Return the slowest requests, the slowest first."""
        return [request for _, _, request in self._kept]

    def _describe(self, row: Rows) -> SlowRequest:
        ordinal, _, principal, provider, phase, intended, settled, outcome, reason, *_ = row.tolist()
        own = self._open[self._open[:, AttemptCol.ORDINAL] == ordinal]
        attempts = [_describe_attempt(attempt) for attempt in own]
        return {
            "ordinal": ordinal,
            "principal": self._shape.principals[principal],
            "cls": self._shape.classes[self._shape.class_of[principal]],
            "provider": self._shape.providers[provider],
            "phase": self._shape.phases[phase].name,
            "outcome": RequestOutcome(outcome).name.lower(),
            "reason": None if reason == NONE else REASONS[reason].value,
            "intended_ns": intended,
            "settled_ns": settled,
            "sojourn_ns": settled - intended,
            "wait_ns": sum(attempt["wait_ns"] for attempt in attempts),
            "attempts": attempts,
        }


def _describe_attempt(row: Rows) -> SlowAttempt:
    hold = Hold(max(int(row[AttemptCol.HOLD]), Hold.NONE))
    requested, decided, ended = (int(row[c]) for c in (AttemptCol.REQUESTED, AttemptCol.DECIDED, AttemptCol.ENDED))
    reason = int(row[AttemptCol.REASON])
    return {
        "attempt": int(row[AttemptCol.ATTEMPT]),
        "requested_ns": requested,
        "wait_ns": decided - requested,
        "service_ns": ended - decided,
        "outcome": AttemptOutcome(int(row[AttemptCol.OUTCOME])).name.lower(),
        "reason": None if reason == NONE else REASONS[reason].value,
        "hold": None if hold.reason is None else hold.reason.value,
        "hold_scope": hold.scope,
        "hold_text": hold.text,
    }
