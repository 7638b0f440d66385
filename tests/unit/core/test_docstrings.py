"""The examples in the docstrings of the mechanisms run and print what they say."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["bucket", "breaker", "canonical", "deny", "errors", "gauge", "ids", "units"])
def test_examples_hold(name):
    result = doctest.testmod(importlib.import_module(f"tollgate.core.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
