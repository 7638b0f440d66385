"""Our discipline against the reference: the promise of the comparison page, and the numbers it prints.

The right values are a relation: on the same arrivals ours may fall short of the reference by so much and no more (issue
of the first version, "Shown at the end"). The page's tables are compared with what the runs give now.
"""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from sim.manifest import load
from tools.compare_disciplines import (
    CORRECTED,
    OURS,
    OUTCOMES,
    QUIET,
    REFERENCE,
    VARIANTS,
    Row,
    compare,
    manifests,
    turns,
)

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "against-the-reference.md"
MANIFESTS = manifests()
FEW = ("07-failures-05-retries-3", "08-two-reservations", "17-rpm-bound")
"""Compared on every run of the tests: the breaker's variant, the largest gain, the largest shortfall."""

SHORT_OF_QUIET = Fraction(5, 1000)
SHORT_OF_COMPLETIONS = Fraction(5, 1000)
"""Of the arrivals."""


RERUN = [pytest.param(name, marks=() if name in FEW else pytest.mark.long) for name in MANIFESTS]


@cache
def rows(name: str) -> dict[str, Row]:
    return {row.discipline: row for row in compare(name, MANIFESTS[name])}


@cache
def printed() -> list[list[str]]:
    """Return the cells of every row of the page's tables."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]


@pytest.mark.parametrize("name", RERUN)
def test_ours_is_never_far_below_the_reference(name: str) -> None:
    found = rows(name)
    ours, theirs = found[OURS], found.get(CORRECTED, found[REFERENCE])
    assert ours.value("arrivals") == theirs.value("arrivals")
    assert ours.value("admission.ratio", QUIET) >= theirs.value("admission.ratio", QUIET) - SHORT_OF_QUIET
    assert ours.value("completed") >= theirs.value("completed") - SHORT_OF_COMPLETIONS * ours.value("arrivals")


@pytest.mark.parametrize("name", RERUN)
def test_the_page_prints_what_the_runs_give(name: str) -> None:
    for row in rows(name).values():
        assert row.outcomes() in printed()
        assert row.waits() in printed()


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long) for name in MANIFESTS])
def test_the_page_prints_whose_turn_it_was(name: str) -> None:
    for discipline in (OURS, REFERENCE):
        assert [name, discipline, *turns(load(MANIFESTS[name]), discipline).cells()] in printed()


@pytest.mark.parametrize("name", list(MANIFESTS))
def test_what_the_page_prints_keeps_the_promise(name: str) -> None:
    expected = json.loads((VARIANTS / f"{name}.expected.json").read_bytes())
    outcomes = {cells[1]: cells for cells in printed() if cells[0] == name and len(cells) == len(OUTCOMES.split("|"))}
    ours, theirs = outcomes[OURS], outcomes.get(CORRECTED, outcomes[REFERENCE])
    assert Fraction(ours[2]) >= Fraction(theirs[2]) - SHORT_OF_QUIET
    short = int(theirs[4].replace(",", "")) - int(ours[4].replace(",", ""))
    assert short <= SHORT_OF_COMPLETIONS * expected["observations"]["arrivals"]


def test_the_page_has_every_manifest_in_each_of_its_three_tables() -> None:
    for name in MANIFESTS:
        for discipline in (OURS, REFERENCE):
            assert sum(cells[:2] == [name, discipline] for cells in printed()) == 3
