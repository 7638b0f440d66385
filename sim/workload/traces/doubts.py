"""Which figures of a trace to doubt, and why.

This module owns the warnings, with the bounds beyond which each is given. It must not know how to act on them: fitting
and limits are other modules' business.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Final

from sim.workload.traces.figures import EXACT_VALUES, Values
from sim.workload.traces.summary import DISPERSION_WINDOWS_S, TraceSummary, percent
from sim.workload.traces.tally import Tally
from sim.workload.traces.timestamps import seconds_text
from tollgate.core.units import NS_PER_S

_FEW_WINDOWS: Final = 30  # the variance of fewer counts has a relative error above sqrt(2/29), a quarter
_FEW_ROWS: Final = 100  # below, p99 is the maximum
_MANY_TIES: Final = 0.1  # share of zero gaps above which gaps tell more of the clock than of the traffic
_GRID_STEPS: Final = 3  # a window of fewer grid steps counts the grid, not the arrivals
# Times the mean gap; the longest of n exponential gaps is near ln(n) times the mean: 14 for a million.
_LONG_GAP: Final = 50
_ROWS_A_PRINCIPAL: Final = 5  # below so many on average, the busiest are so by chance
_OVERLAP: Final = 0.1  # share of the span above which a step back that was sorted is no jitter
_LARGE_LOSS: Final = 0.1  # share of rows dropped above which the rest is another traffic


def of_values(values: Values | None, what: str) -> Iterator[str]:
    """Yield what should not be trusted in the quantiles of a figure, by its name; None where the trace has none."""
    if values is not None and not values.exact:
        yield f"{what}: more than {EXACT_VALUES:,} different values, so that quantiles are up to a thousandth too low"


def of_summary(figures: TraceSummary, tally: Tally) -> Iterator[str]:
    """Yield what should not be trusted in the figures, and why."""
    yield from _doubts_of_repairs(figures, tally)
    if figures.rows < _FEW_ROWS:
        yield f"{figures.rows} rows: p99 is the maximum, and every other figure is rough"
    grid_ns = figures.grid_ns
    if grid_ns is not None:
        fine = [f"{window} s" for window in DISPERSION_WINDOWS_S if _counts_grid(window * NS_PER_S, grid_ns)]
        blurred = f", dispersion and peak over {' and '.join(fine)}" if fine else ""
        step = seconds_text(grid_ns)
        yield f"the times lie on a grid of about {step} s: gaps{blurred} show the grid, not the traffic"
    elif figures.gap_zero_share is not None and figures.gap_zero_share >= _MANY_TIES:
        zero = percent(figures.gap_zero_share)
        yield f"{zero} of the gaps are 0: their CV and autocorrelation show the resolution of the clock"
    if figures.principals > 1 and figures.rows < _ROWS_A_PRINCIPAL * figures.principals:
        few = f"{figures.rows / figures.principals:.1f} rows a principal on average"
        yield f"{few}: who is busiest, and the Zipf exponent, are largely chance"
    short = [f"{window} s" for window, count in figures.windows.items() if count < 2]
    if short:
        yield f"the trace has no two whole windows of {' or '.join(short)}: no dispersion over these"
    for window, count in figures.windows.items():
        if 2 <= count < _FEW_WINDOWS:
            yield f"only {count} whole windows of {window} s: read the dispersion as ±{sqrt(2 / (count - 1)):.0%}"
    if figures.gap_max_ns and figures.rate_per_s and figures.gap_max_ns * figures.rate_per_s > _LONG_GAP * NS_PER_S:
        times = figures.gap_max_ns * figures.rate_per_s / NS_PER_S
        yield (
            f"the longest gap, {seconds_text(figures.gap_max_ns)} s before row {figures.gap_max_line}, is {times:,.0f}"
            " times the mean gap: a silence or a hole in the recording; the mean rate blends what lies on both sides"
        )


def _doubts_of_repairs(figures: TraceSummary, tally: Tally) -> Iterator[str]:
    """Yield what the repairs that were asked for did to the figures."""
    dropped = tally.dropped.total()
    if dropped > _LARGE_LOSS * (figures.rows + dropped):
        lost = percent(dropped / (figures.rows + dropped))
        yield f"{lost} of the rows were dropped: what is left is another traffic than the one recorded"
    if tally.largest_step_ns > _OVERLAP * figures.span_ns:
        step = seconds_text(tally.largest_step_ns)
        yield f"a step back of {step} s was sorted: if two captures follow each other in the file, they overlap now"
    if len(figures.segments) > 1 and not tally.apart:
        yield (
            f"the {len(figures.segments)} segments were laid end to end: what spans a seam (span, rate, gaps, windows)"
            " was not recorded that way"
        )
    if tally.pushed_back:
        yield (
            f"{tally.pushed_back:,} rows were answered 429 or 503: callers who then tried again are rows of their own,"
            " and a client that retries would ask for them twice"
        )


def _counts_grid(window_ns: int, grid_ns: int) -> bool:
    return window_ns < _GRID_STEPS * grid_ns and window_ns % grid_ns != 0
