"""Pages that repeat a vocabulary of the code repeat all of it, and the glossary keeps one word for one thing."""

from __future__ import annotations

import re
from pathlib import Path

from sim.gates.verdict import Verdict
from tollgate.core.breaker import BreakerState
from tollgate.core.deny import REASONS, DenyReason
from tollgate.decision import Hold

DOCS = Path(__file__).parents[2] / "docs"
REASONS_PAGE = (DOCS / "reference" / "deny-reasons.md").read_text(encoding="utf-8")
GLOSSARY = (DOCS / "glossary.md").read_text(encoding="utf-8")


def rows(text: str) -> list[list[str]]:
    """Return the cells of every row of a page's tables, rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not re.match(r"\|[-:| ]+$", line)
    ]


def yes(value: bool) -> str:
    return "yes" if value else "no"


def test_the_page_of_reasons_is_the_table_in_the_code() -> None:
    expected = [
        [f"`{reason}`", f"`{facts.status}`", yes(facts.may_retry), yes(facts.is_shed), facts.meaning]
        for reason, facts in REASONS.items()
    ]
    assert rows(REASONS_PAGE)[1:] == expected


def test_every_reason_has_facts() -> None:
    assert set(REASONS) == set(DenyReason)


def test_the_page_names_every_reason_to_wait() -> None:
    waits = REASONS_PAGE.partition("## Reasons to wait")[2].partition("##")[0]
    for hold in Hold:
        if hold.reason is not None:
            assert f"`{hold.reason}`" in waits


def test_a_word_of_the_glossary_stands_there_once() -> None:
    words = [word for row in rows(GLOSSARY) for word in row[0].split(", ") if row[0] != "Word"]
    assert sorted(words) == sorted(set(words))


def test_every_row_of_the_glossary_says_what_a_word_means_and_what_it_is_not() -> None:
    for row in rows(GLOSSARY):
        assert len(row) == 3
        assert all(row), row


def test_the_glossary_knows_the_verdicts_and_the_states_of_a_breaker() -> None:
    meaning = {row[0]: row[1] for row in rows(GLOSSARY)}
    assert all(verdict in meaning["verdict"] for verdict in Verdict)
    assert all(state.value in meaning["breaker"].lower() for state in BreakerState)
