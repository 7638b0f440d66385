"""The lines against those that the reference's figures print, and the digests against hashlib."""

from __future__ import annotations

import hashlib
from io import StringIO

import pytest

from sim.textformats import LineDigest, arrival_line, outcome_line
from sim.workload.blocks import UNKNOWN, Figures

MS = 10**6


def test_an_arrival_is_spelt_as_the_reference_spells_it():
    line = arrival_line(0, 21 * MS, "noisy", "llm-subagent", 200, 44 * MS, 1, -1)
    assert line == "0,21,noisy,llm-subagent,200,44,1,-\n"


def test_a_cancellation_is_an_instant():
    assert arrival_line(5, 100 * MS, "a", "p", 1, MS, 0, 50 * MS).endswith(",0,150\n")


def test_a_cancellation_at_once_is_not_an_absent_one():
    assert arrival_line(5, 100 * MS, "a", "p", 1, MS, 0, 0).endswith(",0,100\n")


def test_what_is_special_about_a_request_follows_its_line_and_what_is_unknown_is_absent():
    figures = Figures(300, 40, 2048, UNKNOWN, 3, 1, 2, 5)
    plain = arrival_line(7, 100 * MS, "a", "p", 400, MS, 0, -1)
    assert arrival_line(7, 100 * MS, "a", "p", 400, MS, 0, -1, figures) == f"{plain[:-1]},300,40,2048,-,3,1,2,5\n"


# Lines 1, 1209 and 1227 of the reference's outcomes of v2.
@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("0 completed 2 361 0,2 -\n", (0, "completed", 2, 361 * MS, [0, 2 * MS], None)),
        ("1208 shed 2 62447 1416 queue-full\n", (1208, "shed", 2, 62447 * MS, [1416 * MS], "queue-full")),
        ("1226 cancelled 1 61021 - cancelled\n", (1226, "cancelled", 1, 61021 * MS, [], "cancelled")),
    ],
)
def test_an_outcome_is_spelt_as_the_reference_spells_it(line, fields):
    assert outcome_line(*fields) == line


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0"), (1, "0.000001"), (10 * MS, "10"), (1_500_000, "1.5"), (120 * MS + 20, "120.00002")]
)
def test_times_are_decimal_milliseconds_without_trailing_zeros(ns, text):
    assert outcome_line(0, "failed", 1, ns, [], None) == f"0 failed 1 {text} - -\n"


@pytest.mark.parametrize("count", [0, 1, LineDigest.BATCH, 2 * LineDigest.BATCH + 1])
def test_a_digest_is_that_of_the_whole_text_and_the_copy_is_complete(count):
    out = StringIO()
    digest = LineDigest(out)
    lines = [f"{number}\n" for number in range(count)]
    digest.add_all(lines)
    assert digest.hexdigest() == hashlib.sha256("".join(lines).encode()).hexdigest()
    assert out.getvalue() == "".join(lines)
