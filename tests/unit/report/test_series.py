from __future__ import annotations

from fractions import Fraction

from sim.measure.series import Band, SeriesView
from sim.report.series import Cells, by_label, measured_tokens, phase_at, summed, trailing_ratios

S = 10**9


def view(**changes):
    series = {
        "queue|provider=a": [S, 2 * S, 0],
        "queue|provider=b": [0, S, S // 2],
        "shed|class=x,reason=queue-full": [1, 0, 0],
    }
    given = {"bin_ns": S, "end_ns": 2 * S + S // 2, "series": series, "bands": (Band("phase", "load", "", 0, 2 * S),)}
    return SeriesView(**(given | changes))


def test_series_are_picked_by_one_label():
    assert list(by_label(view().series, "queue", "provider")) == ["a", "b"]
    assert by_label(view().series, "shed", "class") == {}


def test_members_add_up_and_none_means_the_whole_run():
    assert summed(view(), "queue", "provider", ["a", "b"]) == [S, 3 * S, S // 2]
    assert summed(view(), "queue", "provider", []) == [0, 0, 0]


def test_trailing_ratios_wait_for_a_full_window():
    # Windows of two: (1 + 2) / (1 + 1), (2 + 6) / (1 + 3).
    assert trailing_ratios([1, 2, 6], [1, 1, 3], 2) == [None, Fraction(3, 2), 2]
    assert trailing_ratios([3], [2], 10) == [Fraction(3, 2)]
    assert trailing_ratios([1, 1], [0, 0], 1) == [None, None]


def test_a_level_is_averaged_over_the_true_length_of_a_cell():
    # The run ends half way through the last bin: half a second at level 1 is a mean of 1, not of a half.
    cells = Cells.over(view(), 3)
    assert cells.edges_ns() == [0, S, 2 * S, 2 * S + S // 2]
    assert cells.means([S, 2 * S, S // 2]) == [1.0, 2.0, 1.0]


def test_merged_cells_keep_counts():
    cells = Cells.over(view(end_ns=3 * S), 2)
    assert cells.edges_ns() == [0, 2 * S, 3 * S]
    assert cells.per_second([10, 20, 5]) == [15.0, 5.0]


def test_a_stump_at_the_end_joins_the_cell_before_it():
    # A quarter of a cell would turn a few events into a rate that never was.
    cells = Cells.over(view(), 2)
    assert cells.edges_ns() == [0, 2 * S + S // 2]
    assert cells.per_second([10, 20, 5]) == [14.0]


def test_the_end_of_a_phase_is_not_in_it():
    assert phase_at(view(), 2 * S - 1) == "load"
    assert phase_at(view(), 2 * S) is None


def test_tokens_go_by_the_scope_they_are_drawn_in():
    tokens = {"tokens": [1, 2, 3], "tokens|provider=jev": [1, 1, 1], "tokens|class=x,phase=y": [9, 9, 9]}
    assert measured_tokens(view(series=tokens), 0) == {"workspace": 6, "provider jev": 3}
    assert measured_tokens(view(), 0) == {}
    assert measured_tokens(view(series=tokens), S) == {"workspace": 5, "provider jev": 2}
