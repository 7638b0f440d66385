"""Whose refusal is told: the first of the class asked for, any other failing that, none if there is none."""

from __future__ import annotations

import io
import re

import pytest

import sim
from sim.notebook import story_of_refusal
from sim.notebook.refusals import COLUMNS
from sim.workload.arrivals import arrival_blocks
from tests.unit.world.lab import manifest


@pytest.fixture(scope="module")
def refused(pair):
    """The refused requests of each class, by the run's own text and the manifest's own arrivals."""
    owners = [pair.manifest.principals[i].cls for block in arrival_blocks(pair.manifest) for i in block.principal]
    ordinals = [int(found) for found in re.findall(r"^(\d+) shed ", pair.outcomes, re.MULTILINE)]
    return {cls: [ordinal for ordinal in ordinals if owners[ordinal] == cls] for cls in sorted(set(owners))}


@pytest.mark.parametrize("cls", ["quiet", "noisy"])
def test_the_first_refused_request_of_a_class_is_told_to_its_end(pair, refused, cls):
    story = story_of_refusal(pair.manifest, pair.outcomes, cls)
    assert story.startswith(f"request {refused[cls][0]}: {cls}")
    assert "it was refused" in story


def test_another_class_is_told_where_the_one_asked_for_lost_nothing(pair, refused):
    story = story_of_refusal(pair.manifest, pair.outcomes, "silent")
    assert story.startswith(f"request {min(refused['quiet'][0], refused['noisy'][0])}: ")


def test_where_nobody_was_refused_that_is_said(pair):
    kept = "".join(line for line in pair.outcomes.splitlines(keepends=True) if " shed " not in line)
    assert story_of_refusal(pair.manifest, kept, "quiet") == "No request was refused."


def test_lines_fit_the_page_and_are_broken_between_words(pair):
    lines = story_of_refusal(pair.manifest, pair.outcomes, "noisy").splitlines()
    assert max(map(len, lines)) <= COLUMNS
    assert any(line.startswith("    HOLDS") for line in lines)


def test_in_a_closed_loop_the_first_refusal_is_told():
    arrivals = {"kind": "closed", "population": 3, "think_ms": 50}
    loop = manifest(arrivals=arrivals, workspace={"concurrency": 1, "max_queue_length": 0}, seconds=2)
    text = io.StringIO()
    sim.run(loop, outcomes_out=text)
    first = next(number for number, line in enumerate(text.getvalue().splitlines()) if " shed " in line)
    assert story_of_refusal(loop, text.getvalue(), "ann").startswith(f"request {first}: ann to p")
