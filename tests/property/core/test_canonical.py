"""Canonical bytes: every leaf counts, order does not, and what is read comes back."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tollgate.core import canonical
from tollgate.core.errors import ConfigError
from tollgate.core.units import MAX_SAFE_INTEGER

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
leaves = st.one_of(st.none(), st.booleans(), integers, texts)
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=12,
)
# Pieces of JSON, good and bad, out of which broken documents are put together.
tokens = ["[", "]", "{", "}", '"', "\\", ",", ":", "1", "-", "0", ".5", "e9", "e999", "NaN", "\ud83d", "\\ud800", "k"]

checked = settings()  # the profile of tests/conftest.py decides how hard to search
hunted = settings(derandomize=True, max_examples=400, phases=[Phase.generate])


def paths(value, path=()):
    """Where the leaves are; an empty container is one."""
    if isinstance(value, dict) and value:
        return [found for key in value for found in paths(value[key], (*path, key))]
    if isinstance(value, list) and value:
        return [found for index, item in enumerate(value) for found in paths(item, (*path, index))]
    return [path]


def with_leaf(value, path, leaf):
    if not path:
        return leaf
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = leaf
    return changed


def changing_any_leaf_changes_the_digest(digest, how):
    @how
    @given(values, st.data())
    def check(value, data):
        path = data.draw(st.sampled_from(paths(value)))
        # No draw of the strategy is such a list, so that the value differs from whatever stood there.
        assert digest(with_leaf(value, path, ["\x00 changed"] * 9)) != digest(value)

    check()


def bytes_do_not_depend_on_insertion_order(encode, how):
    @how
    @given(st.dictionaries(texts, leaves, max_size=6), st.randoms(use_true_random=False))
    def check(value, chance):
        keys = list(value)
        chance.shuffle(keys)
        assert encode({key: value[key] for key in keys}) == encode(value)

    check()


def keys_are_in_utf16_order(encode, how):
    @how
    @given(st.dictionaries(texts, st.integers(0, 9), max_size=6))
    def check(value):
        keys = list(json.loads(encode(value)))
        assert keys == sorted(value, key=lambda key: key.encode("utf-16-be"))

    check()


def canonical_bytes_parse_back_to_the_value(parse, how):
    @how
    @given(values)
    def check(value):
        encoded = canonical.canonical_bytes(value)
        assert parse(encoded, max_bytes=len(encoded)) == value
        assert canonical.canonical_bytes(parse(encoded, max_bytes=len(encoded))) == encoded

    check()


def no_bytes_make_the_parser_crash(parse, how):
    """Whatever comes in, a value or one ConfigError comes out; and it is refused if json has two opinions of it."""
    scraps = st.lists(st.sampled_from(tokens), max_size=14)
    inputs = st.one_of(
        st.binary(max_size=30), scraps.map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
    )

    @how
    @given(inputs)
    def check(data):
        try:
            value = parse(data, max_bytes=1000, max_depth=8)
        except ConfigError:
            return
        assert json.loads(data) == value
        assert "Infinity" not in json.dumps(value)
        assert "NaN" not in json.dumps(value)
        canonical.canonical_bytes(_without_large_integers(value), allow_floats=True)

    check()


def _without_large_integers(value):
    if isinstance(value, list):
        return [_without_large_integers(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_large_integers(item) for key, item in value.items()}
    return str(value) if type(value) is int else value


WITNESSES = (
    (changing_any_leaf_changes_the_digest, canonical.digest),
    (bytes_do_not_depend_on_insertion_order, canonical.canonical_bytes),
    (keys_are_in_utf16_order, canonical.canonical_bytes),
    (canonical_bytes_parse_back_to_the_value, canonical.parse_json),
    (no_bytes_make_the_parser_crash, canonical.parse_json),
)


@pytest.mark.parametrize(("witness", "subject"), WITNESSES, ids=lambda part: part.__name__)
def test_canonical(witness, subject):
    witness(subject, checked)


# ------------------------------------------------------------------------------------------------ planted bugs


def digest_of_the_top_level_keys(value):
    return canonical.digest(sorted(value) if isinstance(value, dict) else len(str(value)))


def bytes_as_inserted(value):
    return json.dumps(value).encode()


def bytes_by_code_point(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False).encode()


def parser_of_the_standard_library(data, *, max_bytes, max_depth=32):
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise ConfigError("", data[:max_bytes], f"JSON of {max_depth} levels") from None


def parser_that_drops_empty_values(data, *, max_bytes, max_depth=32):
    value = canonical.parse_json(data, max_bytes=max_bytes, max_depth=max_depth)
    return {key: item for key, item in value.items() if item} if isinstance(value, dict) else value


PLANTED = (
    (changing_any_leaf_changes_the_digest, digest_of_the_top_level_keys),
    (bytes_do_not_depend_on_insertion_order, bytes_as_inserted),
    (keys_are_in_utf16_order, bytes_by_code_point),
    (canonical_bytes_parse_back_to_the_value, parser_that_drops_empty_values),
    (no_bytes_make_the_parser_crash, parser_of_the_standard_library),
)


@pytest.mark.parametrize(("witness", "bug"), PLANTED, ids=lambda part: part.__name__)
def test_planted_bug_turns_its_witness_red(witness, bug):
    # A parser that lets NaN or half a surrogate pair through is caught where the value is used next.
    with pytest.raises((AssertionError, canonical.CallerError)):
        witness(bug, hunted)
