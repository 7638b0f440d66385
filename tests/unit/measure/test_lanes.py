"""Service lag and starvation of traces written by hand: who went while a lane was owed service."""

from __future__ import annotations

from dataclasses import replace

import pytest

import sim
from sim.manifest import load, with_overrides
from sim.measure.observe import Measure
from sim.trace import NONE, AttemptOutcome, LevelCol, LevelKind
from tests.unit.measure.written import Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.core.lanes import Turns
from tollgate.decision.profile import Scheduling

A, B, C = 0, 1, 2
U, V = 0, 1
LAG, STARVED, ATTEMPT = "fairness.service_lag.max", "fairness.starvation.max", "lane.eligible_wait.max"


def waits(at: int, wait: int, who: int = A, *, eligible: int | None = None, provider: int = U) -> Ask:
    """Return a request that is served after a wait, all of it eligible unless told otherwise."""
    return Ask((Try(at, wait=wait, eligible=wait if eligible is None else eligible),), who, provider)


def refused(at: int, wait: int, who: int = A, *, eligible: int | None = None) -> Ask:
    """Return a request that runs out of time."""
    owed = wait if eligible is None else eligible
    outcome = {"outcome": AttemptOutcome.SHED, "reason": DenyReason.QUEUE_TIMEOUT}
    return Ask((Try(at, wait=wait, eligible=owed, **outcome),), who)


def served(at: int, who: int = B, provider: int = U) -> Ask:
    """Return a request that is served as soon as it asks."""
    return Ask((Try(at),), who, provider)


def measured(*asks: Ask, written=None, **of) -> Measure:
    """Return what is measured of these requests."""
    run = shape(**of)
    measure = Measure(run)
    (written or write(run, asks)).read(measure.consumers)
    return measure


def figures(measure: Measure, **where: str) -> tuple[object, object]:
    """Return lag and starvation."""
    return measure.value(LAG, where), measure.value(STARVED, where)


def test_nobody_waits_and_nobody_lags():
    assert figures(measured(served(S), served(2 * S, A))) == (0, "0.000000")


def test_a_selection_in_which_nobody_asked_has_no_figure():
    measure = measured(served(S))
    assert figures(measure, principal="a") == (None, None)
    assert figures(measure, principal="b", provider="v") == (None, None)


def test_a_rival_that_goes_twice_while_one_waits_is_a_lag_of_two():
    measure = measured(waits(S, 3 * S), served(2 * S), served(3 * S))
    assert figures(measure) == figures(measure, principal="a") == (2, "3000.000000")
    assert figures(measure, principal="b") == (0, "0.000000")
    assert figures(measure, **{"class": "y"}) == (0, "0.000000")


def test_many_rivals_that_go_once_each_are_a_lag_of_one():
    rivals = {f"r{number}": "x" for number in range(40)}
    asks = [served(S + number, number) for number in range(1, 40)]
    assert figures(measured(waits(S, S), *asks, principals=rivals)) == (1, "1000.000000")


def test_what_went_at_the_instant_at_which_the_wait_began_is_not_held_against_it():
    assert figures(measured(waits(S, S), served(S), served(S)))[0] == 0
    assert figures(measured(waits(S, S), served(S), served(S + 1)))[0] == 1


def test_an_admission_counts_up_to_the_one_that_ends_the_wait_at_the_same_instant():
    before = [served(2 * S), served(2 * S)]  # written first, so decided first
    assert figures(measured(*before, waits(S, S, A)))[0] == 0, "rows of one instant keep the order of their asking"
    run = shape()
    written = write(run, [waits(S, S, A), *before])
    ended = [row for row in written.levels if row[LevelCol.PRINCIPAL] == A and row[LevelCol.AT] == 2 * S]
    written.levels = [row for row in written.levels if row not in ended] + ended
    assert figures(measured(written=written))[0] == 2


def test_other_providers_are_no_rivals():
    assert figures(measured(waits(S, 3 * S), served(2 * S, B, V), served(3 * S, B, V)))[0] == 0


def test_a_lane_without_a_reservation_is_compared_with_its_like():
    asks = waits(S, 3 * S), served(2 * S), served(3 * S)
    assert figures(measured(*asks, reserved="b"), principal="a")[0] == 0
    assert figures(measured(*asks, reserved="a"), principal="a")[0] == 2
    assert figures(measured(*asks, reserved="ab"), principal="a")[0] == 2
    assert figures(measured(*asks, reserved="c"), principal="a")[0] == 2


def test_time_held_by_something_of_its_own_is_not_owed():
    measure = measured(waits(S, 3 * S, eligible=S), served(2 * S), served(3 * S + 1))
    assert figures(measure) == (1, "1000.000000")


def test_a_refused_head_hands_its_wait_on_to_the_next_that_could_go_at_once():
    # The first runs out of time at 3 s, the second stands behind it and is served at 6 s.
    measure = measured(refused(S, 2 * S), waits(2 * S, 4 * S, eligible=3 * S), served(2 * S), served(5 * S))
    assert figures(measure) == (2, "5000.000000")
    assert measure.value(ATTEMPT, {}) == "3000.000000"


def test_a_refused_head_is_starved_though_nobody_was_ever_served():
    measure = measured(refused(S, 2 * S), refused(2 * S, 3 * S, eligible=2 * S))
    assert figures(measure) == (0, "4000.000000")
    assert measure.value(ATTEMPT, {}) == "0.000000"


def test_a_wait_that_begins_after_the_refusal_is_one_of_its_own():
    assert figures(measured(refused(S, 2 * S), waits(2 * S, 4 * S, eligible=3 * S - 1)))[1] == "2999.999999"


def test_whoever_comes_at_the_instant_at_which_a_refusal_left_the_lane_empty_begins_anew():
    # The first runs out of time at 3 s and nobody is behind it; its caller asks again at once and is served at 7 s.
    asks = refused(S, 2 * S), waits(3 * S, 4 * S), served(2 * S), served(5 * S)
    assert figures(measured(*asks)) == (1, "4000.000000")
    both_refused = refused(S, 2 * S), refused(S, 2 * S, eligible=0), *asks[1:]
    assert figures(measured(*both_refused)) == (1, "4000.000000")
    behind = waits(2 * S, 6 * S, eligible=5 * S)
    assert figures(measured(*asks, behind)) == (2, "6000.000000")


def test_a_service_ends_the_wait_of_the_lane():
    # Served at 3 s; the next is head from then on, until 5 s.
    measure = measured(waits(S, 2 * S), waits(2 * S, 3 * S, eligible=2 * S), served(2 * S), served(4 * S))
    assert figures(measure) == (1, "2000.000000")


def test_a_service_at_the_instant_of_a_refusal_ends_the_wait_too():
    # Refused at 3 s, the next is let go at that very instant without having been owed anything, a third at 5 s.
    measure = measured(refused(S, 2 * S), waits(2 * S, S, eligible=0), waits(2 * S, 3 * S, eligible=2 * S))
    assert figures(measure)[1] == "2000.000000"


@pytest.mark.parametrize("block_rows", range(1, 14))
def test_a_wait_and_its_service_belong_together_across_blocks(block_rows):
    run = shape()
    measure = Measure(run)
    asks = [waits(S, 2 * S), waits(2 * S, 3 * S, eligible=2 * S), served(2 * S), served(4 * S), served(9 * S, A)]
    write(run, asks).read(measure.consumers, block_rows=block_rows)
    assert figures(measure) == (1, "2000.000000")


def test_a_request_that_is_not_the_head_and_leaves_changes_nothing():
    behind = refused(S + 1, S, eligible=0)
    assert figures(measured(refused(S, 2 * S), behind, waits(S + 2, 3 * S, eligible=S + 2)))[1] == "3000.000002"


def test_heads_that_are_owed_service_at_the_end_count_up_to_it():
    run = shape()
    written = write(run, [served(S, A), served(2 * S), served(3 * S), served(4 * S)])
    written.heads = [(A, U, 2 * S)]
    written.end = 35 * S
    assert figures(measured(written=written), principal="a") == (2, "33000.000000")


def test_an_open_head_takes_over_from_a_refused_one():
    run = shape()
    written = write(run, [refused(S, 2 * S), served(2 * S), served(4 * S)])
    written.levels.insert(1, [2 * S, 1, LevelKind.QUEUE, A, U, 0])
    written.heads = [(A, U, 3 * S)]
    assert figures(measured(written=written), principal="a") == (2, "29000.000000")


def test_only_what_lies_after_warm_up_counts():
    asks = waits(S, 4 * S), served(2 * S), served(4 * S), served(9 * S, A)
    assert figures(measured(*asks, warmup=3 * S), principal="a") == (1, "2000.000000")
    assert figures(measured(*asks, warmup=6 * S), principal="a") == (0, "0.000000")


def test_what_is_not_told_has_no_figure():
    run = shape()
    written = write(run, [waits(S, 3 * S)])
    for row in written.levels:
        if row[LevelCol.KIND] == LevelKind.QUEUE and row[LevelCol.DELTA] < 0:
            row[LevelCol.AMOUNT] = NONE
    assert figures(measured(written=written)) == (None, None)


def test_turns_by_weight_have_no_lag_in_admissions():
    measure = measured(waits(S, 3 * S), served(2 * S), scheduling=Scheduling(kind="deficit"))
    assert figures(measure) == (None, "3000.000000")


# ------------------------------------------------------------------------------------------------------- real runs


@pytest.fixture(scope="module")
def crowded(repository):
    """Twenty seconds of v2 with more traffic than its limits carry."""
    manifest = load(repository / "tests" / "conformance" / "data" / "05-rate-60.json")
    return with_overrides(manifest, window_s=20)


def test_the_lane_served_longest_ago_goes_first_so_nobody_goes_twice_before_another(crowded):
    run = sim.run(crowded, observations_only=True)
    assert run.value(LAG) == 1
    assert all(check["ok"] for check in run.checks)
    for where in ({}, {"class": "noisy"}, {"class": "quiet"}, {"provider": "jev"}):
        assert float(run.value(STARVED, where)) >= float(run.value(ATTEMPT, where)) > 0


def test_a_discipline_that_lets_a_lane_keep_its_turn_is_seen(crowded, monkeypatch):
    monkeypatch.setattr(Turns, "served", lambda *_: None)
    run = sim.run(crowded, observations_only=True)
    assert run.value(LAG) > 10


def test_the_reference_has_no_figure_of_its_lanes(crowded):
    run = sim.run(replace(crowded, discipline="reference"), observations_only=True)
    assert not [row for row in run.observations if row["metric"] in {LAG, STARVED}]
    assert run.value(ATTEMPT)
