from __future__ import annotations

from fractions import Fraction

import pytest

from sim.report.headroom import binding, first_sentence, headroom
from sim.report.result import Result

S = 10**9


def observation(metric, value, **labels):
    return {"metric": metric, "labels": labels, "value": value, "unit": "count", "n": 1, "half_width": None}


@pytest.fixture
def rows_of(make_record):
    def rows_of(observations, profile, phases_ns, tokens=None):
        result = Result(make_record("PASS", observations=observations))
        return {(row.scope, row.limit): row for row in headroom(result, profile, phases_ns, tokens)}

    return rows_of


def test_calls_are_those_that_would_be_in_service_if_all_were_admitted(rows_of):
    # Little: 3 calls in service on average while three quarters were admitted means 4 for all.
    rows = rows_of(
        [observation("active.mean", "3.000000"), observation("admission.ratio", "0.750000")],
        {"workspace": {"concurrency": 8}},
        {"all": 60 * S},
    )
    row = rows["workspace", "concurrency"]
    assert (row.offered, row.bound, row.use) == (4, 8, Fraction(1, 2))
    assert row.peak is None


def test_the_busiest_phase_scales_the_load_by_its_rate(rows_of):
    # 600 attempts in 60 s, 400 of them in the 20 s of the spike: 20 a second there against 10 a second overall.
    rows = rows_of(
        [
            observation("attempts", 600),
            observation("attempts", 200, phase="calm"),
            observation("attempts", 400, phase="spike"),
            observation("active.mean", "2.000000"),
        ],
        {"workspace": {"concurrency": 3, "requests_per_minute": 1000}},
        {"calm": 40 * S, "spike": 20 * S},
    )
    minute = rows["workspace", "requests_per_minute"]
    assert (minute.offered, minute.peak, minute.peak_over) == (600, 1200, "phase spike")
    # A bucket of a minute's worth: over 20 s it carries 1000 requests and a third of 1000, so 4000 a minute.
    assert (minute.peak_bound, minute.use) == (4000, Fraction(3, 5))
    calls = rows["workspace", "concurrency"]
    assert (calls.offered, calls.peak, calls.use) == (2, 4, Fraction(4, 3))


def test_a_smaller_burst_leaves_less_room_in_a_spike(rows_of):
    observations = [
        observation("attempts", n, **labels) for n, labels in ((60, {}), (10, {"phase": "a"}), (50, {"phase": "b"}))
    ]
    profile = {"workspace": {"requests_per_minute": 60, "requests_burst": 5}}
    row = rows_of(observations, profile, {"a": 50 * S, "b": 10 * S})["workspace", "requests_per_minute"]
    # 10 s carry 10 requests and the burst of 5, which is 90 a minute; 50 came, which is 300 a minute.
    assert (row.offered, row.peak, row.peak_bound, row.use) == (60, 300, 90, Fraction(10, 3))
    assert row.needed == 270  # 45 in those 10 s, and the burst of 5


def test_a_queue_never_binds_first_however_full(rows_of):
    rows = rows_of(
        [observation("queue.length.max", 128), observation("active.mean", "1.000000")],
        {"workspace": {"max_queue_length": 128, "concurrency": 10}},
        {"all": S},
    )
    assert rows["workspace", "max_queue_length"].use == 1
    assert binding(list(rows.values())).limit == "concurrency"
    assert list(rows)[-1] == ("workspace", "max_queue_length")


def test_of_the_principals_the_nearest_to_each_limit_is_shown(rows_of):
    rows = rows_of(
        [observation("active.mean", "1.000000", principal="a"), observation("active.mean", "3.000000", principal="b")],
        {
            "workspace": {"concurrency": 5, "max_principal_share": "0.5"},
            "principals": {"a": {"concurrency": 1}, "b": {"concurrency": 4}},
        },
        {"all": S},
    )
    assert ("principal a", "concurrency") in rows
    assert ("principal b", "concurrency") not in rows
    # floor(0.5 * 5) = 2 calls, which b's 3 exceed.
    share = rows["principal b", "max_principal_share"]
    assert (share.bound, share.use) == (2, Fraction(3, 2))


def test_shares_are_exact_decimals_and_at_least_one_call(rows_of):
    # 0.29 * 100 is 29 exactly; as a double it would come to 28.
    observations = [observation("active.mean", "1.000000", principal="a")]
    for share, concurrency, cap in (("0.29", 100, 29), ("0.1", 4, 1)):
        profile = {"workspace": {"concurrency": concurrency, "max_principal_share": share}, "principals": {"a": {}}}
        assert rows_of(observations, profile, {"all": S})["principal a", "max_principal_share"].bound == cap


def test_what_others_have_reserved_is_not_for_the_rest(rows_of):
    # Of 8 places a keeps 3 and b keeps 1: 7 are left to a, 5 to b, 4 to c, who is nearest with two calls each.
    calls = [observation("active.mean", "2.000000", principal=name) for name in "abc"]
    principals = {"a": {"reserved_concurrency": 3}, "b": {"reserved_concurrency": 1}, "c": {}}
    rows = rows_of(calls, {"workspace": {"concurrency": 8}, "principals": principals}, {"all": S})
    assert rows["principal c", "concurrency less others' reservations"].bound == 4
    alone = rows_of(
        calls, {"workspace": {"concurrency": 8}, "principals": {"a": {"reserved_concurrency": 3}}}, {"all": S}
    )
    assert ("principal a", "concurrency less others' reservations") not in alone


def test_tokens_are_compared_where_they_are_known(rows_of):
    profile = {"workspace": {"tokens_per_second": 20000}, "providers": {"jev": {"tokens_per_second": "12000"}}}
    rows = rows_of([observation("admission.ratio", "0.500000")], profile, {"all": 10 * S}, {"workspace": 50000})
    # 50,000 tokens were asked for in 10 s; that half of the arrivals were refused changes nothing of what was offered.
    assert rows["workspace", "tokens_per_second"].offered == 5000
    assert ("provider jev", "tokens_per_second") not in rows


def test_an_absent_limit_or_figure_makes_no_row(rows_of):
    assert rows_of([], {"workspace": {"concurrency": 4}}, {"all": S}) == {}
    assert rows_of([observation("active.mean", "1.000000")], {}, {"all": S}) == {}
    assert binding([]) is None


@pytest.fixture
def fullest(rows_of):
    """Return a way to make the only limit: 10 calls, and so many offered."""

    def fullest(calls):
        observations = [observation("active.mean", calls)]
        return binding(list(rows_of(observations, {"workspace": {"concurrency": 10}}, {"all": S}).values()))

    return fullest


def test_refusals_that_no_limit_explains_are_owed_to_what_interrupted(fullest):
    said = first_sentence(fullest("4.000000"), was_refused=True, interrupted="Beside the limits, it rained.")
    assert said == (
        "No limit compared here was exceeded on average. Beside the limits, it rained. "
        "Nearest: concurrency of workspace, offered 4 calls on average, limit 10 calls."
    )
    assert "shorter bursts" in first_sentence(fullest("4.000000"), was_refused=True)


def test_a_limit_that_is_exceeded_still_binds_first(fullest):
    said = first_sentence(fullest("14.000000"), was_refused=True, interrupted="Beside the limits, it rained.")
    assert said.startswith("Binds first: concurrency of workspace, offered 14 calls")
    assert said.endswith("limit 10 calls. Beside the limits, it rained.")
