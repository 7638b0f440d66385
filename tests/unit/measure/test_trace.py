from __future__ import annotations

import pytest

from sim.trace import AttemptCol, Consumer, LevelCol, RequestCol, RunEnd, Trace
from tollgate.core.errors import InvariantViolation


class Recording(Consumer):
    """Keeps what it is given."""

    def __init__(self):
        self.seen = []

    def levels(self, rows):
        self.seen.append(("levels", rows.copy()))

    def attempts(self, rows):
        self.seen.append(("attempts", rows.copy()))

    def requests(self, rows):
        self.seen.append(("requests", rows.copy()))

    def close(self, end):
        self.seen.append(("close", end))


def test_rows_arrive_as_written_levels_first_requests_last():
    consumer = Recording()
    trace = Trace([consumer])
    attempt, request, level = range(15), range(100, 115), (5, 1, 0, 2, 3, 4)
    trace.requests.extend(request)
    trace.attempts.extend(attempt)
    trace.levels.extend(level)
    trace.close(9, 1)
    kinds = [kind for kind, _ in consumer.seen]
    assert kinds == ["levels", "attempts", "requests", "close"]
    assert [rows.tolist() for _, rows in consumer.seen[:3]] == [[list(level)], [list(attempt)], [list(request)]]
    assert [len(cols) for cols in (LevelCol, AttemptCol, RequestCol)] == [6, 15, 15]


def test_a_block_is_handed_over_once_it_is_full():
    consumer = Recording()
    trace = Trace([consumer], block_rows=3)
    extend = trace.attempts.extend
    for number in range(7):
        extend([number] * 15)
        trace.flush_if_full()
    assert [rows[:, 0].tolist() for _, rows in consumer.seen] == [[0, 1, 2], [3, 4, 5]]
    trace.flush()
    assert consumer.seen[-1][1][:, 0].tolist() == [6]


def test_writers_may_hold_the_lists_across_blocks():
    trace = Trace([Recording()], block_rows=1)
    lists = trace.attempts, trace.requests, trace.levels
    trace.levels.extend((1, 1, 0, 0, 0, 0))
    trace.flush_if_full()
    assert all(now is before for now, before in zip((trace.attempts, trace.requests, trace.levels), lists, strict=True))


def test_the_end_carries_what_is_rare():
    consumer = Recording()
    trace = Trace([consumer])
    trace.transitions.append((0, "closed", "open", 7, 5, 41))
    trace.pauses.append((1, 3, 9))
    trace.close(12, 42)
    assert consumer.seen == [("close", RunEnd(12, 42, ((0, "closed", "open", 7, 5, 41),), ((1, 3, 9),)))]
    assert consumer.seen[0][1].transitions[0].to_state == "open"


def test_half_a_row_is_a_broken_invariant():
    trace = Trace([])
    trace.attempts.extend(range(13))
    with pytest.raises(InvariantViolation, match="attempts: 13 integers"):
        trace.flush()


def test_what_does_not_fit_64_bits_is_not_wrapped():
    trace = Trace([])
    trace.levels.extend((2**63, 1, 0, 0, 0, 0))
    with pytest.raises(OverflowError):
        trace.flush()
