"""What is drawn on one pair of axes.

Owns the marks: lines, bands, bullets and their keys. Must not know which panels make a figure, nor titles and
alternative texts. Here and in ``figures`` numbers become floats, because paper has no exact places.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from sim.measure.accumulate import PEAK_WINDOW_NS
from sim.measure.quantiles import LogLinearHistogram, bin_edges
from sim.measure.series import SeriesView
from sim.report import reading, style
from sim.report.buckets import BucketLevel
from sim.report.result import Gate, Result
from sim.report.series import Cells, by_label, summed, trailing_ratios
from sim.report.text import rounded, short
from tollgate.core.units import NS_PER_MS, NS_PER_S

CELLS: Final = 150
"""Points a line has at most: about one to a millimetre of a printed page; more is ink, not information."""

BandRow = tuple[str, str]
"""Kind and label of one row of bands; all phases share the row ``("phase", "")``."""

_ROW_ORDER: Final = {"phase": 0, "outage": 1, "breaker": 2, "pause": 3}
_BANDS: Final = {
    ("breaker", "open"): ("breaker open", style.VERMILLION, "////"),
    ("breaker", "half-open"): ("breaker half-open", style.ORANGE, "||||"),
    ("pause", "paused"): ("pause", style.PURPLE, "\\\\\\\\"),
    ("outage", "error"): ("outage: errors", style.INK, "xxxx"),
    ("outage", "stall"): ("outage: stall", style.INK, "...."),
    ("outage", "slow"): ("outage: slow", style.GREY, "----"),
    ("outage", "throttle"): ("outage: 429s", style.GREY, "++++"),
    ("outage", "ramp"): ("outage fades", style.SHADE, "////"),
}
"""Key, colour and hatch of each state that is not the usual one."""

BELOW_TIME_AXIS: Final = 4.0
"""Where a key stands clear of an axis' numbers and its label, in heights of a letter."""

_PHASE_SHADES: Final = (style.SHADE, style.PALE)
_MARKERS: Final = {"PASS": "o", "FAIL": "X", "INCONCLUSIVE": "D", "INVALID": "s"}
_DASHED: Final = (0, (2, 2))
_BULLET_END: Final = 2.0  # the axis of bullets ends at twice the bound
_PHASE_LEVELS: Final = 3
_KEYS_MAX: Final = 4  # states in a row of the key


def load(ax: Axes, view: SeriesView, label: str = "class", names: Sequence[str] = ()) -> None:
    """Draw offered, admitted and completed load, per second, of some names of a label together or of the whole run."""
    cells = Cells.over(view, CELLS)
    edges_s = [edge / NS_PER_S for edge in cells.edges_ns()]
    highest = 0.0
    for metric, key, colour, line, width in (
        ("attempts", "offered", style.GREY, "-", 1.0),
        ("admitted", "admitted", style.BLUE, "-", 1.8),
        ("completed", "completed (goodput)", style.GREEN, (0, (3, 2)), 1.8),
    ):
        rates = cells.per_second(summed(view, metric, label, names))
        highest = max(highest, *rates)
        ax.stairs(rates, edges_s, baseline=None, color=colour, linestyle=line, linewidth=width, label=key)
    ax.set_ylim(0, highest * 1.08 or 1)
    _mark_phases(ax, view)


def queue(ax: Axes, view: SeriesView, result: Result) -> None:
    """Draw the time average of waiting requests, in all and by provider, and the longest length seen."""
    cells = Cells.over(view, CELLS)
    edges_s = [edge / NS_PER_S for edge in cells.edges_ns()]
    ax.stairs(cells.means(view.values("queue")), edges_s, baseline=None, color=style.INK, label="all")
    providers = by_label(view.series, "queue", "provider")
    if len(providers) > 1:
        for (name, levels), colour, line in zip(providers.items(), style.CYCLE, style.LINE_STYLES, strict=False):
            means = cells.means(levels)
            ax.stairs(means, edges_s, baseline=None, color=colour, linestyle=line, linewidth=1.1, label=short(name))
    longest = result.exact("queue.length.max")
    if longest is not None:
        label = f"longest, {rounded(longest)}"
        ax.axhline(float(longest), color=style.VERMILLION, linewidth=1, linestyle=_DASHED, label=label)
    ax.set_ylim(0, max(ax.get_ylim()[1], float(longest or 0) * 1.08, 1))
    _mark_phases(ax, view)


def amplification(ax: Axes, view: SeriesView, result: Result) -> None:
    """Draw attempts an arrival over the last ten seconds, and the bounds of gates on it."""
    width = max(1, PEAK_WINDOW_NS // view.bin_ns)
    ratios = trailing_ratios(view.values("attempts"), view.values("arrivals"), width)
    edges_s = [edge / NS_PER_S for edge in (*range(0, view.end_ns, view.bin_ns), view.end_ns)]
    known = [float("nan") if ratio is None else float(ratio) for ratio in ratios]
    ax.stairs(known, edges_s, baseline=None, color=style.BLUE, label="last 10 s")
    levels = [1.0, *(float(ratio) for ratio in ratios if ratio is not None)]
    bounds = [
        (float(gate.bound), f"{short(gate.id)} {gate.op} {reading.bound(gate)}")
        for gate in result.gates
        if gate.metric.startswith("retry.amplification") and not gate.where
    ]
    levels += [level for level, _ in bounds]
    room = max(0.05, (max(levels) - min(levels)) * 0.08)
    ax.set_ylim(min(levels) - room, max(levels) + 3 * room)  # the upper one has words above it
    for at, (level, words) in enumerate(sorted(bounds)):
        ax.axhline(level, color=style.VERMILLION, linewidth=1.2, linestyle=_DASHED)
        _along(ax, level, words, at_left=bool(at % 2))
    _mark_phases(ax, view)


def bucket(ax: Axes, view: SeriesView, level: BucketLevel) -> None:
    """Draw a bucket's level as a share of its size: the lowest end of a bin in each cell, so that no dip is lost."""
    cells = Cells.over(view, CELLS)
    places = [*cells.starts(), view.bins]
    lowest = [min(level.levels[at:end]) / level.full for at, end in pairwise(places)]
    edges_s = [edge / NS_PER_S for edge in cells.edges_ns()]
    ax.stairs(lowest, edges_s, baseline=None, color=style.BLUE)
    ax.set_ylim(0, 1.05)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:g} %"))
    _mark_phases(ax, view)


def waits(ax: Axes, curves: dict[str, LogLinearHistogram], gates: Sequence[Gate]) -> None:
    """Draw the share of values at or below each time, a curve a class, and bounds of gates on such times.

    Args:
        ax: Where to draw.
        curves: Histogram of waits, ns, by class.
        gates: Gates on waits, in milliseconds.
    """
    steps = {name: ecdf(histogram) for name, histogram in curves.items() if histogram.count}
    bounds_ms = [float(gate.bound) for gate in gates]
    longest_ms = max([1.0, *bounds_ms, *(waits_ms[-1] for waits_ms, _ in steps.values())]) * 1.3
    for (name, (waits_ms, shares)), colour, line in zip(steps.items(), style.CYCLE, style.LINE_STYLES, strict=False):
        ax.step([*waits_ms, longest_ms], [*shares, 1.0], where="post", color=colour, linestyle=line, label=short(name))
    for gate, bound_ms in zip(gates, bounds_ms, strict=True):
        ax.axvline(bound_ms, color=style.INK, linewidth=1, linestyle=_DASHED)
        ax.annotate(
            f"{short(gate.id)} {gate.op} {reading.bound(gate)}",
            (bound_ms, 0),
            xycoords=("data", "axes fraction"),
            xytext=(-2, 3),
            textcoords="offset points",
            rotation=90,
            ha="right",
            va="bottom",
            fontsize=8,
        )
    ax.set_xscale("symlog", linthresh=1.0)
    ax.set_xlim(0, longest_ms)
    ax.set_ylim(0, 1.02)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms / 1000:g} s" if ms >= 1000 else f"{ms:g} ms"))


def bullets(ax: Axes, gates: Sequence[Gate]) -> None:
    """Draw each gate's observed figure as a share of its bound."""
    for row, gate in enumerate(gates):
        ax.broken_barh(
            [(0, 1) if gate.op.startswith("<") else (1, _BULLET_END - 1)], (row - 0.3, 0.6), color=style.PALE
        )
        place = _share_of_bound(gate)
        if place is not None:
            colour = style.VERDICT_COLOURS[gate.verdict]
            fill = colour if gate.counts else "white"
            kind = _MARKERS[gate.verdict]
            at = min(max(place, 0.0), _BULLET_END)
            ax.plot(at, row, marker=kind, markersize=8, color=fill, markeredgecolor=colour, clip_on=False, zorder=3)
        ax.annotate(
            gate_text(gate),
            (1.03, row),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )
    ax.axvline(1, color=style.INK, linewidth=1.2)
    _name_rows(ax, [gate.id for gate in gates])
    ax.set_xlim(-0.05, _BULLET_END)
    ax.set_xticks([0, 0.5, 1, 1.5, _BULLET_END], ["0", "half", "bound", "", "twice"])
    ax.grid(visible=False)


def shares(ax: Axes, rows: Sequence[tuple[str, float, float]]) -> None:
    """Draw pairs of shares: (name, share of demand, share of goodput), each from 0 to 1."""
    for at, (_, demand, goodput) in enumerate(rows):
        ax.plot([demand, goodput], [at, at], color=style.GREY, linewidth=1.2, zorder=1)
        ax.plot(demand, at, marker="o", color="white", markeredgecolor=style.INK, markersize=8)
        ax.plot(goodput, at, marker="D", color=style.BLUE, markersize=4.5)
    _name_rows(ax, [name for name, _, _ in rows])
    ax.set_xlim(0, 1.04 * max((part for _, *pair in rows for part in pair), default=1) or 1)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda part, _: f"{100 * part:g} %"))
    handles = [
        Line2D(
            [], [], marker="o", color="white", markeredgecolor=style.INK, markersize=8, label="of demand (arrivals)"
        ),
        Line2D([], [], marker="D", color=style.BLUE, linestyle="", markersize=4.5, label="of goodput (completed)"),
    ]
    key_above(ax, handles)


def band_rows(view: SeriesView) -> list[BandRow]:
    """Return the rows of bands a view fills: the phases, then what happened to providers."""
    rows = dict.fromkeys((band.kind, "" if band.kind == "phase" else band.label) for band in view.bands)
    return sorted(rows, key=lambda row: (_ROW_ORDER.get(row[0], len(_ROW_ORDER)), row[1]))


def bands(ax: Axes, view: SeriesView, rows: Sequence[BandRow], *, key_below: float = 0.5) -> None:
    """Draw phases, outages, breakers and pauses as bands over time; a breaker's row is empty while it is closed.

    Args:
        ax: Where to draw.
        view: The run's series.
        rows: From ``band_rows``.
        key_below: How far below the axis the key of the states stands, in heights of a letter.
    """
    for at, (kind, label) in enumerate(rows):
        own = [band for band in view.bands if band.kind == kind and label in {"", band.label}]
        for place, band in enumerate(own):
            shade = _PHASE_SHADES[place % 2]
            _, colour, hatch = (
                ("", shade, "") if kind == "phase" else _BANDS.get((kind, band.state), ("", style.GREY, ""))
            )
            span_s = (band.from_ns / NS_PER_S, (band.to_ns - band.from_ns) / NS_PER_S)
            ax.broken_barh([span_s], (at - 0.36, 0.72), facecolor=colour, hatch=hatch, edgecolor="white", linewidth=0.3)
    _name_rows(ax, [f"{kind} {label}".rstrip() for kind, label in rows])
    ax.grid(visible=False)
    ax.spines["left"].set_visible(False)
    seen = {(band.kind, band.state) for band in view.bands}
    looks = dict.fromkeys(look for state, look in _BANDS.items() if state in seen)
    keys = [Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=text) for text, colour, hatch in looks]
    if keys:
        columns = min(len(keys), _KEYS_MAX)
        ax.legend(handles=keys, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=columns, borderaxespad=key_below)
    _name_phases(ax, view)


def time_axis(ax: Axes, view: SeriesView) -> None:
    """Let an axis show the whole run and nothing else."""
    ax.set_xlim(0, view.end_ns / NS_PER_S)
    ax.set_xlabel("seconds from the start of the run")


def key_above(ax: Axes, handles: Sequence[Line2D] | None = None) -> None:
    """Put the key of the lines above the axes, to the right, where it covers none of them."""
    given = {} if handles is None else {"handles": list(handles)}
    if handles or ax.get_legend_handles_labels()[0]:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2, **given)


def gate_text(gate: Gate) -> str:
    """Return a gate's observed figure beside its bound."""
    return f"{reading.observed(gate)} {gate.op} {reading.bound(gate)}"


def ecdf(histogram: LogLinearHistogram) -> tuple[list[float], list[float]]:
    """Return the steps of a histogram's distribution function.

    Args:
        histogram: Times, ns; at least one. A value counts as its bin's highest, so the curve never flatters.

    Returns:
        Times in milliseconds and the share of values at or below each, both of shape ``(bins + 1,)``; the first point
        is (0, 0).
    """
    waits_ms, parts, below = [0.0], [0.0], 0
    for index in sorted(histogram.bins):
        below += histogram.bins[index]
        waits_ms.append(min(bin_edges(index)[1], histogram.maximum) / NS_PER_MS)
        parts.append(below / histogram.count)
    return waits_ms, parts


def _along(ax: Axes, level: float, words: str, *, at_left: bool = False) -> None:
    """Write words above a level line, at its right end or at its left one."""
    ax.annotate(
        words,
        (0.005 if at_left else 0.995, level),
        xycoords=("axes fraction", "data"),
        xytext=(0, 1.5),
        textcoords="offset points",
        ha="left" if at_left else "right",
        va="bottom",
        fontsize=8,
        color=style.VERDICT_COLOURS["FAIL"],
    )


def key_rows(view: SeriesView) -> int:
    """Return how many rows the key of the bands takes."""
    states = {(band.kind, band.state) for band in view.bands} & _BANDS.keys()
    return -(-len(states) // _KEYS_MAX)


def _share_of_bound(gate: Gate) -> float | None:
    """Return observed over bound; with a bound of zero, zero is at the bound and whatever exceeds it at the end."""
    if gate.observed is None:
        return None
    if gate.bound == 0:
        return 1.0 if gate.observed == 0 else _BULLET_END if gate.observed > 0 else 0.0
    return float(gate.observed / gate.bound)


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Let the vertical axis be rows with names, the first on top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _mark_phases(ax: Axes, view: SeriesView) -> None:
    """Draw thin lines where phases meet."""
    for _, band in pairwise(band for band in view.bands if band.kind == "phase"):
        ax.axvline(band.from_ns / NS_PER_S, color=style.GREY, linewidth=0.7, linestyle=(0, (1, 2)), zorder=0)


def _name_phases(ax: Axes, view: SeriesView) -> None:
    """Write the phases' names above the bands, on as many levels as keep them apart; what finds no room is left out."""
    letter_ns = view.end_ns / 80  # the axis is about 80 letters of this size wide
    free_from = [0.0] * _PHASE_LEVELS
    for band in view.bands:
        if band.kind != "phase":
            continue
        level = next((at for at, free_ns in enumerate(free_from) if band.from_ns >= free_ns), None)
        if level is not None:
            free_from[level] = band.from_ns + letter_ns * (len(short(band.label)) + 1)
            ax.annotate(
                short(band.label),
                (band.from_ns / NS_PER_S, 1),
                xycoords=("data", "axes fraction"),
                xytext=(1, 2 + 10 * level),
                textcoords="offset points",
                fontsize=8,
                annotation_clip=False,
            )
