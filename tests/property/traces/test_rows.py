"""Whatever order rows come in, a replay is in the order of time and loses none."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.replay import TraceSpec, replay
from tests.unit.traces.whole import load_table
from tollgate.core.errors import ConfigError

rows = st.lists(
    st.tuples(st.integers(0, 5_000), st.integers(0, 9), st.sampled_from(["0000010", "0000008", "8", "é"])),
    min_size=1,
    max_size=40,
)
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
MS = 10**6


def written(folder, found, form):
    path = folder / f"trace.{form}"
    if form == "csv":
        path.write_text("ts_ms,tokens,tenant\n" + "".join(f"{at},{size},{who}\n" for at, size, who in found))
    else:
        path.write_text(
            "".join(json.dumps({"ts_ms": at, "tokens": size, "tenant": who}) + "\n" for at, size, who in found)
        )
    return path


@same_folder
@given(found=rows, form=st.sampled_from(["csv", "jsonl"]), block_rows=st.integers(1, 50))
def test_a_sorted_replay_is_the_stable_sort_of_the_rows(tmp_path, found, form, block_rows):
    path = written(tmp_path, found, form)
    reading = detect(path, TraceOptions(sort=True)).reading
    spec = TraceSpec(**vars(reading), file=path.name, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    blocks = list(replay(spec, path, block_rows=block_rows))
    replayed = [row for block in blocks for row in zip(block.at_ns, block.tokens, block.principal, strict=True)]
    numbers = {who: number for number, who in enumerate(dict.fromkeys(who for _, _, who in found))}
    expected = sorted(found, key=lambda row: row[0])
    first = expected[0][0]
    assert replayed == [((at - first) * MS, size, numbers[who]) for at, size, who in expected]


@same_folder
@given(found=rows)
def test_rows_go_through_in_order_or_the_first_step_back_is_named(tmp_path, found):
    path = written(tmp_path, found, "csv")
    reading = detect(path, TraceOptions()).reading
    step_back = next((k for k in range(1, len(found)) if found[k][0] < found[k - 1][0]), None)
    if step_back is None:
        assert load_table(path, reading).lines.tolist() == list(range(2, len(found) + 2))
    else:
        with pytest.raises(ConfigError, match=f"row {step_back + 2}, column 'ts_ms'"):
            load_table(path, reading)


@same_folder
@given(found=rows)
def test_dropping_keeps_the_running_maxima_and_counts_the_rest(tmp_path, found):
    path = written(tmp_path, found, "csv")
    table = load_table(path, detect(path, TraceOptions(drop_invalid=True)).reading)
    kept = [k for k in range(len(found)) if found[k][0] == max(at for at, _, _ in found[: k + 1])]
    assert table.lines.tolist() == [k + 2 for k in kept]
    assert table.tally.dropped.total() == len(found) - len(kept)


@same_folder
@given(found=rows, gap_ms=st.sampled_from([0, 1, 700]), block_rows=st.integers(1, 50))
def test_segments_are_cut_at_every_step_back_and_laid_end_to_end(tmp_path, found, gap_ms, block_rows):
    path = written(tmp_path, found, "csv")
    segments = [[found[0]]]
    for before, row in pairwise(found):
        if row[0] < before[0]:
            segments.append([])
        segments[-1].append(row)
    laid = []
    for segment in segments:
        start = laid[-1] + gap_ms if laid else 0
        laid += [start + at - segment[0][0] for at, _, _ in segment]
    options = TraceOptions(split_on_step_back=True, segment_gap_seconds=f"0.{gap_ms:03d}")
    table = load_table(path, detect(path, options).reading, block_rows=block_rows)
    assert table.at_ns.tolist() == [at * MS for at in laid]
    assert table.tokens.tolist() == [size for _, size, _ in found]
    assert [segment.rows for segment in table.tally.segments] == [len(segment) for segment in segments]
    for number, segment in enumerate(segments, 1):
        alone = TraceOptions(split_on_step_back=True, segment=number)
        table = load_table(path, detect(path, alone).reading, block_rows=block_rows)
        assert table.at_ns.tolist() == [(at - segment[0][0]) * MS for at, _, _ in segment]
        assert table.tally.apart == len(found) - len(segment)
