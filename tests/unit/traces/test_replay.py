"""Every row once, in the order of time."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.replay import TraceSpec, replay
from tollgate.core.errors import ConfigError

S = 10**9


def spec_of(path, ms_per_token=None, **options):
    reading = detect(path, TraceOptions(**options)).reading
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return TraceSpec(**vars(reading), file=path.name, sha256=digest, ms_per_token=ms_per_token)


def joined(blocks, name):
    return [value for block in blocks for value in getattr(block, name)]


@pytest.mark.parametrize("block_rows", [1, 2, 7, 100])
def test_blocks_join_to_the_whole_trace_whatever_their_size(fixtures, block_rows):
    path = fixtures / "grid.jsonl"
    blocks = list(replay(spec_of(path), path, block_rows=block_rows))
    assert joined(blocks, "at_ns") == [0, 0, 0, 3 * S, 6 * S, 6 * S, 9 * S]
    assert joined(blocks, "tokens") == [120, 930, 120, 300, 440, 440, 85]
    assert joined(blocks, "principal") == [0] * 7
    assert all(len(block.at_ns) <= block_rows and block.service_ns is None for block in blocks)


@pytest.mark.parametrize("block_rows", [2, 100])
def test_a_sorted_replay_is_in_the_order_of_time(fixtures, block_rows):
    path = fixtures / "two_weeks.jsonl"
    blocks = list(replay(spec_of(path, sort=True), path, block_rows=block_rows))
    assert joined(blocks, "at_ns") == [0, 27 * S, 82 * S, 93 * S, 93 * S, 125 * S, 604_453 * S]
    assert joined(blocks, "principal") == [3, 3, 0, 1, 1, 0, 2]


def test_a_measured_duration_is_the_time_of_service(fixtures):
    path = fixtures / "ended.csv"
    (block,) = replay(spec_of(path), path)
    assert block.service_ns == [3 * S, S // 2, S // 4, 0]


def test_time_for_each_token_is_exact_and_rounded_half_up(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts_s,tokens\n0,1\n1,3\n2,0\n")
    (block,) = replay(spec_of(path, ms_per_token="0.0000005"), path)
    assert block.service_ns == [1, 2, 0]  # 0.5, 1.5 and 0 ns
    (block,) = replay(spec_of(path, ms_per_token="0.29"), path)
    assert block.service_ns == [290_000, 870_000, 0]


@pytest.mark.parametrize("sort", [False, True])
def test_a_file_that_changed_since_the_manifest_was_read_is_refused(fixtures, sort):
    path = fixtures / "ticks.csv"
    spec = replace(spec_of(path, sort=sort), sha256="0" * 64)
    with pytest.raises(ConfigError, match="the file is another"):
        list(replay(spec, path))


def test_a_step_back_stops_the_replay_at_its_row(fixtures):
    path = fixtures / "two_weeks.jsonl"
    with pytest.raises(ConfigError, match="row 5"):
        list(replay(spec_of(path), path))


def test_the_block_of_a_manifest_holds_what_differs_from_the_defaults(fixtures):
    spec = spec_of(fixtures / "two_weeks.jsonl", sort=True)
    assert spec.to_mapping() == {
        "kind": "trace",
        "file": "two_weeks.jsonl",
        "sha256": spec.sha256,
        "format": "jsonl",
        "time_column": "timestamp",
        "time_unit": "s",
        "tokens_columns": ["input_length", "output_length"],
        "principal_column": "session_id",
        "sort": True,
    }
    keys = spec.to_mapping()
    del keys["kind"]
    assert TraceSpec(**keys) == spec


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"sha256": "abc"}, "sha256"),
        ({"sha256": "Z" * 64}, "sha256"),
        ({"ms_per_token": "0"}, "ms_per_token"),
        ({"ms_per_token": "1e3"}, "ms_per_token"),
        ({"ms_per_token": "1", "tokens_columns": ()}, "ms_per_token"),
    ],
)
def test_what_cannot_be_replayed_is_refused_by_field(fixtures, changes, path):
    with pytest.raises(ConfigError) as caught:
        replace(spec_of(fixtures / "ticks.csv"), **changes)
    assert caught.value.path == path
