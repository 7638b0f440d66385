"""One-line YAML that every reader reads alike."""

from __future__ import annotations

import pytest
import yaml

from sim.manifest.documents import parse_document
from sim.workload.traces.flow import flow, printable

TEXTS = [
    "on",
    "NO",
    "12:30:45",
    "0000010",
    "1e3",
    "12.10",
    "",
    "null",
    "~",
    "a: b",
    "#x",
    "p-1",
    "é",
    "'\"\\",
    "a\tb",
    "2023-11-16",
]


@pytest.mark.parametrize("text", TEXTS)
def test_c128_a_text_stays_a_text_for_yaml_1_1_and_for_us(text):
    line = f"key: {flow({text or 'empty': [text]})}\n"
    expected = {"key": {text or "empty": [text]}}
    assert yaml.safe_load(line) == expected
    assert parse_document(line.encode(), "yaml") == expected


def test_usual_words_go_without_quotes():
    assert flow({"kind": "trace", "sort": True, "none": None, "columns": ("a", "b-c"), "count": 7}) == (
        "{kind: trace, sort: true, none: null, columns: [a, b-c], count: 7}"
    )


def test_what_would_end_a_line_is_replaced():
    assert printable("a\nb\u2028c\ud800d") == "a?b?c?d"
