from __future__ import annotations

import json

import pytest


def test_a_manifest_without_findings_is_clean(cli, manifest):
    told = cli("lint", manifest)
    assert (told.code, told.out, told.err) == (0, f"{manifest}: no findings\n", "")


def test_findings_are_told_with_their_place_and_advice(cli, manifest):
    told = cli("lint", manifest, "--set", "gates.admitted.bound=0")
    assert told.code == 1
    lines = told.out.splitlines()
    assert lines[0] == "gates[0]: gate-implied"
    assert lines[1].startswith("    admitted cannot fail")
    assert "gates: no-deciding-gate" in lines
    assert lines[-1] == f"{manifest}: 2 findings"


def test_json_is_one_document(cli, manifest):
    told = cli("lint", manifest, "--json", "--set", "profile.providers.primary.concurrency=3")
    document = json.loads(told.out)
    assert told.code == 1
    assert document["manifest"]["name"] == "small"
    (finding,) = document["findings"]
    assert finding["path"] == "profile.providers.primary.concurrency"
    assert finding["values"] == {"limit": "3", "reachable": "2"}


def test_an_assumed_profile_of_a_trace_is_told(cli, tmp_path):
    (tmp_path / "t.csv").write_text("ms,tokens\n0,5\n1000,6\n2000,7\n")
    assert cli("trace", "to-manifest", "t.csv", "--time-column", "ms", "--time-unit", "ms", "-o", "t.yaml").code == 0
    told = cli("lint", "t.yaml")
    assert told.code == 1
    assert "profile-assumed" in told.out


@pytest.mark.parametrize("words", [("nosuch.yaml",), ("small.yaml", "--set", "seed=x")], ids=["no file", "no value"])
def test_what_cannot_be_read_is_bad_input(cli, manifest, words):
    assert cli("lint", *words).code == 2


def test_a_manifest_that_lacks_something_is_linted_with_its_assumptions_only(cli, repository):
    told = cli("lint", repository / "manifests/load-manifest.v1.json")
    assert told.code == 2
    assert "--assume" in told.line


def test_a_text_of_the_manifest_cannot_move_the_cursor_of_a_terminal(cli, manifest):
    entry = '{path: profile, value: x, kind: assumed, source: "\\e]0;x\\a\\nforged"}'
    told = cli("lint", manifest, "--set", f"provenance=[{entry}]")
    assert told.code == 1
    assert "\x1b" not in told.out
    assert not any(line.startswith("forged") for line in told.out.splitlines())
