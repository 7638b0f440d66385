"""What happened to one request, as steps: from its rows in the trace, and from what a watch saw.

Owns which events make a step and the words of each. The words around the steps belong to ``sim.report.explain``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from sim.explain.watch import PLACE, Look
from sim.manifest.providers import Outage
from sim.report.explain import ExplainStep
from sim.report.text import listing, with_ms, with_seconds
from sim.trace import NONE, REASONS, AttemptCol, AttemptOutcome, Cause, Consumer, RequestCol, RequestOutcome, Rows, Stop
from tollgate.core.deny import REASONS as FACTS
from tollgate.decision import Decision, Hold

_STOPS: Final = {
    Stop.BUDGET: "its client would have tried again, but its retry budget was used up",
    Stop.RETRY_AFTER: "its client would have tried again, but the announced wait was longer than it waits out",
}
_CAME_TO_NOTHING: Final = (AttemptOutcome.FAILED, AttemptOutcome.SHED)


class RowsOf(Consumer):
    """A consumer that keeps the rows of one request.

    Attributes:
        ordinal: Which one.
        attempt_rows: Its attempts that ended, by ``AttemptCol``.
        request_row: Its end, by ``RequestCol``.
    """

    def __init__(self, ordinal: int) -> None:
        """Keep those of the given request."""
        self.ordinal = ordinal
        self.attempt_rows: list[list[int]] = []
        self.request_row: list[int] = []

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        self.attempt_rows += rows[rows[:, AttemptCol.ORDINAL] == self.ordinal].tolist()

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        for row in rows[rows[:, RequestCol.ORDINAL] == self.ordinal].tolist():
            self.request_row = row


class Told(NamedTuple):
    """What the manifest tells of the request's surroundings.

    Attributes:
        outages: The bad times of its provider.
        max_attempts: Attempts that its client may make.
    """

    outages: tuple[Outage, ...] = ()
    max_attempts: int = 1


_NOTHING_TOLD: Final = Told()


def steps(
    rows: RowsOf, looks: Sequence[Look], decisions: Mapping[int, Decision], told: Told = _NOTHING_TOLD
) -> Iterator[ExplainStep]:
    """Yield what happened, attempt by attempt, and how it ended.

    Args:
        rows: The request's rows; it has settled, or the run is over.
        looks: What held it, in order of time; empty where nobody looked.
        decisions: What was decided, by attempt; likewise.
        told: What the manifest tells of its provider and its client.
    """
    seen = {attempt: list(own) for attempt, own in groupby(looks, key=lambda look: look.attempt)}
    ended_ns, announced_ns = -1, NONE
    for row in rows.attempt_rows:
        attempt = row[AttemptCol.ATTEMPT]
        own = seen.pop(attempt, [])
        why = _retried(row[AttemptCol.REQUESTED] - ended_ns, announced_ns) if attempt > 1 else ""
        yield from _asked(attempt, row[AttemptCol.REQUESTED], row[AttemptCol.HOLD], own, why)
        left_ns = min(row[AttemptCol.ENDED], rows.request_row[RequestCol.SETTLED])
        *before, last = _decided(row, left_ns, decisions.get(attempt), _freed(own), told.outages)
        yield from before
        is_last = row is rows.attempt_rows[-1] and row[AttemptCol.ENDED] == rows.request_row[RequestCol.SETTLED]
        yield replace(last, what=last.what + (_given_up(rows, row, told) if is_last else ""))
        ended_ns, announced_ns = row[AttemptCol.ENDED], _announced(decisions.get(attempt))
    outcome, settled_ns = rows.request_row[RequestCol.OUTCOME], rows.request_row[RequestCol.SETTLED]
    if outcome == RequestOutcome.IN_FLIGHT:
        for attempt, own in seen.items():  # the one that has not ended has no row
            yield from _asked(attempt, own[0].at_ns, NONE, own)
            if attempt in decisions:
                yield ExplainStep(decisions[attempt].at_ns, f"was admitted{_freed(own)}")
        yield ExplainStep(settled_ns, "had not settled when the run ended")
    elif settled_ns < ended_ns:
        yield ExplainStep(ended_ns, "was done at its provider, long after its caller had left")
    elif settled_ns > ended_ns:
        yield ExplainStep(settled_ns, "was given up by its caller between two attempts")


def _asked(attempt: int, at_ns: int, hold: int, looks: Sequence[Look], why: str = "") -> Iterator[ExplainStep]:
    """Yield the request for admission, and each change of what held it while it waited."""
    what = "arrived and asked for admission" if attempt == 1 else f"asked again, attempt {attempt}{why}"
    if hold != NONE:
        what += f", and had to wait because {Hold(hold).text}"
    yield ExplainStep(at_ns, what, looks[0].checks if looks else ())
    for before, look in pairwise(looks):
        if any(check.limit == PLACE for check in before.checks):
            yield ExplainStep(look.at_ns, "came to the head of its line, and was held", look.checks)
        else:
            holding = tuple(check for check in look.checks if not check.ok)
            yield ExplainStep(look.at_ns, "waited on, held by something else", holding)


def _retried(gap_ns: int, announced_ns: int) -> str:
    """Return what the wait before an attempt was: the one announced with the refusal, or the client's own."""
    if gap_ns == announced_ns:
        return f", after the {with_ms(gap_ns)} that were announced"
    return f", after its client had waited {with_ms(gap_ns)}" if gap_ns else ", at once"


def _announced(decision: Decision | None) -> int:
    denial = None if decision is None else decision.denial
    return NONE if denial is None or denial.retry_after_ns is None else denial.retry_after_ns


def _freed(looks: Sequence[Look]) -> str:
    """Return what let a request go that had waited: whatever held it last."""
    holding = [check for check in looks[-1].checks if not check.ok] if looks else []
    if any(check.limit == PLACE for check in holding):
        return " once those ahead of it had gone"
    return f" once {listing(f'{check.limit} of the {check.scope}' for check in holding)} let it go" if holding else ""


def _given_up(rows: RowsOf, row: list[int], told: Told) -> str:
    """Return why there was no further attempt after one that came to nothing."""
    stopped = rows.request_row[RequestCol.STOPPED]
    if stopped != NONE:
        return f"; {_STOPS[Stop(stopped)]}"
    if row[AttemptCol.OUTCOME] in _CAME_TO_NOTHING and 1 < told.max_attempts == row[AttemptCol.ATTEMPT]:
        return "; it was the last attempt of its client"
    return ""


def _into(outages: Iterable[Outage], at_ns: int) -> str:
    """Return the outages that a call begins in."""
    told = ""
    for outage in outages:
        if outage.start_ns <= at_ns < outage.end_ns:
            told += f", into an outage of its provider ({outage.kind}, to {with_seconds(outage.end_ns)})"
        elif outage.end_ns <= at_ns < outage.ramp_end_ns:
            told += f", into an outage that fades ({outage.kind}, to {with_seconds(outage.ramp_end_ns)})"
    return told


def _decided(
    row: list[int], ended_ns: int, decision: Decision | None, freed: str, outages: Iterable[Outage]
) -> Iterator[ExplainStep]:
    """Yield the decision, and the end of the call for its caller if there was one."""
    outcome = AttemptOutcome(row[AttemptCol.OUTCOME])
    decided_ns = row[AttemptCol.DECIDED]
    if outcome in {AttemptOutcome.SHED, AttemptOutcome.CANCELLED}:
        reason = REASONS[row[AttemptCol.REASON]]
        what = f"was refused, {reason}: {FACTS[reason].meaning.rstrip('.').lower()}"
        denial = None if decision is None else decision.denial
        if denial is not None and denial.retry_after_ns is not None:
            what += f"; after {with_ms(denial.retry_after_ns)} it would be admitted, alone"
        yield ExplainStep(decided_ns, what)
        return
    yield ExplainStep(decided_ns, f"was admitted{freed}{_into(outages, decided_ns)}")
    served = with_ms(ended_ns - decided_ns)
    ends = {
        AttemptOutcome.COMPLETED: f"completed, after {served} of service",
        AttemptOutcome.FAILED: f"failed, after {served} of service",
        AttemptOutcome.ABORTED: f"was left by its caller, after {served} of service",
    }
    cause = row[AttemptCol.CAUSE]
    why = f": {Cause(cause).text}" if cause not in {NONE, Cause.PROVIDER_ERROR} else ""
    yield ExplainStep(ended_ns, ends[outcome] + why)
