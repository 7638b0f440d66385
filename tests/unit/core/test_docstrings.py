"""The examples in the docstrings of the mechanisms, and on their page, run and print what they say."""

import doctest
import importlib
import re
from typing import get_args

import pytest

from tollgate.core.breaker import Outcome


@pytest.mark.parametrize(
    "name", ["bucket", "breaker", "canonical", "cost", "deny", "errors", "gauge", "ids", "request_denial", "units"]
)
def test_examples_hold(name):
    result = doctest.testmod(importlib.import_module(f"tollgate.core.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_examples_of_the_reference_page_hold(repository):
    page = repository / "docs" / "reference" / "mechanisms.md"
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_reference_page_names_the_four_edges_and_every_outcome(repository):
    page = (repository / "docs" / "reference" / "mechanisms.md").read_text(encoding="utf-8")
    edges = set(re.findall(r"^\| (closed|open|half-open) \| (closed|open|half-open) \|", page, re.MULTILINE))
    assert edges == {("closed", "open"), ("open", "half-open"), ("half-open", "closed"), ("half-open", "open")}
    outcomes = set(re.findall(r"^\| `(\w+)(?:\(ns\))?` \| [a-z]+ ?.* \|", page, re.MULTILINE))
    assert {outcome.__name__ for outcome in get_args(Outcome)} <= outcomes
