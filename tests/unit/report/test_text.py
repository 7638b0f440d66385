from __future__ import annotations

from fractions import Fraction

import pytest

from sim.report.text import command, listing, plural, rounded, trimmed, with_ms, with_seconds, with_unit


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("0.950000", "0.95"),
        ("1999.000000", "1999"),
        ("0.000000", "0"),
        ("-0.008889", "-0.008889"),
        (100, "100"),
        ("100", "100"),
    ],
)
def test_trimming_keeps_the_value(stored, shown):
    assert trimmed(stored) == shown
    assert Fraction(trimmed(stored)) == Fraction(stored)


def test_a_missing_figure_is_a_dash_and_not_zero():
    assert with_unit(None, "ms") == "\N{EN DASH}"
    assert with_unit("520.000000", "ms") == "520 ms"
    assert with_unit(8, "count") == "8"


def test_derived_figures_are_rounded_half_up_and_lose_trailing_zeros():
    assert rounded(Fraction(2, 3)) == "0.67"
    assert rounded(Fraction(5, 2), 0) == "3"
    assert rounded(10, 0) == "10"


def test_times_are_exact():
    assert with_ms(1_500_000) == "1.5 ms"
    assert with_ms(1) == "0.000001 ms"
    assert with_seconds(61_000_000_137) == "61.000000137 s"


def test_a_command_is_safe_to_paste_whatever_the_names():
    assert command("tollgate", "run", "a b.yaml") == "tollgate run 'a b.yaml'"
    assert command("tollgate", "run", "$(rm x).yaml") == "tollgate run '$(rm x).yaml'"


def test_lists_and_counts_read_as_sentences():
    assert listing([]) == ""
    assert listing(["a"]) == "a"
    assert listing(iter(["a", "b", "c"])) == "a, b and c"
    assert plural(1, "gate") == "1 gate"
    assert plural(2, "gate") == "2 gates"
