"""The figures of public traces, where a copy of them is at hand.

Set ``TOLLGATE_SHARED`` to the folder that holds ``data/traces``. The expected figures are those its README gives for
each source file; where the copy is only the head of its source, figures that depend on the rest are not compared.
"""

from __future__ import annotations

import csv
import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from sim.manifest import load
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.inspect import inspect
from sim.workload.traces.replay import TraceSpec, replay
from sim.workload.traces.to_manifest import ManifestOptions, to_manifest
from tollgate.core.errors import ConfigError

S = 10**9


@pytest.fixture
def traces():
    shared = os.environ.get("TOLLGATE_SHARED")
    if not shared or not (folder := Path(shared) / "data" / "traces").is_dir():
        pytest.skip("TOLLGATE_SHARED does not name a folder with data/traces")
    return folder


def to_places(value, places):
    return None if value is None else round(value, places)


def test_figures_of_the_azure_code_trace(traces):
    figures = inspect(traces / "azure_llm_code.csv", TraceOptions())
    assert (figures.rows, figures.span_ns // S) == (8_819, 3_435)
    assert to_places(figures.rate_per_s, 4) == 2.5664
    assert {window: to_places(value, 2) for window, value in figures.dispersion.items()} == {
        1: 13.19,
        10: 71.64,
        60: 163.96,
    }
    assert to_places(figures.gap_cv, 2) == 13.15
    assert to_places(figures.gap_autocorrelation, 4) == -0.0028
    assert figures.peak == {1: 67, 10: 327}
    assert (figures.tokens.median, figures.tokens.p99, figures.tokens.max) == (1_493, 7_462, 7_841)
    assert to_places(figures.tokens_top_share, 3) == 0.036
    assert figures.gap_max_ns // S == 217
    assert any("217.168952 s before row 8102" in text for text in figures.warnings)
    assert any("8,819 of 8,820 lines end in CR LF" in text for text in figures.remarks)


def test_the_p95_of_the_azure_code_trace_follows_our_rule(traces):
    # The table gives 7331 by another rule. Ours: the ceil(0.95 * 8819) = 8379th of the sizes in order.
    with (traces / "azure_llm_code.csv").open(newline="") as stream:
        sizes = sorted(int(row["ContextTokens"]) + int(row["GeneratedTokens"]) for row in csv.DictReader(stream))
    assert inspect(traces / "azure_llm_code.csv", TraceOptions()).tokens.p95 == sizes[8_378]


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


def test_the_synthetic_mooncake_trace_looks_like_poisson_arrivals(traces):
    figures = inspect(traces / "mooncake_synthetic.jsonl", TraceOptions())
    assert (figures.rows, figures.span_ns // S) == (3_993, 1_022)
    assert to_places(figures.rate_per_s, 4) == 3.9060
    assert {window: to_places(value, 2) for window, value in figures.dispersion.items()} == {
        1: 1.09,
        10: 1.18,
        60: 1.19,
    }
    assert (to_places(figures.gap_cv, 2), to_places(figures.gap_autocorrelation, 2)) == (1.01, 0.02)
    assert figures.peak == {1: 13, 10: 55}
    assert (figures.tokens.median, figures.tokens.max) == (11_646, 191_386)
    assert figures.grid_ns is None


def test_the_functions_trace_is_read_by_its_ends(traces):
    figures = inspect(traces / "azurefn2021_200.csv", TraceOptions())
    assert (figures.rows, figures.span_ns // S, to_places(figures.rate_per_s, 4)) == (199, 1_200, 0.1650)
    assert {window: to_places(value, 2) for window, value in figures.dispersion.items()} == {
        1: 8.35,
        10: 8.37,
        60: 10.19,
    }
    assert (to_places(figures.gap_cv, 2), to_places(figures.gap_autocorrelation, 3)) == (1.86, 0.312)
    assert figures.peak == {1: 22, 10: 24}
    assert (figures.principals, to_places(figures.principal_top_share, 3)) == (13, 0.296)


def test_kind_4_row_3801_of_ragpulse_steps_back(traces):
    path = traces / "ragpulse_head.jsonl"
    with pytest.raises(ConfigError, match=r"row 3801, column 'timestamp'.*row 3801 steps back by 604453 s"):
        inspect(path, TraceOptions())
    merged = inspect(path, TraceOptions(sort=True))
    assert (merged.rows, merged.span_ns) == (6_400, 604_453 * S)
    assert merged.repairs == ("sorted: 2,600 rows moved; steps back in time: 1, the largest 604453 s at row 3801",)
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
