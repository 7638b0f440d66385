"""What a trace looks like: rate, burstiness, gaps, sizes, principals, and which of these figures to doubt.

This module owns which figures are gathered while a trace is read, once. What a figure is belongs to the modules that
define it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from sim.workload.traces import doubts
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import Detection, detect
from sim.workload.traces.figures import Values, zipf_exponent
from sim.workload.traces.gaps import Gaps
from sim.workload.traces.summary import CORRELATED_WINDOW_S, DISPERSION_WINDOWS_S, TraceSummary
from sim.workload.traces.table import Columns, TraceBlocks
from sim.workload.traces.windows import WindowCounts
from tollgate.core.units import NS_PER_S

PEAK_WINDOWS_S: Final = (1, 10)

_LONGEST_GAPS: Final = 3


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
    warnings = (
        *detection.doubts,
        *doubts.of_summary(figures, tally),
        *doubts.of_values(tokens, "tokens"),
        *doubts.of_values(durations, "duration"),
    )
    return replace(figures, warnings=warnings)
