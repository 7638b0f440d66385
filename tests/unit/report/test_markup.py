"""No name can leave its element or its cell, and nothing is lost on the way, as a reader of the format sees it."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.report.markup import markdown, markdown_code, xml_attribute, xml_text

ANYTHING = st.text(st.characters(), max_size=30)
LAWFUL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff", min_codepoint=0x20))


def read(element: str) -> ET.Element:
    return ET.fromstring(element.encode())


@given(ANYTHING)
def test_any_text_makes_an_xml_document_that_can_be_read(text):
    found = read(f'<a b="{xml_attribute(text)}">{xml_text(text)}</a>')
    assert found.attrib.keys() == {"b"}
    assert len(found) == 0


@given(LAWFUL)
def test_a_text_that_xml_can_hold_comes_back_as_it_was(text):
    found = read(f'<a b="{xml_attribute(text)}">{xml_text(text)}</a>')
    assert found.get("b") == text
    assert (found.text or "") == text


@pytest.mark.parametrize("blank", ["\t", "\n", "\r", "\r\n"])
def test_blanks_come_back_as_they_were(blank):
    found = read(f'<a b="{xml_attribute(blank)}">x{xml_text(blank)}x</a>')
    assert found.get("b") == blank
    assert found.text == f"x{blank}x"


@pytest.mark.parametrize(("text", "shown"), [("\x1b[31m", "\\x1b[31m"), ("\x00", "\\x00"), ("\uffff", "\\uffff")])
def test_what_xml_cannot_hold_is_spelled(text, shown):
    assert xml_text(text) == xml_attribute(text) == shown


@given(ANYTHING)
def test_a_cell_is_one_line_and_ends_at_no_bar_of_its_own(text):
    shown = markdown(text)
    assert len(shown.splitlines()) <= 1
    unescaped = shown.replace("\\\\", "")
    for mark in "|<>`*_[]":
        assert f"\\{mark}" * unescaped.count(mark) == "".join(
            unescaped[at - 1 : at + 1] for at, found in enumerate(unescaped) if found == mark
        )


def test_a_table_s_cell_shows_markup_as_it_is_written():
    assert markdown("a|b <b> `c` _d_") == "a\\|b \\<b\\> \\`c\\` \\_d\\_"


@given(st.text(st.sampled_from("`\nx"), max_size=20))
def test_no_line_of_a_code_block_ends_it(text):
    first, *inside, last = markdown_code(text).split("\n")
    fence = first.removesuffix("text")
    assert last == fence
    assert not any(line.startswith(fence) for line in inside)
    assert "\n".join(inside) == text
