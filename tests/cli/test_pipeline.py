"""What a pipeline reads: JUnit and Markdown, from a run and from its bundle, the same bytes."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

MISSED = ("--set", "gates.admitted.bound=1")


@pytest.mark.parametrize(("words", "code", "red"), [((), 0, 0), (MISSED, 1, 1)], ids=["pass", "fail"])
def test_a_run_writes_both_and_its_bundle_gives_the_same_again(cli, manifest, words, code, red):
    told = cli("run", manifest, *words, "--junit", "a.xml", "--markdown", "a.md", "--quiet")
    assert told.code == code
    (bundle,) = Path("out").iterdir()
    suites = ET.fromstring(Path("a.xml").read_bytes())
    assert int(suites.get("failures")) + int(suites.get("errors")) == red
    assert Path("a.md").read_text().startswith(f"## {'FAIL' if red else 'PASS'}: small 1.0.0, seed 7\n")
    assert cli("report", bundle, "--manifest", manifest, "--junit", "b.xml", "--markdown", "b.md").code == 0
    assert Path("a.xml").read_bytes() == Path("b.xml").read_bytes()
    assert Path("a.md").read_bytes() == Path("b.md").read_bytes()
    assert not (bundle / "report.html").exists()


def test_a_verdict_that_no_gate_carries_is_an_error_of_its_own(cli, manifest):
    told = cli("run", manifest, "--set", "gates.admitted.bound=0", "--junit", "-", "--quiet")
    assert told.code == 4
    suites = ET.fromstring(told.out.encode())
    assert (suites.get("tests"), suites.get("errors")) == ("2", "1")
    assert told.err.startswith("INVALID")


def test_what_goes_to_stdout_goes_there_alone(cli, manifest):
    told = cli("run", manifest, "--markdown", "-", "--quiet")
    assert told.out.startswith("## PASS")
    assert told.err.startswith("PASS  small")


def test_a_page_is_written_as_well_where_it_is_named(cli, bundle):
    assert cli("report", bundle, "--junit", "x.xml", "-o", "page.html").code == 0
    assert Path("page.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "words",
    [
        ("--junit", "x", "--markdown", "x"),
        ("--junit", "small.yaml"),
        ("--json", "--markdown", "-"),
        ("--junit", "x", "--outcomes", "x"),
        ("--markdown", "no/such/folder/x.md"),
    ],
    ids=" ".join,
)
def test_outputs_that_cannot_stand_side_by_side_or_anywhere_are_refused(cli, manifest, words):
    before = manifest.read_text()
    told = cli("run", manifest, *words)
    assert told.code == 2
    assert told.line.startswith(("--junit", "--markdown", "--outcomes"))
    assert manifest.read_text() == before
    assert not Path("out").exists() or not any(Path("out").iterdir())


def test_a_report_s_outputs_are_kept_apart_too(cli, bundle):
    assert "--junit: got 'x'" in cli("report", bundle, "-o", "x", "--junit", "x").line
