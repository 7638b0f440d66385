"""Every retained record's observations are named under Evidence, so that no number moves without a line about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EVIDENCE = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("### Evidence")[2]
RECORDS = sorted((ROOT / "evidence").glob("*/record.json"))
SHOWN = len("sha256:") + 12


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.parent.name)
def test_a_retained_record_has_its_line(path: Path) -> None:
    record = json.loads(path.read_bytes())
    digest = record["observations_digest"][:SHOWN]
    manifest = f"{record['manifest']['name']} {record['manifest']['version']}"
    discipline = record["target"]["discipline"]
    assert f"| {manifest} | {discipline} | {record['verdict']['overall']}" in EVIDENCE
    assert f"`{digest}`" in EVIDENCE
