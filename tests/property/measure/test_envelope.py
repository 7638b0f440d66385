"""The envelope test against every window of every pair of draws, in fractions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sim.measure.envelope import Envelope
from tollgate.core.units import Rate

RATES = st.builds(Rate, st.integers(0, 5), st.sampled_from([1, 3, 7, 10**9, 10**18 + 9]))
BUCKETS = st.one_of(st.none(), st.tuples(RATES, st.integers(1, 8)))
DRAWS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 5)), max_size=30)


def breaches(bucket, draws):
    """Yield (instant, excess) of every window that holds more than burst + rate x length, by its last draw."""
    rate, burst = bucket
    for end in range(len(draws)):
        over = max(
            sum(units for _, units in draws[start : end + 1])
            - burst
            - Fraction(rate.units, rate.per_ns) * (draws[end][0] - draws[start][0])
            for start in range(end + 1)
        )
        if over > 0:
            yield draws[end][0], over


@given(st.lists(BUCKETS, min_size=3, max_size=3), DRAWS, st.integers(1, 7), st.sampled_from([1, 10**9]))
def test_a_breach_is_found_exactly_where_some_window_holds_too_much(buckets, steps, block, grain):
    at, draws = 0, []
    for gap, member, units in steps:
        at += gap * grain
        draws.append((at, member, units))
    envelope = Envelope(buckets)
    for start in range(0, len(draws), block):
        at_ns, who, units = (np.array(column, np.int64) for column in zip(*draws[start : start + block], strict=True))
        envelope.add(who, at_ns, units)

    found = [
        (instant, member, over)
        for member, bucket in enumerate(buckets)
        if bucket is not None
        for instant, over in breaches(bucket, [(t, n) for t, m, n in draws if m == member])
    ]
    if not found:
        assert envelope.breach is None
    else:
        member, instant, excess = envelope.breach
        assert (instant, member) in {(at_ns, who) for at_ns, who, _ in found}
        assert excess in {ceil(Fraction(over)) for at_ns, who, over in found if (at_ns, who) == (instant, member)}
