from __future__ import annotations

import re

import pytest

from sim.report import summary

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_a_summary_begins_with_verdict_and_reason(failing):
    lines = summary.render(failing).splitlines()
    assert lines[0] == "FAIL  noisy-neighbour 1.0.0, seed 2601"
    assert lines[1].startswith("quiet-admitted does not hold: admission.ratio of class quiet came to 94.11 %")


def test_a_summary_says_what_the_page_says(failing):
    text = " ".join(summary.render(failing, page="out/report.html").split())
    for said in (
        "First breach (quiet-admitted)",
        "quiet-admitted FAIL 94.11 % >= 95 % -0.89 points 1",
        "implied by the configuration, not counted",
        "Binds first: max_principal_share of principal noisy",
        "queue-timeout noisy 0 73 7 80",
        "1840: shed, queue-timeout (1 attempt), took 2000 ms",
        "tollgate explain out/noisy-neighbour-ffffffffffff --request 1840",
        "bundle out/noisy-neighbour-ffffffffffff",
        "page out/report.html",
        "again tollgate run manifests/noisy-neighbour.yaml Figures are rounded for reading",
        "--set profile.workspace.concurrency=12",
    ):
        assert said in text


def test_colour_is_an_addition_and_nothing_else(any_report):
    plain, coloured = summary.render(any_report), summary.render(any_report, colour=True)
    assert "\x1b" not in plain
    assert "\x1b" in coloured
    assert ANSI.sub("", coloured) == plain


@pytest.mark.parametrize("width", [50, 80, 120])
def test_sentences_stay_within_the_width(any_report, width):
    for line in summary.render(any_report, width=width).splitlines():
        is_sentence = line.endswith(".") and not line.startswith("  ")
        assert not is_sentence or len(line) <= width


def test_lines_have_no_trailing_blanks_and_the_last_one_ends(any_report):
    text = summary.render(any_report)
    assert text.endswith("\n")
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_record_without_gates_and_requests_has_a_summary(make_record, make_report):
    record = make_record("INVALID", "no-deciding-gate", gates=[], observations=[])
    record["plan"]["gates"].clear()
    text = summary.render(make_report(record, slowest=[], profile=None, series=None))
    assert "No gate counts" in text
    assert "worst requests" not in text


def test_the_summary_draws_nothing(imported):
    assert not {"matplotlib", "jinja2", "pandas", "scipy"} & imported["summary"]
