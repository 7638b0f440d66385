"""Times and lengths, exact to the nanosecond."""

from __future__ import annotations

import pytest

from sim.workload.traces.faults import BadCellError
from sim.workload.traces.timestamps import (
    DateTimeParser,
    JsonNumber,
    LengthParser,
    guess_unit,
    name_words,
    seconds_text,
    without_unit,
)

S = 10**9
DAY = 86_400 * S


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01 00:00:00", 0),
        ("1970-01-02T00:00:00Z", DAY),
        ("2000-03-01 00:00:00", 11_017 * DAY),  # 30 years, 7 leap days, and 60 days of a leap year
        ("1970-01-01 00:00:01.5", S + S // 2),
        ("1970-01-01 00:00:01,000000001", S + 1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00-0730", 27_000 * S),
        ("1970-01-01t00:00:02z", 2 * S),
    ],
)
def test_a_date_time_is_read_exactly(text, ns):
    assert DateTimeParser().parse(text) == ns


def test_c127_seven_fraction_digits_are_kept():
    parser = DateTimeParser()
    first = parser.parse("2023-11-16 18:17:03.9799600")
    assert first % S == 979_960_000
    assert parser.parse("2023-11-16 18:17:03.9799601") == first + 100
    assert parser.cut == 0


def test_c127_digits_beyond_a_nanosecond_are_cut_counted_and_keep_the_order():
    parser = DateTimeParser()
    texts = ["2023-11-16T18:17:05.9999999-07:00", "2023-11-16T18:17:05.99999999919-07:00", "2023-11-16T18:17:06-07:00"]
    instants = [parser.parse(text) for text in texts]
    assert [instant % S for instant in instants] == [999_999_900, 999_999_999, 0]
    assert instants == sorted(instants)
    assert parser.cut == 1


def test_zeros_beyond_a_nanosecond_lose_nothing():
    parser = DateTimeParser()
    parser.parse("2023-11-16 18:17:03.97996000000000")
    assert parser.cut == 0


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023-11-16",
        "2023-02-29 00:00:00",
        "2023-13-01 00:00:00",
        "2023-11-16 24:00:00",
        "2023-11-16 23:60:00",
        "2023-11-16 23:59:60",
        "2023-11-16T00:00:00+24:00",
        "2023-11-16 00:00:00.",
        "1969-12-31 23:59:59",
        "2262-04-12 00:00:00",
        "0000-01-01 00:00:00",
        "16/11/2023 00:00:00",
        "1700000000",
        "\uff12\uff10\uff12\uff13-11-16 00:00:00",  # full-width digits
    ],
)
def test_what_is_no_usable_date_time_is_refused(text):
    with pytest.raises(BadCellError):
        DateTimeParser().parse(text)


@pytest.mark.parametrize(
    ("first", "second"),
    [("2023-11-16 00:00:00", "2023-11-16T00:00:01Z"), ("2023-11-16T00:00:00Z", "2023-11-16 00:00:01")],
)
def test_times_with_and_without_a_zone_do_not_mix(first, second):
    parser = DateTimeParser()
    parser.parse(first)
    with pytest.raises(BadCellError, match="mixes both"):
        parser.parse(second)


@pytest.mark.parametrize(
    ("unit", "text", "ns"),
    [
        ("s", "82", 82 * S),
        ("s", "0.07949090003967285", 79_490_900),
        ("s", "1699999999.123456789", 1_699_999_999_123_456_789),
        ("s", "1.5e3", 1_500 * S),
        ("s", "15E-1", S + S // 2),
        ("s", "7.", 7 * S),
        ("ms", "2295000", 2_295 * S),
        ("ms", "0.5", 500_000),
        ("us", "1700000000000001", 1_700_000_000_000_001_000),
        ("ns", "9007199254740993", 9_007_199_254_740_993),  # 2^53 + 1: a double would lose the last digit
        ("ns", "0000010", 10),
    ],
)
def test_a_number_is_read_in_its_unit_without_a_float(unit, text, ns):
    assert LengthParser(unit).parse(text) == ns


@pytest.mark.parametrize(
    "text",
    ["", "-1", "+1", "NaN", "inf", "1e400", "1e99", "0x10", "1_000", "1,5", "9223372037", ".5", "twelve", "1" * 41],
)
def test_what_is_no_usable_number_is_refused(text):
    with pytest.raises(BadCellError, match="a number of s, 0 or more, below 9223372036"):
        LengthParser("s").parse(text)


def test_cut_numbers_are_counted():
    parser = LengthParser("ns")
    assert [parser.parse(text) for text in ("1.9", "2", "2.0")] == [1, 2, 2]
    assert parser.cut == 1


@pytest.mark.parametrize(
    ("name", "samples", "unit", "certain"),
    [
        ("TIMESTAMP", ["2023-11-16 18:17:03.9799600"], "date-time", True),
        ("arrival_ms", ["5"], "ms", True),
        ("startTimeUnixNano", ["1700000000000000000"], "ns", True),
        ("ts", ["1700000000.25"], "s", True),
        ("ts", ["1700000000000"], "ms", True),
        ("ts", ["1700000000000000"], "us", True),
        ("ts", ["1700000000000000000"], "ns", True),
        ("timestamp", [JsonNumber("0"), JsonNumber("3000")], "ms", False),
        ("timestamp", [JsonNumber("0"), JsonNumber("0.5")], "s", False),
        ("timestamp", ["82", "93"], "s", False),
        ("timestamp", ["n/a", "2023-11-16T18:17:03Z"], "date-time", True),
        ("timestamp", [], "s", False),
    ],
)
def test_a_unit_is_told_from_name_and_values(name, samples, unit, certain):
    guess = guess_unit(name, samples)
    assert (guess.unit, guess.certain) == (unit, certain)


def test_names_are_split_into_words():
    assert name_words("ContextTokens") == ["context", "tokens"]
    assert name_words("Session ID") == ["session", "id"]
    assert without_unit("http_req_duration") == "httpreqduration"
    assert without_unit("ms") == "ms"


def test_seconds_are_shown_exactly():
    assert [seconds_text(ns) for ns in (0, 1, 604_453 * S, -3 * S // 2)] == ["0", "0.000000001", "604453", "-1.5"]


def test_a_time_that_comes_again_is_the_same_instant_and_loses_as_much():
    parser = DateTimeParser()
    texts = ["08/Mar/2026:03:00:00 -0400", "08/Mar/2026:01:59:59 -0500", "2026-03-08T06:59:59.5Z"]
    seven = 1_772_953_200 * 10**9  # 07:00 in UTC
    for _ in range(2):
        for text, at_ns in zip(texts, (seven, seven - 10**9, seven - 5 * 10**8), strict=True):
            assert [parser.parse(text), parser.parse(text)] == [at_ns, at_ns]
    for _ in range(3):
        parser.parse("2026-03-08T07:00:00.0000000001Z")
    assert parser.cut == 3
    with pytest.raises(BadCellError, match="with a zone"):
        parser.parse("2026-03-08T07:00:00")
    with pytest.raises(BadCellError):
        DateTimeParser().parse("")
