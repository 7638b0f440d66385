"""The examples of RFC 8785, and everything that the strict parser refuses.

Properties are in tests/property/core/test_canonical.py.
"""

import hashlib
import struct
from decimal import Decimal

import pytest

from tollgate.core.canonical import canonical_bytes, digest, parse_json, sha256_hex
from tollgate.core.errors import CallerError, ConfigError

# RFC 8785, appendix B: bits of the double, its text.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "text"), NUMBERS)
def test_numbers_are_written_as_in_rfc_8785(bits, text):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_bytes(number, allow_floats=True).decode() == text


def test_keys_are_sorted_as_in_rfc_8785():
    # Section 3.2.3: by UTF-16 units, so that the emoji (D83D DE00) comes before the Hebrew letter (FB33).
    names = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(parse_json(canonical_bytes(names), max_bytes=1000).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_text_is_escaped_as_in_rfc_8785():
    # Section 3.2.2, the example's string, literals and numbers.
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert (
        canonical_bytes(value, allow_floats=True)
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


@pytest.mark.parametrize(
    ("value", "where", "why"),
    [
        ({"a": [1, 0.5]}, r"a\[1\]", "floats"),
        (1.0, "the value", "floats"),
        ({"n": 2**53}, "n", "strings"),
        ({"n": -(2**53)}, "n", "strings"),
        ({"a": {1: 2}}, "a", "keys"),
        ({True: 1}, "the value", "keys"),
        ({"a": "\ud800"}, "a", "surrogate"),
        ({"\udfff": 1}, "the value", "surrogate"),
        ({"a": {1, 2}}, "a", "list"),
        ({"a": b"x"}, "a", "list"),
        ({"a": Decimal(1)}, "a", "list"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value, where, why):
    with pytest.raises(CallerError, match=f"{where}.*{why}"):
        canonical_bytes(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_are_refused_even_where_floats_are_allowed(value):
    with pytest.raises(CallerError, match="finite"):
        canonical_bytes([value], allow_floats=True)


def test_largest_safe_integers_are_accepted():
    assert canonical_bytes([2**53 - 1, 1 - 2**53]) == b"[9007199254740991,-9007199254740991]"


def nested(levels, innermost=()):
    value = list(innermost)
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_is_encoded_to_64_levels():
    assert canonical_bytes(nested(64, [1])) == b"[" * 64 + b"1" + b"]" * 64
    with pytest.raises(CallerError, match="64 levels"):
        canonical_bytes(nested(65))
    loop = []
    loop.append(loop)
    with pytest.raises(CallerError, match="64 levels"):
        canonical_bytes(loop)


def test_digest_is_sha256_of_the_canonical_bytes():
    expected = hashlib.sha256(b'{"a":1,"b":[true,null]}').hexdigest()
    assert digest({"b": [True, None], "a": 1}) == f"sha256:{expected}"
    assert sha256_hex(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_tuples_are_lists():
    assert canonical_bytes((1, ("a",))) == b'[1,["a"]]'


def test_true_is_not_one_and_text_is_not_a_number():
    assert len({digest(True), digest(1), digest("1"), digest("true")}) == 4


# ------------------------------------------------------------------------------------------------ parse_json


def test_values_come_back_with_their_types():
    value = parse_json(b' {"a": [1, -2, 0.5, 1e2, "x", true, null]}\n', max_bytes=100)
    assert value == {"a": [1, -2, 0.5, 100.0, "x", True, None]}
    assert [type(item) for item in value["a"]] == [int, int, float, float, str, bool, type(None)]


def test_decimals_are_kept_exactly_when_asked_for():
    value = parse_json(b"[0.29, 1e-7, 12.10, 3]", max_bytes=100, decimals=True)
    assert value == [Decimal("0.29"), Decimal("1e-7"), Decimal("12.10"), 3]
    assert [str(item) for item in value] == ["0.29", "1E-7", "12.10", "3"]


@pytest.mark.parametrize("decimals", [False, True])
@pytest.mark.parametrize(
    ("data", "place", "why"),
    [
        (b"", "got", "one JSON value"),
        (b" \n ", "got", "one JSON value"),
        (b"\xef\xbb\xbf{}", "line 1, column 1", "UTF-8 without"),
        (b'{}\n["\xff"]', "line 2, column 3", "UTF-8"),
        (b"\xff\xfe{\x00}\x00", "line 1, column 1", "UTF-8"),
        (b'{"a": 1, "a": 1}', "a: got", "once"),
        (b'{"x": [{"k": 1}, {"k": 1, "k": 2}]}', r"x\[1\].k", "once"),
        (b'{"a": NaN}', "a", "finite"),
        (b"[Infinity]", r"\[0\]", "finite"),
        (b"[-Infinity]", r"\[0\]", "finite"),
        (b'{"a": [1, 1e400]}', r"a\[1\]", "double"),
        (b"[-1e400]", r"\[0\]", "double"),
        (b"[1e-400]", r"\[0\]", "tell from 0"),
        (b"[-0]", r"\[0\]", "without a sign"),
        (b"[-0.0]", r"\[0\]", "without a sign"),
        (b"[-0e5]", r"\[0\]", "without a sign"),
        (b'{"n": ' + b"9" * 5000 + b"}", "n", "4300 digits"),
        (b'{"a": "\\ud800"}', "a", "surrogate"),
        (b'{"a": {"\\udfff": 1}}', "a", "surrogate"),
        (b"[1] x", "line 1, column 5", "extra data"),
        (b'{"a":\n tru}', "line 2, column 2", "expecting value"),
        (b'{"a": 1,}', "line 1, column 9", "expecting property name"),
        (b'["a\nb"]', "line 1", "control character"),
        (b'"abc', "line 1", "unterminated"),
        (b'"' + b"\\" * 9999, "line 1", "unterminated|escape"),
        (b"[01]", "line 1", "delimiter"),
        (b"[" * 200_000, "line 1, column 33", "at most 32"),
        (b'{"a":' * 200_000, "line 1, column 161", "at most 32"),
        (b"{'a': 1}", "line 1, column 2", "property name"),
    ],
)
def test_what_has_no_single_meaning_is_refused(data, place, why, decimals):
    with pytest.raises(ConfigError, match=rf"(?s)^in\.json: .*{place}.*({why})"):
        parse_json(data, max_bytes=2_000_000, decimals=decimals, file="in.json")


def test_input_is_capped_before_it_is_looked_at():
    assert parse_json(b"[1]", max_bytes=3) == [1]
    with pytest.raises(ConfigError, match="at most 2 bytes"):
        parse_json(b"[1]", max_bytes=2)


def test_nesting_is_counted_outside_of_strings():
    assert parse_json(b'["' + b"[" * 100 + b'\\"[", []]', max_bytes=1000, max_depth=2) == ["[" * 100 + '"[', []]
    assert parse_json(b"[" + b"[]," * 99 + b"[]]", max_bytes=1000, max_depth=2) == [[]] * 100
    with pytest.raises(ConfigError, match="3 levels"):
        parse_json(b'{"]": ["}", []]}', max_bytes=100, max_depth=2)


def test_zero_spelled_at_length_is_still_zero():
    assert parse_json(b"[0.000, 0e7, 0]", max_bytes=100) == [0, 0, 0]


def test_path_with_unprintable_key_stays_on_one_line():
    with pytest.raises(ConfigError) as caught:
        parse_json(b'{"a\\nb": [NaN]}', max_bytes=100)
    assert "\n" not in str(caught.value)
