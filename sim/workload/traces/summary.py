"""The figures of a trace, as values and as text.

This module owns what is told of a trace, and how. It must not know how a figure is worked out, nor which to doubt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Final

from sim.workload.traces.figures import Quantiles
from sim.workload.traces.timestamps import seconds_text

DISPERSION_WINDOWS_S: Final = (1, 10, 60)
"""Windows of the index of dispersion, s: below, near and above the scale on which limits a second and a minute work."""

CORRELATED_WINDOW_S: Final = 10
"""Window of the autocorrelation of counts, s."""


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
            yield "", f"longest {longest or '0 s'}; {percent(self.gap_zero_share)} are 0"
        if self.tokens is not None:
            yield "tokens", _quantiles_text(self.tokens, lambda tokens: f"{tokens:,}")
            top = percent(self.tokens_top_share)
            yield "", f"the largest 1 % of requests bring {top} of them; {self.tokens_zero:,} requests have none"
        if self.duration_ns is not None:
            yield "duration", _quantiles_text(self.duration_ns, lambda ns: f"{seconds_text(ns)} s")
        if self.principals > 1:
            busiest = f"the busiest brings {percent(self.principal_top_share)} of the rows"
            yield "principals", f"{self.principals:,}; {busiest}; Zipf exponent {_shown(self.principal_zipf)}"
        if self.statuses:
            yield "answers", ", ".join(f"{count:,} {status}" for status, count in self.statuses.items())


def _rounded(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _shown(value: float | None, places: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{places}f}"


def percent(share: float | None) -> str:
    """Return a share as text."""
    return "n/a" if share is None else f"{100 * share:.1f} %"


def _quantiles_text(found: Quantiles, text: Callable[[int], str]) -> str:
    return f"median {text(found.median)}, p95 {text(found.p95)}, p99 {text(found.p99)}, max {text(found.max)}"
