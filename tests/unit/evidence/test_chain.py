"""The chain of retained records: what was altered, removed, inserted or moved is named, and history only grows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.evidence import check_drift, pack, verify, write_bundle
from sim.evidence.chain import (
    decode_chain,
    encode_chain,
    examine_chain,
    in_force,
    next_entry,
    question,
    read_chain,
    write_chain,
)
from tests.unit.evidence.made_runs import OBSERVATIONS, TOOL, made_manifest, made_run, row
from tollgate.core.canonical import canonical_bytes, digest
from tollgate.core.errors import ConfigError, EvidenceError

RUNS = (
    {},
    {"discipline": "reference"},
    {"outcomes_sha256": "3" * 64},  # replaces the first
    {"name": "other"},
    {"outcomes_sha256": "4" * 64},  # replaces the third
)
RECORDS = [pack(made_run(**changes), TOOL) for changes in RUNS]


def entries_of(bundles):
    entries = []
    for bundle in bundles:
        entries.append(next_entry(entries, bundle.record, f"{bundle.name}/record.json"))
    return entries


ENTRIES = entries_of(RECORDS)
DATA = encode_chain(ENTRIES)


def resealed(document):
    """Digest the whole again, as a forger would who leaves the entries as they are."""
    body = {key: value for key, value in document.items() if key != "digest"} | {"length": len(document["entries"])}
    return canonical_bytes(body | {"digest": digest(body)})


def problems(document):
    return examine_chain(resealed(document))[1]


def document():
    return json.loads(DATA)


# ------------------------------------------------------------------------------------------------------------- chains


def test_a_chain_returns_from_its_bytes():
    assert decode_chain(DATA) == ENTRIES
    assert [entry["sequence"] for entry in ENTRIES] == [1, 2, 3, 4, 5]
    assert [entry["previous"] for entry in ENTRIES] == [None, *(entry["digest"] for entry in ENTRIES[:-1])]


def test_a_later_record_on_the_same_question_supersedes_the_one_in_force():
    assert [entry["supersedes"] for entry in ENTRIES] == [None, None, 1, None, 3]
    assert [entry["sequence"] for entry in in_force(ENTRIES).values()] == [2, 4, 5]


@pytest.mark.parametrize("place", range(len(ENTRIES)))
@pytest.mark.parametrize("key", ["record", "record_digest", "observations_digest", "manifest_sha256", "discipline"])
def test_an_altered_entry_is_named(place, key):
    changed = document()
    value = changed["entries"][place][key]
    changed["entries"][place][key] = f"{value[:-6]}abcdef" if key != "record" else "elsewhere/record.json"
    assert any(problem.startswith(f"chain.json: entry {place + 1} (") for problem in problems(changed))
    assert any("altered after it was written" in problem for problem in problems(changed))


@pytest.mark.parametrize("place", range(len(ENTRIES) - 1))
def test_an_entry_altered_and_digested_again_is_named_by_the_one_behind_it(place):
    changed = document()
    entry = changed["entries"][place] | {"record_digest": "sha256:" + "5" * 64}
    entry["digest"] = digest({key: value for key, value in entry.items() if key != "digest"})
    changed["entries"][place] = entry
    assert any(f"entry {place + 2} (" in found and "previous" in found for found in problems(changed))


@pytest.mark.parametrize("place", range(len(ENTRIES) - 1))
def test_a_removed_entry_is_named(place):
    changed = document()
    del changed["entries"][place]
    assert any(f"entry {place + 1} (" in found and "was removed" in found for found in problems(changed))


def test_an_entry_removed_from_the_end_is_named_by_the_length():
    changed = document()
    del changed["entries"][-1]
    assert (
        "chain.json: length: got 5, and there are 4: entries behind the last one were removed or added"
        in (examine_chain(canonical_bytes(changed))[1])
    )


@pytest.mark.parametrize("place", range(len(ENTRIES) - 1))
def test_entries_in_another_order_are_named(place):
    changed = document()
    entries = changed["entries"]
    entries[place], entries[place + 1] = entries[place + 1], entries[place]
    found = problems(changed)
    for at in (place + 1, place + 2):
        assert any(f"entry {at} (" in problem and "moved" in problem for problem in found)


def test_an_inserted_entry_is_named():
    changed = document()
    changed["entries"].insert(2, changed["entries"][1])
    assert any("entry 3 (" in found and "inserted" in found for found in problems(changed))


def test_one_name_and_version_means_one_manifest_throughout():
    drifted = pack(made_run(raw=b"other bytes"), TOOL)
    entries = entries_of([*RECORDS[:2], drifted])
    with pytest.raises(EvidenceError, match=r"entry 3 .*which small 1\.0\.0 meant in entry 1"):
        encode_chain(entries)


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_every_changed_byte_is_found(place, change):
    data = bytearray(DATA)
    data[place] ^= change
    with pytest.raises(EvidenceError):
        decode_chain(bytes(data))


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", DATA + b"\n", DATA.replace(b",", b", ", 1)])
def test_something_else_than_a_chain_is_refused(data):
    with pytest.raises(EvidenceError, match=r"chain\.json"):
        decode_chain(data)


def test_an_empty_chain_is_refused():
    with pytest.raises(EvidenceError, match="at least"):
        encode_chain([])


@pytest.mark.parametrize(
    "path", ["../record.json", "/record.json", "a/b/record.json", "a/other.json", ".a/record.json"]
)
def test_a_path_that_leads_out_of_the_folder_is_refused(path):
    with pytest.raises(EvidenceError, match=r"entries\[0\]\.record"):
        encode_chain([next_entry([], RECORDS[0].record, path)])


# ---------------------------------------------------------------------------------------------------------------- files


def evidence_in(folder):
    """Make a folder of evidence whose third record replaced its first."""
    for bundle in RECORDS[1:3]:
        write_bundle(bundle, folder)
    write_chain(folder / "chain.json", ENTRIES[:3])
    return folder


@pytest.fixture
def folder(tmp_path):
    return evidence_in(tmp_path)


def test_a_chain_grows_and_is_never_rewritten(folder):
    file = folder / "chain.json"
    write_chain(file, ENTRIES)
    assert read_chain(file) == ENTRIES
    for entries in (ENTRIES[:3], entries_of(RECORDS[1:])):
        with pytest.raises(EvidenceError, match="none changed"):
            write_chain(file, entries)
    assert read_chain(file) == ENTRIES
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["chain.json"]


def test_a_damaged_chain_is_not_gone_on_from(folder):
    file = folder / "chain.json"
    file.write_bytes(file.read_bytes().replace(b'"length":3', b'"length":4'))
    with pytest.raises(EvidenceError, match="length"):
        write_chain(file, ENTRIES)


def test_a_folder_that_holds_what_its_chain_says_holds(folder):
    for path in (folder, folder / "chain.json"):
        report = verify(path, TOOL)
        assert report.problems == []
        assert "3 entries, 2 in force" in report.notes


def test_the_records_in_force_are_run_again(folder):
    runs = {"default": made_run(**RUNS[2]), "reference": made_run(**RUNS[1])}
    report = verify(folder, TOOL, rerun=lambda request: runs[request.discipline])
    assert (report.ok, report.reran) == (True, True)
    fewer = (row("completed", 17), *(each for each in OBSERVATIONS if each["metric"] != "completed"))
    given = {"default": {"observations": fewer}, "reference": {}}
    report = verify(folder, TOOL, rerun=lambda request: replace(runs[request.discipline], **given[request.discipline]))
    assert [str(each) for each in report.differences] == [f"{RECORDS[2].name}: completed: stored 18, fresh 17"]
    assert [problem.partition(": ")[0] for problem in report.problems] == [str(folder / RECORDS[2].name)]


def test_a_record_that_is_not_the_one_retained_is_named(folder):
    place = folder / RECORDS[2].name
    other = pack(made_run(outcomes_sha256="3" * 64, end_ns=11 * 10**9), TOOL)
    for name, data in {"record.json": None, **other.files}.items():
        if data is not None:
            (place / name).write_bytes(data)
    (place / "record.json").write_bytes(
        write_bundle(other, folder.parent / "b").folder.joinpath("record.json").read_bytes()
    )
    found = verify(folder, TOOL).problems
    assert any(f"entry 3 ({place.name}/record.json): record_digest" in problem for problem in found)


def test_a_record_that_is_gone_is_named(folder):
    (folder / RECORDS[1].name).rename(folder.parent / "gone")
    assert verify(folder, TOOL).problems == [
        f"entry 2 ({RECORDS[1].name}/record.json): the record is not there, and no later entry supersedes it"
    ]


def test_a_record_that_was_superseded_and_is_back_is_named(folder):
    place = write_bundle(RECORDS[0], folder).folder
    assert verify(folder, TOOL).problems == [
        f"{place}: entry 1 retained it, a later one superseded it, and it is still there"
    ]


def test_a_record_that_nobody_retained_is_named(folder):
    place = write_bundle(RECORDS[3], folder).folder
    assert verify(folder, TOOL).problems == [f"{place}: no entry of the chain retains it"]


def test_a_damaged_record_is_told_once(folder):
    file = folder / RECORDS[1].name / "record.json"
    file.write_bytes(file.read_bytes() + b"\n")
    report = verify(folder, TOOL)
    assert len(report.problems) == 1
    assert str(file) in report.problems[0]


def test_every_entry_that_is_wrong_is_told(folder):
    changed = json.loads((folder / "chain.json").read_bytes())
    for entry in changed["entries"][:2]:
        entry["observations_digest"] = "sha256:" + "6" * 64
    (folder / "chain.json").write_bytes(resealed(changed))
    found = verify(folder, TOOL).problems
    assert sum("altered after it was written" in problem for problem in found) == 2


def test_a_manifest_for_a_whole_chain_makes_no_sense(folder):
    with pytest.raises(ConfigError, match="--manifest"):
        verify(folder, TOOL, manifest=folder / "x.yaml")


# ---------------------------------------------------------------------------------------------------------------- drift


def test_a_record_that_is_gone_still_fixed_what_its_version_means(tmp_path):
    write_chain(tmp_path / "chain.json", ENTRIES[:1])
    assert check_drift(made_manifest(), tmp_path) is False
    changed = made_manifest(raw=b"other bytes")
    with pytest.raises(EvidenceError, match=r"entry 1 of .*chain\.json; give the changed manifest a new version"):
        check_drift(changed, tmp_path)
    assert check_drift(changed, tmp_path, allow=True) is True
    assert check_drift(made_manifest(raw=b"other bytes", version="1.0.1"), tmp_path) is False


def test_a_chain_that_cannot_be_read_fails_closed(tmp_path):
    (tmp_path / "chain.json").write_bytes(DATA[:-1])
    with pytest.raises(EvidenceError, match=r"chain\.json"):
        check_drift(made_manifest(), tmp_path)


def test_a_new_version_is_a_question_of_its_own():
    entries = entries_of([RECORDS[0], pack(made_run(version="1.1.0", raw=b"other bytes"), TOOL)])
    assert [entry["supersedes"] for entry in entries] == [None, None]
    assert [question(entry)[1] for entry in in_force(entries).values()] == ["1.0.0", "1.1.0"]
