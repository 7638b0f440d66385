from __future__ import annotations

import csv
import json

import pytest

from benchmarks.trace_files import ACTIONS, COLUMNS, csv_floor, jsonl_floor, write
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.inspect import inspect


def test_both_forms_hold_the_same_rows_and_each_floor_reads_them_all(tmp_path):
    table, lines = tmp_path / "t.csv", tmp_path / "t.jsonl"
    write(table, 300)
    write(lines, 300)
    with table.open(newline="") as stream:
        rows = [[int(row[0]), row[1], int(row[2]), int(row[3])] for row in list(csv.reader(stream))[1:]]
    assert rows == [[json.loads(line)[name] for name in COLUMNS] for line in lines.read_text().splitlines()]
    total = sum(at_ms + tokens_in + tokens_out for at_ms, _, tokens_in, tokens_out in rows)
    assert csv_floor(table) == jsonl_floor(lines) == total


def test_the_generated_trace_needs_no_repair_and_is_no_grid(tmp_path):
    path = tmp_path / "t.csv"
    write(path, 2_000)
    found = inspect(path, TraceOptions())
    assert (found.rows, found.principals, found.repairs, found.grid_ns) == (2_000, 200, (), None)
    assert 80 < found.rate_per_s < 130


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_goes_through_the_whole_trace(tmp_path, action):
    path = tmp_path / "t.csv"
    write(path, 100)
    assert ACTIONS[action](path) >= 100
    with path.open("a") as stream:
        stream.write("nonsense,t1,1,1\n")
    with pytest.raises(Exception, match="row 102"):
        ACTIONS[action](path)
