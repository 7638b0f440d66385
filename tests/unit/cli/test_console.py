from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from sim.cli import console

HOSTILE = "a\x1b[31mb\x07\x9b2J\u202ec\udcffd\ne\x00"


def test_what_is_no_printable_character_is_escaped_and_the_rest_stays():
    assert console.printable("café 値 100 %") == "café 値 100 %"
    assert console.printable(HOSTILE) == r"a\x1b[31mb\x07\x9b2J\u202ec\udcffd\ne\x00"
    assert console.printable("a\n\tb", keep="\n") == "a\n\\tb"


def test_a_message_is_one_line_with_an_end_that_keeps_its_beginning_and_its_close(capsys):
    console.note(f"{HOSTILE}{'x' * 10**6}; allowed: less")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert len(said) <= console.LINE_MAX + 1
    assert said.startswith(r"a\x1b[31mb")
    assert said.endswith("; allowed: less\n")


def test_a_json_document_escapes_and_means_the_same():
    value = {HOSTILE: [HOSTILE, "café", {}], "plain": 1}
    text = console.json_text(value)
    assert text.replace("\n", "").isprintable()
    assert "café" in text
    assert json.loads(text) == value
    assert console.json_text({"a": "b"}) == json.dumps({"a": "b"}, indent=2) + "\n"


def test_lines_for_a_person_are_escaped_one_by_one():
    out = io.StringIO()
    console.show("one\x1b]0;title\x07\ntwo\n", out)
    assert out.getvalue() == "one\\x1b]0;title\\x07\ntwo\n"
    console.show("nobody listens", None)


def test_a_stream_that_was_never_open_is_no_terminal():
    assert not console.is_terminal(None)
    assert not console.wants_colour(None)
    assert console.width(None) == console.WIDTH


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_after_a_full_disk_nothing_complains_again(monkeypatch):
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(OSError, match="No space left"):
            console.emit("x")
        stream.write("y")  # which is flushed as the stream is closed
