"""A whole trace as columns, and plain formulas over them, which the figures kept from block to block have to meet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.workload.traces.table import TraceBlocks
from sim.workload.traces.tally import Tally


@dataclass(frozen=True)
class Table:
    """All arrivals of a trace, and what was met on the way."""

    lines: np.ndarray
    at_ns: np.ndarray
    tokens: np.ndarray
    principal: np.ndarray
    duration_ns: np.ndarray
    principals: int
    sha256: str
    tally: Tally
    remarks: tuple[str, ...]


def load_table(path, reading, **options):
    trace = TraceBlocks(path, reading, **options)
    columns = map(np.concatenate, zip(*trace, strict=True))
    return Table(*columns, trace.principals, trace.sha256, trace.tally, trace.remarks)


def column(*values):
    return np.array(values, dtype=np.int64)


def quantiles(values):
    ordered = sorted(values.tolist())
    return [ordered[-(-len(ordered) * percent // 100) - 1] for percent in (50, 95, 99, 100)]


def counts(at_ns, window_ns):
    """Return the arrivals in each window up to the last arrival, the last one perhaps cut short."""
    return np.bincount(at_ns // window_ns)


def dispersion(at_ns, window_ns):
    whole = counts(at_ns, window_ns)[:-1]
    return whole.var() / whole.mean() if len(whole) > 1 else None


def autocorrelation(values):
    away = values - values.mean() if len(values) > 1 else np.zeros(1)
    squares = away @ away
    return away[1:] @ away[:-1] / squares if squares > 1e-9 else None


def sliding_peak(at_ns, window_ns, weights):
    ends = np.searchsorted(at_ns, at_ns + window_ns)
    return max(sum(weights[start:end].tolist()) for start, end in enumerate(ends))


def most_in_service(at_ns, service_ns):
    ends = at_ns + service_ns
    return max(sum(1 for other in range(place + 1) if ends[other] > at_ns[place]) for place in range(len(at_ns)))
