"""Lines of access logs taken apart."""

from __future__ import annotations

import pytest

from sim.workload.traces.clf_rows import fields
from sim.workload.traces.faults import Fault
from sim.workload.traces.lines import Row
from sim.workload.traces.reader import RowReader

COMMON = 'h - u [01/Mar/2024:00:00:02 +0100] "GET / HTTP/1.0" 200 12'


def test_a_common_line_has_seven_fields():
    assert fields('h.example ids u [01/Mar/2024:00:00:02 +0100] "GET /a b HTTP/1.0" 200 12') == {
        "host": "h.example",
        "ident": "ids",
        "user": "u",
        "time": "01/Mar/2024:00:00:02 +0100",
        "request": "GET /a b HTTP/1.0",
        "status": "200",
        "bytes": "12",
    }


def test_a_combined_line_has_a_referrer_and_an_agent_and_whatever_the_site_adds():
    line = f'{COMMON} "http://r/" "agent \\"x\\" \\\\" 0.250 "eu \\" west" -'
    assert list(fields(line).items())[6:] == [
        ("referrer", "http://r/"),
        ("agent", 'agent \\"x\\" \\\\'),
        ("extra_1", "0.250"),
        ("extra_2", 'eu \\" west'),
        ("extra_3", "-"),
    ]


def test_fields_behind_a_common_line_are_extra_ones_unless_two_are_quoted():
    assert list(fields(f'{COMMON} 0.250 "eu"').items())[6:] == [("extra_1", "0.250"), ("extra_2", "eu")]
    assert list(fields(f'{COMMON} "eu" 0.250').items())[6:] == [("extra_1", "eu"), ("extra_2", "0.250")]


def test_a_user_written_as_a_dash_is_nobody_and_a_size_written_so_stays_unknown():
    found = fields('h - - [t] "GET /" 304 -')
    assert "user" not in found
    assert found["bytes"] == "-"


def test_a_user_may_hold_spaces_and_brackets_of_its_own():
    assert fields('h - eve [x] adams [t] "GET /" 200 1')["user"] == "eve [x] adams"
    assert fields('h - ann lee [t] "GET /" 200 1')["user"] == "ann lee"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "h - u",
        'h - u [t] "GET /" 200',
        'h - u [t] "GET / 200 12',
        'h - u [t] "GET /" 20x 12',
        'h - u [t] "GET /" 200 -12',
        'h - u [t] "GET /" 200 12x',
        'h - u t "GET /" 200 12',
        'h - u [] "GET /" 200 12',
        f'{COMMON} "open',
        f'{COMMON} "a""b"',
        f'{COMMON} "a\\',
    ],
)
def test_what_is_no_line_of_an_access_log(line):
    assert fields(line) is None


@pytest.mark.parametrize("unit", [" [x", ' [x] "', '"', "\\", " ", '\\"', ' "a', "h "])
def test_no_line_takes_more_than_linear_time(unit):
    # A quadratic match of a line of a mebibyte would take hours; the suite would not end.
    fields("h - u" + unit * ((1 << 20) // len(unit)))
    fields(COMMON + unit * ((1 << 20) // len(unit)))


def test_lines_that_cannot_be_taken_apart_are_faults_with_their_number(fixtures):
    found = list(RowReader(fixtures / "access.log", "clf"))
    assert [each.line for each in found] == [1, 2, 3, 4, 5, 6, 7]
    assert [each.line for each in found if isinstance(each, Fault)] == [6]
    assert [each.cells.get("user") for each in found if isinstance(each, Row)] == [
        "ann",
        "ann",
        "bob",
        None,
        "eve adams",
        "bob",
    ]
