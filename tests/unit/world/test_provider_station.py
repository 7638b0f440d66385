"""The station alone: order, places, and what it does at the edges of its arithmetic."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sim.manifest.providers import Slowdown
from sim.world.provider_station import Station, Visit
from tollgate.core.errors import InvariantViolation


def visits(count):
    return [Visit(name, 1, -1) for name in range(count)]


def run_out(station):
    """Return (instant, names) of every end until nobody is left."""
    ends = []
    while (next_ns := station.next_ns()) is not None:
        ends.append((next_ns, [visit.call for visit in station.finished(next_ns)]))
    return ends


def test_calls_that_end_at_once_end_in_the_order_in_which_their_work_was_done():
    station = Station()
    for visit, work_ns in zip(visits(4), (9, 5, 9, 5), strict=True):
        station.begin(visit, work_ns, 0)
    assert run_out(station) == [(5, [1, 3]), (9, [0, 2])]


def test_a_call_that_ends_between_two_nanoseconds_ends_at_the_later_one():
    station = Station(servers=2, sharing="processor")
    for visit, work_ns in zip(visits(3), (5, 6, 6), strict=True):
        station.begin(visit, work_ns, 0)
    # Each at 2/3: 5 are done at 7.5, so at 8; the others, at 5 1/3 by then, run at full speed: 8 2/3, so 9.
    assert run_out(station) == [(8, [0]), (9, [1, 2])]


def test_who_leaves_the_queue_is_passed_over():
    station = Station(servers=1)
    first, second, third = visits(3)
    for visit in (first, second, third):
        station.begin(visit, 10, 0)
    station.leave(second, 4)
    assert (station.in_service, station.queued) == (1, 1)
    assert run_out(station) == [(10, [0]), (20, [2])]


def test_nothing_ends_at_no_speed_and_all_goes_on_afterwards():
    station = Station(slowdown=Slowdown(1, Fraction(1)))
    for visit in visits(2):
        station.begin(visit, 10, 0)
    station.set_speed(Fraction(0), 10)
    assert station.next_ns() is None
    station.set_speed(Fraction(1, 2), 100)
    # Two at a time run at half their speed: 5 of 10 are done at 10 ns, and a quarter each ns from 100 on.
    assert run_out(station) == [(120, [0, 1])]


def test_an_end_that_is_passed_over_is_a_broken_invariant():
    station = Station()
    station.begin(visits(1)[0], 10, 0)
    with pytest.raises(InvariantViolation, match="a call that ends at 10 ns, was asked about 11 ns"):
        station.finished(11)


def test_time_that_goes_back_is_a_broken_invariant():
    station = Station()
    station.begin(visits(1)[0], 10, 5)
    with pytest.raises(InvariantViolation, match="stands at 5 ns"):
        station.finished(4)


def test_who_leaves_twice_is_a_broken_invariant():
    station = Station()
    (visit,) = visits(1)
    station.begin(visit, 10, 0)
    station.leave(visit, 1)
    with pytest.raises(InvariantViolation, match="twice"):
        station.leave(visit, 2)


def test_a_thousand_sharers_end_together_within_a_nanosecond():
    # The least common multiple of 1 to 1000 has 1438 bits: not every share is whole grains.
    station = Station(servers=1, sharing="processor")
    for visit in visits(1000):
        station.begin(visit, 7_777_777, 0)
    ((end_ns, over),) = run_out(station)
    assert end_ns - 7_777_777_000 in {0, 1}
    assert over == list(range(1000))


def test_a_station_that_was_empty_begins_anew():
    station = Station(servers=1, sharing="processor")
    for visit in visits(3):
        station.begin(visit, 10, 0)
    assert run_out(station) == [(30, [0, 1, 2])]
    station.begin(visits(1)[0], 10, 1000)
    assert run_out(station) == [(1010, [0])]
