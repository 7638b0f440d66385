"""Pictures of many runs: pairs of them, a curve over load, a grid of two settings.

Owns their form. They take plain numbers, for what ran them and how intervals come about is known elsewhere; an interval
that is given is drawn. Must not know records or run anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isnan
from typing import Final

import numpy as np
from matplotlib.patches import Rectangle

from sim.gates.verdict import Verdict
from sim.report import style
from sim.report.panels import key_above
from sim.report.style import ReportFigure, finish, new_figure, styled
from sim.report.text import listing, plural, short
from tollgate.core.errors import CallerError

ROWS_MAX: Final = 40
"""Rows a picture has room for."""

_DIGITS: Final = 4  # of a figure in words

Interval = tuple[float, float]
"""Lower and upper end."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One thing measured twice on the same arrivals.

    Attributes:
        name: What it is: a class, a principal, a seed.
        before: The first figure.
        after: The second figure, in the same unit.
        difference: Interval of the second less the first; None where there is none.
    """

    name: str
    before: float
    after: float
    difference: Interval | None = None


def paired(
    pairs: Sequence[Pair], *, names: tuple[str, str], measure: str, verdict: Verdict | None = None
) -> ReportFigure:
    """Draw pairs side by side, and the difference of each with its interval.

    Args:
        pairs: From 1 to ``ROWS_MAX`` of them.
        names: What the first and the second figure are of, such as two disciplines.
        measure: What is measured, with its unit.
        verdict: What the comparison came to, for the title.

    Raises:
        CallerError: If there are no pairs, or more than a picture has room for.
    """
    _expect_rows(len(pairs), "pairs")
    with styled():
        fig = new_figure(1.3 + 0.3 * len(pairs))
        values, differences = fig.subplots(1, 2, sharey=True)
        for at, pair in enumerate(pairs):
            values.plot([pair.before, pair.after], [at, at], color=style.GREY, linewidth=1.2, zorder=1)
            change = pair.after - pair.before
            if pair.difference is not None:
                low, high = pair.difference
                differences.plot([low, high], [at, at], color=style.BLUE, linewidth=2, solid_capstyle="butt")
            differences.plot(change, at, marker="D", color=style.BLUE, markersize=5)
        places = range(len(pairs))
        values.plot(
            [pair.before for pair in pairs],
            places,
            "o",
            color="white",
            markeredgecolor=style.INK,
            label=short(names[0]),
        )
        values.plot([pair.after for pair in pairs], places, "D", color=style.BLUE, markersize=5, label=short(names[1]))
        differences.axvline(0, color=style.INK, linewidth=1)
        values.set_yticks(places, [short(pair.name) for pair in pairs])
        values.set_ylim(len(pairs) - 0.5, -0.5)
        values.set_xlabel(measure)
        differences.set_xlabel(f"{short(names[1])} less {short(names[0])}")
        key_above(values)
        has = any(pair.difference is not None for pair in pairs)
        told = [f"{pair.name} {_said(pair.before)} and {_said(pair.after)}" for pair in pairs[:4]]
        more = f", and {len(pairs) - len(told)} more" if len(pairs) > len(told) else ""
        words = f"{measure} under {names[0]} and {names[1]}: {listing(told)}{more}. "
        words += "Bars are intervals of the difference." if has else "No intervals: one run of each."
        return _titled(fig, "the same arrivals twice", words, verdict)


def capacity_curve(
    loads: Sequence[float],
    values: Sequence[float],
    *,
    measure: str,
    load: str = "offered load, requests a second",
    intervals: Sequence[Interval] | None = None,
    knee: float | None = None,
    verdict: Verdict | None = None,
) -> ReportFigure:
    """Draw a figure over offered load, with the load at which it bends.

    Args:
        loads: Loads, rising, shape ``(n,)``, at least one.
        values: The figure at each load, shape ``(n,)``.
        measure: What the figure is, with its unit.
        load: What the load is, with its unit.
        intervals: Interval at each load, shape ``(n, 2)``; None for none.
        knee: The load at which the curve bends; None where it does not.
        verdict: What it came to, for the title.

    Raises:
        CallerError: If lengths differ or loads do not rise.
    """
    if not loads or len(values) != len(loads) or (intervals is not None and len(intervals) != len(loads)):
        raise CallerError(f"a curve needs a value, and an interval if any, for each of {plural(len(loads), 'load')}")
    if any(after <= before for before, after in pairwise(loads)):
        raise CallerError("the loads of a curve rise")
    with styled():
        fig = new_figure(3.2)
        ax = fig.subplots()
        if intervals is not None:
            lows, highs = zip(*intervals, strict=True)
            ax.fill_between(loads, lows, highs, color=style.SKY, alpha=0.35, linewidth=0, label="interval")
        ax.plot(loads, values, color=style.BLUE, marker="o", markersize=4, label=measure)
        if knee is not None:
            ax.axvline(knee, color=style.VERMILLION, linestyle="--", linewidth=1.2, label=f"knee at {_said(knee)}")
        ax.set_xlabel(load)
        ax.set_ylabel(measure)
        ax.set_xlim(left=0)
        ax.set_ylim(bottom=min(0.0, *ax.get_ylim()))
        key_above(ax)
        bend = "It has no knee in this range." if knee is None else f"Its knee lies at {_said(knee)}."
        words = f"{measure} from {_said(values[0])} at {_said(loads[0])} to {_said(values[-1])} at {_said(loads[-1])}. "
        return _titled(fig, "capacity", words + bend, verdict)


def heat_map(
    columns: Sequence[str],
    rows: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    measure: str,
    axes: tuple[str, str],
    holds: Sequence[Sequence[bool]] | None = None,
    verdict: Verdict | None = None,
) -> ReportFigure:
    """Draw a figure over two settings, a cell a run, each with its number.

    Args:
        columns: Values of the setting to the right, shape ``(n,)``.
        rows: Values of the setting downwards, shape ``(m,)``.
        values: The figures, shape ``(m, n)``; NaN where nothing was measured.
        measure: What the figure is, with its unit.
        axes: Names of the settings, to the right and downwards.
        holds: Whether the gates hold in each cell, shape ``(m, n)``: those in which they do not are crossed out.
        verdict: What it came to, for the title.

    Raises:
        CallerError: If the shapes do not fit.
    """
    _expect_rows(len(rows), "rows")
    grids = [values] if holds is None else [values, holds]
    if any(len(grid) != len(rows) or any(len(line) != len(columns) for line in grid) for grid in grids):
        raise CallerError(f"a heat map of {len(rows)} by {len(columns)} needs as many figures, and verdicts if any")
    known = [value for line in values for value in line if not isnan(value)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    with styled():
        fig = new_figure(1.3 + 0.42 * len(rows))
        ax = fig.subplots()
        ax.imshow(np.array(values, dtype=float), cmap="cividis", vmin=low, vmax=high, aspect="auto")
        for at, line in enumerate(values):
            for place, value in enumerate(line):
                dark = not isnan(value) and (value - low) < 0.55 * (high - low)
                text = "-" if isnan(value) else _said(value)
                ax.text(place, at, text, ha="center", va="center", fontsize=8.5, color="white" if dark else style.INK)
                if holds is not None and not holds[at][place]:
                    ax.add_patch(
                        Rectangle((place - 0.5, at - 0.5), 1, 1, fill=False, hatch="///", edgecolor=style.VERMILLION)
                    )
        ax.set_xticks(range(len(columns)), [short(name) for name in columns])
        ax.set_yticks(range(len(rows)), [short(name) for name in rows])
        ax.set_xlabel(axes[0])
        ax.set_ylabel(axes[1])
        ax.grid(visible=False)
        missed = 0 if holds is None else sum(not held for line in holds for held in line)
        words = f"{measure} over {axes[0]} and {axes[1]}, from {_said(low)} to {_said(high)}."
        if holds is not None:
            words += f" Hatched, for gates that do not hold: {plural(missed, 'cell')}."
        return _titled(fig, f"{measure} over two settings", words, verdict)


def _titled(fig: ReportFigure, subject: str, words: str, verdict: Verdict | None) -> ReportFigure:
    title = subject if verdict is None else f"{verdict.value}: {subject}"
    finish(fig, title, style.INK if verdict is None else style.VERDICT_COLOURS[verdict.value])
    fig.alt = f"{subject[0].upper()}{subject[1:]}. {words}"
    return fig


def _expect_rows(count: int, what: str) -> None:
    if not 1 <= count <= ROWS_MAX:
        raise CallerError(f"a picture has room for 1 to {ROWS_MAX} {what}, got {count}")


def _said(value: float) -> str:
    return f"{value:.{_DIGITS}g}"
