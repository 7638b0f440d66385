"""However a trace is cut into blocks, its figures are those of the plain formulas over the whole of it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.workload.traces.figures import Values
from sim.workload.traces.gaps import Gaps
from sim.workload.traces.peaks import MostInService, SlidingPeak
from sim.workload.traces.windows import WindowCounts
from tests.unit.traces import whole

gaps = st.one_of(st.just(0), st.integers(0, 30), st.integers(0, 10**12))
traces = st.lists(st.tuples(gaps, st.integers(0, 40), st.integers(0, 60)), min_size=1, max_size=60)
cuts = st.lists(st.integers(0, 60), max_size=6)


def cut(columns, places):
    ends = sorted({0, len(columns[0]), *(place for place in places if place < len(columns[0]))})
    return [[column[start:stop] for column in columns] for start, stop in pairwise(ends)]


def columns_of(found):
    steps, sizes, services = (np.array(values, dtype=np.int64) for values in zip(*found, strict=True))
    steps[0] = 0
    return np.cumsum(steps), sizes, services


def about(expected):
    return expected if expected is None else pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(found=traces, places=cuts, window=st.sampled_from([1, 7, 10**9]))
def test_counts_in_windows(found, places, window):
    at_ns, _, _ = columns_of([(min(step, 10**4 * window), size, service) for step, size, service in found])
    counts = WindowCounts(window)
    for (block,) in cut([at_ns], places):
        counts.add(block)
    every = whole.counts(at_ns, window)
    assert (counts.whole, counts.peak) == (len(every) - 1, every.max())
    assert counts.dispersion() == about(whole.dispersion(at_ns, window))
    assert counts.autocorrelation() == about(whole.autocorrelation(every[:-1]))


@given(found=traces, places=cuts)
def test_gaps(found, places):
    at_ns, _, _ = columns_of(found)
    lines = np.arange(1, len(at_ns) + 1)
    kept = Gaps(2)
    for block in cut([at_ns, lines], places):
        kept.add(*block)
    every = np.diff(at_ns)
    assert (kept.n, kept.zero) == (len(every), int((every == 0).sum()))
    assert kept.variation() == about(every.std() / every.mean() if every.any() else None)
    assert kept.ties_max == int(np.unique(at_ns, return_counts=True)[1].max())
    longest = sorted(((-gap, line) for gap, line in zip(every.tolist(), range(2, len(at_ns) + 1), strict=True) if gap))
    assert kept.longest == [(-gap, line) for gap, line in longest[:2]]
    if every.size > 1 and every.std() > 1e-6 * every.mean():
        assert kept.autocorrelation() == pytest.approx(whole.autocorrelation(every), rel=1e-6, abs=1e-6)


@given(found=traces, places=cuts)
def test_values(found, places):
    _, sizes, _ = columns_of(found)
    kept = Values()
    for (block,) in cut([sizes], places):
        kept.add(block)
    found = kept.quantiles()
    assert [found.median, found.p95, found.p99, found.max] == whole.quantiles(sizes)
    assert (kept.n, kept.zero, kept.total) == (len(sizes), int((sizes == 0).sum()), int(sizes.sum()))


@given(found=traces, places=cuts, window=st.sampled_from([1, 10, 10**9]))
def test_peaks(found, places, window):
    at_ns, sizes, services = columns_of(found)
    services += 1  # a service of 0 is over before it is counted
    plain, weighed, served = SlidingPeak(window), SlidingPeak(window), MostInService()
    for block in cut([at_ns, sizes, services], places):
        plain.add(block[0])
        weighed.add(block[0], block[1])
        served.add(block[0], block[2])
    assert plain.peak() == whole.sliding_peak(at_ns, window, np.ones_like(at_ns))
    assert weighed.peak() == whole.sliding_peak(at_ns, window, sizes)
    assert served.peak() == whole.most_in_service(at_ns, services)
