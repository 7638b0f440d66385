"""Recovery times of traces written by hand: who completed when, around an outage."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sim.manifest.providers import Outage
from sim.measure.observe import Measure
from sim.trace import AttemptOutcome
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tests.unit.world.lab import manifest, run

TIME, STUCK = "recovery.time", "recovery.metastable"
PHASES = (("load", 0, 60 * S), ("soak", 60 * S, 200 * S))


def outage(start: int, end: int, *, ramp: int = 0, provider: int = 0, name: str = "o") -> Outage:
    return Outage(name, provider, "error", start * S, end * S, (end + ramp) * S)


def done(start: int, end: int, gap: int = 100 * MS, *, who: int = 0, provider: int = 0) -> list[Ask]:
    """Return requests that are completed at once, from one second up to another, one every ``gap``."""
    return [Ask((Try(at),), who, provider) for at in range(start * S, end * S, gap)]


def measured(*asks: list[Ask], outages=(), **of) -> Measure:
    run = shape(**{"phases": PHASES, "outages": outages, **of})
    measure = Measure(run)
    write(run, [ask for part in asks for ask in part]).read(measure.consumers)
    return measure


def figures(measure: Measure, **where: str) -> tuple[object, object]:
    return measure.value(TIME, where), measure.value(STUCK, where)


def test_without_an_outage_there_is_nothing_to_recover_from():
    assert figures(measured(done(0, 200))) == (None, None)


def test_a_run_that_goes_on_as_before_has_recovered_at_once():
    assert figures(measured(done(0, 200), outages=[outage(30, 40)])) == ("0.000000", 0)


def test_the_first_good_window_begins_before_the_first_completion():
    # 10 a second before, so 95 are needed; of those from 45 s on the 95th comes at 54.4 s, and its window, which does
    # not hold its own end, began just after 44.4 s.
    measure = measured(done(0, 30), done(45, 200), outages=[outage(30, 40)])
    assert figures(measure) == ("4400.000001", 0)


def test_ninety_five_hundredths_are_enough_and_less_is_not():
    before = done(0, 30)
    enough = [*done(40, 49), *done(49, 50, 200 * MS)]  # 90 + 5 in 10 s
    assert figures(measured(before, enough, outages=[outage(30, 40)])) == ("0.000000", 0)
    assert figures(measured(before, enough[:-1], outages=[outage(30, 40)])) == ("160000.000000", 1)


def test_a_window_does_not_hold_both_of_two_that_are_its_length_apart():
    after = [*done(40, 49), *done(49, 50)[:4], *done(50, 51)[:1]]  # 94 from 40.0 to 49.3 s, and one at 50.0 s
    assert figures(measured(done(0, 30), after, outages=[outage(30, 40)])) == ("160000.000000", 1)


@pytest.mark.parametrize("block_rows", [1, 7, 94, 95, 96])
def test_windows_reach_across_blocks(block_rows):
    run = shape(phases=PHASES, outages=[outage(30, 40)])
    measure = Measure(run)
    write(run, [*done(0, 30), *done(45, 70)]).read(measure.consumers, block_rows=block_rows)
    assert figures(measure) == ("4400.000001", 0)


def test_a_run_that_never_comes_back_is_metastable_and_its_time_is_what_was_left():
    measure = measured(done(0, 30), done(40, 200, 200 * MS), outages=[outage(30, 40)])
    assert figures(measure) == ("160000.000000", 1)


def test_coming_back_too_late_is_metastable_too():
    # The window begins 60 s and 1 ns after the end of the ramp, or just in time.
    late = measured(done(0, 30), done(106, 200), outages=[outage(30, 40, ramp=5)])
    assert figures(late) == ("65400.000001", 1)
    ramped = measured(done(0, 30), done(106, 200), outages=[outage(30, 40, ramp=6)])
    assert figures(ramped) == ("65400.000001", 0)


def test_a_window_does_not_reach_beyond_the_end_of_the_arrivals():
    of = {"phases": [("load", 0, 60 * S)], "outages": [outage(30, 40)]}
    assert figures(measured(done(0, 30), done(50, 60), **of)) == ("9400.000001", 0)
    # One tick later the window would end behind the last phase, whatever the drain completes.
    drained = [Ask((Try(at, service=5 * S),)) for at in range(46 * S, 60 * S, 100 * MS)]
    assert figures(measured(done(0, 30), drained, **of)) == ("20000.000000", 1)


def test_what_counts_is_when_a_request_completes():
    slow = [Ask((Try(at, service=20 * S),)) for at in range(30 * S, 100 * S, 100 * MS)]
    assert figures(measured(done(0, 30), slow, outages=[outage(30, 40)])) == ("9400.000001", 0)


def test_failures_are_no_goodput():
    failed = [Ask((Try(at, outcome=AttemptOutcome.FAILED),)) for at in range(40 * S, 60 * S, 100 * MS)]
    assert figures(measured(done(0, 30), failed, done(60, 200), outages=[outage(30, 40)])) == ("19400.000001", 0)


def test_an_outage_that_opens_a_phase_is_compared_with_the_phase_before():
    # 10 a second in the first phase, 20 in the second.
    after = done(80, 200, 50 * MS)
    base = done(0, 60)
    assert figures(measured(base, after, outages=[outage(60, 75)])) == ("0.000000", 0)
    within = measured(base, done(60, 80, 50 * MS), done(90, 200), outages=[outage(80, 85)])
    assert figures(within) == ("115000.000000", 1)


def test_warm_up_and_earlier_outages_are_no_base():
    # Nothing in warm-up, 10 a second from then to 25 s, nothing in the first outage.
    base = [*done(10, 25), *done(35, 50)]
    outages = [outage(25, 30, ramp=5, name="first"), outage(50, 51, name="second")]
    later = done(51, 200)
    assert figures(measured(base, later, outages=outages, warmup=10 * S))[1] == 0
    short = measured(base, done(51, 200, 120 * MS), outages=outages, warmup=10 * S)
    assert figures(short)[1] == 1


def test_too_little_time_before_or_after_is_told_and_not_judged():
    for one in (outage(9, 20), outage(150, 191)):
        measure = measured(done(0, 200), outages=[one])
        assert figures(measure) == (None, None)
        assert [note for note in measure.notes() if "outage o is not judged" in note]
    for one in (outage(10, 20), outage(150, 190)):
        measure = measured(done(0, 200), outages=[one])
        assert figures(measure) == ("0.000000", 0)
        assert measure.notes() == ()


def test_one_outage_that_cannot_be_judged_leaves_no_figure_for_all():
    outages = [outage(30, 40), outage(5, 6, provider=1)]
    measure = measured(done(0, 200), done(0, 200, provider=1), outages=outages)
    assert figures(measure) == (None, None)
    assert figures(measure, provider="u") == ("0.000000", 0)
    assert figures(measure, provider="v") == (None, None)


def test_each_outage_is_about_its_own_provider_and_the_longest_stands_for_all():
    outages = [outage(30, 40), outage(30, 40, provider=1)]
    measure = measured(done(0, 30), done(50, 200), done(0, 30, provider=1), done(60, 200, provider=1), outages=outages)
    assert figures(measure, provider="u") == ("9400.000001", 0)
    assert figures(measure, provider="v") == figures(measure) == ("19400.000001", 0)


def test_a_class_recovers_by_its_own_goodput():
    measure = measured(done(0, 200), done(0, 30, who=1), done(50, 200, who=1), outages=[outage(30, 40)])
    assert figures(measure, **{"class": "x"}) == ("0.000000", 0)
    assert figures(measure, **{"class": "y"}) == ("9400.000001", 0)
    assert figures(measure, **{"class": "y", "provider": "u"}) == ("9400.000001", 0)


def test_who_completed_nothing_before_has_nothing_to_recover():
    measure = measured(done(0, 200), outages=[outage(30, 40), outage(30, 40, provider=1, name="p")])
    assert figures(measure, **{"class": "y"}) == (None, None)
    assert figures(measure, provider="v") == (None, None)
    assert figures(measure) == ("0.000000", 0)


@pytest.mark.parametrize("metric", [TIME, STUCK])
def test_it_is_listed_by_class_and_provider_where_there_is_an_outage(metric):
    listed = [row for row in measured(done(0, 200), outages=[outage(30, 40)]).observations() if row["metric"] == metric]
    assert [row["labels"] for row in listed] == [{}, {"class": "x"}, {"provider": "u"}]
    assert not [row for row in measured(done(0, 200)).observations() if row["metric"] == metric]


@pytest.mark.parametrize("kind", ["error", "stall"])
def test_a_run_through_an_outage_recovers_when_its_outcomes_say_so(kind):
    bad = {"kind": kind, "from_seconds": 20, "for_seconds": 10, "ramp_seconds": 4}
    done_run, _, outcomes = run(manifest(provider={"outages": [bad]}, seconds=60))
    times = sorted(int(Decimal(line.settled) * MS) for line in outcomes if line.outcome == "completed")
    seen = len([at for at in times if at < 20 * S])
    starts = sorted({30 * S, *(at - 10 * S + 1 for at in times)})
    good = [
        start
        for start in starts
        if 30 * S <= start <= 50 * S
        and 100 * len([at for at in times if start <= at < start + 10 * S]) >= 95 * seen / 2
    ]
    recovered = good[0] if good else 60 * S
    assert done_run.value(TIME) == f"{(recovered - 30 * S) / MS:.6f}"
    assert done_run.value(STUCK) == int(not good)
