"""The reference pages against the code they describe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from sim.cli.exits import of_verdict
from sim.evidence.chain import Chain, Entry
from sim.evidence.schema import Flag, Record
from sim.evidence.seed_form import Export
from sim.gates import Basis, Verdict
from sim.gates.guarantees import (
    AMPLIFICATION,
    CALLS,
    CANCEL_LATENCY,
    FRACTIONS,
    NEEDS_LIMIT,
    OPEN_TIME,
    PAUSE_TIME,
    SOJOURNS,
    TRANSITIONS,
    UNSETTLED,
    UTILISATION,
    WAITERS,
    WAITS,
)

PAGES = Path(__file__).parents[3] / "docs/reference"
RECORD_PAGE = (PAGES / "record.md").read_text()
GATES_PAGE = (PAGES / "gates.md").read_text()


def section(page, title):
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_column(text):
    return [cell for cell in re.findall(r"^\| `([^`|]+)` \|", text, re.MULTILINE) if cell != "Field"]


def test_every_field_of_a_record_is_described_in_its_order():
    assert first_column(section(RECORD_PAGE, "The record")) == list(get_type_hints(Record))


@pytest.mark.parametrize("part", ["manifest", "inputs", "target", "plan", "runs", "observations", "gates", "verdict"])
def test_every_key_of_a_part_is_named_in_its_line(part):
    hint = get_type_hints(Record)[part]
    fields = get_type_hints(get_args(hint)[0] if get_args(hint) else hint)
    (line,) = re.findall(rf"^\| `{part}` \| (.*) \|$", section(RECORD_PAGE, "The record"), re.MULTILINE)
    assert [name for name in fields if f"`{name}`" not in line] == []


def test_every_field_of_a_chain_and_its_entries_is_described():
    page = section(RECORD_PAGE, "The chain")
    fields = [
        name for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    ]
    assert fields == [*get_type_hints(Chain), *get_type_hints(Entry)]


def test_every_flag_is_described():
    assert first_column(section(RECORD_PAGE, "Flags")) == list(get_args(Flag))


def test_every_key_of_the_export_is_named():
    form = section(RECORD_PAGE, "The seed's form")
    assert [key for key in get_type_hints(Export) if f"`{key}`" not in form] == []


def test_every_basis_is_described():
    assert [basis for basis in Basis if f"`{basis}`" not in GATES_PAGE] == []


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_listed_with_its_exit_code(verdict):
    assert f"| {verdict} | {of_verdict(verdict):d} |" in GATES_PAGE


def test_every_guaranteed_metric_is_listed():
    table = section(GATES_PAGE, "Implied gates")
    levels = {f"{name.rpartition('.')[0]}.*" for name in CALLS | WAITERS}
    times = {f"{prefix}*" for prefix in (*WAITS, SOJOURNS)} | {CANCEL_LATENCY, OPEN_TIME, PAUSE_TIME, TRANSITIONS}
    others = {*FRACTIONS, *AMPLIFICATION, UTILISATION, UNSETTLED, *(f"shed.{reason}" for reason in NEEDS_LIMIT)}
    assert [name for name in sorted(levels | times | others) if f"`{name}`" not in table] == []
