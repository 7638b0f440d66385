"""What happened to one request, as steps: from its rows in the trace, and from what a watch saw.

Owns which events make a step and the words of each. The words around the steps belong to ``sim.report.explain``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from sim.explain.watch import PLACE, Look
from sim.report.explain import ExplainStep
from sim.report.text import with_ms
from sim.trace import NONE, REASONS, AttemptCol, AttemptOutcome, Cause, Consumer, RequestCol, RequestOutcome, Rows
from tollgate.core.deny import REASONS as FACTS
from tollgate.decision import Decision, Hold


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


def steps(rows: RowsOf, looks: Sequence[Look], decisions: Mapping[int, Decision]) -> Iterator[ExplainStep]:
    """Yield what happened, attempt by attempt, and how it ended.

    Args:
        rows: The request's rows; it has settled, or the run is over.
        looks: What held it, in order of time; empty where nobody looked.
        decisions: What was decided, by attempt; likewise.
    """
    seen = {attempt: list(own) for attempt, own in groupby(looks, key=lambda look: look.attempt)}
    ended_ns = -1
    for row in rows.attempt_rows:
        attempt = row[AttemptCol.ATTEMPT]
        yield from _asked(attempt, row[AttemptCol.REQUESTED], row[AttemptCol.HOLD], seen.pop(attempt, []))
        left_ns = min(row[AttemptCol.ENDED], rows.request_row[RequestCol.SETTLED])
        yield from _decided(row, left_ns, decisions.get(attempt))
        ended_ns = row[AttemptCol.ENDED]
    outcome, settled_ns = rows.request_row[RequestCol.OUTCOME], rows.request_row[RequestCol.SETTLED]
    if outcome == RequestOutcome.IN_FLIGHT:
        for attempt, own in seen.items():  # the one that has not ended has no row
            yield from _asked(attempt, own[0].at_ns, NONE, own)
            if attempt in decisions:
                yield ExplainStep(decisions[attempt].at_ns, "was admitted")
        yield ExplainStep(settled_ns, "had not settled when the run ended")
    elif settled_ns < ended_ns:
        yield ExplainStep(ended_ns, "was done at its provider, long after its caller had left")
    elif settled_ns > ended_ns:
        yield ExplainStep(settled_ns, "was given up by its caller between two attempts")


def _asked(attempt: int, at_ns: int, hold: int, looks: Sequence[Look]) -> Iterator[ExplainStep]:
    """Yield the request for admission, and each change of what held it while it waited."""
    what = "arrived and asked for admission" if attempt == 1 else f"asked again, attempt {attempt}"
    if hold != NONE:
        what += f", and had to wait because {Hold(hold).text}"
    yield ExplainStep(at_ns, what, looks[0].checks if looks else ())
    for before, look in pairwise(looks):
        if any(check.limit == PLACE for check in before.checks):
            yield ExplainStep(look.at_ns, "came to the head of its line, and was held", look.checks)
        else:
            holding = tuple(check for check in look.checks if not check.ok)
            yield ExplainStep(look.at_ns, "waited on, held by something else", holding)


def _decided(row: list[int], ended_ns: int, decision: Decision | None) -> Iterator[ExplainStep]:
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
    yield ExplainStep(decided_ns, "was admitted")
    served = with_ms(ended_ns - decided_ns)
    ends = {
        AttemptOutcome.COMPLETED: f"completed, after {served} of service",
        AttemptOutcome.FAILED: f"failed, after {served} of service",
        AttemptOutcome.ABORTED: f"was left by its caller, after {served} of service",
    }
    cause = row[AttemptCol.CAUSE]
    why = f": {Cause(cause).text}" if cause not in {NONE, Cause.PROVIDER_ERROR} else ""
    yield ExplainStep(ended_ns, ends[outcome] + why)
