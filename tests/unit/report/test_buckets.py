from __future__ import annotations

from fractions import Fraction

from sim.measure.series import SeriesView
from sim.report import figures
from sim.report.buckets import bucket_levels

S = 10**9


def view(**series):
    return SeriesView(S, 3 * S + S // 2, series)


def test_a_bucket_is_filled_and_drawn_from_bin_by_bin():
    # 10 tokens a second into a bucket of 20, full at first; 25, 5, 40 and 0 are drawn in 1, 1, 1 and half a second.
    (level,) = bucket_levels(view(drawn=[25, 5, 40, 0]), {"workspace": {"tokens_per_second": 10, "tokens_burst": 20}})
    assert (level.name, level.size) == ("workspace, tokens_per_second", 20)
    assert [share * 20 for share in level.shares] == [5, 10, 0, 5]
    assert level.lowest == 0


def test_a_request_bucket_loses_one_an_admission_and_holds_a_minute_of_them():
    (level,) = bucket_levels(
        view(**{"admitted|provider=p": [6, 0, 3, 1]}), {"providers": {"p": {"requests_per_minute": 60}}}
    )
    # One a second comes in; 60 - 5, 56, 54, and half of one for half a second less one.
    assert [share * 60 for share in level.shares] == [55, 56, 54, Fraction(107, 2)]


def test_the_emptiest_bucket_comes_first_and_unknown_draws_are_left_out():
    series = {"admitted": [1, 0, 0, 0], "drawn|principal=a": [15, 0, 0, 0]}
    profile = {
        "workspace": {"requests_per_minute": 60, "tokens_per_second": 5},
        "principals": {"a": {"tokens_per_second": 10}, "b": {"tokens_per_second": 10}},
    }
    levels = bucket_levels(view(**series), profile)
    assert [level.name for level in levels] == ["principal a, tokens_per_second", "workspace, requests_per_minute"]
    assert [level.lowest for level in levels] == [Fraction(1, 2), 1]


def test_the_figure_has_a_panel_a_bucket_and_tells_how_low_it_fell(failing):
    made = view(drawn=[25, 5, 40, 0])
    fig = figures.bucket_levels(made, failing.result, {"workspace": {"tokens_per_second": 10, "tokens_burst": 20}})
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["workspace, tokens_per_second: full at 20"]
    assert list(fig.axes[0].patches[0].get_data().values) == [0.25, 0.5, 0.0, 0.25]
    assert "workspace, tokens_per_second fell to 0 %" in fig.alt
