"""Assumed limits and times of service."""

from __future__ import annotations

import pytest

from sim.workload.traces.assume import Load, generous, service_time
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.replay import TraceSpec
from sim.workload.traces.table import TraceBlocks
from tollgate.core.errors import ConfigError

MS = 10**6
S = 10**9


def spec_of(path, ms_per_token=None):
    reading = detect(path, TraceOptions()).reading
    return TraceSpec(**vars(reading), file=path.name, sha256="0" * 64, ms_per_token=ms_per_token)


def load_of(path, service_ms, ms_per_token=None):
    spec = spec_of(path, ms_per_token)
    load = Load(spec, service_time(spec, service_ms))
    for block in TraceBlocks(path, spec, block_rows=2):
        load.add(block)
    return load


@pytest.mark.parametrize(
    ("text", "block", "typical_ms", "worst_ms"),
    [
        ("200", "200", 200, 200),
        ("constant 0.5", "0.5", 0.5, 0.5),
        ("uniform 40..160", {"kind": "uniform", "min": "40", "max": "160"}, 100, 160),
        ("uniform 40 .. 40", {"kind": "uniform", "min": "40", "max": "40"}, 40, 40),
        ("exponential 250", {"kind": "exponential", "mean": "250"}, 250, 10_000),
    ],
)
def test_a_distribution_is_read(fixtures, text, block, typical_ms, worst_ms):
    service = service_time(spec_of(fixtures / "ticks.csv"), text)
    assert (service.block, service.kind) == (block, "assumed")
    assert (service.mean_ns, service.worst_ns) == (typical_ms * MS, worst_ms * MS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "constant",
        "constant -1",
        "constant 0",
        "uniform 160..40",
        "uniform 1",
        "exponential 1e3",
        "0.0000001",
    ],
)
def test_another_distribution_is_refused(fixtures, text):
    with pytest.raises(ConfigError, match="--service-ms"):
        service_time(spec_of(fixtures / "ticks.csv"), text)


def test_measured_durations_are_measured(fixtures):
    load = load_of(fixtures / "ended.csv", None)
    assert load.service.kind == "measured"
    # 3, 0.5, 0.25 and 0 s: the 2nd of them in order is shown; one by one they take 3.75 s, and the longest 3 s.
    assert load.service_block == "250"
    assert load.drain_s(100 * S) == 104
    # From 1 s on the second is served beside the first, and at 1.5 s, when that one ends, the third.
    assert load.profile(provider="u", principal="p")["workspace"]["concurrency"] == 3


def test_time_for_each_token_follows_the_rows(fixtures):
    load = load_of(fixtures / "ticks.csv", None, ms_per_token="10")
    assert load.service.kind == "assumed"
    assert load.service_block == "3300"  # the third of 110 to 660 tokens
    assert load.drain_s(100 * S) == 108  # 6.6 s, up to a whole second, and one


def test_tokens_that_make_more_than_any_run_are_named(fixtures):
    with pytest.raises(ConfigError, match=r"row 2: got '110000000 s'; allowed: tokens and a time of each"):
        load_of(fixtures / "ticks.csv", None, ms_per_token="1000000000")


@pytest.mark.parametrize(
    ("peak", "limit"), [(0, 0), (1, 2), (7, 9), (8, 10), (9, 12), (67, 100), (415, 600), (8_000, 10_000)]
)
def test_round_figures_leave_a_quarter_of_room(peak, limit):
    assert generous(peak) == limit


def test_the_assumed_profile_lets_the_busiest_minute_and_second_through(fixtures):
    profile = load_of(fixtures / "ticks.csv", "1000").profile(provider="u", principal="p")
    # The busiest second holds 3 arrivals, all of them in service, or 220 + 330 + 440 tokens; the busiest minute holds
    # 6.
    assert profile["workspace"] == {
        "concurrency": 4,
        "requests_per_minute": 8,
        "tokens_per_second": 1_500,
        "max_queue_length": 4,
        "max_queue_wait_ms": 2_000,
    }
    assert profile["providers"] == {"u": {"concurrency": 4}}
    assert profile["principals"] == {"p": {}}


def test_assumed_limits_stay_limits_for_calls_of_no_time_and_for_huge_ones(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts,tokens,duration\n0,9007199254740991,0\n0,9007199254740991,0\n")
    workspace = load_of(path, None).profile(provider="u", principal="p")["workspace"]
    assert (workspace["concurrency"], workspace["tokens_per_second"]) == (2, 2**53 - 1)


def test_the_drain_outlasts_the_longest_wait_and_call(fixtures):
    load = load_of(fixtures / "ticks.csv", "exponential 5000")
    assert load.drain_s(2 * S) == 203
    assert load.drain_s(None) == 231  # six calls of 5 s one by one, and a tail of 200 s
    assert load_of(fixtures / "ticks.csv", "1").drain_s(2 * S) == 30
