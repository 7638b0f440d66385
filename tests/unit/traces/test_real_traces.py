"""The figures of public traces, where a copy of them is at hand.

Set ``TOLLGATE_SHARED`` to the folder that holds ``data/traces``. The expected figures are those its README gives for
each source file; where the copy is only the head of its source, figures that depend on the rest are not compared.
"""

from __future__ import annotations

import json
import os
from decimal import ROUND_HALF_EVEN, Decimal
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sim.manifest import load
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.figures import zipf_exponent
from sim.workload.traces.inspect import inspect
from sim.workload.traces.replay import TraceSpec, replay
from sim.workload.traces.to_manifest import ManifestOptions, to_manifest
from tests.unit.traces.whole import load_table
from tollgate.core.errors import ConfigError

S = 10**9

WHOLE = {"azure_llm_code": "azure_llm_code.csv", "mooncake_synth": "mooncake_synthetic.jsonl"} | {
    "azurefn2021_200": "azurefn2021_200.csv"
}
"""Row of the README's table, and the file where it lies here in full."""


@pytest.fixture
def data():
    shared = os.environ.get("TOLLGATE_SHARED")
    if not shared or not (folder := Path(shared) / "data").is_dir():
        pytest.skip("TOLLGATE_SHARED does not name a folder with data/traces")
    return folder


@pytest.fixture
def traces(data):
    return data / "traces"


def as_printed(value, like):
    """Return a figure with as many places as the table has, in the table's own spelling."""
    if value is None:
        return "n/a"
    number = like.removesuffix(" %")
    scale = 100 if like.endswith(" %") else 1
    places = Decimal(1).scaleb(-len(number.partition(".")[2]))
    return f"{(Decimal(value) * scale).quantize(places, ROUND_HALF_EVEN)}{like[len(number) :]}"


@pytest.mark.parametrize("trace", WHOLE)
def test_the_figures_of_a_whole_file_are_those_of_its_readme(traces, trace):
    readme = (traces / "README.md").read_text()
    (line,) = [line for line in readme.splitlines() if line.startswith(f"| {trace} | ") and line.count("|") == 18]
    cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
    found = inspect(traces / WHOLE[trace], TraceOptions())
    ours = [
        found.rows,
        found.span_ns / S,
        found.rate_per_s,
        *found.dispersion.values(),
        found.gap_cv,
        found.gap_autocorrelation,
        found.count_autocorrelation,
        *found.peak.values(),
        found.tokens_top_share,
        found.principals if found.principals > 1 else None,
        found.principal_zipf,
        found.principal_top_share if found.principals > 1 else None,
    ]
    sizes = cells.pop(11)
    assert [as_printed(value, cell) for value, cell in zip(ours, cells, strict=True)] == cells
    if sizes == "n/a":
        assert found.tokens is None
        return
    # The table interpolates between the two sizes around a quantile. By the rule of this repository a quantile is a
    # size of the trace: the smallest with ceil(p n) at or below it, which is one of those two.
    ordered = np.sort(load_table(traces / WHOLE[trace], detect(traces / WHOLE[trace], TraceOptions()).reading).tokens)
    assert sizes == " / ".join(f"{np.percentile(ordered, percent):.0f}" for percent in (50, 95, 99, 100))
    for percent, quantile in ((50, found.tokens.median), (95, found.tokens.p95), (99, found.tokens.p99)):
        assert quantile == ordered[-(-len(ordered) * percent // 100) - 1]
        around = [np.percentile(ordered, percent, method=side) for side in ("lower", "higher")]
        assert quantile in around


def test_the_silences_and_line_ends_of_the_azure_code_trace_are_told(traces):
    figures = inspect(traces / "azure_llm_code.csv", TraceOptions())
    assert figures.gap_max_ns // S == 217
    assert any("217.168952 s before row 8102" in text for text in figures.warnings)
    assert any("8,819 of 8,820 lines end in CR LF" in text for text in figures.remarks)


def test_the_mooncake_head_lies_on_a_grid_of_three_seconds(traces):
    figures = inspect(traces / "mooncake_conversation_head.jsonl", TraceOptions())
    assert (figures.rows, figures.span_ns) == (7_473, 2_295 * S)
    assert figures.grid_ns == 3 * S
    assert (figures.ties_max, figures.peak[1]) == (23, 23)  # 28 in the whole source file
    assert any("dispersion and peak over 1 s show the grid" in text for text in figures.warnings)
    with (traces / "mooncake_conversation_head.jsonl").open() as stream:
        instants = [json.loads(line)["timestamp"] for line in stream]
    ties = sum(a == b for a, b in pairwise(instants))
    assert figures.gap_zero_share == pytest.approx(ties / 7_472)


def test_the_synthetic_mooncake_trace_lies_on_no_grid(traces):
    assert inspect(traces / "mooncake_synthetic.jsonl", TraceOptions()).grid_ns is None


@pytest.mark.parametrize(("name", "exponent"), [("m-mid", "1.52"), ("m-small", "1.46")])
def test_the_zipf_exponent_of_client_populations_is_that_of_the_readme(traces, name, exponent):
    lines = (traces / f"servegen_clients_{name}.csv").read_text().splitlines()[1:]
    rates = np.array([round(float(line.split(",")[2]) * 10**6) for line in lines])
    assert as_printed(zipf_exponent(rates[rates > 0]), exponent) == exponent


@pytest.mark.parametrize("name", ["servegen_clients_m-mid.csv", "servegen_clients_m-small.csv"])
def test_client_populations_are_no_arrivals(traces, name):
    with pytest.raises(ConfigError, match=r"got 'a population of clients.*it has no arrivals"):
        inspect(traces / name, TraceOptions())


def test_the_functions_trace_is_read_by_its_ends(traces):
    path = traces / "azurefn2021_200.csv"
    assert detect(path, TraceOptions()).reading.time_is == "end"
    table = load_table(path, detect(path, TraceOptions()).reading)
    assert (table.tally.steps_back, int((table.duration_ns == 0).sum())) == (0, 8)
    # Read by its ends as if they were starts, it is out of order at 83 places.
    ends = detect(path, TraceOptions(time_is="start", sort=True)).reading
    assert load_table(path, ends).tally.steps_back == 83


def test_the_nasa_log_is_read_by_its_hosts(traces):
    figures = inspect(traces / "nasa_aug95_100.log", TraceOptions())
    assert (figures.rows, figures.dropped, figures.tokens_zero) == (100, {}, 16)
    lines = (traces / "nasa_aug95_100.log").read_text().splitlines()
    assert figures.principals == len({line.split()[0] for line in lines})
    # The last line is of 00:02:04, the first of 00:00:01.
    assert figures.span_ns == 123 * S


def test_the_combined_log_names_its_oddities_one_by_one(data):
    path = data / "formats" / "access_combined.log"
    with pytest.raises(ConfigError, match="row 3, column 'bytes': got '-'"):
        inspect(path, TraceOptions())
    with pytest.raises(ConfigError, match=r"row 8, column 'time'.*steps back by 1 s"):
        inspect(path, TraceOptions(missing_size=0))
    table = load_table(path, detect(path, TraceOptions(missing_size=0, sort=True)).reading)
    # 01:59:59 -0500 and 03:00:00 -0400 are one second apart: rows 5 and 6.
    instants = dict(zip(table.lines.tolist(), table.at_ns.tolist(), strict=True))
    assert instants[6] - instants[5] == S
    assert (table.tally.duplicates, table.tally.unnamed, table.tally.missing_sizes) == (0, 2, 1)
    assert table.principals == 5


def test_the_json_log_is_read_by_starts(data):
    path = data / "formats" / "access_json.ndjson"
    figures = inspect(path, TraceOptions(sort=True))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    starts = sorted(Decimal(row["msec"]) - Decimal(str(row["request_time"])) for row in rows)
    assert figures.span_ns == (starts[-1] - starts[0]) * S
    assert figures.moved > 0


@pytest.mark.parametrize(("version", "rows"), [("v1", 5), ("v2", 3)])
def test_both_layouts_of_burstgpt_are_read(data, version, rows):
    assert inspect(data / "formats" / f"burstgpt_{version}_layout.csv", TraceOptions()).rows == rows


@pytest.mark.parametrize(
    "name",
    [
        "k6_output.csv",
        "k6_output.json",
        "litellm_spend_logs.json",
        "locust_stats.csv",
        "locust_stats_history.csv",
        "openai_usage_api.json",
        "openai_usage_export.csv",
        "otlp_spans.json",
        "prometheus_query_range.json",
        "sample.har",
        "vllm_bench_detailed.json",
    ],
)
def test_what_is_no_list_of_requests_is_refused(data, name):
    with pytest.raises(ConfigError, match=r"one row for each request|one JSON object a line"):
        inspect(data / "formats" / name, TraceOptions())


def test_kind_4_row_3801_of_ragpulse_steps_back(traces):
    path = traces / "ragpulse_head.jsonl"
    with pytest.raises(ConfigError, match=r"row 3801, column 'timestamp'.*row 3801 steps back by 604453 s"):
        inspect(path, TraceOptions())
    merged = inspect(path, TraceOptions(sort=True))
    assert (merged.rows, merged.span_ns) == (6_400, 604_453 * S)
    assert merged.repairs == ("sorted: 2,600 rows moved; steps back in time: 1, the largest 604453 s at row 3801",)
    split = inspect(path, TraceOptions(split_on_step_back=True))
    assert split.segments == (3_800, 2_600)
    assert "rows from 3801 on: 2,600 after a step back of 604453 s" in split.repairs[0]
    halved = inspect(path, TraceOptions(drop_invalid=True))
    assert halved.rows == 3_800


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("azure_llm_code.csv", {}, 8_819),
        ("azure_llm_conv_head.csv", {}, 16_174),
        ("mooncake_conversation_head.jsonl", {}, 7_473),
        ("mooncake_synthetic.jsonl", {}, 3_993),
        ("ragpulse_head.jsonl", {"sort": True}, 6_400),
        ("ragpulse_head.jsonl", {"split_on_step_back": True}, 6_400),
        ("ragpulse_head.jsonl", {"split_on_step_back": True, "segment": 2}, 2_600),
        ("nasa_aug95_100.log", {}, 100),
        ("azurefn2021_200.csv", {}, 199),
    ],
)
def test_a_manifest_of_a_public_trace_loads_and_replays_every_row(traces, tmp_path, name, options, rows):
    path = tmp_path / "m.yaml"
    path.write_text(to_manifest(traces / name, TraceOptions(**options), ManifestOptions(folder=tmp_path)))
    manifest = load(path)
    arrivals = manifest.streams[0].arrivals
    instants = [at_ns for block in replay(TraceSpec(**arrivals.options), arrivals.path) for at_ns in block.at_ns]
    assert len(instants) == rows
    assert instants == sorted(instants)
    assert instants[0] == 0
    assert instants[-1] < manifest.horizon_ns
