"""Arrivals in order, every repair asked for and counted."""

from __future__ import annotations

import pytest

from sim.workload.traces import rows as rows_module
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.faults import FaultKind
from sim.workload.traces.rows import ArrivalReader, load_table
from tollgate.core.errors import ConfigError

S = 10**9


def table_of(path, **options):
    return load_table(path, detect(path, TraceOptions(**options)).reading)


def test_ticks_of_100_ns_are_kept_across_midnight(fixtures):
    table = table_of(fixtures / "ticks.csv")
    assert table.at_ns.tolist() == [0, 500_000_000, 500_000_100, 1_250_000_000, 2_000_000_000, 3_500_000_000]
    assert table.tokens.tolist() == [110, 220, 330, 440, 550, 660]
    assert table.lines.tolist() == [2, 3, 4, 5, 6, 7]
    assert "the times carry no zone" in table.remarks[-1]


def test_arrivals_at_one_instant_keep_the_order_of_the_file_and_duplicates_are_kept_and_counted(fixtures):
    table = table_of(fixtures / "grid.jsonl")
    assert table.at_ns.tolist() == [0, 0, 0, 3 * S, 6 * S, 6 * S, 9 * S]
    assert table.tokens.tolist() == [120, 930, 120, 300, 440, 440, 85]
    assert table.tally.duplicates == 1  # rows 5 and 6 differ in a column that is not used


def test_kind_4_a_step_back_is_refused_with_row_and_step_and_the_ways_out(fixtures):
    with pytest.raises(ConfigError) as caught:
        table_of(fixtures / "two_weeks.jsonl")
    message = str(caught.value)
    assert "row 5, column 'timestamp': got '0'" in message
    assert "steps back by 604453 s" in message
    for way_out in ("--sort", "--drop-invalid", "split the file before row 5"):
        assert way_out in message


def test_sorting_merges_the_captures_and_counts_the_rows_moved(fixtures):
    table = table_of(fixtures / "two_weeks.jsonl", sort=True)
    assert table.at_ns.tolist() == [0, 27 * S, 82 * S, 93 * S, 93 * S, 125 * S, 604_453 * S]
    assert table.lines.tolist() == [5, 6, 1, 2, 7, 3, 4]  # row 2 before row 7: one instant, order of the file
    assert table.principal.tolist() == [3, 3, 0, 1, 1, 0, 2]
    assert table.tally.repairs() == ["sorted: 3 rows moved; steps back in time: 1, the largest 604453 s at row 5"]


def test_dropping_leaves_out_every_row_that_is_behind(fixtures):
    table = table_of(fixtures / "two_weeks.jsonl", drop_invalid=True)
    assert table.lines.tolist() == [1, 2, 3, 4]
    assert table.principals == 3  # an id that only dropped rows name is none
    assert table.tally.repairs() == ["dropped: 3 for a step back in time (the first is row 5)"]


@pytest.mark.parametrize(("row", "cell"), [(3, "''"), (4, "'-3'")])
def test_a_missing_or_negative_size_is_refused_with_row_and_column(fixtures, tmp_path, row, cell):
    content = (fixtures / "holes.csv").read_text().splitlines()
    path = tmp_path / "holes.csv"
    path.write_text("\n".join([content[0], content[1], content[row - 1]]))
    with pytest.raises(ConfigError, match=f"row 3, column 'prompt_tokens': got {cell}; allowed: a whole number from 0"):
        table_of(path)


def test_rows_without_a_usable_size_are_dropped_and_counted(fixtures):
    table = table_of(fixtures / "holes.csv", drop_invalid=True)
    assert (table.lines.tolist(), table.tokens.tolist()) == ([2, 5, 6], [15, 25, 27])
    assert table.tally.repairs() == ["dropped: 2 for a missing or unusable size (the first is row 3)"]
    assert "the file starts with a UTF-8 byte order mark, which was skipped" in table.remarks


def test_c128_ids_stay_the_texts_they_are(fixtures):
    table = table_of(fixtures / "holes.csv", drop_invalid=True)
    assert table.principal.tolist() == [0, 1, 2]  # 0000010, 0000008 and 8 are three


def test_an_end_minus_its_duration_is_the_arrival(fixtures):
    table = table_of(fixtures / "ended.csv")
    assert table.at_ns.tolist() == [0, S, 3 * S // 2, 4 * S]
    assert table.duration_ns.tolist() == [3 * S, S // 2, S // 4, 0]
    assert table.tally.cut == 2


def test_ends_out_of_order_are_judged_by_their_starts(fixtures):
    with pytest.raises(ConfigError, match=r"row 3, column 'end_timestamp'.*steps back by 1\.5 s"):
        table_of(fixtures / "ended.csv", time_is="start")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ('{"t": null, "tokens": 1}', FaultKind.TIME),
        ('{"t": true, "tokens": 1}', FaultKind.TIME),
        ('{"t": 1e400, "tokens": 1}', FaultKind.TIME),
        ('{"t": "NaN", "tokens": 1}', FaultKind.TIME),
        ('{"t": -1, "tokens": 1}', FaultKind.TIME),
        ('{"t": 5, "tokens": 1.5}', FaultKind.SIZE),
        ('{"t": 5, "tokens": [1]}', FaultKind.SIZE),
        ('{"t": 5, "tokens": 9007199254740992}', FaultKind.SIZE),
        ('{"t": 5}', FaultKind.SIZE),
        ('{"t": 4, "tokens": 1}', FaultKind.ORDER),
        ("not json", FaultKind.SHAPE),
    ],
)
def test_an_unusable_row_stops_the_import_or_is_counted(tmp_path, line, kind):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"t": 5, "tokens": 1}\n' + line + "\n")
    options = {"time_column": "t", "time_unit": "ms"}
    with pytest.raises(ConfigError, match="row 2"):
        table_of(path, **options)
    table = table_of(path, drop_invalid=True, **options)
    assert (table.tally.rows, dict(table.tally.dropped)) == (1, {kind: 1})


def test_the_sum_of_sizes_may_not_leave_exact_integers(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts,input_tokens,output_tokens\n1,9007199254740991,1\n")
    with pytest.raises(ConfigError, match="row 2, column 'output_tokens'"):
        table_of(path)


def test_a_trace_of_which_nothing_is_left_is_refused(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts,tokens\nx,1\n")
    with pytest.raises(ConfigError, match="at least one arrival"):
        table_of(path, drop_invalid=True)


def test_rows_that_name_no_principal_count_as_one_of_their_own(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text('{"ts": 1, "team": "a"}\n{"ts": 2}\n{"ts": 3, "team": null}\n{"ts": 4, "team": ""}\n')
    table = table_of(path)
    assert table.principal.tolist() == [0, 1, 1, 1]
    assert "rows that name no principal: 3, put together under one" in table.remarks


def test_a_column_of_request_ids_is_not_taken_for_principals(tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "MAX_PRINCIPALS", 2)
    path = tmp_path / "trace.csv"
    path.write_text("ts,user\n1,a\n2,b\n3,c\n")
    with pytest.raises(ConfigError, match="row 4, column 'user': got 'c'; allowed: at most 2 principals"):
        table_of(path)


def test_rows_are_read_one_at_a_time(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts,tokens\n1,1\n2,x\n")
    arrivals = iter(ArrivalReader(path, detect(path, TraceOptions()).reading))
    assert next(arrivals).tokens == 1
    with pytest.raises(ConfigError, match="row 3"):
        next(arrivals)
