"""A manifest made from a trace loads, replays every row and marks what it assumes."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import pytest

from sim.experiment import run
from sim.manifest import load
from sim.manifest.distributions import Constant, Exponential, Uniform
from sim.workload.arrivals import arrival_blocks
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.replay import TraceSpec, replay
from sim.workload.traces.to_manifest import ManifestOptions, to_manifest
from tests.unit.traces.whole import load_table
from tollgate.core.errors import ConfigError

MS = 10**6
S = 10**9

LIMITS = """\
profile:
  profile_version: prod-7
  workspace: {concurrency: 8, requests_per_minute: 2400, max_queue_wait_ms: 900}
  providers: {north: {concurrency: 6}, south: {max_queue_wait_ms: 500}}
  principals: {team: {concurrency: 4}, "0000010": {}}
"""


@pytest.fixture
def manifest_of(fixtures, tmp_path):
    """Write a manifest beside, not in, the folder of the traces and load it."""

    reading = {field.name for field in fields(TraceOptions)}

    def make(name, **options):
        folder = tmp_path / "manifests"
        folder.mkdir(exist_ok=True)
        read_as = TraceOptions(**{key: options.pop(key) for key in reading & options.keys()})
        text = to_manifest(fixtures / name, read_as, ManifestOptions(folder=folder, **options))
        path = folder / "trace.yaml"
        path.write_text(text)
        return text, load(path)

    return make


@pytest.fixture
def limits(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text(LIMITS)
    return path


def replayed(manifest):
    (stream,) = manifest.streams
    arrivals = stream.arrivals
    blocks = list(replay(TraceSpec(**arrivals.options), arrivals.path))
    return [at_ns for block in blocks for at_ns in block.at_ns], blocks


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("ticks.csv", {}, 6),
        ("grid.jsonl", {}, 7),
        ("two_weeks.jsonl", {"sort": True}, 7),
        ("two_weeks.jsonl", {"drop_invalid": True}, 4),
        ("holes.csv", {"drop_invalid": True}, 3),
        ("ended.csv", {}, 4),
    ],
)
def test_every_row_is_replayed_before_the_horizon(manifest_of, name, options, rows):
    _, manifest = manifest_of(name, **options)
    instants, _ = replayed(manifest)
    assert len(instants) == rows
    assert instants[-1] < manifest.horizon_ns <= instants[-1] + S


def test_an_arrival_on_a_whole_second_still_lies_before_the_end(manifest_of):
    _, manifest = manifest_of("grid.jsonl")
    assert manifest.horizon_ns == 10 * S


def test_one_principal_is_one_and_several_are_counted_without_their_ids(manifest_of):
    _, manifest = manifest_of("ticks.csv")
    assert [principal.name for principal in manifest.principals] == ["p0001"]
    text, manifest = manifest_of("two_weeks.jsonl", sort=True)
    assert len(manifest.streams[0].principals) == 4
    assert "s0001" not in text


def test_what_is_assumed_is_marked(manifest_of):
    text, manifest = manifest_of("ticks.csv")
    kinds = {(entry.path, entry.value): entry.kind for entry in manifest.provenance}
    assert kinds == {
        ("streams[0].arrivals", "instants"): "measured",
        ("streams[0].arrivals", "tokens"): "measured",
        ("providers[0].service_ms", "service"): "assumed",
        ("providers[0].failures", "none"): "assumed",
        ("streams[0].client", "give up"): "assumed",
        ("profile", "round figures"): "assumed",
        ("gates", "bounds"): "assumed",
    }
    assert "# ASSUMED: round figures" in text
    assert manifest.profile.profile_version == "assumed-1"


def test_a_guessed_unit_is_among_the_assumptions(manifest_of):
    _, manifest = manifest_of("grid.jsonl")
    (unit,) = [entry for entry in manifest.provenance if entry.value == "reading"]
    assert unit.kind == "assumed"
    assert "milliseconds" in unit.source


def test_repairs_are_told_in_the_manifest(manifest_of):
    text, manifest = manifest_of("two_weeks.jsonl", sort=True)
    assert "#   repaired as asked: sorted: 3 rows moved" in text
    assert manifest.streams[0].arrivals.options["sort"] is True
    (repair,) = [entry for entry in manifest.provenance if entry.value == "repair"]
    assert (repair.path, repair.kind) == ("streams[0].arrivals", "assumed")
    assert repair.source.startswith("asked for: sorted: 3 rows moved")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("two_weeks.jsonl", {"split_on_step_back": True, "segment_gap_seconds": "1.5"}),
        ("two_weeks.jsonl", {"split_on_step_back": True, "segment": 2}),
        ("access.log", {"sort": True, "missing_size": 7, "drop_invalid": True}),
        ("common.log", {"missing_size": 0}),
        ("access.ndjson", {"sort": True}),
    ],
)
def test_a_run_repeats_what_was_asked_for(manifest_of, fixtures, name, options):
    _, manifest = manifest_of(name, **options)
    arrivals = manifest.streams[0].arrivals
    table = load_table(fixtures / name, detect(fixtures / name, TraceOptions(**options)).reading)
    blocks = list(replay(TraceSpec(**arrivals.options), arrivals.path, block_rows=2))
    assert [at_ns for block in blocks for at_ns in block.at_ns] == table.at_ns.tolist()
    assert [tokens for block in blocks for tokens in block.tokens] == table.tokens.tolist()
    assert [who for block in blocks for who in block.principal] == table.principal.tolist()
    assert [row for block in arrival_blocks(manifest) for row in block.at_ns] == table.at_ns.tolist()


def test_gates_are_of_this_path_and_not_implied_by_the_limits(manifest_of, limits):
    _, manifest = manifest_of("ticks.csv")
    assert [(gate.metric, gate.op, gate.bound, gate.estimand) for gate in manifest.gates] == [
        ("admission.ratio", ">=", "0.99", "path"),
        ("queue.wait.p99", "<=", "1000", "path"),
    ]
    _, manifest = manifest_of("ticks.csv", profile=limits, provider="south", principal="team")
    assert manifest.gates[1].bound == "250"  # half of the shortest wait that applies


@pytest.mark.parametrize(
    ("service_ms", "expected"),
    [
        ("constant 200", Constant(200 * MS)),
        ("uniform 40..160", Uniform(40 * MS, 160 * MS)),
        ("exponential 250", Exponential(Fraction(250 * MS))),
        (None, Constant(1000 * MS)),
    ],
)
def test_a_told_service_time_is_the_providers(manifest_of, service_ms, expected):
    _, manifest = manifest_of("ticks.csv", service_ms=service_ms)
    assert manifest.providers[0].service == expected
    assert all(block.service_ns is None for block in replayed(manifest)[1])


def test_a_measured_duration_comes_with_the_rows(manifest_of):
    _, manifest = manifest_of("ended.csv")
    assert replayed(manifest)[1][0].service_ns == [3 * S, S // 2, S // 4, 0]
    (entry,) = [entry for entry in manifest.provenance if entry.value == "service"]
    assert entry.kind == "measured"


def test_time_for_each_token_comes_with_the_rows(manifest_of):
    _, manifest = manifest_of("ticks.csv", ms_per_token="10")
    assert replayed(manifest)[1][0].service_ns == [1_100 * MS * k for k in range(1, 7)]


def test_a_limits_file_becomes_the_profile(manifest_of, limits):
    _, manifest = manifest_of("ticks.csv", profile=limits, provider="north", principal="0000010")
    assert manifest.profile.profile_version == "prod-7"
    assert list(manifest.profile.providers) == ["north", "south"]
    (stream,) = manifest.streams
    assert manifest.principals[stream.principals[0]].name == "0000010"
    assert manifest.providers[0].id == "north"
    assert all(entry.path != "profile" for entry in manifest.provenance)


def test_every_principal_of_the_trace_gets_the_named_limits(manifest_of, limits):
    _, manifest = manifest_of("two_weeks.jsonl", sort=True, profile=limits, provider="north", principal="team")
    (stream,) = manifest.streams
    assert [manifest.principals[index].name for index in stream.principals] == [
        "team0001",
        "team0002",
        "team0003",
        "team0004",
    ]
    assert manifest.profile.principals["team0004"].concurrency == 4


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"principal": "team"}, "--provider"),
        ({"provider": "nort", "principal": "team"}, "--provider"),
        ({"provider": "north"}, "--principal"),
        ({"provider": "north", "principal": "s0001"}, "--principal"),
        ({"provider": "north", "principal": "team", "service_ms": "1", "ms_per_token": "1"}, "--ms-per-token"),
        ({"provider": "north", "principal": "team", "service_ms": "soon"}, "--service-ms"),
    ],
)
def test_an_option_that_cannot_be_followed_is_named(manifest_of, limits, options, path):
    with pytest.raises(ConfigError) as caught:
        manifest_of("ticks.csv", profile=limits, **options)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ("", ""),
        ("limits: {}\n", "profile"),
        ("profile: 7\n", "profile"),
        (LIMITS.replace("concurrency: 8", "concurrency: -1"), "profile.workspace.concurrency"),
        (LIMITS.replace("concurrency: 8", "concurency: 8"), "profile.workspace.concurency"),
    ],
)
def test_a_limits_file_that_cannot_be_used_is_named(manifest_of, tmp_path, content, path):
    file = tmp_path / "limits.yaml"
    file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        manifest_of("ticks.csv", profile=file)
    assert (caught.value.file, caught.value.path) == (str(file), path)


def test_a_service_time_for_a_trace_of_ends_is_refused(manifest_of):
    with pytest.raises(ConfigError, match="each row is served for its duration"):
        manifest_of("ended.csv", service_ms="200")


def test_a_column_name_that_yaml_cannot_hold_is_refused(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"t\\u0000": 1}\n')
    with pytest.raises(ConfigError, match="printable"):
        to_manifest(path, TraceOptions(time_column="t\0"), ManifestOptions(folder=tmp_path))


def test_a_file_name_with_quotes_and_words_of_yaml_is_kept(fixtures, tmp_path):
    trace = tmp_path / 'on: #1 "a".csv'
    trace.write_bytes((fixtures / "ticks.csv").read_bytes())
    path = tmp_path / "m.yaml"
    path.write_text(to_manifest(trace, TraceOptions(), ManifestOptions(folder=tmp_path)))
    manifest = load(path)
    assert manifest.name == "on-1-a"
    assert manifest.inputs[0].name == trace.name


def test_a_trace_of_more_than_a_year_is_refused(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("time\n2020-01-01 00:00:00\n2023-01-01 00:00:00\n")
    with pytest.raises(ConfigError, match=r"row 3: .*shorter than the longest run"):
        to_manifest(path, TraceOptions(), ManifestOptions(folder=tmp_path))


@pytest.mark.parametrize("name", ["ticks.csv", "grid.jsonl", "ended.csv"])
def test_a_run_of_the_manifest_admits_every_row_under_the_assumed_limits(manifest_of, name):
    _, manifest = manifest_of(name)
    observed = {entry["metric"]: entry["value"] for entry in run(manifest).observations if not entry["labels"]}
    rows = len(replayed(manifest)[0])
    assert (observed["arrivals"], observed["completed"], observed["shed"]) == (rows, rows, 0)
