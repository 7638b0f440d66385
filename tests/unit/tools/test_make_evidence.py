"""Evidence is written once, kept while the code repeats it, and replaced only by somebody who says so."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from sim.evidence import Tool, encode, read_bundle, read_record, verify
from sim.evidence.chain import Entry, read_chain
from sim.evidence.record import seal
from tools.make_evidence import main

ROOT = Path(__file__).parents[3]

TOOL_OF_THE_TEST = Tool(version="0.1.0", source_sha256="ab" * 32, git_commit=None, dirty=None, lock_sha256=None)
"""Records name the code that made them; here it is the same throughout, whatever happens in the checkout."""


@pytest.fixture(autouse=True)
def _one_code(monkeypatch) -> None:
    monkeypatch.setattr("tools.make_evidence.this_tool", lambda: TOOL_OF_THE_TEST)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder of one short manifest of the seed's family, and the evidence of it."""
    folder = tmp_path_factory.mktemp("made")
    document = json.loads((ROOT / "tests/conformance/data/00-v2-short.json").read_bytes())
    document["duration"] |= {"loadSeconds": 3, "spikeSeconds": 3, "soakSeconds": 4}
    (folder / "manifests").mkdir()
    (folder / "manifests" / "short.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tools.make_evidence.this_tool", lambda: TOOL_OF_THE_TEST)
        assert main(arguments(folder)) == 0
    return folder


@pytest.fixture
def folders(made: Path, tmp_path: Path) -> list[str]:
    """Arguments for a copy of both folders."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return arguments(tmp_path)


def arguments(folder: Path) -> list[str]:
    return ["--manifests", str(folder / "manifests"), "--out", str(folder / "evidence")]


def held(tmp_path: Path) -> dict[str, bytes]:
    return {str(f.relative_to(tmp_path)): f.read_bytes() for f in sorted((tmp_path / "evidence").rglob("*.*"))}


def edit(tmp_path: Path, change) -> Path:
    """Change the first record and digest it again; return where it stands."""
    file = min((tmp_path / "evidence").glob("*/record.json"))
    record = read_record(file)
    change(record)
    file.write_bytes(encode(seal(record)))
    return file.parent


def one_more_completed(record) -> None:
    row = next(row for row in record["observations"] if row["metric"] == "completed" and not row["labels"])
    row["value"] = int(row["value"]) + 1


def test_each_discipline_that_can_run_a_manifest_gets_its_bundle(made):
    bundles = [read_bundle(file.parent) for file in (made / "evidence").glob("*/record.json")]
    assert sorted(bundle.record["target"]["discipline"] for bundle in bundles) == ["default", "reference"]
    assert len({bundle.record["runs"][0]["arrivals_sha256"] for bundle in bundles}) == 1


def test_a_second_call_changes_no_byte(folders, tmp_path, capsys):
    before = held(tmp_path)
    assert main(folders) == 0
    assert held(tmp_path) == before
    assert capsys.readouterr().out.count(": holds (bytes, verdict and re-run)") == 2


def test_a_record_by_other_code_stays_while_its_figures_are_repeated(folders, tmp_path, monkeypatch):
    other = replace(TOOL_OF_THE_TEST, source_sha256="cd" * 32)
    monkeypatch.setattr("tools.make_evidence.this_tool", lambda: other)
    before = held(tmp_path)
    assert main(folders) == 0
    assert held(tmp_path) == before


def test_a_record_that_differs_is_left_and_told(folders, tmp_path, capsys):
    place = edit(tmp_path, one_more_completed)
    before = held(tmp_path)
    assert main(folders) == 4
    assert held(tmp_path) == before
    said = capsys.readouterr()
    assert f"{place}: DOES NOT HOLD" in said.out
    assert "make evidence RENEW=1" in said.err


def test_renewing_replaces_what_differs_and_leaves_what_is_the_same(folders, tmp_path):
    before = held(tmp_path)
    edit(tmp_path, lambda record: (one_more_completed(record), record["code"].update(source_sha256="0" * 64)))
    place = min((tmp_path / "evidence").glob("*/record.json")).parent
    moved = place.rename(place.with_name("decision-load-000000000000"))
    assert main([*folders, "--renew"]) == 0
    assert not moved.exists()
    after = held(tmp_path)
    assert after.keys() == before.keys()
    assert main(folders) == 0


def chain(tmp_path: Path) -> list[Entry]:
    return read_chain(tmp_path / "evidence" / "chain.json")


def test_each_record_has_its_entry_in_the_chain(folders, tmp_path):
    assert [entry["discipline"] for entry in chain(tmp_path)] == ["default", "reference"]
    report = verify(tmp_path / "evidence", TOOL_OF_THE_TEST)
    assert report.problems == []


def test_renewing_adds_an_entry_that_supersedes_and_changes_none(folders, tmp_path, monkeypatch):
    before = chain(tmp_path)
    other = replace(TOOL_OF_THE_TEST, source_sha256="cd" * 32)
    monkeypatch.setattr("tools.make_evidence.this_tool", lambda: other)
    assert main([*folders, "--renew"]) == 0
    after = chain(tmp_path)
    assert after[:2] == before
    assert [entry["supersedes"] for entry in after] == [None, None, 1, 2]
    assert verify(tmp_path / "evidence", other).problems == []
    assert main([*folders, "--renew"]) == 0
    assert chain(tmp_path) == after


def test_records_that_no_chain_retains_yet_are_added_to_one(folders, tmp_path):
    before = chain(tmp_path)
    (tmp_path / "evidence" / "chain.json").unlink()
    assert main(folders) == 0
    assert chain(tmp_path) == before


def test_a_record_that_the_chain_has_otherwise_is_told_and_left(folders, tmp_path, capsys):
    place = edit(tmp_path, lambda record: record["host"].update(arch="another"))
    before = held(tmp_path)
    assert main(folders) == 4
    assert f"{place}: DOES NOT HOLD: its digest is" in capsys.readouterr().out
    assert held(tmp_path) == before


def test_a_damaged_chain_ends_the_command(folders, tmp_path, capsys):
    file = tmp_path / "evidence" / "chain.json"
    file.write_bytes(file.read_bytes().replace(b'"sequence":2', b'"sequence":3'))
    assert main(folders) == 4
    assert "entry 2" in capsys.readouterr().err


def test_a_manifest_changed_after_its_record_was_removed_is_refused(folders, tmp_path, capsys):
    for place in (tmp_path / "evidence").glob("*/"):
        shutil.rmtree(place)
    file = tmp_path / "manifests" / "short.json"
    file.write_bytes(file.read_bytes() + b"\n")
    assert main(folders) == 4
    assert "chain.json; give the changed manifest a new version" in capsys.readouterr().err


def test_a_manifest_changed_under_its_name_and_version_is_refused(folders, tmp_path, capsys):
    file = tmp_path / "manifests" / "short.json"
    file.write_bytes(file.read_bytes() + b"\n")
    before = held(tmp_path)
    assert main(folders) == 4
    assert "give the changed manifest a new version" in capsys.readouterr().err
    assert held(tmp_path) == before


def test_a_manifest_that_leaves_something_open_is_skipped_with_what_it_lacks(tmp_path, repository, capsys):
    (tmp_path / "v1.json").write_bytes(repository.joinpath("manifests/load-manifest.v1.json").read_bytes())
    assert main(["--manifests", str(tmp_path), "--out", str(tmp_path / "evidence")]) == 0
    assert "skipped: it does not state principals" in capsys.readouterr().out
    assert not (tmp_path / "evidence").exists()


def test_a_manifest_that_cannot_be_read_is_bad_input(tmp_path, capsys):
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert main(["--manifests", str(tmp_path), "--out", str(tmp_path / "evidence")]) == 2
    assert "broken.json" in capsys.readouterr().err
