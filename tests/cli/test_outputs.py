"""Outputs take their places when a command has succeeded: until then, what was there stays as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from pathlib import Path

import pytest

import sim.experiment
import sim.report.page
from tollgate.core.errors import EvidenceError

KEPT = "what was there before\n"
TEXTS = ("--arrivals", "a.txt", "--outcomes", "o.txt")


def interrupted(*_args, **_kwargs):
    raise KeyboardInterrupt


def interrupted_half_way(manifest, *, arrivals_out, outcomes_out, **_kwargs):
    arrivals_out.write("half a line")
    outcomes_out.write("half a line")
    raise KeyboardInterrupt


@pytest.fixture
def kept(tmp_path):
    """Two files of an earlier run, and what the folder held with them."""
    for name in ("a.txt", "o.txt"):
        (tmp_path / name).write_text(KEPT)

    def intact():
        assert (tmp_path / "a.txt").read_text() == (tmp_path / "o.txt").read_text() == KEPT
        assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []
        return True

    return intact


def test_a_refused_run_leaves_the_outputs_of_an_earlier_one(cli, manifest, kept):
    assert cli("run", manifest, "--discipline", "reference", *TEXTS).code == 2
    assert kept()


def test_a_run_whose_trace_cannot_be_read_leaves_them_too(cli, tmp_path, kept):
    trace = tmp_path / "t.csv"
    trace.write_text("time,tokens\n0,1\n5,2\n")
    assert cli("trace", "to-manifest", "t.csv", "--time-unit", "s", "-o", "m.yaml").code == 0
    spoilt = "time,tokens\n5,1\n0,2\n"  # of the digest that the manifest names, and out of order
    old, digest = (hashlib.sha256(data).hexdigest() for data in (trace.read_bytes(), spoilt.encode()))
    trace.write_text(spoilt)
    (tmp_path / "m.yaml").write_text((tmp_path / "m.yaml").read_text().replace(old, digest))
    told = cli("run", "m.yaml", *TEXTS)
    assert told.code == 2
    assert "row 3" in told.line
    assert kept()


def test_an_interrupted_run_leaves_them_and_nothing_of_its_own(cli, manifest, kept, monkeypatch):
    monkeypatch.setattr(sim.experiment, "run", interrupted_half_way)
    assert cli("run", manifest, *TEXTS).code == 130
    assert kept()


def test_a_run_whose_bundle_cannot_be_written_leaves_them(cli, manifest, kept, monkeypatch):
    def full(*_args, **_kwargs):
        raise EvidenceError("no place for the bundle")

    monkeypatch.setattr("sim.evidence.write_bundle", full)
    assert cli("run", manifest, *TEXTS).code == 4
    assert kept()


def test_a_disk_that_fills_up_leaves_them_and_the_file_is_named(cli, repository, kept, monkeypatch):
    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    told = cli("run", repository / "manifests/load-manifest.v1.json", "--arrivals", "a.txt")
    assert told.line == "--arrivals: got 'a.txt'; allowed: a file that can be written; No space left on device"
    assert kept()


def test_a_page_that_cannot_be_drawn_leaves_the_old_one(cli, bundle, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text(KEPT)
    monkeypatch.setattr(sim.report.page, "render", interrupted)
    assert cli("report", bundle, "-o", "page.html").code == 130
    assert (tmp_path / "page.html").read_text() == KEPT


def test_outputs_of_a_run_that_succeeds_replace_the_earlier_ones_with_their_rights(cli, manifest, tmp_path, kept):
    (tmp_path / "a.txt").chmod(0o640)
    assert cli("run", manifest, *TEXTS).code == 0
    assert KEPT not in (tmp_path / "a.txt").read_text() + (tmp_path / "o.txt").read_text()
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_a_new_output_has_the_rights_that_any_new_file_gets(cli, manifest, tmp_path):
    before = os.umask(0o027)
    try:
        assert cli("run", manifest, "--arrivals", "a.txt").code == 0
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o640


def test_an_output_that_is_a_link_stays_one_and_its_file_is_replaced(cli, manifest, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.txt").write_text(KEPT)
    (tmp_path / "a.txt").symlink_to("there/a.txt")
    assert cli("run", manifest, "--discipline", "reference", "--arrivals", "a.txt").code == 2
    assert (tmp_path / "there/a.txt").read_text() == KEPT
    assert cli("run", manifest, "--arrivals", "a.txt").code == 0
    assert (tmp_path / "a.txt").is_symlink()
    assert (tmp_path / "there/a.txt").read_text().startswith("0,")
    assert sorted(entry.name for entry in (tmp_path / "there").iterdir()) == ["a.txt"]


def test_a_device_and_a_pipe_are_written_to_as_they_are(cli, manifest, tmp_path):
    assert cli("run", manifest, "--arrivals", os.devnull, "--outcomes", "o.txt").code == 0
    assert not Path(os.devnull).is_file()
    os.mkfifo("pipe")
    taken = []
    reader = threading.Thread(target=lambda: taken.append(Path("pipe").read_text()))
    reader.start()
    assert cli("run", manifest, "--outcomes", "pipe").code == 0
    reader.join(timeout=30)
    assert taken == [(tmp_path / "o.txt").read_text()]
    assert (tmp_path / "pipe").is_fifo()


def test_a_name_of_an_open_file_is_written_through(cli, manifest, tmp_path):
    with (tmp_path / "behind").open("w") as stream:
        assert cli("run", manifest, "--arrivals", f"/dev/fd/{stream.fileno()}").code == 0
        assert os.fstat(stream.fileno()).st_ino == (tmp_path / "behind").stat().st_ino
    assert (tmp_path / "behind").read_text().startswith("0,")


@pytest.mark.parametrize("name", ["record.json", "small.yaml", "series.json.gz", "slowest.json", "new.html", "x/y"])
def test_a_page_is_never_written_over_evidence_nor_beside_it(cli, bundle, name):
    (bundle / "x").mkdir()
    before = {file.name: file.read_bytes() for file in bundle.iterdir() if file.is_file()}
    told = cli("report", bundle, "-o", bundle / name)
    assert told.code == 2
    assert told.line.startswith("--out: got ")
    assert f"a place outside of {bundle.resolve()}" in told.line
    assert {file.name: file.read_bytes() for file in bundle.iterdir() if file.is_file()} == before


@pytest.mark.parametrize("spoil", [b"capacity-result/v1", b'"artefacts"'])
@pytest.mark.parametrize("option", ["--arrivals", "--outcomes", "--out"])
def test_no_output_of_a_run_lies_in_a_bundle_though_its_record_is_damaged(cli, manifest, bundle, option, spoil):
    record = bundle / "record.json"
    record.write_bytes(record.read_bytes().replace(spoil, spoil[::-1]))
    before = sorted(bundle.iterdir())
    told = cli("run", manifest, option, bundle / "extra")
    assert told.code == 2
    assert told.line.startswith(f"{option}: got ")
    assert sorted(bundle.iterdir()) == before


def test_neither_a_link_nor_another_spelling_leads_an_output_into_a_bundle(cli, bundle, tmp_path):
    (tmp_path / "link.html").symlink_to(bundle / "record.json")
    (tmp_path / "folder").symlink_to(bundle)
    before = (bundle / "record.json").read_bytes()
    for name in ("link.html", "folder/record.json", f"{bundle}/../{bundle.name}/record.json"):
        assert cli("report", bundle, "-o", name).code == 2
    assert cli("init", "folder/manifest.yaml").code == 2
    assert (bundle / "record.json").read_bytes() == before


def test_the_page_has_its_place_in_a_bundle_unless_an_input_has_it(cli, manifest, tmp_path):
    manifest.rename(tmp_path / "report.html")
    assert cli("run", "report.html", "--quiet").code == 0
    (bundle,) = (tmp_path / "out").iterdir()
    before = (bundle / "report.html").read_bytes()
    assert cli("report", bundle).code == 2
    assert (bundle / "report.html").read_bytes() == before


def test_a_record_json_of_something_else_is_no_bundle(cli, manifest, tmp_path):
    (tmp_path / "record.json").write_text('{"artist": "somebody"}')
    assert cli("run", manifest, "--arrivals", "a.txt").code == 0
    assert cli("run", manifest, "--arrivals", "record.json").code == 0
    assert (tmp_path / "record.json").read_text().startswith("0,")


@pytest.mark.parametrize("command", ["report", "to-manifest"])
def test_an_output_that_the_command_reads_is_refused(cli, bundle, manifest, command):
    if command == "report":
        told = cli("report", bundle, "--manifest", manifest, "-o", manifest)
    else:
        shutil.copy(manifest, "trace.csv")
        told = cli("trace", "to-manifest", "trace.csv", "-o", "trace.csv", "--profile", "trace.csv")
    assert told.code == 2


def test_a_starter_on_stdout_is_no_file(cli, tmp_path):
    told = cli("init", "-")
    assert (told.code, told.err) == (0, "")
    assert "schema: capacity-manifest/v1" in told.out
    assert list(tmp_path.iterdir()) == []
