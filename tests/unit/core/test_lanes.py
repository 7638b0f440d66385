"""Order within a lane and among lanes."""

from __future__ import annotations

import pytest

from tollgate.core.errors import InvariantViolation
from tollgate.core.lanes import DeficitTurns, Lane, Turns


def lane_of(*items):
    lane = Lane()
    for item in items:
        lane.append(item)
    return lane


def test_items_leave_in_the_order_of_their_coming():
    lane = lane_of("a", "b", "c")
    assert list(lane) == ["a", "b", "c"]
    taken = []
    while lane.head is not None:
        taken.append(lane.head)
        lane.withdraw(lane.head)
    assert (taken, lane.size, list(lane)) == (["a", "b", "c"], 0, [])


def test_withdrawing_says_whether_it_was_the_head():
    lane = lane_of("a", "b", "c")
    assert lane.withdraw("b") is False
    assert lane.withdraw("a") is True
    assert (lane.head, lane.size) == ("c", 1)


def test_an_empty_lane_has_no_head_and_nothing_to_iterate():
    lane = Lane()
    assert (lane.head, lane.size, list(lane)) == (None, 0, [])
    with pytest.raises(InvariantViolation):
        lane.withdraw("a")
    lane.append("a")
    with pytest.raises(InvariantViolation):
        lane.withdraw("b")
    assert lane.head == "a"


def test_turns_put_who_joins_and_who_was_served_behind_all_others():
    turns, a, b = Turns(), lane_of(1, 2), lane_of(1)
    turns.join(a)
    turns.join(b)
    assert a.turn < b.turn
    turns.served(a, cost=1, next_cost=1)
    assert b.turn < a.turn


def test_a_discipline_counts_on_where_another_stopped():
    turns, a, b = Turns(), lane_of(1), lane_of(1)
    turns.join(a)
    weighted = DeficitTurns(5)
    weighted.count_on_from(turns)
    weighted.join(b)
    assert a.turn < b.turn


def test_credit_comes_once_a_turn_and_lasts_while_it_covers_the_next():
    """Quantum 10 and weight 2: 20 to spend; 8 and 8 are covered, the third 8 needs another turn."""
    turns, lane = DeficitTurns(10), lane_of(1, 2, 3)
    turns.join(lane)
    first_turn = lane.turn
    assert turns.may_serve(lane, cost=8, weight=2)
    turns.served(lane, cost=8, next_cost=8)
    assert (lane.turn, lane.credit) == (first_turn, 12)
    assert turns.may_serve(lane, cost=8, weight=2)
    turns.served(lane, cost=8, next_cost=8)
    assert lane.turn > first_turn
    assert lane.credit == 4


def test_a_lane_that_runs_dry_saves_nothing_up():
    turns, lane = DeficitTurns(10), lane_of(1)
    turns.join(lane)
    assert turns.may_serve(lane, cost=1, weight=1)
    turns.served(lane, cost=1, next_cost=1)
    turns.left(lane)
    assert lane.credit == 0
