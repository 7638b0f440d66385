"""Recovery of random completions against trying every instant at which a window could begin to be good."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sim.manifest.providers import Outage
from sim.measure.recovery import WINDOW_NS, Recoveries
from sim.trace import RequestCol, RequestOutcome, Trace
from tests.unit.measure.written import S, shape

HORIZON = 120 * S
TIMES = st.lists(
    st.one_of(st.integers(0, HORIZON + 20 * S), st.integers(0, 140).map(lambda s: s * S)), min_size=20, max_size=80
)
SPANS = st.tuples(st.integers(5, 85), st.integers(1, 25), st.sampled_from([0, 7]))


def first_good(times, outage, base_ns, seen):
    """Return the first instant from which a window holds 95 % of the base; None without one."""
    needed = Fraction(95, 100) * seen * WINDOW_NS / base_ns
    starts = {outage.end_ns, *(at - WINDOW_NS + 1 for at in times)}  # only there does a window gain a completion
    for start in sorted(start for start in starts if outage.end_ns <= start <= HORIZON - WINDOW_NS):
        if len([at for at in times if start <= at < start + WINDOW_NS]) >= needed:
            return start
    return None


@given(TIMES, st.lists(SPANS, min_size=1, max_size=2), st.sampled_from([0, 12]), st.integers(1, 40))
def test_recovery_is_the_first_good_window_of_all_there_are(times, spans, warmup, block_rows):
    phases = [("load", 0, 50 * S), ("soak", 50 * S, HORIZON)]
    outages = [
        Outage(str(number), 0, "error", start * S, (start + length) * S, (start + length + ramp) * S)
        for number, (start, length, ramp) in enumerate(sorted(spans))
    ]
    of = shape(phases=phases, warmup=warmup * S, outages=outages)
    recoveries = Recoveries(of)
    trace = Trace([recoveries], block_rows=block_rows)
    for ordinal, at in enumerate(sorted(times)):
        row = [0] * len(RequestCol)
        row[RequestCol.ORDINAL], row[RequestCol.INTENDED], row[RequestCol.SETTLED] = ordinal, at, at
        row[RequestCol.OUTCOME] = RequestOutcome.COMPLETED
        trace.requests.extend(row)
        if ordinal % block_rows == 0:
            trace.flush()
    trace.close(max([HORIZON, *times]), len(times))

    found, stuck = [], []
    for outage in outages:
        begin = 50 * S if outage.start_ns > 50 * S else 0
        seconds = [
            second
            for second in range(max(begin // S, warmup), outage.start_ns // S)
            if not any(
                other.start_ns <= second * S < other.ramp_end_ns for other in outages if other.name != outage.name
            )
        ]
        if len(seconds) < 10 or outage.end_ns + WINDOW_NS > HORIZON:
            assert recoveries.time_ns(0, None) is recoveries.is_metastable(None, None) is None
            assert outage in recoveries.unjudged()
            return
        seen = len([at for at in times if at // S in seconds])
        if seen:
            good = first_good(times, outage, len(seconds) * S, seen)
            found.append((HORIZON if good is None else good) - outage.end_ns)
            stuck.append(good is None or good - outage.ramp_end_ns > 60 * S)
    assert recoveries.unjudged() == []
    assert recoveries.time_ns(0, None) == recoveries.time_ns(None, 0) == max(found, default=None)
    assert recoveries.is_metastable(None, None) == (any(stuck) if stuck else None)
    assert recoveries.time_ns(1, None) is None
    assert recoveries.time_ns(None, 1) is None
