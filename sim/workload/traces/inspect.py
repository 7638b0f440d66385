"""What a trace looks like: rate, burstiness, gaps, sizes, principals, and which of these figures to doubt.

This module owns the summary and its warnings. It must not know how to act on them: fitting and limits are other
modules' business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from math import sqrt
from pathlib import Path
from typing import Final

import numpy as np

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import Detection, detect
from sim.workload.traces.figures import EXACT_VALUES, Quantiles, Values, zipf_exponent
from sim.workload.traces.gaps import Gaps
from sim.workload.traces.table import Columns, TraceBlocks
from sim.workload.traces.tally import Tally
from sim.workload.traces.timestamps import seconds_text
from sim.workload.traces.windows import WindowCounts
from tollgate.core.units import NS_PER_S

DISPERSION_WINDOWS_S: Final = (1, 10, 60)
"""Windows of the index of dispersion, s: below, near and above the scale on which limits a second and a minute work."""

PEAK_WINDOWS_S: Final = (1, 10)

CORRELATED_WINDOW_S: Final = 10
"""Window of the autocorrelation of counts, s."""

_LONGEST_GAPS: Final = 3
_FEW_WINDOWS: Final = 30  # the variance of fewer counts has a relative error above sqrt(2/29), a quarter
_FEW_ROWS: Final = 100  # below, p99 is the maximum
_MANY_TIES: Final = 0.1  # share of zero gaps above which gaps tell more of the clock than of the traffic
_GRID_STEPS: Final = 3  # a window of fewer grid steps counts the grid, not the arrivals
_LONG_GAP: Final = (
    50  # times the mean gap; the longest of n exponential gaps is near ln(n) times the mean: 14 for a million
)
_ROWS_A_PRINCIPAL: Final = 5  # below so many on average, the busiest are so by chance
_OVERLAP: Final = 0.1  # share of the span above which a step back that was sorted is no jitter
_LARGE_LOSS: Final = 0.1  # share of rows dropped above which the rest is another traffic


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """The figures of a trace. None stands for what the trace cannot tell.

    Attributes:
        file: Path as given.
        sha256: Hex digest of the bytes.
        rows: Arrivals.
        span_ns: From the first to the last, ns.
        rate_per_s: ``rows - 1`` over the span.
        dispersion: Index of dispersion by window in s; 1 for Poisson traffic.
        windows: How many whole windows there are, by window in s.
        gap_cv: Coefficient of variation of the gaps between arrivals; 1 for Poisson traffic.
        gap_autocorrelation: Of neighbouring gaps, from -1 to 1; 0 for Poisson traffic.
        count_autocorrelation: Of the counts in neighbouring windows of :data:`CORRELATED_WINDOW_S`.
        gap_max_ns: Longest gap.
        gap_max_line: Row that ends it.
        gaps_longest: The longest gaps, ns, each with the row that ends it.
        gap_zero_share: Share of the gaps that are 0.
        ties_max: Most arrivals at one instant.
        grid_ns: Step of the grid on which the times lie, or None.
        peak: Most arrivals in a window counted from the first arrival, by window in s.
        tokens: Of a request.
        tokens_zero: Requests of size 0.
        tokens_top_share: Share of all tokens that the largest 1 % of requests (rounded up) bring.
        duration_ns: Of a request.
        principals: How many there are.
        principal_top_share: Share of the rows that the busiest brings.
        principal_zipf: Exponent of the Zipf law that fits their shares best; None for one principal.
        statuses: Rows by the class of their answer, such as ``2xx``; empty where the trace has no status.
        dropped: Rows left out because they cannot be used, by kind.
        moved: Rows put elsewhere by sorting.
        segments: Rows of each capture into which the file was split.
        taken: What was taken for what.
        ignored: Columns not used.
        repairs: What was changed because the user asked for it.
        remarks: What was met and left as it is.
        warnings: What to doubt.
    """

    file: str
    sha256: str
    rows: int
    span_ns: int
    rate_per_s: float | None
    dispersion: dict[int, float | None]
    windows: dict[int, int]
    gap_cv: float | None
    gap_autocorrelation: float | None
    count_autocorrelation: float | None
    gap_max_ns: int | None
    gap_max_line: int | None
    gaps_longest: tuple[tuple[int, int], ...]
    gap_zero_share: float | None
    ties_max: int
    grid_ns: int | None
    peak: dict[int, int]
    tokens: Quantiles | None
    tokens_zero: int
    tokens_top_share: float | None
    duration_ns: Quantiles | None
    principals: int
    principal_top_share: float
    principal_zipf: float | None
    statuses: dict[str, int]
    dropped: dict[str, int]
    moved: int
    segments: tuple[int, ...]
    taken: tuple[str, ...]
    ignored: tuple[str, ...]
    repairs: tuple[str, ...]
    remarks: tuple[str, ...]
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return the figures as plain values by field name: times are integers in ns, windows are keys like ``10s``."""
        by_window = {"dispersion", "windows", "peak"}
        plain: dict[str, object] = {}
        for name, value in asdict(self).items():
            if name in by_window:
                plain[name] = {f"{window}s": _rounded(figure) for window, figure in value.items()}
            else:
                plain[name] = list(value) if isinstance(value, tuple) else _rounded(value)
        return plain

    def render(self) -> str:
        """Return the summary as lines for a terminal."""
        lines = [self.file, *(f"  {label:<20} {text}" for label, text in self._figures())]
        not_used = (f"not used: {', '.join(map(repr, self.ignored))}",) if self.ignored else ()
        for title, sentences in (
            ("read as", self.taken + not_used),
            ("repairs you asked for", self.repairs),
            ("met in the file", self.remarks),
            ("to doubt", self.warnings),
        ):
            if sentences:
                lines += [title, *(f"  - {sentence}" for sentence in sentences)]
        return "\n".join(lines) + "\n"

    def _figures(self) -> Iterator[tuple[str, str]]:
        yield "rows", f"{self.rows:,} over {seconds_text(self.span_ns)} s, {_shown(self.rate_per_s, 4)} a second"
        peaks = ", ".join(f"{count:,} in {window} s" for window, count in self.peak.items())
        yield "peak", f"{peaks}; {self.ties_max:,} at one instant"
        indices = ", ".join(f"{_shown(value)} over {window} s" for window, value in self.dispersion.items())
        yield "index of dispersion", f"{indices} (Poisson: 1)"
        counts = _shown(self.count_autocorrelation, 3)
        yield "", f"lag-1 autocorrelation of the counts over {CORRELATED_WINDOW_S} s {counts}"
        if self.gap_max_ns is not None:
            correlation = _shown(self.gap_autocorrelation, 4)
            yield "gaps", f"CV {_shown(self.gap_cv)} (Poisson: 1), lag-1 autocorrelation {correlation}"
            longest = ", ".join(f"{seconds_text(gap_ns)} s before row {line}" for gap_ns, line in self.gaps_longest)
            yield "", f"longest {longest or '0 s'}; {_percent(self.gap_zero_share)} are 0"
        if self.tokens is not None:
            yield "tokens", _quantiles_text(self.tokens, lambda tokens: f"{tokens:,}")
            top = _percent(self.tokens_top_share)
            yield "", f"the largest 1 % of requests bring {top} of them; {self.tokens_zero:,} requests have none"
        if self.duration_ns is not None:
            yield "duration", _quantiles_text(self.duration_ns, lambda ns: f"{seconds_text(ns)} s")
        if self.principals > 1:
            busiest = f"the busiest brings {_percent(self.principal_top_share)} of the rows"
            yield "principals", f"{self.principals:,}; {busiest}; Zipf exponent {_shown(self.principal_zipf)}"
        if self.statuses:
            yield "answers", ", ".join(f"{count:,} {status}" for status, count in self.statuses.items())


def inspect(path: Path, options: TraceOptions) -> TraceSummary:
    """Read a trace and describe it.

    Args:
        path: The file.
        options: What the user says about it.

    Raises:
        ConfigError: If it cannot be read, with the row and what would be accepted.
    """
    detection = detect(path, options)
    trace = TraceBlocks(path, detection.reading, status_column=detection.status_column)
    figures = _Figures()
    for block in trace:
        figures.add(block)
    return _summary(path, detection, trace, figures)


class _Figures:
    """What is gathered while the blocks of a trace go by."""

    def __init__(self) -> None:
        self.rows = 0
        self.span_ns = 0
        self.gaps = Gaps(_LONGEST_GAPS)
        self.windows = {window: WindowCounts(window * NS_PER_S) for window in DISPERSION_WINDOWS_S}
        self.tokens = Values()
        self.durations = Values()
        self.by_principal = np.zeros(0, dtype=np.int64)

    def add(self, block: Columns) -> None:
        self.rows += len(block.at_ns)
        self.span_ns = int(block.at_ns[-1])
        self.gaps.add(block.at_ns, block.lines)
        for counts in self.windows.values():
            counts.add(block.at_ns)
        self.tokens.add(block.tokens)
        self.durations.add(block.duration_ns)
        found = np.bincount(block.principal, minlength=len(self.by_principal))
        found[: len(self.by_principal)] += self.by_principal
        self.by_principal = found


def _summary(path: Path, detection: Detection, trace: TraceBlocks, found: _Figures) -> TraceSummary:
    gaps, windows, tally = found.gaps, found.windows, trace.tally
    tokens = found.tokens if detection.reading.tokens_columns else None
    durations = found.durations if detection.reading.duration_column is not None else None
    longest = gaps.longest[0] if gaps.longest else None
    figures = TraceSummary(
        file=str(path),
        sha256=trace.sha256,
        rows=found.rows,
        span_ns=found.span_ns,
        rate_per_s=gaps.n * NS_PER_S / found.span_ns if found.span_ns else None,
        dispersion={window: counts.dispersion() for window, counts in windows.items()},
        windows={window: counts.whole for window, counts in windows.items()},
        gap_cv=gaps.variation(),
        gap_autocorrelation=gaps.autocorrelation(),
        count_autocorrelation=windows[CORRELATED_WINDOW_S].autocorrelation(),
        gap_max_ns=longest[0] if longest else 0 if gaps.n else None,
        gap_max_line=longest[1] if longest else None,
        gaps_longest=tuple(gaps.longest),
        gap_zero_share=gaps.zero / gaps.n if gaps.n else None,
        ties_max=gaps.ties_max,
        grid_ns=gaps.grid_ns(),
        peak={window: windows[window].peak for window in PEAK_WINDOWS_S},
        tokens=tokens.quantiles() if tokens else None,
        tokens_zero=tokens.zero if tokens else 0,
        tokens_top_share=tokens.top_share() if tokens else None,
        duration_ns=durations.quantiles() if durations else None,
        principals=trace.principals,
        principal_top_share=int(found.by_principal.max()) / found.rows,
        principal_zipf=zipf_exponent(found.by_principal),
        statuses=dict(sorted(tally.statuses.items())),
        dropped={str(kind): count for kind, count in sorted(tally.dropped.items())},
        moved=tally.late,
        segments=tuple(segment.rows for segment in tally.segments),
        taken=detection.taken,
        ignored=detection.ignored,
        repairs=tuple(tally.repairs()),
        remarks=trace.remarks,
        warnings=(),
    )
    rough = tuple(_rough(tokens, "tokens")) + tuple(_rough(durations, "duration"))
    return replace(figures, warnings=(*detection.doubts, *_doubts(figures, tally), *rough))


def _rough(values: Values | None, what: str) -> Iterator[str]:
    if values is not None and not values.exact:
        yield f"{what}: more than {EXACT_VALUES:,} different values, so that quantiles are up to a thousandth too low"


def _doubts(figures: TraceSummary, tally: Tally) -> Iterator[str]:
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
        zero = _percent(figures.gap_zero_share)
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
        lost = _percent(dropped / (figures.rows + dropped))
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


def _rounded(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _shown(value: float | None, places: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{places}f}"


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.1f} %"


def _quantiles_text(found: Quantiles, text: Callable[[int], str]) -> str:
    return f"median {text(found.median)}, p95 {text(found.p95)}, p99 {text(found.p99)}, max {text(found.max)}"
