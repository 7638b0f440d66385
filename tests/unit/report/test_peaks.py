from __future__ import annotations

from fractions import Fraction

from sim.measure.series import SeriesView
from sim.report.headroom import binding, first_sentence, headroom
from sim.report.peaks import Peaks
from sim.report.result import Result

S = 10**9


def view_of(bin_s, bins, **series):
    return SeriesView(bin_s * S, bin_s * bins * S, {name.replace("__", "|"): values for name, values in series.items()})


def observation(metric, value):
    return {"metric": metric, "labels": {}, "value": value, "unit": "count", "n": 1, "half_width": None}


def test_the_busiest_stretch_is_ten_seconds_wherever_it_begins():
    # The 10 s from 5 s to 15 s hold 70; no 10 s that begin at a multiple of 10 s hold more than 40.
    peaks = Peaks(view_of(5, 6, attempts=[0, 35, 35, 5, 0, 0]))
    assert (peaks.length_ns, peaks.most("attempts", {})) == (10 * S, Fraction(70, 10 * S))


def test_a_bin_longer_than_ten_seconds_is_a_stretch_of_its_own():
    peaks = Peaks(view_of(20, 3, tokens=[100, 600, 0]))
    assert (peaks.length_ns, peaks.most("tokens", {})) == (20 * S, Fraction(600, 20 * S))


def test_the_warm_up_has_no_stretch():
    assert Peaks(view_of(10, 3, attempts=[90, 10, 20]), 10 * S).most("attempts", {}) == Fraction(20, 10 * S)


def test_calls_are_attempts_a_second_times_the_mean_time_in_service():
    # 20 admitted and 40 s of service are 2 s each; 30 attempts in 10 s need 6 calls, of which 3 were in service.
    view = view_of(10, 2, attempts=[10, 30], admitted=[10, 10], active=[10 * S, 30 * S])
    assert Peaks(view).calls({}) == 6


def test_a_series_that_is_not_kept_has_no_stretch():
    assert Peaks(view_of(10, 2, attempts=[1, 2])).most("attempts", {"principal": "a"}) is None
    assert Peaks(view_of(10, 2, attempts=[1, 2])).calls({}) is None


def rows_of(make_record, attempts):
    result = Result(make_record("PASS", observations=[observation("attempts", sum(attempts))]))
    view = view_of(10, len(attempts), attempts=attempts)
    profile = {"workspace": {"requests_per_minute": 60, "requests_burst": 5}}
    return headroom(result, profile, {"all": 10 * len(attempts) * S}, None, Peaks(view))


def test_a_run_of_one_phase_is_held_to_its_busiest_stretch(make_record):
    # 60 in a minute fit 60 a minute on average. 50 of them came within 10 s, which carry 10 and the burst of 5.
    first = binding(rows_of(make_record, [2, 2, 50, 2, 2, 2]))
    assert (first.offered, first.peak, first.peak_bound, first.use) == (60, 300, 90, Fraction(10, 3))
    assert first_sentence(first, was_refused=True) == (
        "Binds first: requests_per_minute of workspace, offered 300 a minute over its busiest 10 s, "
        "limit 60 a minute (90 with its burst)."
    )


def test_refusals_below_every_limit_are_not_told_as_room(make_record):
    first = binding(rows_of(make_record, [5, 5, 12, 5, 5, 5]))
    assert first.use == Fraction(72, 90)
    assert first_sentence(first, was_refused=True).startswith(
        "No limit compared here was exceeded on average over 10 s: refusals came from shorter bursts, "
    )
    assert first_sentence(first, was_refused=False).startswith("Binds first: requests_per_minute of workspace")
