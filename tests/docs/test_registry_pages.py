"""The page on embedding is a program that prints what it says; the registry's page has its bounds and its record."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.unit.drivers.fake_loop import simulated
from tollgate.decision import AdmissionLimits, AdmissionProfile, AdmissionRegistry, registry
from tollgate.drivers.aio import AsyncRegistry


@pytest.fixture
def embedding(repository):
    return repository.joinpath("docs/how-to/embed-the-controller.md").read_text(encoding="utf-8")


@pytest.fixture
def reference(repository):
    return repository.joinpath("docs/reference/registry.md").read_text(encoding="utf-8")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def rows(page, heading):
    """Return the cells of the table below a heading, without its head, marks of code and thousands taken off."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`").replace(",", "") for cell in line.strip("|").split("|")] for line in lines]


def test_the_program_of_the_page_prints_what_the_page_says(embedding, monkeypatch, capsys):
    with simulated() as loop:
        monkeypatch.setitem(AsyncRegistry.__init__.__kwdefaults__, "clock", loop.clock)
        monkeypatch.setattr(asyncio, "run", loop.run_until_complete)
        program = blocks(embedding, "python")
        exec(compile("".join(program), "embed-the-controller.md", "exec"), {})
    [output] = blocks(embedding, "text")
    beside = re.findall(r"^print\(.*\)  # (.*)$", program[-1], re.MULTILINE)
    assert len(beside) == 2
    assert capsys.readouterr().out == output + "".join(f"{line}\n" for line in beside)


def test_the_bounds_of_the_page_are_those_of_the_code(reference):
    named = {row[0]: int(row[1]) for row in rows(reference, "Bounds")}
    defaults = AdmissionRegistry.__init__.__kwdefaults__
    assert named == defaults
    assert named["max_retired"] == registry.MAX_RETIRED


def test_the_record_of_the_page_is_the_one_that_is_written(reference):
    of = AdmissionRegistry()
    limits = AdmissionLimits()
    of.register("w", AdmissionProfile("v1", limits, {"llm": limits}, {"ann": limits}), 0)
    [change] = of.profile_history("w")
    described = {row[0]: row[1] for row in rows(reference, "Audit record")}
    assert described.keys() == change.to_mapping().keys()
    assert described["schema"] == registry.SCHEMA
    assert all(kind in described["kind"] for kind in registry.ChangeKind)
