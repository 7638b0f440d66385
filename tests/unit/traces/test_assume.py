"""Assumed limits and times of service."""

from __future__ import annotations

import pytest

from sim.workload.traces.assume import assumed_profile, drain_s, generous, service_time
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.replay import TraceSpec
from sim.workload.traces.table import load_table
from tollgate.core.errors import ConfigError

MS = 10**6
S = 10**9


def trace_of(path, ms_per_token=None):
    reading = detect(path, TraceOptions()).reading
    table = load_table(path, reading)
    return TraceSpec(**vars(reading), file=path.name, sha256=table.sha256, ms_per_token=ms_per_token), table


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
    service = service_time(*trace_of(fixtures / "ticks.csv"), text)
    assert (service.block, service.kind) == (block, "assumed")
    assert set(service.typical_ns.tolist()) == {typical_ms * MS}
    assert service.worst_ns == worst_ms * MS


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
        service_time(*trace_of(fixtures / "ticks.csv"), text)


def test_measured_durations_are_measured(fixtures):
    service = service_time(*trace_of(fixtures / "ended.csv"), None)
    assert (service.kind, service.worst_ns) == ("measured", 3 * S)
    assert service.typical_ns.tolist() == [3 * S, S // 2, S // 4, 0]


def test_time_for_each_token_follows_the_rows(fixtures):
    service = service_time(*trace_of(fixtures / "ticks.csv", ms_per_token="10"), None)
    assert (service.kind, service.worst_ns) == ("assumed", 6_600 * MS)
    assert service.typical_ns.tolist()[:2] == [1_100 * MS, 2_200 * MS]


@pytest.mark.parametrize(
    ("peak", "limit"), [(0, 0), (1, 2), (7, 9), (8, 10), (9, 12), (67, 100), (415, 600), (8_000, 10_000)]
)
def test_round_figures_leave_a_quarter_of_room(peak, limit):
    assert generous(peak) == limit


def test_the_assumed_profile_lets_the_busiest_minute_and_second_through(fixtures):
    spec, table = trace_of(fixtures / "ticks.csv")
    service = service_time(spec, table, "1000")
    profile = assumed_profile(table, service, sized=True, provider="u", principal="p")
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


def test_the_drain_outlasts_the_longest_wait_and_call(fixtures):
    service = service_time(*trace_of(fixtures / "ticks.csv"), "exponential 5000")
    assert drain_s(service, 2 * S) == 203
    assert drain_s(service, None) == 231  # six calls of 5 s one by one, and a tail of 200 s
    short = service_time(*trace_of(fixtures / "ticks.csv"), "1")
    assert drain_s(short, 2 * S) == 30
