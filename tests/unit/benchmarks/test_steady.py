from __future__ import annotations

from fractions import Fraction

import pytest

from benchmarks.memory import peak_of_this_process
from benchmarks.steady import ARRIVALS_PER_S, steady
from sim.workload.arrivals import arrival_blocks
from tollgate.core.units import NS_PER_S


@pytest.mark.parametrize("principals", [100, 2000])
def test_load_stays_the_same_whoever_makes_it(principals):
    manifest = steady(10_000, principals)
    assert len(manifest.principals) == principals
    assert Fraction(manifest.horizon_ns, NS_PER_S) * ARRIVALS_PER_S == 10_000
    # A Poisson count stays within five times its root, but for one seed in two million.
    assert abs(sum(map(len, arrival_blocks(manifest))) - 10_000) <= 500


def test_peak_memory_counts_what_was_held():
    held = b"x" * (1 << 26)
    assert peak_of_this_process() > len(held)
