"""Arrivals in order, every repair asked for and counted."""

from __future__ import annotations

import pytest

from sim.workload.traces import rows as rows_module
from sim.workload.traces.columns import MAX_SEGMENTS, TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.faults import FaultKind
from sim.workload.traces.rows import ArrivalReader
from tests.unit.traces.whole import load_table
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
    for way_out in ("--sort", "--drop-invalid", "--split-on-step-back takes row 5 as the start"):
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
    assert table.tally.repairs() == [
        "dropped: 3 for a step back in time (rows 5, 6, 7; in the first 'timestamp' was '0')"
    ]


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
    assert table.tally.repairs() == [
        "dropped: 2 for a missing or unusable size (rows 3, 4; in the first 'prompt_tokens' was '')"
    ]
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


def test_a_step_back_starts_another_segment_that_is_laid_behind_the_first(fixtures):
    table = table_of(fixtures / "two_weeks.jsonl", split_on_step_back=True)
    # 82 93 125 604453, then 0 27 93 moved by 604453 s; the first row is at 0.
    first = [0, 11 * S, 43 * S, 604_371 * S]
    assert table.at_ns.tolist() == [*first, 604_371 * S, 604_398 * S, 604_464 * S]
    assert table.principal.tolist() == [0, 1, 0, 2, 3, 3, 1]
    assert table.tally.repairs() == [
        "split: 2 segments, rows from 1 on: 4, rows from 5 on: 3 after a step back of 604453 s"
    ]
    apart = table_of(fixtures / "two_weeks.jsonl", split_on_step_back=True, segment_gap_seconds="0.5")
    assert apart.at_ns.tolist()[3:5] == [604_371 * S, 604_371 * S + S // 2]


@pytest.mark.parametrize(("segment", "lines", "at_s"), [(1, [1, 2, 3, 4], 604_371), (2, [5, 6, 7], 93)])
def test_one_segment_is_taken_alone_with_principals_of_its_own(fixtures, segment, lines, at_s):
    table = table_of(fixtures / "two_weeks.jsonl", split_on_step_back=True, segment=segment)
    assert table.lines.tolist() == lines
    assert int(table.at_ns[-1]) == at_s * S
    assert table.principals == len(set(table.principal.tolist()))
    assert table.tally.repairs()[-1] == f"left out: {7 - len(lines)} rows of the other segments"


def test_a_segment_that_is_not_there_is_refused(fixtures):
    with pytest.raises(ConfigError, match="segment: got 3; allowed: a segment from 1 to 2: the file steps back in"):
        table_of(fixtures / "two_weeks.jsonl", split_on_step_back=True, segment=3)


def test_a_file_that_never_steps_back_is_one_segment(fixtures):
    table = table_of(fixtures / "grid.jsonl", split_on_step_back=True)
    assert table.at_ns.tolist() == table_of(fixtures / "grid.jsonl").at_ns.tolist()
    assert table.tally.repairs() == []
    assert "no step back in time: there is one segment, and nothing was split" in table.remarks


def test_rows_that_are_a_little_late_again_and_again_are_no_segments(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts\n" + "".join(f"{k}\n{k - 1}\n" for k in range(1, 2 * MAX_SEGMENTS, 2)))
    with pytest.raises(ConfigError, match=f"row {2 * MAX_SEGMENTS + 1}: .*--sort puts them in order"):
        table_of(path, split_on_step_back=True)


def test_segments_end_to_end_stay_within_64_bits(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts_ns\n0\n9223372036854775807\n0\n1\n")
    with pytest.raises(ConfigError, match=r"row 5: .*allowed: segments that end to end are shorter than"):
        table_of(path, split_on_step_back=True)


def test_a_missing_size_counts_as_told_and_only_a_missing_one(fixtures, tmp_path):
    with pytest.raises(ConfigError, match=r"row 2, column 'bytes': got '-'; .*--missing-size N lets it count as N"):
        table_of(fixtures / "common.log")
    table = table_of(fixtures / "common.log", missing_size=7)
    assert table.tokens.tolist() == [500, 7, 1500]
    assert table.tally.repairs() == ["sizes filled in: 1 that are missing in the file"]
    with pytest.raises(ConfigError, match="row 4, column 'prompt_tokens': got '-3'"):
        table_of(fixtures / "holes.csv", missing_size=0)
    path = tmp_path / "trace.jsonl"
    path.write_text('{"ts": 1, "tokens": null}\n{"ts": 2}\n{"ts": 3, "tokens": " - "}\n{"ts": 4, "tokens": 5}\n')
    assert table_of(path, missing_size=2).tokens.tolist() == [2, 2, 2, 5]
    path.write_text('{"ts": 1, "tokens": false}\n')
    with pytest.raises(ConfigError, match="row 1, column 'tokens'"):
        table_of(path, tokens_columns=("tokens",), missing_size=2)


def test_an_access_log_is_read_in_utc_with_statuses_and_users(fixtures):
    path = fixtures / "access.log"
    with pytest.raises(ConfigError, match="row 3, column 'bytes': got '-'"):
        table_of(path)
    with pytest.raises(ConfigError, match=r"row 6: got 'this line was cut off"):
        table_of(path, tokens_columns=(), sort=True)
    reading = detect(path, TraceOptions(sort=True, drop_invalid=True, missing_size=0)).reading
    table = load_table(path, reading, status_column="status")
    # 23:59:59 and 00:00:02 lie in zone +0100; 23:00:04 in UTC is 00:00:04 there, one second behind 00:00:03.
    assert table.at_ns.tolist() == [0, 0, 3 * S, 4 * S, 5 * S, 7 * S]
    assert table.lines.tolist() == [1, 2, 3, 5, 4, 7]
    assert table.tokens.tolist() == [1800, 1800, 0, 96, 0, 120]
    assert table.principal.tolist() == [0, 0, 1, 3, 2, 1]
    assert dict(table.tally.statuses) == {"2xx": 2, "3xx": 1, "4xx": 2, "5xx": 1}
    assert (table.tally.pushed_back, table.tally.duplicates, table.tally.unnamed) == (2, 1, 1)
    assert table.tally.repairs() == [
        "dropped: 1 for a row that cannot be read (row 6)",
        "sizes filled in: 1 that are missing in the file",
        "sorted: 1 rows moved; steps back in time: 1, the largest 1 s at row 5",
    ]


def test_a_duration_that_a_line_does_not_have_is_named(fixtures):
    options = {"tokens_columns": (), "drop_invalid": False, "duration_column": "extra_1", "time_is": "end"}
    with pytest.raises(ConfigError, match=r"row 1, column 'extra_1': got None; allowed: a number of s"):
        table_of(fixtures / "access.log", **options)


def test_ends_of_an_nginx_log_give_starts_that_step_back(fixtures):
    path = fixtures / "access.ndjson"
    with pytest.raises(ConfigError, match=r"row 3, column 'msec': got '1700000004.000'.*steps back by 1\.999 s"):
        table_of(path)
    # Starts: 03.250 - 3.250 = 0; 03.500 - 0.001 = 3.499; 04.000 - 2.500 = 1.5.
    table = table_of(path, sort=True)
    assert table.at_ns.tolist() == [0, 3 * S // 2, 3_499_000_000]
    assert table.tokens.tolist() == [40, 12, 7]


def test_two_instants_never_differ_by_more_than_64_bits_hold(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("end_ns,duration_ns\n0,4611686018427387903\n0,4611686018427387904\n")
    with pytest.raises(ConfigError, match=r"row 3, column 'duration_ns'.*below 4611686018427387903 ns"):
        table_of(path, sort=True)


def test_equal_rows_of_two_segments_are_no_duplicates(tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("ts,tokens\n5,1\n5,2\n9,1\n5,3\n5,1\n5,1\n")
    table = table_of(path, split_on_step_back=True, segment_gap_seconds="1")
    assert table.tally.duplicates == 1  # the last row, equal to the one before it
