"""Levels of random walks against a plain walk through their events."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.measure.levels import DRAIN, MEASURED, WARMUP, LevelTracker
from sim.trace import LevelKind, Trace
from tests.unit.measure.written import shape

WARMUP_NS, HORIZON_NS = 40, 90
PHASES = [("early", 0, 25), ("load", 25, 55), ("spike", 55, 70), ("soak", 70, HORIZON_NS)]
OF = shape(phases=PHASES, warmup=WARMUP_NS)
SCOPES = ((), ("class",), ("principal",), ("provider",), ("class", "provider"))
EVENTS = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from([1, -1]), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1)),
    max_size=40,
)


def members(scope, principal, provider):
    columns = {"class": (OF.class_of[principal], 2), "principal": (principal, 3), "provider": (provider, 2)}
    index = 0
    for selector in scope:
        value, size = columns[selector]
        index = index * size + value
    return index


@given(EVENTS, st.integers(0, 30), st.integers(1, 9))
def test_peaks_troughs_integrals_and_ends_are_those_of_a_plain_walk(steps, rest, block_rows):
    events, at = [], 0
    for gap, delta, kind, principal, provider in steps:
        at += gap
        events.append((at, delta, kind, principal, provider))
    end = at + rest
    tracker = LevelTracker(OF, [("class", "provider")], [("provider",)])
    trace = Trace([tracker], block_rows=block_rows)
    for at_ns, delta, kind, principal, provider in events:
        trace.levels.extend((at_ns, delta, kind, principal, provider, 0))
        trace.flush_if_full()
    trace.close(end, 0)

    assert [tracker.is_followed(scope, by_phase=True) for scope in SCOPES] == [True, False, False, True, False]
    spans = {WARMUP: (0, WARMUP_NS), MEASURED: (WARMUP_NS, HORIZON_NS), DRAIN: (HORIZON_NS, 10**9)}
    for scope in SCOPES:
        for kind in LevelKind:
            for member in sorted({members(scope, p, v) for p in range(3) for v in range(2)}):
                own = [e for e in events if e[2] == kind and members(scope, e[3], e[4]) == member]
                levels = np.cumsum([0, *(delta for _, delta, *_ in own)]).tolist()
                starts = [0, *(at_ns for at_ns, *_ in own)]
                stretches = list(zip(levels, starts, [*starts[1:], end], strict=True))
                assert tracker.final(scope, kind)[member] == levels[-1]
                assert tracker.peaks(scope, kind)[member] == max(levels)
                assert tracker.lowest(scope, kind)[member] == min(levels)
                for span, (first, last) in spans.items():
                    inside = [max(min(until, last) - max(since, first), 0) for _, since, until in stretches]
                    area = sum(level * length for level, length in zip(levels, inside, strict=True))
                    assert tracker.integral(scope, kind, member, span) == area
                for phase, (_, start, stop) in enumerate(PHASES if tracker.is_followed(scope, by_phase=True) else ()):
                    first, last = max(start, WARMUP_NS), max(stop, WARMUP_NS)
                    inside = [max(min(until, last) - max(since, first), 0) for _, since, until in stretches]
                    area = sum(level * length for level, length in zip(levels, inside, strict=True))
                    assert tracker.phase_integral(scope, kind, member, phase) == area
                    begun = [level for level, since in zip(levels, starts, strict=True) if since < first][-1]
                    here = [level for level, since in zip(levels, starts, strict=True) if first <= since < last]
                    highest = max([begun, *here, 0]) if first < last and end >= first else 0
                    assert tracker.peak(scope, kind, member, phase=phase) == highest
                before = [level for level, since in zip(levels, starts, strict=True) if since < WARMUP_NS][-1]
                later = [level for level, since in zip(levels, starts, strict=True) if since >= WARMUP_NS]
                measured = max([before, *later]) if end >= WARMUP_NS else 0
                assert max(tracker.peak(scope, kind, member, since=MEASURED), 0) == max(measured, 0)
