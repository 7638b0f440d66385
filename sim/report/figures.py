"""The pictures of a run, each a matplotlib figure drawn from its series and its record.

Owns which panels make a figure, its title with the verdict, and its text for those who cannot see it. A figure needs no
pyplot and shows itself in a notebook as SVG. Must not know pages or files, and works out no metric: what a figure says
in words stands in the record, what it draws comes from the bins.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, Literal

from sim.measure.series import SeriesView
from sim.report import buckets, panels, reading, style
from sim.report.result import Result
from sim.report.series import by_label
from sim.report.style import ReportFigure, finish, new_figure, styled
from sim.report.text import listing, rounded, short, with_seconds

PANELS_MAX: Final = 4
"""Panels of classes, of which the last is for all the rest; of principals there is one less."""

BUCKETS_MAX: Final = 3
"""Buckets in a picture: those that fell lowest."""

ROWS_MAX: Final = 20
"""Principals in a picture, as many as in a table."""

SPOKEN_MAX: Final = 12
"""Bands told in an alternative text: more would not be listened to."""


def timeline(view: SeriesView, result: Result) -> ReportFigure:
    """Draw bands, load, queue and retry amplification on one time axis."""
    with styled():
        rows = panels.band_rows(view)
        bands_inches = 0.35 + 0.22 * len(rows) + 0.18 * panels.key_rows(view)
        fig = new_figure(6.0 + bands_inches)
        axes = fig.subplots(4, 1, sharex=True, height_ratios=[bands_inches, 2.0, 1.6, 1.4])
        panels.bands(axes[0], view, rows)
        panels.load(axes[1], view)
        panels.queue(axes[2], view, result)
        panels.amplification(axes[3], view, result)
        titles = ("Requests per second", "Waiting, time average", "Retry amplification")
        for ax, title in zip(axes[1:], titles, strict=True):
            ax.set_title(title)
            panels.key_above(ax)
        panels.time_axis(axes[3], view)
        words = f"Bands, load, waiting requests and retry amplification. {_band_words(view)} {_load_words(result)}"
        return _finished(fig, result, "the run on one time axis", f"{words} {_queue_words(result)}")


def bands(view: SeriesView, result: Result) -> ReportFigure:
    """Draw phases, outages, breaker states and pauses as bands over time."""
    with styled():
        rows = panels.band_rows(view)
        fig = new_figure(1.2 + 0.28 * len(rows) + 0.2 * panels.key_rows(view))
        ax = fig.subplots()
        panels.bands(ax, view, rows, key_below=panels.BELOW_TIME_AXIS)
        panels.time_axis(ax, view)
        return _finished(fig, result, "phases and provider states", _band_words(view))


def load(view: SeriesView, result: Result, *, by: Literal["class", "principal"] = "class") -> ReportFigure:
    """Draw offered load, admissions and goodput over time, a panel a class or a principal."""
    with styled():
        groups = _groups(view, result, by)
        fig = new_figure(0.8 + 1.75 * len(groups))
        axes = fig.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for ax, (title, names) in zip(axes, groups, strict=True):
            panels.load(ax, view, by, names)
            ax.set_title(short(title))
            ax.set_ylabel("per second")
        panels.key_above(axes[0])
        panels.time_axis(axes[-1], view)
        subject = f"offered, admitted and completed load{' by principal' if by == 'principal' else ''}"
        return _finished(fig, result, subject, _load_words(result))


def queue_depth(view: SeriesView, result: Result) -> ReportFigure:
    """Draw the time average of waiting requests over time, in all and by provider."""
    with styled():
        fig = new_figure(2.8)
        ax = fig.subplots()
        panels.queue(ax, view, result)
        panels.key_above(ax)
        ax.set_ylabel("waiting requests")
        panels.time_axis(ax, view)
        return _finished(fig, result, "waiting requests over time", _queue_words(result))


def wait_distribution(view: SeriesView, result: Result) -> ReportFigure:
    """Draw the share of admitted attempts that waited no longer than a time, by class, with the gates' bounds."""
    with styled():
        fig = new_figure(3.3)
        ax = fig.subplots()
        curves = {f"class {name}": waits for name, waits in by_label(view.histograms, "queue.wait", "class").items()}
        panels.waits(ax, curves, [gate for gate in result.gates if gate.metric.startswith("queue.wait.")])
        panels.key_above(ax)
        ax.set_xlabel("waited no longer than (linear to 1 ms, then logarithmic)")
        ax.set_ylabel("share of admitted attempts")
        metric = "queue.wait.p99"
        p99 = [f"{name} {reading.figure(metric, row)}" for name, row in result.by(metric, "class").items()]
        words = f"99th percentile by class: {listing(p99)}." if p99 else ""
        return _finished(fig, result, "how long admitted attempts waited", words)


def amplification(view: SeriesView, result: Result) -> ReportFigure:
    """Draw attempts an arrival over the last ten seconds, over time, with the gates' bounds."""
    with styled():
        fig = new_figure(2.7)
        ax = fig.subplots()
        panels.amplification(ax, view, result)
        panels.key_above(ax)
        ax.set_ylabel("attempts an arrival")
        panels.time_axis(ax, view)
        metric = "retry.amplification"
        whole = result.observed(metric)
        words = "" if whole is None else f"Over the whole run {reading.figure(metric, whole)} attempts an arrival."
        return _finished(fig, result, "retry amplification over the last 10 s", words)


def gates(result: Result) -> ReportFigure:
    """Draw each gate's observed figure as a share of its bound. Needs no series."""
    with styled():
        fig = new_figure(0.9 + 0.4 * max(len(result.gates), 1))
        ax = fig.subplots()
        panels.bullets(ax, result.gates)
        ax.set_xlabel("observed as a share of the bound (shaded: allowed; hollow: not counted)")
        words = "; ".join(f"{gate.id} {panels.gate_text(gate)}, {gate.verdict}" for gate in result.gates)
        return _finished(fig, result, "observed against bounds", f"{words}.")


def fairness(result: Result) -> ReportFigure:
    """Draw each principal's share of arrivals beside its share of completions. Needs no series."""
    with styled():
        demand, goodput = (_shares(result, metric) for metric in ("arrivals", "completed"))
        rows = [(name, float(part), float(goodput.get(name, 0))) for name, part in demand.items()]
        rows = sorted(rows, key=lambda row: (-row[1], row[0]))[:ROWS_MAX]
        fig = new_figure(1.0 + 0.26 * max(len(rows), 1))
        ax = fig.subplots()
        panels.shares(ax, rows)
        ax.set_xlabel("share of the whole")
        widest = max(demand, key=lambda name: abs(goodput.get(name, Fraction(0)) - demand[name]), default=None)
        words = "The record has no figures by principal."
        if widest is not None:
            has, gets = (rounded(100 * part, 1) for part in (demand[widest], goodput.get(widest, Fraction(0))))
            words = f"Furthest apart is {widest}, with {has} % of demand and {gets} % of goodput."
        return _finished(fig, result, "shares of demand and goodput", words)


def bucket_levels(view: SeriesView, result: Result, profile: Mapping[str, object]) -> ReportFigure:
    """Draw how full the emptiest buckets were over time, worked out bin by bin.

    Args:
        view: The run's series.
        result: The run's record, for the verdict.
        profile: The ``profile:`` block it was made under.
    """
    with styled():
        shown = buckets.bucket_levels(view, profile)[:BUCKETS_MAX]
        fig = new_figure(0.9 + 1.3 * max(len(shown), 1))
        axes = fig.subplots(max(len(shown), 1), 1, sharex=True, squeeze=False)[:, 0]
        for ax, level in zip(axes, shown, strict=False):
            panels.bucket(ax, view, level)
            ax.set_title(f"{short(level.name)}: full at {rounded(level.size)}")
            ax.set_ylabel("of its size")
        panels.time_axis(axes[-1], view)
        said = [f"{level.name} fell to {rounded(100 * level.lowest, 0)} %" for level in shown]
        words = f"The emptiest: {listing(said)}." if said else "No bucket's draws are known."
        return _finished(fig, result, "how full the buckets were", words)


def _finished(fig: ReportFigure, result: Result, subject: str, words: str) -> ReportFigure:
    """Put the verdict and the subject into the title, and the words where a screen reader finds them."""
    finish(fig, f"{result.verdict}: {subject}", style.VERDICT_COLOURS[result.verdict])
    fig.alt = f"{subject[0].upper()}{subject[1:]}. {words}".strip()
    return fig


def _groups(view: SeriesView, result: Result, by: str) -> list[tuple[str, list[str]]]:
    """Return the title and the names of each panel, those with most arrivals first; no name means the whole run.

    Where there are too many principals for series of their own, only the whole run is left.
    """
    demand = {name: row.exact or Fraction(0) for name, row in result.by("arrivals", by).items()}
    if by == "principal":
        demand = {name: demand[name] for name in by_label(view.series, "arrivals", by) if name in demand}
    names = sorted(demand, key=lambda name: -demand[name])
    most = PANELS_MAX if by == "class" else PANELS_MAX - 1
    if len(names) > most:
        own, rest = names[: most - 1], names[most - 1 :]
        others = "other classes" if by == "class" else f"other {by}s"
        return [*((f"{by} {name}", [name]) for name in own), (f"{len(rest)} {others}", rest)]
    return [(f"{by} {name}", [name]) for name in names] or [("all requests", [])]


def _shares(result: Result, metric: str) -> dict[str, Fraction]:
    figures = {name: row.exact or Fraction(0) for name, row in result.by(metric, "principal").items()}
    whole = sum(figures.values())
    return {name: figure / whole for name, figure in figures.items()} if whole else {}


def _load_words(result: Result) -> str:
    names = ("arrivals", "attempts", "completed", "shed", "cancelled")
    said = [f"{reading.figure(name, row)} {name}" for name in names if (row := result.observed(name)) is not None]
    return f"In all {listing(said)}." if said else ""


def _queue_words(result: Result) -> str:
    named = (("at most", "queue.length.max"), ("on average", "queue.length.mean"))
    found = ((word, metric, result.observed(metric)) for word, metric in named)
    said = [f"{word} {reading.figure(metric, row)}" for word, metric, row in found if row is not None]
    return f"Waiting requests: {listing(said)}." if said else ""


def _band_words(view: SeriesView) -> str:
    said = [
        f"{' '.join(filter(None, (band.kind, band.label, band.state)))} from {with_seconds(band.from_ns)} "
        f"to {with_seconds(band.to_ns)}"
        for band in view.bands[:SPOKEN_MAX]
    ]
    more = len(view.bands) - len(said)
    return f"Bands: {'; '.join(said)}{f'; and {more} more' if more else ''}."
