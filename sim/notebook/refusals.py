"""Picks a refused request and tells its story.

Owns the choice. How a story is found and told is known to ``sim.explain`` and ``sim.report.explain``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import wrap
from typing import Final

from sim.explain import explain
from sim.manifest import Manifest
from sim.report.explain import render
from sim.workload.arrivals import arrival_blocks

COLUMNS: Final = 96
"""Characters of a line that fit a notebook's page."""


def story_of_refusal(manifest: Manifest, outcomes: str, cls: str) -> str:
    """Return the story of the first refused request of a class, or of any class if that one lost none.

    Args:
        manifest: What was run, as it was run.
        outcomes: Text of the run's outcomes (``sim.textformats``), in order of ordinal.
        cls: The class to look at first.
    """
    refused = list(_refused(outcomes))
    if not refused:
        return "No request was refused."
    chosen = refused[0]
    if not manifest.has_loops:  # else only the run knows whose the arrivals are
        classes = [manifest.principals[index].cls for block in arrival_blocks(manifest) for index in block.principal]
        chosen = next((ordinal for ordinal in refused if classes[ordinal] == cls), chosen)
    story = explain(manifest, chosen)
    return _wrapped(render(story.heading, story.steps))


def _wrapped(text: str) -> str:
    """Break long lines between words: a notebook's page would break them within one."""
    lines = (wrap(line, COLUMNS, subsequent_indent=_indent_below(line)) or [""] for line in text.splitlines())
    return "\n".join(chain.from_iterable(lines))


def _indent_below(line: str) -> str:
    return " " * (len(line) - len(line.lstrip()) + 4)


def _refused(outcomes: str) -> Iterator[int]:
    for line in outcomes.splitlines():
        ordinal, outcome, *_ = line.split(" ")
        if outcome == "shed":
            yield int(ordinal)
