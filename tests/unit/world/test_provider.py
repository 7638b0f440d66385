"""What a provider does to the calls of a run: outages, its own limits, failures, and what its load does."""

from __future__ import annotations

import io

import pytest

import sim
from sim.trace import NONE, AttemptCol, AttemptOutcome, Cause, Consumer
from sim.world.provider_station import Station
from tests.unit.world.lab import MS, arrivals, manifest, play, run

DONE, FAILED, SHED, LEFT, ABORTED = AttemptOutcome
WELL = NONE
ERROR, OUTAGE, LIMIT, STORM, TIMEOUT = Cause


class Seen(Consumer):
    """Every attempt: (ordinal, attempt, requested, decided, ended, outcome, cause), times in ms; and the end."""

    def __init__(self):
        self.rows = []
        self.pauses = []
        self.transitions = []

    def attempts(self, rows):
        times = (AttemptCol.REQUESTED, AttemptCol.DECIDED, AttemptCol.ENDED)
        for row in rows.tolist():
            at = (row[time] / MS for time in times)
            outcome, cause = AttemptOutcome(row[AttemptCol.OUTCOME]), row[AttemptCol.CAUSE]
            self.rows.append((row[AttemptCol.ORDINAL], row[AttemptCol.ATTEMPT], *at, outcome, cause))

    def close(self, end):
        self.pauses = [(row.from_ns // MS, row.until_ns // MS) for row in end.pauses]
        self.transitions = [(row.to_state, row.at_ns // MS) for row in end.transitions]


def watched(of, rows, *, tokens=1):
    """Run given arrivals (at, service in ms, fails), and return what was seen."""
    at, service, fails = zip(*rows, strict=True)
    seen = Seen()
    play(of, arrivals(at, service, fails=fails, tokens=tokens), seen)
    seen.rows.sort(key=lambda row: row[:2])
    return seen


def ends(of, rows, **more):
    """Return (ended, outcome, cause) of each first attempt."""
    return [row[4:] for row in watched(of, rows, **more).rows if row[1] == 1]


def bad(*outages, **keys):
    return manifest(provider={"outages": list(outages), **keys})


# --- outages


def test_calls_begun_inside_an_error_outage_fail_and_no_other_does():
    of = bad({"kind": "error", "from_seconds": 1, "for_seconds": 2, "answer_ms": 5})
    rows = [(990, 50, 0), (999, 10, 0), (1000, 50, 0), (1500, 900, 0), (2999, 50, 0), (3000, 50, 0)]
    assert ends(of, rows) == [
        (1040, DONE, WELL),
        (1009, DONE, WELL),
        (1005, FAILED, OUTAGE),
        (1505, FAILED, OUTAGE),
        (3004, FAILED, OUTAGE),
        (3050, DONE, WELL),
    ]


def test_an_outage_outlives_an_independent_failure_and_other_failures_keep_their_cause():
    of = bad({"kind": "error", "from_seconds": 1, "for_seconds": 1})
    assert ends(of, [(0, 50, 1), (1000, 50, 1), (2000, 50, 1)]) == [
        (50, FAILED, ERROR),
        (1001, FAILED, OUTAGE),
        (2050, FAILED, ERROR),
    ]


def test_a_failure_may_answer_sooner_than_a_service():
    of = manifest(provider={"failures": {"kind": "independent", "probability": 0.5, "answer_ms": 3}})
    assert ends(of, [(0, 50, 1), (1, 50, 0)]) == [(3, FAILED, ERROR), (51, DONE, WELL)]


def test_calls_begun_or_in_service_hang_until_a_stall_is_over():
    of = bad({"kind": "stall", "from_seconds": 1, "for_seconds": 2})
    rows = [(900, 50, 0), (990, 50, 0), (1000, 10, 0), (2999, 20, 0), (3000, 30, 0)]
    # The second has had 10 ms of its 50 when everything stops.
    assert [row[0] for row in ends(of, rows)] == [950, 3040, 3010, 3020, 3030]


def test_a_call_that_ends_as_a_stall_begins_has_ended():
    of = bad({"kind": "stall", "from_seconds": 1, "for_seconds": 2})
    assert [row[0] for row in ends(of, [(900, 100, 0), (900, 101, 0)])] == [1000, 3001]


def test_callers_lose_patience_during_a_stall():
    of = manifest(
        provider={"outages": [{"kind": "stall", "from_seconds": 1, "for_seconds": 2}], "servers": 1},
        client={"timeout_ms": 500},
    )
    assert ends(of, [(990, 50, 0), (1200, 10, 0), (2900, 10, 0)]) == [
        (1490, ABORTED, TIMEOUT),
        (1700, ABORTED, TIMEOUT),
        (3010, DONE, WELL),
    ]


def test_calls_begun_inside_a_slow_outage_take_a_factor_longer_and_no_other_does():
    of = bad({"kind": "slow", "from_seconds": 1, "for_seconds": 1, "factor": 2.5})
    rows = [(999, 100, 0), (1000, 100, 0), (1999, 100, 0), (2000, 100, 0)]
    assert [row[0] for row in ends(of, rows)] == [1099, 1250, 2249, 2100]


def test_a_storm_of_429_announces_its_wait_and_pauses_the_provider():
    of = bad({"kind": "throttle", "from_seconds": 1, "for_seconds": 1, "retry_after_ms": 300, "answer_ms": 2})
    seen = watched(of, [(999, 50, 0), (1000, 50, 0), (1010, 50, 0), (2500, 50, 0)])
    assert [row[3:] for row in seen.rows] == [
        (999, 1049, DONE, WELL),
        (1000, 1002, FAILED, STORM),
        (1302, 1304, FAILED, STORM),  # it waited for the end of the pause that the one before brought
        (2500, 2550, DONE, WELL),
    ]
    assert seen.pauses == [(1002, 1302), (1304, 1604)]


def test_an_error_outage_answers_before_a_storm_does():
    of = bad(
        {"kind": "throttle", "from_seconds": 1, "for_seconds": 2, "retry_after_ms": 10},
        {"kind": "error", "from_seconds": 2, "for_seconds": 2},
    )
    assert [row[2] for row in ends(of, [(1000, 5, 0), (2000, 5, 0), (3000, 5, 0), (4000, 5, 0)])] == [
        STORM,
        OUTAGE,
        OUTAGE,
        WELL,
    ]


def test_an_outage_fades_in_equal_steps():
    of = bad({"kind": "slow", "from_seconds": 1, "for_seconds": 1, "factor": 9, "ramp_seconds": 4, "ramp_steps": 4})
    rows = [(at, 100, 0) for at in (1999, 2000, 2999, 3000, 4000, 5000, 5999, 6000)]
    # 1 + 8 * (7/8, 5/8, 3/8, 1/8)
    factors = [9, 8, 8, 6, 4, 2, 2, 1]
    assert [end - at for (end, *_), (at, *_) in zip(ends(of, rows), rows, strict=True)] == [100 * x for x in factors]


def test_after_a_stall_that_fades_calls_in_service_gain_speed_step_by_step():
    of = bad({"kind": "stall", "from_seconds": 1, "for_seconds": 1, "ramp_seconds": 4, "ramp_steps": 2})
    # From 2 s a quarter of full speed, from 4 s three quarters, from 6 s all of it.
    rows = [(1500, 400, 0), (1500, 1250, 0), (1500, 2500, 0)]
    assert [row[0] for row in ends(of, rows)] == [3600, 5000, 6500]


def test_an_outage_of_a_breakers_provider_trips_it():
    of = manifest(
        provider={"outages": [{"kind": "error", "from_seconds": 1, "for_seconds": 1}]},
        profile={
            "profile_version": "x",
            "workspace": {},
            "providers": {"p": {"circuit_breaker": {"failure_threshold": 3, "open_ms": 700, "half_open_max_calls": 1}}},
            "principals": {"ann": {}},
        },
    )
    seen = watched(of, [(1000 + 10 * k, 5, 0) for k in range(4)])
    # The fourth waits for a probe's place, fails, and with a second opening nobody is left.
    assert seen.transitions == [("open", 1021), ("half-open", 1721), ("open", 1722)]


# --- own limits


def test_a_request_bucket_of_the_provider_answers_429_with_the_exact_wait():
    of = manifest(
        provider={"rate_limit": {"requests_per_minute": 60, "requests_burst": 2, "answer_ms": 1}},
        client={"retry": {"kind": "fixed", "base_ms": 1, "max_attempts": 2}},
    )
    seen = watched(of, [(0, 100, 0), (1, 100, 0), (100, 100, 0)])
    # One request a second, none left at 1 ms: the next is there at 1000 ms, 899 ms after the third hears so.
    assert seen.rows[2:] == [
        (2, 1, 100, 100, 101, FAILED, LIMIT),
        (2, 2, 1000, 1000, 1100, DONE, WELL),
    ]
    assert seen.pauses == [(101, 1000)]


def test_a_client_that_ignores_the_wait_comes_back_sooner_and_meets_the_pause():
    of = manifest(
        provider={"rate_limit": {"requests_per_minute": 60, "requests_burst": 1}},
        client={"retry": {"kind": "fixed", "base_ms": 10, "max_attempts": 2}, "retry_after": "ignore"},
    )
    assert watched(of, [(0, 5, 0), (100, 5, 0)]).rows[1:] == [
        (1, 1, 100, 100, 101, FAILED, LIMIT),
        (1, 2, 111, 1000, 1005, DONE, WELL),
    ]


def test_a_token_bucket_of_the_provider_counts_tokens_and_refuses_what_can_never_fit_without_a_wait():
    limit = {"tokens_per_minute": 60_000, "tokens_burst": 500}
    of = manifest(provider={"rate_limit": limit})
    seen = watched(of, [(0, 50, 0), (90, 50, 0), (100, 50, 0)], tokens=300)
    # 200 are left and one comes each ms: 300 are there at 100 ms. The second hears so at 91 ms.
    assert [row[4:] for row in seen.rows] == [(50, DONE, WELL), (91, FAILED, LIMIT), (150, DONE, WELL)]
    assert seen.pauses == [(91, 100)]
    soon = watched(of, [(0, 50, 0), (99, 50, 0)], tokens=300)
    assert (soon.rows[1][4:], soon.pauses) == ((100, FAILED, LIMIT), [])
    never = watched(of, [(0, 50, 0)], tokens=501)
    assert (never.rows[0][5:], never.pauses) == ((FAILED, LIMIT), [])


def test_a_ceiling_on_calls_in_progress_announces_its_stated_wait():
    of = manifest(provider={"rate_limit": {"concurrency": 2, "retry_after_ms": 40}})
    seen = watched(of, [(0, 100, 0), (0, 100, 0), (50, 100, 0), (99, 10, 0), (100, 10, 0)])
    assert [row[3:] for row in seen.rows] == [
        (0, 100, DONE, WELL),
        (0, 100, DONE, WELL),
        (50, 51, FAILED, LIMIT),
        (99, 100, FAILED, LIMIT),
        (140, 150, DONE, WELL),
    ]
    assert seen.pauses == [(51, 91), (100, 140)]


# --- load


def test_more_calls_than_servers_queue_inside_the_provider():
    of = manifest(provider={"servers": 2})
    rows = [(0, 100, 0), (0, 50, 0), (10, 10, 0), (20, 10, 0)]
    assert [row[0] for row in ends(of, rows)] == [100, 50, 60, 70]


def test_a_caller_who_leaves_takes_its_place_or_its_turn_out():
    of = manifest(provider={"servers": 1}, client={"timeout_ms": 40})
    rows = [(0, 100, 0), (5, 100, 0), (10, 9, 0)]
    assert ends(of, rows) == [(40, ABORTED, TIMEOUT), (45, ABORTED, TIMEOUT), (50, ABORTED, TIMEOUT)]
    assert ends(of, [(0, 100, 0), (5, 30, 0)])[1] == (45, ABORTED, TIMEOUT)
    assert ends(of, [(0, 38, 0), (5, 2, 0)]) == [(38, DONE, WELL), (40, DONE, WELL)]


def test_shared_servers_serve_everybody_at_once():
    of = manifest(provider={"servers": 1, "sharing": "processor"})
    assert [row[0] for row in ends(of, [(0, 30, 0), (0, 30, 0), (0, 30, 0)])] == [90, 90, 90]
    assert [row[0] for row in ends(of, [(0, 30, 0), (20, 10, 0)])] == [40, 40]


def test_a_slowdown_begins_above_its_knee():
    of = manifest(provider={"slowdown": {"above": 2, "per_call": 0.5}})
    assert [row[0] for row in ends(of, [(0, 30, 0), (0, 30, 0)])] == [30, 30]
    # Four at once: each 1 + 2 * 0.5 times as long.
    assert [row[0] for row in ends(of, [(0, 30, 0)] * 4)] == [60] * 4


def test_a_failing_call_that_takes_its_service_takes_its_server_too():
    of = manifest(provider={"servers": 1})
    assert ends(of, [(0, 50, 1), (0, 10, 0)]) == [(50, FAILED, ERROR), (60, DONE, WELL)]


def test_a_new_attempt_is_a_new_call_of_the_same_work():
    of = manifest(provider={"servers": 1}, client={"retry": {"kind": "fixed", "base_ms": 10, "max_attempts": 2}})
    assert watched(of, [(0, 50, 1), (20, 30, 0)]).rows == [
        (0, 1, 0, 0, 50, FAILED, ERROR),
        (0, 2, 60, 60, 130, DONE, WELL),
        (1, 1, 20, 20, 80, DONE, WELL),
    ]


def test_a_place_that_a_provider_forgets_to_free_is_seen(monkeypatch):
    monkeypatch.setattr(Station, "leave", lambda *_: None)
    of = manifest(provider={"servers": 2}, client={"timeout_ms": 40}, seconds=1)
    with pytest.raises(AssertionError, match=r"-1 calls are at provider 0, which counts 0"):
        watched(of, [(0, 100, 0)])


def test_every_cause_has_words_of_its_own():
    assert len({cause.text for cause in Cause}) == len(Cause)


@pytest.mark.parametrize(
    "provider",
    [
        {"servers": 3},
        {"servers": 3, "sharing": "processor"},
        {"rate_limit": {"requests_per_minute": 900, "concurrency": 5}},
        {"outages": [{"kind": "error", "from_seconds": 5, "for_seconds": 5, "probability": 0.5, "ramp_seconds": 5}]},
        {"failures": {"kind": "bursty", "good_mean_seconds": 2, "bad_mean_seconds": 1, "bad_probability": 0.8}},
    ],
)
def test_a_run_with_such_a_provider_holds_its_checks_and_repeats(provider):
    client = {
        "timeout_ms": 2000,
        "retry": {"kind": "exponential", "base_ms": 50, "cap_ms": 400, "jitter": "full", "max_attempts": 3},
    }
    of = manifest(provider=provider, client=client, arrivals={"kind": "poisson", "per_second": 30})
    first, _, outcomes = run(of)
    again, _, _ = run(of)
    assert first.outcomes_sha256 == again.outcomes_sha256
    assert len({outcome.outcome for outcome in outcomes}) > 1 or "servers" in provider


def side_by_side(trouble, limits):
    """Return what becomes of the requests of one stream beside another that has a provider of its own."""

    def stream(name, provider):
        return {
            "name": name,
            "principal": name,
            "class": name,
            "arrivals": {"kind": "poisson", "per_second": 20},
            "work": {"tokens": 1},
            "providers": {provider: 1},
            "client": {"retry": {"kind": "fixed", "base_ms": 20, "jitter": "full", "max_attempts": 3}},
        }

    own = {
        "id": "p",
        "service_ms": {"kind": "exponential", "mean": 60},
        "servers": 2,
        "failures": {"kind": "bursty", "good_mean_seconds": 1, "bad_mean_seconds": 1, "bad_probability": "0.6"},
        "outages": [{"kind": "error", "from_seconds": 8, "for_seconds": 4, "probability": "0.4", "ramp_seconds": 3}],
    }
    of = manifest(
        profile={
            "profile_version": "two",
            "workspace": {},
            "providers": {"p": {}, "q": limits},
            "principals": {"ann": {}, "bob": {}},
        },
        streams=[stream("bob", "q"), stream("ann", "p")],
        providers=[{"id": "q", "service_ms": 30, **trouble}, own],
    )
    text = io.StringIO()
    sim.run(of, arrivals_out=text, outcomes_out=(outcomes := io.StringIO()))
    owner = [line.split(",")[2] for line in text.getvalue().splitlines()]
    told = dict(line.split(" ", 1) for line in outcomes.getvalue().splitlines())
    return [told[str(ordinal)] for ordinal, name in enumerate(owner) if name == "ann"]


def test_the_trouble_and_the_limits_of_one_provider_shift_nothing_at_another():
    quiet = side_by_side({}, {})
    bad = {
        "servers": 1,
        "sharing": "processor",
        "rate_limit": {"requests_per_minute": 600, "requests_burst": 5},
        "failures": {"kind": "bursty", "good_mean_seconds": 3, "bad_mean_seconds": 1, "bad_probability": "0.9"},
        "outages": [
            {"kind": "throttle", "from_seconds": 3, "for_seconds": 4, "retry_after_ms": 50, "probability": "0.5"}
        ],
    }
    assert side_by_side(bad, {}) == quiet
    assert side_by_side(bad, {"concurrency": 1, "max_queue_length": 2}) == quiet
    assert sum("failed" in line for line in quiet) > 10
