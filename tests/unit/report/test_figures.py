from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from sim.measure.quantiles import LogLinearHistogram
from sim.measure.series import Band
from sim.report import figures, panels
from sim.report.style import CYCLE, VERDICT_COLOURS, svg


def test_drawing_twice_from_one_figure_changes_nothing(drawings, svgs):
    assert svg(drawings["queue_depth"], prefix="queue_depth") == svgs["queue_depth"]


def test_the_callers_settings_do_not_reach_the_figure(failing, svgs):
    import matplotlib as mpl

    before = svgs["gates"]
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path", "svg.hashsalt": "other"}):
        assert svg(figures.gates(failing.result), prefix="gates") == before


def test_every_figure_carries_a_text_for_those_who_cannot_see_it(drawings):
    for name, fig in drawings.items():
        assert len(fig.alt) > 40, name
        assert fig.alt.endswith("."), name


def test_the_verdict_stands_in_the_title(any_report):
    title = figures.gates(any_report.result)._suptitle.get_text()
    assert title == f"{any_report.result.verdict}: observed against bounds"


def test_an_svg_holds_no_date_no_program_and_no_reference_to_elsewhere(svgs):
    for name, text in svgs.items():
        assert text.startswith('<svg role="img" aria-label=')
        assert not re.search(r"Matplotlib|dc:date|metadata", text), name
        addresses = set(re.findall(r"https?://[^\"' ]+", text))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, name


def test_ids_of_two_figures_on_a_page_do_not_meet(svgs):
    ids = [set(re.findall(r'\bid="([^"]+)"', text)) for text in svgs.values()]
    assert len(set().union(*ids)) == sum(map(len, ids))
    text = svgs["timeline"]
    targets = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text))
    assert {one or other for one, other in targets} <= set(re.findall(r'\bid="([^"]+)"', text))


def test_ids_are_numbered_and_hold_no_hash_of_a_place(svgs):
    for name, text in svgs.items():
        ids = re.findall(r'\bid="([^"]+)"', text)
        used = re.findall(r'(?:\bid="|href="#|url\(#)([^")]+)', text)
        assert set(used) == set(ids) == {f"{name}-{number}" for number in range(len(ids))}
        assert list(dict.fromkeys(used)) == [f"{name}-{number}" for number in range(len(ids))]


def test_a_name_that_looks_like_an_id_is_only_text(make_record, make_report):
    changes = {"quiet_admitted": {"id": 'url(#a) id="b"'}}
    text = svg(figures.gates(make_report(make_record("PASS", gate_changes=changes)).result))
    assert 'url(#a) id="b"' in text


def test_figures_need_neither_pyplot_nor_pandas(imported):
    assert "matplotlib.figure" in imported["figures"]
    assert not {"matplotlib.pyplot", "pandas"} & imported["figures"]


def test_a_figure_shows_itself_as_svg(drawings):
    assert drawings["gates"]._repr_svg_().startswith("<svg ")


def test_the_share_of_waits_steps_at_each_value_and_ends_at_one():
    # Three of four values are 0, one is 2 ms: bins below 256 ns are exact, a higher one is at most 0.8 % wide.
    waits_ms, shares = panels.ecdf(LogLinearHistogram.of(np.array([0, 0, 0, 2_000_000])))
    assert waits_ms == [0.0, 0.0, 2.0]
    assert shares == [0.0, 0.75, 1.0]


def test_an_empty_run_still_draws(make_record, make_report, draw_all):
    from sim.measure.series import SeriesView

    empty = make_report(
        make_record("INVALID", "no-arrivals", observations=[]), series=SeriesView(bin_ns=10, end_ns=95, series={})
    )
    for fig in draw_all(empty).values():
        assert svg(fig)


def test_more_classes_than_panels_share_the_last_one(make_record, make_report):
    rows = [
        {"metric": "arrivals", "labels": {"class": f"c{n}"}, "value": n, "unit": "count", "n": 1, "half_width": None}
        for n in range(1, 8)
    ]
    report = make_report(make_record("PASS", observations=rows))
    titles = [ax.get_title(loc="left") for ax in figures.load(report.series, report.result).axes]
    assert titles == ["class c7", "class c6", "class c5", "4 other classes"]


def test_names_with_markup_are_only_text(make_record, make_report):
    evil = "<script>$x^2$</script>"
    changes = {"quiet_admitted": {"id": evil}}
    text = svg(figures.gates(make_report(make_record("PASS", gate_changes=changes)).result))
    assert "<script" not in text
    assert "&lt;script&gt;$x^2$&lt;/script&gt;" in text


def test_names_in_any_script_are_drawn_without_a_warning(make_record, make_report, draw_all):
    name = "\u5024 \u0921 \u0634 \u0e01 \U0001f600"  # a warning is an error here
    changes = {"quiet_admitted": {"id": name}}
    assert name in "".join(map(svg, draw_all(make_report(make_record("PASS", gate_changes=changes))).values()))


@pytest.mark.parametrize(("observed", "place"), [(0, 1.0), (3, 2.0)])
def test_a_bound_of_zero_has_a_place_on_the_axis(make_record, observed, place):
    from sim.report.result import Result

    changes = {"quiet_wait": {"bound": "0", "observed": observed, "margin": str(-observed)}}
    gate = next(gate for gate in Result(make_record("PASS", gate_changes=changes)).gates if gate.id == "quiet-wait")
    assert panels._share_of_bound(gate) == place


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_verdicts_are_dark_enough_to_read_on_white():
    # WCAG 2.2, success criterion 1.4.3: contrast of at least 4.5 to 1.
    assert all(1.05 / (luminance(colour) + 0.05) >= 4.5 for colour in VERDICT_COLOURS.values())
    assert len(set(CYCLE)) == len(CYCLE)


def test_long_names_leave_room_for_the_figure(make_record, make_report, draw_all):
    long = "n" * 128
    changes = {name.replace("-", "_"): {"id": f"{long}-{name}"} for name in ("quiet-wait", "amplification", "active")}
    figures_of = [
        {"metric": "arrivals", "labels": {key: long}, "value": 5, "unit": "count", "n": 1, "half_width": None}
        for key in ("class", "principal")
    ]
    report = make_report(make_record("PASS", gate_changes=changes, observations=figures_of))
    for fig in draw_all(report).values():  # a layout without room is a warning, and a warning fails
        text = svg(fig)
        assert long not in text.split(">", 1)[1]


def drawn(ax, label):
    """The heights of the steps under a label of the key."""
    (line,) = (patch for patch in ax.patches if patch.get_label() == label)
    return list(line.get_data().values)


def test_load_is_drawn_as_the_series_have_it(failing):
    # 600 bins of 0.5 s in 150 cells of 2 s: arrivals 4, 5, 4, 5 of class noisy, each 8th of them retried: 0.
    ax = figures.load(failing.series, failing.result).axes[0]
    assert ax.get_title(loc="left") == "class noisy"
    assert drawn(ax, "offered")[0] == sum(failing.series.values("attempts|class=noisy")[:4]) / 2 == 9.0
    assert drawn(ax, "completed (goodput)")[0] == 9.0
    assert len(drawn(ax, "offered")) == 150


def test_load_by_principal_has_a_panel_for_each_that_has_series(failing, make_report):
    series = dict(failing.series.series)
    for name in ("attempts", "admitted", "completed", "arrivals"):
        series[f"{name}|principal=noisy"] = series[f"{name}|class=noisy"]
    report = make_report(failing.record, series=replace(failing.series, series=series))
    fig = figures.load(report.series, report.result, by="principal")
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["principal noisy"]
    assert drawn(fig.axes[0], "offered")[0] == 9.0
    without = figures.load(failing.series, failing.result, by="principal")
    assert [ax.get_title(loc="left") for ax in without.axes] == ["all requests"]


def test_outages_are_bands_with_a_key_of_their_own(failing):
    outages = [Band("outage", "primary", kind, 0, 10**9) for kind in ("error", "stall", "slow", "throttle")]
    view = replace(failing.series, bands=(*failing.series.bands, *outages, Band("outage", "primary", "ramp", 5, 9)))
    text = svg(figures.bands(view, failing.result))
    for said in ("outage primary", "outage: errors", "outage: stall", "outage: slow", "outage: 429s", "outage fades"):
        assert f">{said}<" in text
