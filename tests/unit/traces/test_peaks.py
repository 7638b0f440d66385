"""The busiest stretches, on columns small enough to work out by hand."""

from __future__ import annotations

from sim.workload.traces.peaks import MostInService, SlidingPeak
from tests.unit.traces.whole import column


def peak_of(window, *blocks):
    found = SlidingPeak(window)
    for block in blocks:
        found.add(*block)
    return found.peak()


def in_service(*blocks):
    found = MostInService()
    for at_ns, service_ns in blocks:
        found.add(at_ns, service_ns)
    return found.peak()


def test_a_sliding_peak_finds_the_window_that_fixed_ones_cut():
    arrivals = column(0, 9, 10, 11, 25)
    assert peak_of(10, (arrivals,)) == 3
    assert peak_of(10, (arrivals, column(1, 1, 1, 1, 50))) == 50
    assert peak_of(10, (column(0, 10),)) == 1  # half open: the end is the next window's


def test_a_window_may_span_blocks():
    assert peak_of(10, (column(0, 9),), (column(10),), (column(11, 25),)) == 3


def test_sums_beyond_64_bits_are_exact():
    assert peak_of(10, (column(*[0] * 5), column(*[2**62] * 5))) == 5 * 2**62


def test_most_in_service_frees_a_place_before_it_takes_one():
    assert in_service((column(0, 5, 10), column(5, 5, 5))) == 1
    assert in_service((column(0, 4, 10), column(5, 7, 5))) == 2
    assert in_service((column(0, 0, 0), column(1, 1, 1))) == 3


def test_who_is_in_service_stays_there_in_the_next_block():
    assert in_service((column(0, 1), column(100, 1)), (column(50), column(9)), (column(55), column(9))) == 3


def test_a_service_beyond_the_end_of_time_lasts_to_it():
    assert in_service((column(5, 6), column(2**63 - 1, 2**63 - 1))) == 2
