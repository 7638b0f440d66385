from __future__ import annotations

from math import nan

import pytest

from sim.gates.verdict import Verdict
from sim.report.comparisons import Pair, capacity_curve, heat_map, paired
from sim.report.style import svg
from tollgate.core.errors import CallerError


def curve(**changes):
    return capacity_curve([10, 20, 40], [9.5, 19.0, 25.0], measure="goodput a second", **changes)


def grid(**changes):
    given = {"columns": ["2", "4"], "rows": ["10", "20", "30"], "values": [[0.5, 0.9], [0.4, nan], [0.3, 0.7]]}
    return heat_map(**(given | changes), measure="admission", axes=("concurrency", "rate"))


def test_a_pair_is_two_marks_and_their_difference():
    fig = paired([Pair("quiet", 0.25, 0.75), Pair("noisy", 0.5, 0.5)], names=("reference", "ours"), measure="admitted")
    values, differences = fig.axes
    assert [text.get_text() for text in values.get_yticklabels()] == ["quiet", "noisy"]
    marks = {line.get_label(): list(line.get_xdata()) for line in values.lines if line.get_label()[0] != "_"}
    assert marks == {"reference": [0.25, 0.5], "ours": [0.75, 0.5]}
    assert [line.get_xdata()[0] for line in differences.lines if line.get_marker() == "D"] == [0.5, 0.0]
    assert differences.get_xlabel() == "ours less reference"
    assert "quiet 0.25 and 0.75" in fig.alt
    assert "No intervals: one run of each." in fig.alt


def test_intervals_of_differences_are_drawn_where_there_are_any():
    fig = paired([Pair("quiet", 0.25, 0.75, (0.4, 0.6))], names=("a", "b"), measure="admitted", verdict=Verdict.PASS)
    assert [0.4, 0.6] in [list(line.get_xdata()) for line in fig.axes[1].lines]
    assert fig._suptitle.get_text() == "PASS: the same arrivals twice"


def test_a_curve_has_its_points_its_knee_and_its_interval():
    fig = curve(knee=30.0, intervals=[(9, 10), (18, 20), (23, 27)])
    (ax,) = fig.axes
    assert [list(line.get_xdata()) for line in ax.lines] == [[10, 20, 40], [30.0, 30.0]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["interval", "goodput a second", "knee at 30"]
    assert fig.alt.endswith("Its knee lies at 30.")
    assert len(ax.collections) == 1
    assert curve().alt.endswith("It has no knee in this range.")


def test_each_cell_of_a_map_has_its_number_and_what_does_not_hold_is_hatched():
    fig = grid(holds=[[False, True], [False, True], [True, True]])
    (ax,) = fig.axes
    assert [text.get_text() for text in ax.texts] == ["0.5", "0.9", "0.4", "-", "0.3", "0.7"]
    assert sum(patch.get_hatch() == "///" for patch in ax.patches) == 2
    assert "from 0.3 to 0.9. Hatched, for gates that do not hold: 2 cells." in fig.alt
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("concurrency", "rate")


@pytest.mark.parametrize(
    "made",
    [
        lambda: paired([], names=("a", "b"), measure="m"),
        lambda: paired([Pair("n", 1, 2)] * 41, names=("a", "b"), measure="m"),
        lambda: capacity_curve([], [], measure="m"),
        lambda: capacity_curve([1, 2], [1], measure="m"),
        lambda: capacity_curve([1, 1], [1, 2], measure="m"),
        lambda: curve(intervals=[(1, 2)]),
        lambda: grid(rows=["10"]),
        lambda: grid(holds=[[True]]),
    ],
)
def test_numbers_that_do_not_fit_are_refused(made):
    with pytest.raises(CallerError):
        made()


def test_pictures_are_the_same_twice_and_names_only_text():
    evil = "<script>$x$</script>"
    texts = [svg(paired([Pair(evil, 1, 2)], names=(evil, "b"), measure=evil)) for _ in range(2)]
    assert texts[0] == texts[1]
    assert "<script" not in texts[0]
    assert svg(grid(values=[[nan, nan]] * 3)) == svg(grid(values=[[nan, nan]] * 3))
