"""Bundles on disk: whole or absent, never written over, read back to the byte."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from sim.evidence import artefacts
from sim.evidence import bundle as bundles
from sim.evidence.bundle import pack, read_bundle, read_record, write_bundle
from sim.evidence.record import identity
from tests.unit.evidence.made_runs import HOST, OBSERVATIONS, RAW, SLOW, TOOL, Series, made_run, row
from tollgate.core.errors import EvidenceError


def packed(**changes):
    return pack(made_run(**changes), TOOL)


def test_a_bundle_holds_the_record_the_manifests_bytes_the_series_and_the_slowest_requests(tmp_path):
    folder = write_bundle(packed(), tmp_path / "out").folder
    assert sorted(path.name for path in folder.iterdir()) == [
        "record.json",
        "series.json.gz",
        "slowest.json",
        "small.yaml",
    ]
    assert (folder / "small.yaml").read_bytes() == RAW
    assert json.loads(gzip.decompress((folder / "series.json.gz").read_bytes())) == Series().to_json()
    assert json.loads((folder / "slowest.json").read_bytes()) == [SLOW]


def test_what_is_written_reads_back_as_it_was(tmp_path):
    written = packed()
    read = read_bundle(write_bundle(written, tmp_path).folder)
    assert (read.record, read.files) == (written.record, written.files)
    assert read.series() == Series().to_json()
    assert read.slowest() == [SLOW]
    assert read.files[read.names["manifest"]] == RAW


def test_a_run_without_series_has_a_bundle_without_them(tmp_path):
    read = read_bundle(write_bundle(packed(series=None), tmp_path).folder)
    assert read.series() is None
    assert sorted(read.files) == ["slowest.json", "small.yaml"]


def test_the_folder_is_named_after_manifest_and_identity(tmp_path):
    folder = write_bundle(packed(), tmp_path).folder
    assert folder.name == f"small-{identity(packed().record).removeprefix('sha256:')[:12]}"


@pytest.mark.parametrize(
    ("name", "folder"),
    [("a/../../b", "a-..-..-b"), ("..", "run"), (".hidden", "hidden"), ("größe 1", "gr-e-1"), ("x" * 300, "x" * 60)],
)
def test_a_folder_name_stays_a_plain_name_whatever_the_manifest_is_called(name, folder, tmp_path):
    written = write_bundle(packed(name=name), tmp_path).folder
    assert written.parent == tmp_path
    assert written.name.rpartition("-")[0] == folder


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("record.json", "manifest-record.json"),
        ("Record.JSON", "manifest-Record.JSON"),
        ("slowest.json", "manifest-slowest.json"),
        (".yaml", "yaml"),
        ("my plan (2).yaml", "my plan (2).yaml"),
        ("größe.yaml", "gr__e.yaml"),
        ("y" * 300 + ".json", "y" * 75 + ".json"),
    ],
)
def test_the_manifests_copy_never_takes_the_place_of_another_file(name, kept, tmp_path):
    read = read_bundle(write_bundle(packed(path=Path(name)), tmp_path).folder)
    assert read.names["manifest"] == kept
    assert read.files[read.names["manifest"]] == RAW


@pytest.mark.parametrize(("name", "kept"), [("assumed.json", "assumed.json"), ("small.yaml", "assumptions-small.yaml")])
def test_a_file_of_assumptions_is_part_of_the_bundle(name, kept, tmp_path):
    read = read_bundle(write_bundle(packed(assumptions_path=Path(name), assumptions_raw=b"{}"), tmp_path).folder)
    assert read.names["assumptions"] == kept
    assert read.files[kept] == b"{}"


def test_series_are_packed_to_the_same_bytes_each_time_and_carry_no_time_stamp():
    first, second = packed().files["series.json.gz"], packed().files["series.json.gz"]
    assert first == second
    assert first[4:8] == b"\0\0\0\0"  # RFC 1952: MTIME


# ------------------------------------------------------------------------------------------------------- written once


def test_the_same_run_written_again_leaves_the_first_bundle_as_it_is(tmp_path):
    first = write_bundle(packed(), tmp_path)
    before = (first.folder / "record.json").read_bytes()
    again = write_bundle(packed(host=HOST | {"cpu_ratio": "0.900000"}), tmp_path)
    assert (first.is_new, again.is_new) == (True, False)
    assert again.folder == first.folder
    assert (first.folder / "record.json").read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 7},
        {"raw": b"other bytes"},
        {"discipline": "reference"},
        {"observations": (*OBSERVATIONS, row("failed", 0))},
        {"outcomes_sha256": "3" * 64},
        {"host": HOST | {"rss_peak": "600"}},  # misses the gate on memory, so the verdict is another
    ],
)
def test_another_run_is_written_beside_the_first(changes, tmp_path):
    first, second = write_bundle(packed(), tmp_path), write_bundle(packed(**changes), tmp_path)
    assert second.is_new
    assert first.folder != second.folder


def test_a_damaged_bundle_is_neither_accepted_nor_written_over(tmp_path):
    folder = write_bundle(packed(), tmp_path).folder
    (folder / "slowest.json").write_bytes(b"[]")
    with pytest.raises(EvidenceError, match="not written over"):
        write_bundle(packed(), tmp_path)
    assert (folder / "slowest.json").read_bytes() == b"[]"


def test_something_else_at_the_bundles_place_is_left_alone(tmp_path):
    place = tmp_path / packed().name
    place.write_text("mine")
    with pytest.raises(EvidenceError, match="not written over"):
        write_bundle(packed(), tmp_path)
    assert place.read_text() == "mine"


def test_another_run_at_the_bundles_place_is_left_alone(tmp_path):
    other = write_bundle(packed(seed=7), tmp_path / "elsewhere").folder
    place = tmp_path / packed().name
    other.rename(place)
    with pytest.raises(EvidenceError, match="it holds another run"):
        write_bundle(packed(), tmp_path)


def test_a_failure_on_the_way_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bundles, "_write_through", full)
    with pytest.raises(EvidenceError, match="cannot be written: No space left on device"):
        write_bundle(packed(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_losing_the_race_for_the_place_is_no_error(tmp_path, monkeypatch):
    flush = bundles._flush_folder

    def other_process_is_first(folder):
        flush(folder)
        if folder.name.startswith("."):
            monkeypatch.undo()
            write_bundle(packed(), tmp_path)

    monkeypatch.setattr(bundles, "_flush_folder", other_process_is_first)
    written = write_bundle(packed(), tmp_path)
    assert not written.is_new
    assert [path.name for path in tmp_path.iterdir()] == [written.folder.name]


def test_a_record_that_breaks_the_contract_leaves_no_folder(tmp_path):
    with pytest.raises(EvidenceError, match="no figures of the host"):
        write_bundle(packed(observations=(*OBSERVATIONS, row("host.rss_peak", 80, "mib"))), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_float_in_series_or_slowest_requests_is_refused():
    with pytest.raises(EvidenceError, match="no floats"):
        packed(series=Series({"active": [0.5]}))
    with pytest.raises(EvidenceError, match="no floats"):
        packed(slowest=({"sojourn_ns": 1.5},))


# ------------------------------------------------------------------------------------------------- EV2, EV8: altered


@pytest.mark.parametrize("name", ["record.json", "series.json.gz", "slowest.json", "small.yaml"])
def test_ev2_a_changed_missing_or_longer_file_is_reported_by_name(name, tmp_path):
    file = write_bundle(packed(), tmp_path).folder / name
    data = file.read_bytes()
    for spoilt in (data[:-1] + bytes([data[-1] ^ 1]), data + b"\n", data[1:], b""):
        file.write_bytes(spoilt)
        with pytest.raises(EvidenceError, match=name):
            read_bundle(file.parent)
    file.unlink()
    with pytest.raises(EvidenceError, match=f"{name}: cannot be read"):
        read_bundle(file.parent)


def test_a_link_in_the_place_of_a_file_is_refused(tmp_path):
    folder = write_bundle(packed(), tmp_path / "out").folder
    target = tmp_path / "elsewhere"
    (folder / "slowest.json").rename(target)
    (folder / "slowest.json").symlink_to(target)
    with pytest.raises(EvidenceError, match="symbolic link"):
        read_bundle(folder)


def test_a_folder_that_is_no_bundle_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match=r"record\.json: cannot be read"):
        read_bundle(tmp_path)
    with pytest.raises(EvidenceError, match="no such folder"):
        read_bundle(tmp_path / "absent")


def test_a_record_is_read_from_its_file_or_from_its_bundle(tmp_path):
    folder = write_bundle(packed(), tmp_path).folder
    assert read_record(folder) == read_record(folder / "record.json") == packed().record
    with pytest.raises(EvidenceError, match="absent"):
        read_record(tmp_path / "absent")


def test_a_file_beyond_the_cap_is_not_read_whole(tmp_path, monkeypatch):
    folder = write_bundle(packed(), tmp_path).folder
    monkeypatch.setattr(bundles, "ARTEFACT_BYTES_MAX", 10)
    with pytest.raises(EvidenceError, match="at most 10"):
        read_bundle(folder)


def test_series_that_swell_beyond_the_cap_are_refused(monkeypatch):
    bomb = packed(series=Series({"active": [0] * 10, "tokens": [0] * 10_000}))
    assert len(bomb.files["series.json.gz"]) < 1000
    monkeypatch.setattr(artefacts, "ARTEFACT_BYTES_MAX", 1000)
    with pytest.raises(EvidenceError, match="unpacks to more than 1000 bytes"):
        bomb.series()


def test_series_that_are_no_gzip_are_refused():
    broken = packed()
    broken.files["series.json.gz"] = b"not gzip"
    with pytest.raises(EvidenceError, match="cannot be unpacked"):
        broken.series()


def test_series_that_are_no_json_are_refused():
    broken = packed()
    broken.files["series.json.gz"] = gzip.compress(b"{", mtime=0)
    with pytest.raises(EvidenceError, match=r"series\.json\.gz: line 1"):
        broken.series()


def test_a_place_that_cannot_be_renamed_to_is_an_error_that_says_so(tmp_path, monkeypatch):
    def refuse(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(EvidenceError, match="cannot be written: Permission denied"):
        write_bundle(packed(), tmp_path)
    assert list(tmp_path.iterdir()) == []
