"""Small traces of our own making; see ``tests/fixtures/traces/README.md``."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fixtures():
    return Path(__file__).parents[2] / "fixtures" / "traces"
