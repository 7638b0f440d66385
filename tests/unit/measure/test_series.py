from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sim.manifest.providers import Outage
from sim.measure.quantiles import LogLinearHistogram
from sim.measure.recorder import SeriesRecorder, bin_length
from sim.measure.series import Band, SeriesView, series_name
from sim.trace import AttemptOutcome
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.core.errors import EvidenceError
from tollgate.decision.limits import AdmissionLimits


def recorded(of, written, histograms=None):
    recorder = SeriesRecorder(of)
    written.read([recorder])
    return recorder.view(histograms or {})


def nonzero(values):
    return {place: value for place, value in enumerate(values) if value}


@pytest.mark.parametrize(
    ("horizon", "length"),
    [(990 * S, 2 * S), (588 * S, S), (589 * S, 2 * S), (30 * S, 100 * MS), (60, 1), (3600 * S, 10 * S)],
)
def test_bins_are_round_and_leave_room_for_the_drain(horizon, length):
    assert bin_length(horizon) == length
    assert horizon <= 588 * length


def test_events_fall_into_the_bin_of_their_own_instant():
    of = shape()  # 30 s: bins of 100 ms
    retried = Ask(
        (Try(199 * MS, wait=MS, service=100 * MS, outcome=AttemptOutcome.FAILED), Try(S, service=250 * MS)),
        principal=1,
        provider=1,
    )
    shed = Ask((Try(5 * S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),), principal=0)
    view = recorded(of, write(of, [retried, shed]))
    assert (view.start_ns, view.bin_ns, view.bins, view.end_ns) == (0, 100 * MS, 300, 30 * S)
    assert nonzero(view.values("arrivals")) == {1: 1, 50: 1}
    assert nonzero(view.values("attempts")) == {1: 1, 10: 1, 50: 1}
    assert nonzero(view.values("admitted")) == {2: 1, 10: 1}
    assert nonzero(view.values("completed|class=y")) == {12: 1}
    assert nonzero(view.values("shed|reason=queue-full")) == {50: 1}
    assert nonzero(view.values("shed|class=x,reason=queue-full")) == {50: 1}
    assert nonzero(view.values("shed|provider=u")) == {50: 1}
    reasons = {"reason=queue-full", "class=x,reason=queue-full"}
    assert view.select("shed").keys() == {"", "class=x", "principal=a", "provider=u"} | reasons


def test_levels_are_exact_integrals_by_bin():
    of = shape()
    view = recorded(of, write(of, [Ask((Try(150 * MS, wait=100 * MS, service=200 * MS),), principal=2)]))
    assert nonzero(view.values("queue")) == {1: 50 * MS, 2: 50 * MS}
    assert nonzero(view.values("active|principal=c")) == {2: 50 * MS, 3: 100 * MS, 4: 50 * MS}
    assert view.values("active|class=x") == [0] * 300


def test_a_level_still_held_counts_to_the_end_of_the_run_and_no_further():
    of = shape()
    written = write(of, [Ask((Try(29 * S + 950 * MS, service=100 * MS),))])
    assert written.end == 30 * S + 50 * MS
    view = recorded(of, written)
    assert view.bins == 301
    assert nonzero(view.values("active")) == {299: 50 * MS, 300: 50 * MS}
    written.end, written.levels = 30 * S + 20 * MS, written.levels[:1]
    assert nonzero(recorded(of, written).values("active")) == {299: 50 * MS, 300: 20 * MS}


def test_what_happens_as_the_run_ends_is_in_the_last_bin():
    of = shape()
    view = recorded(of, write(of, [Ask((Try(29 * S, service=S),))]))
    assert view.end_ns == 30 * S
    assert nonzero(view.values("completed")) == {299: 1}


def test_a_long_drain_joins_bins_and_loses_nothing():
    of = shape()
    asks = [Ask((Try(at * S, wait=S, service=80 * S),)) for at in (1, 2, 29)]
    view = recorded(of, write(of, asks))
    assert view.end_ns == 110 * S
    assert (view.bin_ns, view.bins) == (200 * MS, 550)
    assert sum(view.values("active")) == 3 * 80 * S
    assert sum(view.values("queue")) == 3 * S
    assert nonzero(view.values("completed")) == {410: 1, 415: 1, 549: 1}


def test_series_by_principal_are_left_out_for_a_crowd():
    crowd = {f"p{number}": "x" if number else "y" for number in range(21)}
    view = recorded(shape(crowd), write(shape(crowd), [Ask((Try(S, service=S),), principal=3)]))
    assert view.select("arrivals").keys() == {"", "class=x", "provider=u"}
    assert sum(view.values("active|class=x")) == S


def test_bands_are_phases_open_breakers_and_pauses():
    of = shape()
    written = write(of, [])
    written.transitions = [
        (1, "closed", "open", 4 * S, 3, 0),
        (1, "open", "half-open", 6 * S, 3, 2),
        (0, "closed", "open", 7 * S, 3, 0),
        (1, "half-open", "closed", 8 * S, 0, 2),
    ]
    written.pauses = [(0, 2 * S, 5 * S), (0, 29 * S, 99 * S)]
    assert recorded(of, written).bands == (
        Band("phase", "load", "", 0, 10 * S),
        Band("phase", "spike", "", 10 * S, 30 * S),
        Band("breaker", "v", "open", 4 * S, 6 * S),
        Band("breaker", "v", "half-open", 6 * S, 8 * S),
        Band("breaker", "u", "open", 7 * S, 30 * S),
        Band("pause", "u", "paused", 2 * S, 5 * S),
        Band("pause", "u", "paused", 29 * S, 30 * S),
    )


def test_outages_and_their_ramps_are_bands_up_to_the_end_of_the_run():
    outages = (
        Outage("x", 1, "stall", 2 * S, 5 * S, 9 * S),
        Outage("y", 0, "error", 3 * S, 4 * S, 4 * S),
        Outage("z", 0, "slow", 29 * S, 40 * S, 50 * S),
    )
    of = replace(shape(), outages=outages)
    assert recorded(of, write(of, [])).bands[2:] == (
        Band("outage", "v", "stall", 2 * S, 5 * S),
        Band("outage", "v", "ramp", 5 * S, 9 * S),
        Band("outage", "u", "error", 3 * S, 4 * S),
        Band("outage", "u", "slow", 29 * S, 30 * S),
    )


def test_tokens_drawn_are_kept_by_admission_where_there_is_a_bucket():
    tries = (
        Try(150 * MS, wait=100 * MS, service=200 * MS, tokens=7, outcome=AttemptOutcome.FAILED),
        Try(S, tokens=7, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),
    )
    for limits in (None, AdmissionLimits(tokens_per_second=Fraction(5))):
        of = shape(provider_limits=limits)
        view = recorded(of, write(of, [Ask(tries)]))
        assert nonzero(view.values("tokens")) == {1: 7, 10: 7}
        assert nonzero(view.values("drawn")) == ({} if limits is None else {2: 7})
        assert nonzero(view.values("drawn|provider=u")) == nonzero(view.values("drawn"))


def test_names_carry_their_labels():
    assert series_name("active", {}) == "active"
    assert series_name("shed", {"class": "x", "reason": "queue-full"}) == "shed|class=x,reason=queue-full"


@pytest.fixture
def view():
    of = shape()
    written = write(of, [Ask((Try(S, wait=S, service=S),))])
    written.pauses = [(0, 2 * S, 5 * S)]
    return recorded(of, written, {"sojourn": LogLinearHistogram.of(np.array([2 * S]))})


def test_a_view_returns_from_json_text(view):
    assert SeriesView.from_json(json.loads(json.dumps(view.to_json()))) == view


def test_json_holds_integers_and_texts_only(view):
    def leaves(document):
        if isinstance(document, dict):
            assert all(key.replace("_", "").isalnum() and key == key.lower() for key in document)
            document = list(document.values())
        if isinstance(document, list):
            for entry in document:
                yield from leaves(entry)
        else:
            yield document

    assert {type(leaf) for leaf in leaves(json.loads(json.dumps(view.to_json())))} == {int, str}


@pytest.mark.parametrize(
    "damage",
    [
        {"schema": "capacity-series/v9"},
        {"bin_ns": 0},
        {"bin_ns": 7 * S},
        {"bands": [[1]]},
        {"series": [{"name": "active", "values": [1, 2]}]},
        {"series": None},
        {"histograms": [{}]},
    ],
)
def test_a_damaged_view_is_refused(view, damage):
    with pytest.raises(EvidenceError):
        SeriesView.from_json({**view.to_json(), **damage})


def test_something_else_than_a_view_is_refused():
    with pytest.raises(EvidenceError):
        SeriesView.from_json(None)
