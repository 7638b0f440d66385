from __future__ import annotations

import pytest

from sim.metrics import BY_NAME
from sim.report import reading
from sim.report.result import Observation, Result

MS = 10**6


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("4435.639965", "4436 ms"),
        ("100.500000", "101 ms"),
        ("59.512345", "59.5 ms"),
        ("1.500000", "1.5 ms"),
        ("0.012345", "0.0123 ms"),
        ("0.000001", "0.000001 ms"),
        ("0.000000", "0 ms"),
        ("-1500.400000", "-1500 ms"),
    ],
)
def test_a_time_is_whole_milliseconds_or_three_digits(stored, shown):
    assert reading.figure("queue.wait.p99", Observation(stored, "ms")) == shown


def test_a_length_of_time_reads_like_an_observed_one():
    assert reading.ms(4_435_639_965) == "4436 ms"
    assert reading.ms(1_500_000) == "1.5 ms"
    assert reading.seconds(100_386_499_999) == "100.386 s"


def test_shares_are_percentages_and_other_ratios_are_not():
    assert reading.figure("admission.ratio", Observation("0.997864", "ratio")) == "99.79 %"
    assert reading.figure("retry.amplification", Observation("1.047903", "ratio")) == "1.048"
    assert reading.figure("arrivals", Observation(20103, "count")) == "20103"
    assert reading.figure("host.rss_peak", Observation("73.772999", "mib")) == "73.773 MiB"


def test_what_was_not_measured_is_a_dash():
    assert reading.figure("arrivals", None) == "\N{EN DASH}"
    assert reading.figure("queue.wait.p99", Observation(None, "ms")) == "\N{EN DASH}"


def test_shares_are_ratios_of_the_registry():
    assert all(BY_NAME[name].unit == "ratio" for name in reading.SHARES)


@pytest.fixture
def gate_of(make_record):
    """Return a way to make a gate on the wait of quiet callers, at most 1500 ms, or on their admissions."""

    def gate_of(gate, **changes):
        record = make_record("PASS", gate_changes={gate: changes})
        return next(each for each in Result(record).gates if each.id == gate.replace("_", "-"))

    return gate_of


@pytest.mark.parametrize(
    ("observed", "shown"),
    [
        ("1500.200000", "1500.2 ms"),
        ("1499.999999", "1499.999999 ms"),
        ("1500.000000", "1500 ms"),
        ("1501.4", "1501 ms"),
    ],
)
def test_a_figure_next_to_its_bound_keeps_the_digits_that_tell_its_side(gate_of, observed, shown):
    assert reading.observed(gate_of("quiet_wait", observed=observed)) == shown


def test_a_share_next_to_its_bound_does_so_too(gate_of):
    gate = gate_of("quiet_admitted", observed="0.949999", margin="-0.000001")
    assert (reading.observed(gate), reading.bound(gate)) == ("94.9999 %", "95 %")
    assert reading.margin(gate) == "-0.0001 points"


def test_a_bound_keeps_all_its_digits(gate_of):
    assert reading.bound(gate_of("quiet_admitted", bound="0.998765")) == "99.8765 %"
    assert reading.bound(gate_of("quiet_wait", bound="1500.25")) == "1500.25 ms"


def test_a_gate_without_an_observation_has_dashes(gate_of):
    gate = gate_of("quiet_wait", observed=None, margin=None)
    assert (reading.observed(gate), reading.margin(gate)) == ("\N{EN DASH}", "\N{EN DASH}")
