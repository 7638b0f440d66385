"""What is retained still holds: every record is repeated by this code, and every manifest that runs has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.cli.subject import rerunner
from sim.evidence import describe_tool, verify
from sim.evidence.retained import retained
from tools.make_evidence import disciplines, manifests

ROOT = Path(__file__).parents[2]
PLACES = sorted(file.parent for file in ROOT.glob("evidence/*/record.json"))


@pytest.mark.parametrize("place", PLACES, ids=[place.name for place in PLACES])
def test_a_retained_record_is_repeated_from_its_own_copy_of_the_manifest(place: Path) -> None:
    report = verify(place, describe_tool(), rerun=rerunner())
    assert report.reran
    assert report.ok, "\n".join(report.lines())


def test_every_manifest_that_runs_has_one_record_for_each_discipline() -> None:
    found = {
        (manifest.path.name, discipline): len(retained(ROOT / "evidence", manifest, discipline))
        for manifest in manifests(ROOT / "manifests")
        for discipline in disciplines(manifest)
    }
    assert found
    assert set(found.values()) == {1}, found


def test_the_chain_retains_what_is_there_and_nothing_else() -> None:
    report = verify(ROOT / "evidence", describe_tool())
    assert report.ok, "\n".join(report.lines())
