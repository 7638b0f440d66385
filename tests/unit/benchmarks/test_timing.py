from __future__ import annotations

import gc

from benchmarks.timing import interleaved, median_ns, median_ratio


def test_sides_are_measured_in_turn_with_the_collector_on():
    ran: list[tuple[str, bool]] = []
    ticks = iter([0, 3, 10, 14, 20, 25, 30, 36])
    gc.disable()
    rounds = interleaved(
        [lambda: ran.append(("a", gc.isenabled())), lambda: ran.append(("b", gc.isenabled()))],
        rounds=2,
        clock=lambda: next(ticks),
    )
    assert ran == [("a", True), ("b", True)] * 2
    assert rounds == [(3, 4), (5, 6)]


def test_ratio_is_taken_inside_each_round_and_then_the_median():
    rounds = [(20, 10), (90, 30), (40, 40)]  # the machine was three times slower in the second round
    assert median_ratio(rounds) == 2.0
    assert median_ratio(rounds, ours=1, peer=0) == 0.5
    assert median_ns(rounds, 0) == 40
