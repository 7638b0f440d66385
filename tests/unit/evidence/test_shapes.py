"""Shapes: closed keys, exact types, and messages that name place, value and what is allowed."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import pytest

from sim.evidence.shapes import check
from sim.gates.rows import AtLeast, Pattern
from tollgate.core.errors import EvidenceError


class Point(TypedDict):
    x: int
    label: str | None


Word = Annotated[str, Pattern("[a-z]+", "a word")]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        ({"x": 1, "label": None}, Point),
        ({"x": -1, "label": "a"}, Point),
        ([{"x": 1, "label": "a"}], list[Point]),
        ({"a": 1}, dict[Word, int]),
        ({}, dict[Word, int]),
        ("b", Literal["a", "b"]),
        (0, Annotated[int, AtLeast(0)]),
        (1.5, int | float),
        (2**53 - 1, int),
    ],
)
def test_what_has_the_shape_passes(value, shape):
    check(value, shape, file="f")


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ({"x": 1}, Point, "f: label: got 'nothing'; allowed: a text or null"),
        ({"x": 1, "label": "a", "y": 2}, Point, "f: y: got 2; allowed: the keys x, label"),
        ({"x": True, "label": None}, Point, "f: x: got True; allowed: an integer within 2^53-1"),
        ({"x": 1.0, "label": None}, Point, "f: x: got 1.0; allowed: an integer within 2^53-1"),
        ({"x": 2**53, "label": None}, Point, "f: x: got 9007199254740992; allowed: an integer within 2^53-1"),
        ([], Point, "f: the document: got []; allowed: an object"),
        ({}, list[Point], "f: the document: got {}; allowed: a list"),
        ([{"x": 1, "label": None}, 5], list[Point], "f: [1]: got 5; allowed: an object"),
        ({"A": 1}, dict[Word, int], "f: : key: got 'A'; allowed: a word"),
        ({"a": "1"}, dict[Word, int], "f: a: got '1'; allowed: an integer within 2^53-1"),
        ("ab\n", Word, "got 'ab\\n'; allowed: a word"),
        (1, Literal["a", "b"], "allowed: one of 'a', 'b'"),
        (True, Literal[1], "got True; allowed: one of 1"),
        (-1, Annotated[int, AtLeast(0)], "got -1; allowed: an integer of at least 0"),
    ],
)
def test_what_has_not_is_refused_with_place_value_and_what_is_allowed(value, shape, message):
    with pytest.raises(EvidenceError) as refused:
        check(value, shape, file="f")
    assert message in str(refused.value)
