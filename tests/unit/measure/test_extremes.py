"""Figures beyond 2^53 and 2^63: long runs with deep queues, and requests of the most tokens a manifest can state."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from sim.measure.envelope import Envelope
from sim.measure.levels import DRAIN, MEASURED, LevelTracker
from sim.measure.recorder import SeriesRecorder
from sim.measure.series import BINS_MAX, SeriesView
from sim.trace import LevelKind, Trace
from tests.unit.measure.written import Ask, S, Try, shape, write
from tollgate.core.canonical import canonical_bytes, parse_json
from tollgate.core.units import MAX_SAFE_INTEGER, Rate

WAITING = 100_000
DAY = 24 * 3600 * S


def deep_queue(of, end_ns, consumers):
    """A queue that fills at once and is never served."""
    trace = Trace(consumers)
    for _ in range(0, WAITING, 10_000):
        trace.levels.extend((0, 1, LevelKind.QUEUE, 0, 0, 0) * 10_000)
        trace.flush_if_full()
    trace.close(end_ns, WAITING)


@pytest.mark.parametrize("days", [7, 31])
def test_a_queue_of_100_000_over_weeks_has_an_exact_integral(days):
    horizon, end = days * DAY, days * DAY + 5 * S
    of = shape(phases=[("load", 0, horizon)])
    tracker = LevelTracker(of)
    deep_queue(of, end, [tracker])
    assert WAITING * horizon > 2**63
    assert tracker.integral((), LevelKind.QUEUE, 0) == WAITING * end
    assert tracker.integral(("class",), LevelKind.QUEUE, 0, MEASURED) == WAITING * horizon
    assert tracker.integral(("provider",), LevelKind.QUEUE, 0, DRAIN) == WAITING * 5 * S


@pytest.mark.parametrize("days", [7, 31])
def test_its_series_is_exact_and_has_one_canonical_form(days):
    of = shape(phases=[("load", 0, days * DAY)])
    recorder = SeriesRecorder(of)
    deep_queue(of, days * DAY, [recorder])
    view = recorder.view({})
    assert set(view.values("queue")[:-1]) == {WAITING * view.bin_ns}
    assert sum(view.values("queue")) == WAITING * days * DAY
    data = canonical_bytes(view.to_json())
    assert f'"{WAITING * view.bin_ns}"'.encode() in data
    assert SeriesView.from_json(parse_json(data, max_bytes=len(data))) == view


def test_integers_are_spelt_as_texts_from_2_to_the_53_on_and_no_earlier():
    view = SeriesView(1, 3, {"tokens": [0, MAX_SAFE_INTEGER, MAX_SAFE_INTEGER + 1]})
    assert view.to_json()["series"] == [{"name": "tokens", "values": [0, MAX_SAFE_INTEGER, str(MAX_SAFE_INTEGER + 1)]}]


def test_the_most_tokens_a_request_can_have_add_up_exactly():
    of = shape()
    asks = [Ask((Try(at, service=S, tokens=MAX_SAFE_INTEGER),)) for at in range(2000)]
    recorder = SeriesRecorder(of)
    write(of, asks).read([recorder])
    view = recorder.view({})
    assert 2000 * MAX_SAFE_INTEGER > 2**63
    assert view.values("tokens")[0] == view.values("tokens|class=x")[0] == 2000 * MAX_SAFE_INTEGER
    assert json.loads(canonical_bytes(view.to_json()))["series"][-1]["values"][0] == str(2000 * MAX_SAFE_INTEGER)


def test_an_envelope_of_the_most_tokens_blames_nobody_but_the_one_that_drew_too_much():
    draws = 2000
    envelope = Envelope([(Rate(1, 1), MAX_SAFE_INTEGER)] * 2)
    members = np.array([0] * draws + [1])
    at = np.array([5] * draws + [3])
    envelope.add(members, at, np.array([MAX_SAFE_INTEGER] * draws + [1]))
    assert envelope.breach == (0, 5, MAX_SAFE_INTEGER)
    within = Envelope([(Rate(MAX_SAFE_INTEGER, 1), MAX_SAFE_INTEGER)])
    within.add(np.zeros(draws, np.int64), np.arange(draws), np.full(draws, MAX_SAFE_INTEGER))
    assert within.breach is None


def test_a_drain_of_years_after_a_second_takes_no_more_bins_than_any_run():
    of = shape(phases=[("load", 0, S)])
    recorder = SeriesRecorder(of)
    written = write(of, [Ask((Try(0, wait=S, service=3000 * DAY),)), Ask((Try(S // 2, service=S),))])
    written.read([recorder], block_rows=1)
    assert recorder._change.shape[-1] == BINS_MAX + 2
    view = recorder.view({})
    assert BINS_MAX / 2 < view.bins <= BINS_MAX
    assert Fraction(view.bin_ns, 2_000_000).numerator.bit_count() == 1
    assert sum(view.values("active")) == 3000 * DAY + S
    assert sum(view.values("queue")) == S
