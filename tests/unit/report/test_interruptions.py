from __future__ import annotations

import pytest

from sim.measure.series import Band, SeriesView
from sim.report.interruptions import sentence
from sim.report.result import Result

S = 10**9
OPEN = {"metric": "breaker.open_time", "labels": {"provider": "p"}, "value": "4000.000000", "unit": "ms"}
CHANGES = {"metric": "breaker.transitions", "labels": {"provider": "p"}, "value": 3, "unit": "count"}
PAUSED = {"metric": "pause.time", "labels": {"provider": "q"}, "value": "1500.000000", "unit": "ms"}


@pytest.fixture
def result_of(make_record):
    def result_of(*rows):
        return Result(make_record("PASS", observations=[row | {"n": 1, "half_width": None} for row in rows]))

    return result_of


def view(*bands, shed=()):
    values = [shed.count(place) for place in range(10)]
    return SeriesView(S, 10 * S, {"shed|class=a": values, "shed|class=a,reason=queue-full": values}, {}, bands)


def test_nothing_is_said_where_nothing_interrupted(result_of):
    calm = {**OPEN, "value": "0.000000"}
    assert sentence(result_of(calm), view(Band("phase", "load", "", 0, 10 * S), shed=(1, 2))) is None


def test_an_open_breaker_is_told_with_its_time_and_the_refusals_meanwhile(result_of):
    # Open from 2.5 s to 6.5 s: bins 2 to 6. Of the refusals in bins 1, 2, 2, 6 and 7 three came in them.
    seen = view(Band("breaker", "p", "open", 2 * S + S // 2, 6 * S + S // 2), shed=(1, 2, 2, 6, 7))
    assert sentence(result_of(OPEN, CHANGES), seen) == (
        "Beside the limits, the breaker of provider p was open for 4 s (3 changes of state); "
        "3 of 5 refusals came meanwhile."
    )


def test_pauses_and_outages_are_told_and_a_ramp_is_no_outage_of_its_own(result_of):
    bands = (Band("outage", "q", "stall", 3 * S, 5 * S), Band("outage", "q", "ramp", 5 * S, 6 * S))
    assert sentence(result_of(PAUSED), view(*bands)) == (
        "Beside the limits, provider q had announced pauses of 1.5 s and provider q had an outage (stall) "
        "from 3 s to 5 s."
    )


def test_without_series_the_record_tells_what_it_can(result_of):
    assert sentence(result_of(OPEN), None) == "Beside the limits, the breaker of provider p was open for 4 s."


def test_many_outages_are_counted(result_of):
    bands = [Band("outage", "q", "error", place * S, place * S + 1) for place in range(9)]
    said = sentence(result_of(), view(*bands))
    assert said.count("had an outage") == 4
    assert said.endswith("and 5 more such times.")
