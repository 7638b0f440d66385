"""The pictures of a run, each a matplotlib figure drawn from a series view and a record.

Owns what is drawn and the words on it. A figure is drawn without pyplot, shows itself in a notebook as SVG, carries its
verdict in the title and a text for those who cannot see it. Must not know pages or files, and works out no metric: what
a figure states in words it takes from the record, what it draws it takes from the bins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from sim.report import style
from sim.report.result import Gate, Result
from sim.report.series import Grid, SeriesView, bins, by_label, total, trailing
from sim.report.style import ReportFigure, new_figure, styled
from sim.report.text import listing, rounded, seconds_text, trimmed, with_unit
from tollgate.core.units import NS_PER_MS, NS_PER_S

CELLS: Final = 200
"""Points a line has at most: about three to a millimetre of the printed page; more is ink, not information."""

MAX_PANELS: Final = 4
"""Classes with a panel of their own; the rest share the last one."""

MAX_ROWS: Final = 20
"""Principals in a picture, as in a table (they are named only where the manifest invents them)."""

AMPLIFICATION_WINDOW_NS: Final = 10 * NS_PER_S
"""The window of ``retry.amplification.peak_10s``."""

_STATE_STYLES: Final = {
    "open": (style.VERMILLION, "////"),
    "half-open": (style.ORANGE, ".."),
    "closed": (style.PALE, ""),
}
_BAND_STYLES: Final = {"pause": (style.PURPLE, "\\\\\\\\"), "outage": (style.INK, "xx")}
_MARKERS: Final = {"PASS": "o", "FAIL": "X", "INCONCLUSIVE": "D", "INVALID": "s"}


# --------------------------------------------------------------------------------------------------------- whole figures


def timeline(view: SeriesView, result: Result) -> ReportFigure:
    """Draw bands, load, queue and retry amplification on one time axis.

    Args:
        view: Series of the run.
        result: Its record.
    """
    with styled():
        rows = _band_rows(view)
        fig = new_figure(6.2 + 0.22 * len(rows))
        axes = fig.subplots(4, 1, sharex=True, squeeze=False, height_ratios=[0.5 + 0.22 * len(rows), 2.0, 1.6, 1.4])[
            :, 0
        ]
        _draw_bands(axes[0], view, rows)
        _draw_load(axes[1], view, None)
        axes[1].set_title("Load, requests per second")
        _draw_queue(axes[2], view, result)
        axes[2].set_title("Waiting requests, time average")
        _draw_amplification(axes[3], view, result)
        axes[3].set_title("Retry amplification, last 10 s")
        _time_axis(axes[3], view)
        states = sorted({state for kind, _, state, _, _ in view.bands if kind == "breaker" and state != "closed"})
        return _finish(
            fig,
            result,
            "the run on one time axis",
            f"Four panels over the time of the run: phases and provider states ({', '.join(states) or 'no breaker left closed'}), "
            f"load, waiting requests and retry amplification. {_load_words(result)} {_queue_words(result)}",
        )


def bands(view: SeriesView, result: Result) -> ReportFigure:
    """Draw phases, breaker states, pauses and outages as bands over time."""
    with styled():
        rows = _band_rows(view)
        fig = new_figure(1.1 + 0.28 * len(rows))
        ax = fig.subplots()
        _draw_bands(ax, view, rows)
        _time_axis(ax, view)
        spoken = [
            f"{label} {state or kind} from {seconds_text(start)} to {seconds_text(end)}"
            for kind, label, state, start, end in view.bands
            if kind != "breaker" or state != "closed"
        ]
        return _finish(fig, result, "phases and provider states", f"Bands over time: {'; '.join(spoken[:12])}.")


def load(view: SeriesView, result: Result) -> ReportFigure:
    """Draw offered load, admissions and goodput over time, a panel for each class."""
    with styled():
        groups = _classes(view)
        fig = new_figure(0.9 + 1.75 * len(groups))
        axes = fig.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for index, (ax, (name, members)) in enumerate(zip(axes, groups.items(), strict=True)):
            _draw_load(ax, view, members, legend=index == 0)
            ax.set_title(f"class {name}" if members else name)
            ax.set_ylabel("per second")
        _time_axis(axes[-1], view)
        return _finish(fig, result, "offered, admitted and completed load", _load_words(result))


def queue_depth(view: SeriesView, result: Result) -> ReportFigure:
    """Draw the time average of waiting requests over time, in all and by provider."""
    with styled():
        fig = new_figure(2.8)
        ax = fig.subplots()
        _draw_queue(ax, view, result)
        ax.set_ylabel("waiting requests")
        _time_axis(ax, view)
        return _finish(fig, result, "waiting requests over time", _queue_words(result))


def wait_distribution(view: SeriesView, result: Result) -> ReportFigure:
    """Draw the share of admitted attempts that waited no longer than a time, by class, with the gates' bounds."""
    with styled():
        fig = new_figure(3.2)
        ax = fig.subplots()
        curves = by_label(view.histograms, "queue.wait", "class")
        if not curves and "queue.wait" in view.histograms:
            curves = {"all": view.histograms["queue.wait"]}
        longest_ms = 1.0
        for (name, histogram), colour, line in zip(curves.items(), style.CYCLE, style.LINE_STYLES, strict=False):
            waits_ms, shares = ecdf(list(histogram.buckets()))
            longest_ms = max(longest_ms, *waits_ms)
            ax.step(waits_ms, shares, where="post", color=colour, linestyle=line, label=f"class {name}")
        for gate in result.gates:
            if gate.metric.startswith("queue.wait."):
                bound_ms = float(gate.bound)
                longest_ms = max(longest_ms, bound_ms)
                ax.axvline(bound_ms, color=style.INK, linewidth=1, linestyle=(0, (2, 2)))
                ax.annotate(
                    f"{gate.id} {gate.op} {rounded(gate.bound)} ms",
                    (bound_ms, 0.02),
                    rotation=90,
                    ha="right",
                    va="bottom",
                    fontsize=8,
                    xycoords=("data", "axes fraction"),
                )
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xlim(0, longest_ms * 1.25)
        ax.set_ylim(0, 1.02)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms"))
        ax.set_xlabel("waited no longer than (linear to 1 ms, then logarithmic)")
        ax.set_ylabel("share of admitted attempts")
        if curves:
            ax.legend(loc="lower right")
        return _finish(fig, result, "how long admitted attempts waited", _wait_words(result))


def amplification(view: SeriesView, result: Result) -> ReportFigure:
    """Draw attempts over arrivals in the last ten seconds, over time, with the bounds of gates on it."""
    with styled():
        fig = new_figure(2.6)
        ax = fig.subplots()
        _draw_amplification(ax, view, result)
        ax.set_ylabel("attempts per arrival")
        _time_axis(ax, view)
        seen = result.observed("retry.amplification")
        words = (
            f"Over the whole run {trimmed(seen.value)} attempts an arrival." if seen and seen.value is not None else ""
        )
        return _finish(
            fig, result, "retry amplification over the last 10 s", f"Attempts per arrival over time. {words}"
        )


def gates(result: Result) -> ReportFigure:
    """Draw each gate's observed value against its bound, both as shares of the bound. Needs no series."""
    with styled():
        fig = new_figure(1.0 + 0.42 * max(len(result.gates), 1))
        ax = fig.subplots()
        for row, gate in enumerate(result.gates):
            _draw_bullet(ax, row, gate)
        ax.set_yticks(range(len(result.gates)), [gate.id for gate in result.gates])
        ax.set_ylim(len(result.gates) - 0.5, -0.5)
        ax.set_xlim(0, 2)
        ax.set_xticks([0, 0.5, 1, 1.5, 2], ["0", "half", "bound", "", "twice"])
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False)
        ax.axvline(1, color=style.INK, linewidth=1.2)
        ax.set_xlabel("observed as a share of the bound; allowed side shaded, hollow: implied by the configuration")
        words = "; ".join(f"{gate.id}: {_gate_words(gate)}, {gate.verdict}" for gate in result.gates)
        return _finish(fig, result, "gates", f"Observed values against their bounds: {words}.")


def fairness(result: Result) -> ReportFigure:
    """Draw each principal's share of arrivals beside its share of completions, from observations. Needs no series."""
    with styled():
        demand, goodput = (_shares(result, metric) for metric in ("arrivals", "completed"))
        names = sorted(demand, key=lambda name: (-demand[name], name))[:MAX_ROWS]
        fig = new_figure(1.1 + 0.26 * max(len(names), 1))
        ax = fig.subplots()
        for row, name in enumerate(names):
            ax.plot([demand[name], goodput.get(name, 0.0)], [row, row], color=style.GREY, linewidth=1.2, zorder=1)
            ax.plot(demand[name], row, marker="o", color="white", markeredgecolor=style.INK, markersize=7, linestyle="")
            ax.plot(goodput.get(name, 0.0), row, marker="D", color=style.BLUE, markersize=5, linestyle="")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:g} %"))
        ax.set_xlabel("share of the whole")
        ax.legend(
            handles=[
                Line2D(
                    [],
                    [],
                    marker="o",
                    color="white",
                    markeredgecolor=style.INK,
                    markersize=7,
                    label="of demand (arrivals)",
                ),
                Line2D(
                    [], [], marker="D", color=style.BLUE, linestyle="", markersize=5, label="of goodput (completed)"
                ),
            ],
            loc="lower right",
        )
        widest = max(names, key=lambda name: abs(goodput.get(name, 0.0) - demand[name]), default=None)
        words = (
            f"Furthest apart: {widest}, with {100 * demand[widest]:.1f} % of demand and {100 * goodput.get(widest, 0.0):.1f} % of goodput."
            if widest is not None
            else "The record has no observations by principal."
        )
        return _finish(fig, result, "shares of demand and goodput", words)


# --------------------------------------------------------------------------------------------------------------- pure parts


def ecdf(buckets: Sequence[tuple[int, int, int]]) -> tuple[list[float], list[float]]:
    """Return the steps of an empirical distribution function from a histogram.

    Args:
        buckets: (lowest ns, highest ns, count) in rising order. A value counts as its bucket's highest: the curve never flatters.

    Returns:
        Times in milliseconds and the share of values at or below each, both of shape ``(buckets + 1,)``, the first
        point ``(0, 0)``.
    """
    whole = sum(count for _, _, count in buckets)
    waits_ms, shares, below = [0.0], [0.0], 0
    for _, highest, count in buckets:
        below += count
        waits_ms.append(highest / NS_PER_MS)
        shares.append(below / whole)
    return waits_ms, shares


def _shares(result: Result, metric: str) -> dict[str, float]:
    rows = {name: row.exact or Fraction(0) for name, row in result.by(metric, "principal").items()}
    whole = sum(rows.values())
    return {name: float(value / whole) for name, value in rows.items()} if whole else {}


def _classes(view: SeriesView) -> dict[str, tuple[str, ...]]:
    """Return panel titles with the classes in each; no class means the whole run."""
    demand = by_label(view.series, "arrivals", "class")
    names = sorted(demand, key=lambda name: -sum(demand[name]))
    if not names:
        return {"all requests": ()}
    if len(names) <= MAX_PANELS:
        return {name: (name,) for name in names}
    rest = tuple(names[MAX_PANELS - 1 :])
    return {**{name: (name,) for name in names[: MAX_PANELS - 1]}, f"{len(rest)} others": rest}


def _values(view: SeriesView, name: str, classes: Sequence[str] | None) -> list[int]:
    """Return a series of the given classes together, or of the whole run."""
    if not classes:
        return total(view, name)
    parts = [view.series[key] for cls in classes if (key := f"{name}|class={cls}") in view.series]
    return [sum(column) for column in zip(*parts, strict=True)] if parts else [0] * bins(view)


def offered_name(view: SeriesView) -> str:
    """Return the series of offered load: attempts, or arrivals where attempts are not kept."""
    return "attempts" if any(key.split("|")[0] == "attempts" for key in view.series) else "arrivals"


# ------------------------------------------------------------------------------------------------------------------- drawing


def _draw_load(ax: Axes, view: SeriesView, classes: Sequence[str] | None, *, legend: bool = True) -> None:
    grid = Grid.over(view, CELLS)
    lines = (
        (offered_name(view), "offered", style.GREY, "-", 1.0),
        ("admitted", "admitted", style.BLUE, "-", 1.6),
        ("completed", "completed (goodput)", style.GREEN, "--", 1.6),
    )
    for name, label, colour, line, width in lines:
        rates = grid.per_second(_values(view, name, classes))
        ax.stairs(rates, grid.edges_s(), baseline=None, color=colour, linestyle=line, linewidth=width, label=label)
    ax.set_ylim(bottom=0)
    _shade_phases(ax, view)
    if legend:
        ax.legend(loc="upper right", ncols=3)


def _draw_queue(ax: Axes, view: SeriesView, result: Result) -> None:
    grid = Grid.over(view, CELLS)
    edges = grid.edges_s()
    ax.stairs(grid.mean_level(total(view, "queue")), edges, baseline=None, color=style.INK, label="all")
    providers = by_label(view.series, "queue", "provider")
    if len(providers) > 1:
        for (name, levels), colour, line in zip(providers.items(), style.CYCLE, style.LINE_STYLES[1:], strict=False):
            ax.stairs(
                grid.mean_level(levels), edges, baseline=None, color=colour, linestyle=line, linewidth=1.1, label=name
            )
    most = result.exact("queue.length.max")
    if most is not None:
        ax.axhline(
            float(most), color=style.VERMILLION, linewidth=1, linestyle=(0, (2, 2)), label=f"longest, {rounded(most)}"
        )
    ax.set_ylim(bottom=0)
    _shade_phases(ax, view)
    ax.legend(loc="upper right", ncols=3)


def _draw_amplification(ax: Axes, view: SeriesView, result: Result) -> None:
    width = max(1, AMPLIFICATION_WINDOW_NS // view.bin_ns)
    arrivals = trailing(total(view, "arrivals"), width)
    attempts = trailing(total(view, offered_name(view)), width)
    edges = Grid.over(view, max(1, bins(view))).edges_s()
    ratios = [made / came if came else float("nan") for made, came in zip(attempts, arrivals, strict=True)]
    ax.stairs(ratios, edges, baseline=None, color=style.BLUE, label="attempts per arrival")
    for gate in result.gates:
        if gate.metric.startswith("retry.amplification") and not gate.where:
            ax.axhline(
                float(gate.bound),
                color=style.VERMILLION,
                linewidth=1.2,
                linestyle=(0, (2, 2)),
                label=f"gate {gate.id} {gate.op} {rounded(gate.bound)}",
            )
    low, high = ax.get_ylim()
    ax.set_ylim(min(low, 1.0), max(high, 1.1))
    _shade_phases(ax, view)
    ax.legend(loc="upper right", ncols=3)


def _draw_bullet(ax: Axes, row: int, gate: Gate) -> None:
    allowed = (0, 1) if gate.op.startswith("<") else (1, 1)
    ax.broken_barh([allowed], (row - 0.3, 0.6), facecolor=style.PALE)
    place = _share_of_bound(gate)
    if place is not None:
        colour = style.VERDICT_COLOURS.get(gate.verdict, style.INK)
        hollow = gate.implied or gate.warns
        ax.plot(
            min(max(place, 0.0), 1.97),
            row,
            marker=_MARKERS.get(gate.verdict, "s"),
            markersize=8,
            color="white" if hollow else colour,
            markeredgecolor=colour,
            linestyle="",
            clip_on=False,
            zorder=3,
        )
    ax.annotate(
        _gate_words(gate),
        (1.01, row),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=8.5,
        annotation_clip=False,
    )


def _share_of_bound(gate: Gate) -> float | None:
    """Return observed over bound; over a bound of zero, the bound itself is at 1 and whatever exceeds it at 2."""
    if gate.observed is None:
        return None
    if gate.bound == 0:
        return 1.0 if gate.observed == 0 else 2.0 if gate.observed > 0 else 0.0
    return float(gate.observed / gate.bound)


def _gate_words(gate: Gate) -> str:
    return f"{with_unit(gate.came['observed'], gate.asked['unit'])} {gate.op} {trimmed(gate.asked['bound'])}"


def _band_rows(view: SeriesView) -> list[tuple[str, str]]:
    """Return (kind, label) of each row of bands; all phases share one."""
    rows = {("phase", "") if kind == "phase" else (kind, label): None for kind, label, *_ in view.bands}
    order = {"phase": 0, "outage": 1, "breaker": 2, "pause": 3}
    return sorted(rows, key=lambda row: (order.get(row[0], 4), row[1]))


def _draw_bands(ax: Axes, view: SeriesView, rows: Sequence[tuple[str, str]]) -> None:
    for at, (kind, label) in enumerate(rows):
        stretches = [band for band in view.bands if band[0] == kind and (kind == "phase" or band[1] == label)]
        for index, (_, _, state, start, end) in enumerate(stretches):
            if kind == "phase":
                colour, hatch = (style.PALE, "") if index % 2 else ("#C9C9C9", "")
            else:
                colour, hatch = (
                    _STATE_STYLES[state]
                    if kind == "breaker" and state in _STATE_STYLES
                    else _BAND_STYLES.get(kind, (style.GREY, ""))
                )
            ax.broken_barh(
                [(start / NS_PER_S, (end - start) / NS_PER_S)],
                (at - 0.36, 0.72),
                facecolor=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.3,
            )
    ax.set_yticks(range(len(rows)), [f"{kind} {label}".strip() for kind, label in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    shown = {(kind, state) for kind, _, state, _, _ in view.bands if kind != "phase"}
    keys = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=f"breaker {state}")
        for state, (colour, hatch) in _STATE_STYLES.items()
        if ("breaker", state) in shown
    ]
    keys += [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=kind)
        for kind, (colour, hatch) in _BAND_STYLES.items()
        if any(kind == seen for seen, _ in shown)
    ]
    if keys:
        ax.legend(handles=keys, loc="upper left", bbox_to_anchor=(0, -0.05), ncols=5)
    _name_phases(ax, view)


def _name_phases(ax: Axes, view: SeriesView) -> None:
    """Write the phases' names above the bands, on as many levels as keeps them apart."""
    phases = [(label, start, end) for kind, label, _, start, end in view.bands if kind == "phase"]
    if not phases:
        return
    span = max(end for _, _, end in phases) - min(start for _, start, _ in phases) or 1
    letter = span / 85  # about 85 letters of this size fit over the axis
    free_from = [float("-inf")] * 3
    for label, start, _ in phases:
        level = next((at for at, free in enumerate(free_from) if start >= free), None)
        if level is None:
            continue
        free_from[level] = start + letter * (len(label) + 1)
        ax.annotate(
            label,
            (start / NS_PER_S, 1),
            xycoords=("data", "axes fraction"),
            xytext=(1, 2 + 10 * level),
            textcoords="offset points",
            fontsize=8,
            annotation_clip=False,
        )


def _shade_phases(ax: Axes, view: SeriesView) -> None:
    """Draw thin lines where phases meet."""
    starts = [start for kind, _, _, start, _ in view.bands if kind == "phase"]
    for _, start in pairwise(starts):
        ax.axvline(start / NS_PER_S, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)


def _time_axis(ax: Axes, view: SeriesView) -> None:
    ax.set_xlim(view.start_ns / NS_PER_S, (view.start_ns + max(1, bins(view)) * view.bin_ns) / NS_PER_S)
    ax.set_xlabel("seconds from the start of the run")


# --------------------------------------------------------------------------------------------------------------------- words


def _finish(fig: ReportFigure, result: Result, subject: str, words: str) -> ReportFigure:
    """Put the verdict and the subject into the title, and the words where a screen reader finds them."""
    fig.suptitle(f"{result.verdict}: {subject}", x=0.01, ha="left", color=style.VERDICT_COLOURS[result.verdict])
    fig.alt = f"{subject[0].upper()}{subject[1:]}. {words}".strip()
    return fig


def _load_words(result: Result) -> str:
    figures: Mapping[str, str] = {
        name: trimmed(row.value)
        for name in ("arrivals", "attempts", "completed", "shed", "cancelled")
        if (row := result.observed(name)) is not None and row.value is not None
    }
    return f"In all {listing(f'{value} {name}' for name, value in figures.items())}." if figures else ""


def _queue_words(result: Result) -> str:
    longest, mean = result.observed("queue.length.max"), result.observed("queue.length.mean")
    parts = [
        f"{word} {trimmed(row.value)}"
        for word, row in (("at most", longest), ("on average", mean))
        if row is not None and row.value is not None
    ]
    return f"Waiting requests: {listing(parts)}." if parts else ""


def _wait_words(result: Result) -> str:
    parts = [
        f"{name} 99th percentile {with_unit(row.value, row.unit)}"
        for name, row in result.by("queue.wait.p99", "class").items()
    ]
    return (
        f"Share of admitted attempts by longest wait. {listing(parts)}."
        if parts
        else "Share of admitted attempts by longest wait."
    )
