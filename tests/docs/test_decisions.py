"""A decision record is short and has its three parts, in order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECORDS = sorted((Path(__file__).parents[2] / "docs" / "decisions").glob("[0-9]*.md"))
LINES_MAX = 45


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_has_context_options_and_outcome_on_one_page(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Options", "Outcome"]
    assert text.startswith(f"# {path.name[:4]}: ")
    assert text.count("\n") <= LINES_MAX
