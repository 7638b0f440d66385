"""``verify``, ``report`` and ``explain`` on bundles."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from sim.cli import progress
from tollgate.core.canonical import canonical_bytes, digest


def test_sound_evidence_holds_with_and_without_a_rerun(cli, bundle, manifest):
    for words in ((), ("--rerun",), ("--manifest", manifest)):
        told = cli("verify", bundle, *words)
        assert told.code == 0
        assert f"{bundle}: holds" in told.out
    assert "not re-run" in cli("verify", bundle).out
    assert cli("verify", bundle / "record.json", "--rerun", "--manifest", manifest).code == 0


def test_verify_answers_in_json(cli, bundle):
    told = cli("verify", bundle, "--rerun", "--json")
    assert json.loads(told.out) == {
        "subject": str(bundle),
        "ok": True,
        "problems": [],
        "differences": [],
        "notes": [],
        "reran": True,
    }


def test_an_edited_record_that_was_digested_again_is_caught_by_a_rerun_alone(cli, bundle):
    file = bundle / "record.json"
    record = json.loads(file.read_bytes())
    row = next(row for row in record["observations"] if row["metric"] == "completed" and not row["labels"])
    row["value"] += 1
    record["observations_digest"] = digest(record["observations"])
    record["runs"][0]["observations_digest"] = record["observations_digest"]
    record["digest"] = digest({key: value for key, value in record.items() if key != "digest"})
    file.write_bytes(canonical_bytes(record))
    assert cli("verify", bundle).code == 0
    told = cli("verify", bundle, "--rerun")
    assert told.code == 4
    assert "decisions differ" in told.out
    assert "completed" in told.out


def test_the_seeds_form_is_verified_as_it_was_printed(cli, repository, tmp_path):
    v2 = repository / "manifests/load-manifest.v2.json"
    printed = cli("run", v2, "--json", "--window", "20", "--quiet").out
    (tmp_path / "e.json").write_text(printed)
    assert cli("verify", "e.json", "--rerun", "--manifest", v2, "--quiet").code == 0
    (tmp_path / "e.json").write_text(printed.replace('"failed": 0', '"failed": 1'))
    assert cli("verify", "e.json").code == 4


def test_a_rerun_without_a_manifest_says_which_option_gives_it(cli, bundle, tmp_path):
    shutil.copy(bundle / "record.json", tmp_path / "alone.json")
    told = cli("verify", "alone.json", "--rerun")
    assert told.code == 2
    assert told.line.startswith("--manifest")


def test_the_page_goes_where_it_is_asked_for(cli, bundle, tmp_path):
    told = cli("report", bundle, "-o", "page.html")
    assert (told.code, told.out, told.line) == (0, "", "page: page.html")
    assert (tmp_path / "page.html").read_text().lower().startswith("<!doctype html>")
    assert cli("report", bundle).line == f"page: {bundle}/report.html"
    assert "not bound by the record: report.html" in cli("verify", bundle).out


def test_a_page_that_cannot_be_written_is_refused(cli, bundle):
    told = cli("report", bundle, "-o", "nope/page.html")
    assert told.code == 2
    assert told.line.startswith("--out: got 'nope/page.html'")


def test_a_bundle_of_a_trace_needs_the_manifest_that_lies_beside_the_trace(cli, tmp_path):
    (tmp_path / "t.csv").write_text("time,tokens\n0,1\n5,2\n6,3\n")
    cli("trace", "to-manifest", "t.csv", "--time-unit", "s", "-o", "m.yaml")
    assert cli("run", "m.yaml").code == 0
    bundle = next((tmp_path / "out").iterdir())
    for words in (("verify", bundle, "--rerun"), ("explain", bundle, "--request", "1")):
        told = cli(*words)
        assert told.code == 2
        assert "--manifest" in told.line
        assert cli(*words, "--manifest", "m.yaml").code == 0
    told = cli("report", bundle, "-o", "page.html")
    assert told.code == 0
    assert "no headroom" in told.err
    (tmp_path / "other.yaml").write_text((tmp_path / "m.yaml").read_text() + "# changed\n")
    told = cli("explain", bundle, "--request", "1", "--manifest", "other.yaml")
    assert told.code == 4
    assert "other.yaml" in told.line


def test_a_bundle_is_explained_as_it_was_run(cli, manifest, tmp_path):
    changes = ("--set", "profile.workspace.concurrency=1", "--seed", "8", "--window", "15")
    assert cli("run", manifest, *changes, "--quiet").code in {0, 1}
    bundle = next((tmp_path / "out").iterdir())
    assert cli("explain", bundle, "--request", "5").out == cli("explain", manifest, "--request", "5", *changes).out


def test_a_refused_request_is_told_with_the_limit_that_refused_it(cli, repository):
    # By the reference's own outcomes, the first request that v2 sheds as queue-full is refused as it arrives.
    told = cli(
        "explain",
        repository / "tests/conformance/data/00-v2-short.json",
        "--request",
        "1881",
        "--discipline",
        "reference",
    )
    assert told.code == 0
    assert "queue-full" in told.out
    assert "No limit made it wait" in told.out


def test_the_way_to_a_late_request_is_told_on_stderr_unless_it_is_to_be_quiet(cli, bundle, monkeypatch):
    monkeypatch.setattr(progress, "LINES_EVERY_S", 0.0)
    loud, quiet = (cli("explain", bundle, "--request", "200", *words) for words in ((), ("--quiet",)))
    assert loud.line.startswith("simulating: ")
    assert (quiet.code, quiet.out, quiet.err) == (0, loud.out, "")


@pytest.mark.parametrize("words", [("run",), ("explain", "--request", "12000")], ids=lambda words: words[0])
def test_the_reference_tells_how_far_it_is_as_well(cli, repository, monkeypatch, words):
    monkeypatch.setattr(progress, "LINES_EVERY_S", 0.0)
    v2 = repository / "manifests/load-manifest.v2.json"
    told = cli(words[0], v2, *words[1:], "--discipline", "reference")
    assert told.code == 0
    parts = [int(part) for part in re.findall(r"^simulating: (\d+) %", told.err, re.MULTILINE)]
    assert parts
    assert parts == sorted(parts)


@pytest.mark.parametrize(
    "sets",
    [
        ("streams.bob.arrivals.per_second=20", "streams.bob.arrivals={kind: poisson, per_second: 2}"),
        ("streams.bob.arrivals.per_second=2", "streams.1.arrivals.per_second=20"),
        ("streams.bob.name=zed", "streams.zed.arrivals.per_second=20", "streams.zed.name=abe"),
    ],
)
def test_a_record_reproduces_a_run_whose_changes_overlap(cli, manifest, tmp_path, sets):
    words = [word for change in sets for word in ("--set", change)]
    assert cli("run", manifest, *words, "--quiet").code in {0, 1}
    (bundle,) = (tmp_path / "out").iterdir()
    record = json.loads((bundle / "record.json").read_bytes())
    again = [word for path, value in record["overrides"].items() for word in ("--set", f"{path}={value}")]
    repeated = json.loads(cli("run", manifest, *again, "--json", "--quiet", "--out", "again").out)
    assert repeated["observations_digest"] == record["observations_digest"]
    assert repeated["overrides"] == record["overrides"]
    assert cli("verify", bundle, "--rerun").code == 0
