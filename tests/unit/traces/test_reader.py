"""Bytes to rows: encodings, line ends, quoting, caps."""

from __future__ import annotations

import hashlib

import pytest

from sim.workload.traces.faults import Fault
from sim.workload.traces.lines import MAX_COLUMNS, MAX_LINE_BYTES, Row
from sim.workload.traces.reader import RowReader, first_rows, sniff_format
from tollgate.core.errors import ConfigError


@pytest.fixture
def trace(tmp_path):
    def write(content, name="trace.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines_and_values(reader):
    return [(row.line, list(row.cells.values())) for row in reader if isinstance(row, Row)]


def test_cr_lf_and_a_missing_final_line_end_are_read_and_reported(trace):
    reader = RowReader(trace(b"t,n\r\n1,2\r\n3,4"), "csv")
    assert lines_and_values(reader) == [(2, ["1", "2"]), (3, ["3", "4"])]
    assert (reader.lines.crlf, reader.lines.final_newline) == (2, False)
    assert reader.remarks() == [
        "2 of 3 lines end in CR LF",
        "the last line has no line end; it was read like any other",
    ]


def test_a_byte_order_mark_is_skipped_and_reported(trace):
    reader = RowReader(trace(b"\xef\xbb\xbft,n\n1,2\n"), "csv")
    assert [row.cells for row in reader] == [{"t": "1", "n": "2"}]
    assert reader.remarks() == ["the file starts with a UTF-8 byte order mark, which was skipped"]


def test_blank_lines_are_skipped_and_counted(trace):
    reader = RowReader(trace('{"t": 1}\n\n{"t": 2}\n  \n', "t.jsonl"), "jsonl")
    assert [row.line for row in reader] == [1, 3]
    assert reader.remarks() == ["blank lines skipped: 2"]


def test_the_digest_is_that_of_the_file(trace):
    content = b"\xef\xbb\xbft,n\r\n1,2\r\n\r\n3,4"
    reader = RowReader(trace(content), "csv")
    list(reader)
    assert reader.sha256 == hashlib.sha256(content).hexdigest()


def test_quoted_cells_follow_rfc_4180_and_a_row_is_named_by_its_first_line(trace):
    reader = RowReader(trace('t,who\n1,"a, ""b""\nc"\n2,d\n'), "csv")
    assert lines_and_values(reader) == [(2, ["1", 'a, "b"\nc']), (4, ["2", "d"])]


def test_a_row_with_other_cells_than_the_header_is_a_fault_with_its_line(trace):
    found = list(RowReader(trace("t,n\n1,2\n3\n4,5,6\n"), "csv"))
    faults = [(fault.line, fault.got) for fault in found if isinstance(fault, Fault)]
    assert faults == [(3, "1 cells"), (4, "3 cells")]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('t,n\n1,"2\n3,4\n', "row 2"),  # a quote that is never closed would swallow the rest
        ('t,n\n1,2\n3,"4"x\n', "row 3"),
        (b"t,n\n1,\xff\n", "row 2, byte 3"),
        (b"\xff\xfet\x00", "row 1"),
        ("t,t\n1,2\n", "row 1"),
        ("1,2\n3,4\n", "row 1"),
        ("t" + ",x" * MAX_COLUMNS + "\n", "row 1"),
        (b"t,n\n1," + b"2" * MAX_LINE_BYTES + b"\n", "row 2"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_what_leaves_no_next_row_stops_the_reading(trace, content, where):
    path = trace(content)
    with pytest.raises(ConfigError) as caught:
        list(RowReader(path, "csv"))
    assert (caught.value.path, caught.value.file) == (where, str(path))


@pytest.mark.parametrize(
    "line",
    [
        '{"t": 1',
        "[1]",
        "7",
        '{"t": NaN}',
        '{"t": 1, "t": 2}',
        '{"t": ' + "[" * 200_000 + "}",
        "{" + ", ".join(f'"k{k}": 0' for k in range(MAX_COLUMNS + 1)) + "}",
    ],
)
def test_a_json_line_that_is_no_plain_object_is_a_fault(trace, line):
    row, fault = RowReader(trace('{"t": 0}\n' + line + "\n"), "jsonl")
    assert isinstance(row, Row)
    assert isinstance(fault, Fault)
    assert fault.line == 2
    assert len(str(fault.error("t.jsonl"))) < 400


def test_a_json_array_is_told_from_json_lines(trace):
    with pytest.raises(ConfigError, match="one JSON object a line; a JSON array is not read"):
        list(RowReader(trace('[{"t": 0},\n{"t": 1}]\n'), "jsonl"))


def test_json_numbers_keep_every_digit(trace):
    (row,) = RowReader(trace('{"t": 9007199254740993, "d": 0.1000, "who": "0000010"}\n'), "jsonl")
    assert list(row.cells.values()) == ["9007199254740993", "0.1000", "0000010"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", "", "csv"),
        ("a.JSONL", "", "jsonl"),
        ("a.ndjson", "", "jsonl"),
        ("a.txt", '\ufeff {"t": 1}', "jsonl"),
        ("a.txt", "t,n\n", "csv"),
    ],
)
def test_the_format_is_told_from_suffix_or_first_character(trace, name, content, expected):
    assert sniff_format(trace(content, name)) == expected


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="got 'a folder'"):
        list(RowReader(tmp_path, "csv"))
    with pytest.raises(ConfigError, match="No such file"):
        sniff_format(tmp_path / "none.txt")


def test_first_rows_of_json_lines_name_every_key_that_appears(trace):
    names, rows = first_rows(trace('{"t": 1}\n{"t": 2, "who": "a"}\n', "t.jsonl"), "jsonl", 10)
    assert names == ("t", "who")
    assert len(rows) == 2


def test_a_file_of_which_no_row_can_be_read_is_refused_by_its_first_row(trace):
    path = trace('{\n  "t": 1\n}\n', "pretty.jsonl")
    with pytest.raises(ConfigError, match=r"row 1: got '{'; allowed: one JSON object a line"):
        first_rows(path, "jsonl", 10)
