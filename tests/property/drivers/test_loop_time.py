"""The instant on the loop's clock is never early, and late by less than two of its last units, in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from tollgate.core.units import NS_PER_S
from tollgate.drivers.aio import _loop_time

YEARS_10_S = 10 * 366 * 86_400


@given(
    loop_s=st.floats(0, YEARS_10_S, allow_nan=False)
    | st.integers(0, YEARS_10_S * NS_PER_S).map(lambda ns: ns / NS_PER_S),
    wait_ns=st.integers(0, 10**6) | st.integers(0, YEARS_10_S * NS_PER_S),
)
@example(loop_s=0.1, wait_ns=200_000_000)
@example(loop_s=math.nextafter(2.0**22, 0), wait_ns=1)
@example(loop_s=0.0, wait_ns=0)
def test_never_early_and_hardly_late(loop_s, wait_ns):
    exact = Fraction(loop_s) + Fraction(wait_ns, NS_PER_S)
    when = _loop_time(loop_s, wait_ns)
    assert Fraction(when) >= exact
    assert Fraction(when) - exact < 2 * Fraction(math.ulp(when))
