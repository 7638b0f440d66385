from __future__ import annotations

from decimal import Decimal

import pytest

from sim.manifest.documents import MAX_BYTES, MAX_DEPTH, MAX_ENTRIES, parse_document
from tollgate.core.errors import ConfigError


def yaml(text):
    return parse_document(text.encode(), "yaml")


def refusal(text, form="yaml"):
    with pytest.raises(ConfigError) as caught:
        parse_document(text if isinstance(text, bytes) else text.encode(), form)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("1.50", Decimal("1.50")),
        ("1e3", Decimal(1000)),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
        ("'12'", "12"),
        ('"true"', "true"),
        ("plain words", "plain words"),
    ],
)
def test_plain_scalars_are_what_json_says(text, value):
    found = yaml(f"a: {text}\n")["a"]
    assert found == value
    assert type(found) is type(value)


SURPRISES = """
on off yes no y True NULL ~ 0000010 0000008 010 0o17 0x1F 0b1 12:30:45 1_000 2001-12-14
2001-12-14t21:59:43.10-05:00 .nan .inf -.inf NaN +1 .5 1. 1e =
"""


@pytest.mark.parametrize("text", SURPRISES.split())
def test_what_yaml_1_1_would_turn_into_something_else_stays_text(text):
    # C128 (leading zeros) and the other surprises of kind 12.
    assert yaml(f"a: {text}\n") == {"a": text}


def test_leading_zeros_stay_text_as_keys_too():
    assert yaml("{0000010: 1, 0000008: 2}") == {"0000010": 1, "0000008": 2}


def test_numbers_are_exact():
    assert yaml("a: 0.1")["a"] == Decimal("0.1")
    assert parse_document(b'{"a": 0.1}', "json") == {"a": Decimal("0.1")}


def test_order_of_the_file_is_kept():
    assert list(yaml("b: 1\na: 2\nc: 3")) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a: &x 1", "line 1, column 4: got the anchor &x"),
        ("a: *x", "line 1, column 4: got the alias *x"),
        ("a: &x [1]\nb: *x", "the anchor &x"),
        ("a: !!int '3'", "the tag tag:yaml.org,2002:int"),
        ("a: !!python/object/apply:os.system [ls]", "the tag"),
        ("a: 1\na: 2", "line 2, column 1: got the key 'a' for the second time"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("12: x", "keys that are texts"),
        ("true: x", "keys that are texts"),
        ("null: x", "keys that are texts"),
        ("? [1, 2]\n: x", "a list or mapping as a key"),
        ("a: [1, 2", "well-formed YAML"),
        ("a: -0", "line 1, column 4: got -0; allowed: 0 without a sign"),
        ("a: -0.0", "got -0.0; allowed: 0 without a sign"),
        ("a: -0e5", "got -0e5; allowed: 0 without a sign"),
        ("a: 1e400", "a number between 1e-40 and 1e40"),
        ("a: 1e-400", "a number between 1e-40 and 1e40"),
        ("a: " + "9" * 5000, "a number between 1e-40 and 1e40"),
        ("a: \x00", "well-formed YAML"),
        (b"\xef\xbb\xbfa: 1", "a byte order mark"),
        (b"a: \xff", "byte 0xff at offset 3"),
        ("", "an empty file"),
        (" \n\n", "an empty file"),
        ("# nothing\n", "an empty file"),
    ],
)
def test_yaml_with_more_than_one_reading_is_refused(text, complaint):
    assert complaint in refusal(text)


def test_a_merge_key_merges_nothing():
    assert yaml("<<: {a: 1}\nb: 2") == {"<<": {"a": 1}, "b": 2}


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("text", ["[" * 200_000, "[" * 200_000 + "]" * 200_000, '{"a":' * 200_000])
def test_deep_nesting_is_refused_before_anything_recurses(text, form):
    assert "nesting" in refusal(text, form)


def test_nesting_up_to_the_cap_is_read():
    deepest = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert parse_document(deepest.encode(), "yaml") == parse_document(deepest.encode(), "json")
    assert "levels" in refusal(f"[{deepest}]")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_size_is_capped(form):
    assert f"at most {MAX_BYTES} bytes" in refusal(b" " * (MAX_BYTES + 1), form)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_an_empty_json_file_is_refused(text):
    assert "an empty file" in refusal(text, "json")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": 1e400}', '{"a": Infinity}', '{"a": 1,}'])
def test_json_with_more_than_one_reading_is_refused(text):
    assert "allowed" in refusal(text, "json")


def test_json_is_read_alike_as_yaml():
    text = b'{"a": [1, 2.50, "x", null, true], "b": {"c": -3}}'
    assert parse_document(text, "yaml") == parse_document(text, "json")


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_list_has_an_end(form):
    def text(entries):
        return '{"a": {"b": [' + ",".join(["1"] * entries) + "]}}"

    assert len(parse_document(text(MAX_ENTRIES).encode(), form)["a"]["b"]) == MAX_ENTRIES
    assert "lists of at most 100000 entries" in refusal(text(MAX_ENTRIES + 1), form)
