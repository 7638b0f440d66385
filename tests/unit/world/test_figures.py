"""What a request says of itself reaches the limits, and what it really uses reaches the trace."""

from __future__ import annotations

import pytest

from sim.trace import NONE, REASONS, Consumer, RequestCol
from sim.workload.blocks import UNKNOWN, Figures
from tests.unit.world.lab import arrivals, manifest, play
from tollgate.core.deny import DenyReason

PLAIN = Figures(100, 0, UNKNOWN, 0, 1, 1, 1, 1)


class Requests(Consumer):
    """Every request's tokens, actual tokens and reason, in order of arrival."""

    def __init__(self):
        self.rows = []

    def requests(self, rows):
        self.rows += rows.tolist()

    def found(self):
        columns = (RequestCol.TOKENS, RequestCol.ACTUAL_TOKENS, RequestCol.REASON)
        return [tuple(row[column] for column in columns) for row in sorted(self.rows)]


def served(of, tokens, figures):
    """Run requests 10 ms apart, each of 5 ms, and return (estimated, actual, reason) of each."""
    at = [10 * place for place in range(len(tokens))]
    seen = Requests()
    play(of, arrivals(at, [5] * len(at), tokens=tokens, figures=figures), seen)
    return seen.found()


def test_a_plain_request_uses_what_it_is_estimated_at():
    assert served(manifest(), [7, 9], None) == [(7, 7, NONE), (9, 9, NONE)]


def test_estimated_and_actual_tokens_are_told_apart_and_plain_requests_may_stand_between():
    figures = [PLAIN._replace(prompt_tokens=60, output_tokens=25), None, PLAIN._replace(output_tokens=11)]
    assert served(manifest(), [100, 100, 100], figures) == [(100, 85, NONE), (100, 100, NONE), (100, 111, NONE)]


@pytest.mark.parametrize(
    ("limit", "within", "beyond", "reason"),
    [
        ({"max_items": 4}, {"items": 4}, {"items": 5}, DenyReason.TOO_MANY_ITEMS),
        ({"max_batch_size": 4}, {"batch_size": 4}, {"batch_size": 5}, DenyReason.BATCH_SIZE),
        ({"max_request_bytes": 4}, {"request_bytes": 4}, {"request_bytes": 5}, DenyReason.REQUEST_TOO_LARGE),
        ({"max_retained_work": 4}, {"retained_work": 4}, {"retained_work": 5}, DenyReason.RETAINED_WORK),
        ({"max_attempts": 4}, {"attempts": 4}, {"attempts": 5}, DenyReason.ATTEMPTS),
        ({"max_cost_usd": "0.01"}, {"cost_micros": 10_000}, {"cost_micros": 10_001}, DenyReason.COST),
        ({"max_retained_work": 4}, {}, {"retained_work": UNKNOWN}, DenyReason.UNKNOWN_RETAINED_WORK),
        ({"max_cost_usd": "1"}, {"cost_micros": 0}, {"cost_micros": UNKNOWN}, DenyReason.UNKNOWN_COST),
    ],
)
def test_every_static_limit_is_held_against_what_a_request_states(limit, within, beyond, reason):
    figures = [PLAIN._replace(**within), PLAIN._replace(**beyond), PLAIN._replace(**within)]
    found = served(manifest(workspace=limit), [100] * 3, figures)
    assert [code if code == NONE else REASONS[code] for _, _, code in found] == [NONE, reason, NONE]


def test_a_cost_that_nobody_knows_passes_where_the_limit_says_so():
    limit = {"max_cost_usd": "1", "allow_unknown_cost": True}
    assert served(manifest(workspace=limit), [1], [PLAIN._replace(cost_micros=UNKNOWN)])[0][2] == NONE


def test_tokens_that_nobody_estimates_draw_nothing_and_are_refused_where_an_invocation_has_a_limit_of_tokens():
    figures = [PLAIN._replace(prompt_tokens=30)]
    assert served(manifest(workspace={"tokens_per_second": 1}), [UNKNOWN], figures) == [(0, 30, NONE)]
    ((_, _, code),) = served(manifest(workspace={"max_tokens": 1000}), [UNKNOWN], figures)
    assert REASONS[code] is DenyReason.UNKNOWN_TOKENS


def test_a_size_or_a_count_that_nobody_states_passes_its_limit():
    limits = {"max_items": 1, "max_batch_size": 1, "max_request_bytes": 1}
    figures = [PLAIN._replace(items=UNKNOWN, batch_size=UNKNOWN, request_bytes=UNKNOWN)]
    assert served(manifest(workspace=limits), [1], figures)[0][2] == NONE
