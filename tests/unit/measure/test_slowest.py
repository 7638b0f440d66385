from __future__ import annotations

import pytest

from sim.measure.slowest import Slowest
from sim.trace import AttemptOutcome
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold


def slowest(asks, *, k=5, block_rows=1 << 14):
    consumer = Slowest(shape(), k)
    write(shape(), asks).read([consumer], block_rows=block_rows)
    assert len(consumer._open) == 0
    return consumer.worst()


@pytest.mark.parametrize("block_rows", [1, 3, 1 << 14])
def test_the_longest_come_first_and_the_earlier_arrival_where_two_are_equal(block_rows):
    lengths = [3, 9, 1, 9, 5, 9, 2, 4]
    asks = [Ask((Try(at * S, service=length * S),)) for at, length in enumerate(lengths)]
    worst = slowest(asks, k=4, block_rows=block_rows)
    assert [request["ordinal"] for request in worst] == [1, 3, 5, 4]
    assert [request["sojourn_ns"] // S for request in worst] == [9, 9, 9, 5]


def test_a_refusal_after_a_long_wait_is_slow_and_a_cancellation_is_not():
    asks = [
        Ask((Try(0, wait=3 * S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_TIMEOUT),)),
        Ask((Try(S, wait=8 * S, outcome=AttemptOutcome.CANCELLED, reason=DenyReason.CANCELLED),)),
        Ask((Try(2 * S, service=9 * S, outcome=AttemptOutcome.ABORTED),)),
        Ask((Try(3 * S, service=S),)),
    ]
    assert [(request["ordinal"], request["outcome"]) for request in slowest(asks)] == [(0, "shed"), (3, "completed")]


@pytest.mark.parametrize("block_rows", [1, 1 << 14])
def test_each_attempt_tells_what_held_it(block_rows):
    ask = Ask(
        (
            Try(11 * S, wait=S, service=MS, outcome=AttemptOutcome.FAILED, hold=Hold.WORKSPACE_TOKENS),
            Try(
                13 * S,
                wait=2 * S,
                outcome=AttemptOutcome.SHED,
                reason=DenyReason.QUEUE_TIMEOUT,
                hold=Hold.PROVIDER_PAUSED,
            ),
        ),
        principal=1,
        provider=1,
    )
    (request,) = slowest([ask], block_rows=block_rows)
    attempts = request.pop("attempts")
    assert request == {
        "ordinal": 0,
        "principal": "b",
        "cls": "y",
        "provider": "v",
        "phase": "spike",
        "outcome": "shed",
        "reason": "queue-timeout",
        "intended_ns": 11 * S,
        "settled_ns": 15 * S,
        "sojourn_ns": 4 * S,
        "wait_ns": 3 * S,
    }
    columns = ("attempt", "wait_ns", "service_ns", "outcome", "reason", "hold", "hold_scope")
    assert [tuple(attempt[column] for column in columns) for attempt in attempts] == [
        (1, S, MS, "failed", None, "tokens-per-second", "workspace"),
        (2, 2 * S, 0, "shed", "queue-timeout", "retry-after", "provider"),
    ]
    assert all(attempt["hold_text"] for attempt in attempts)


def test_a_request_that_never_waited_has_no_hold():
    (request,) = slowest([Ask((Try(0, service=S),))])
    assert (request["attempts"][0]["hold"], request["attempts"][0]["hold_scope"]) == (None, None)
