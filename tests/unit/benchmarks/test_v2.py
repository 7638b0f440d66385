from __future__ import annotations

import json

from benchmarks.v2 import PAIRS, verdict

US = 1000
CUSTOMERS = 20_000


def rounds(ours_us: float, peer_us: float, pair_us: float) -> list[tuple[int, ...]]:
    """Return three equal rounds at these costs, microseconds an arrival, a customer and a heap pair."""
    one = (int(ours_us * US * CUSTOMERS), int(peer_us * US * CUSTOMERS), int(pair_us * US * PAIRS))
    return [one] * 3


def test_peer_of_forty_heap_pairs_is_accepted_and_one_above_refused():
    accepted = verdict(rounds(15, 10, 0.25), CUSTOMERS)
    assert (accepted.ratio, accepted.ok) == (1.5, True)
    refused = verdict(rounds(15, 10.25, 0.25), CUSTOMERS)
    assert (refused.ratio, refused.ok) == (None, False)
    assert "straw man, 41.0 heap pairs" in refused.how


def test_how_says_whether_the_stretch_goal_was_reached():
    assert "stretch 1.2 reached" in verdict(rounds(12, 10, 0.3), CUSTOMERS).how
    assert "stretch 1.2 not reached" in verdict(rounds(12.5, 10, 0.3), CUSTOMERS).how


def test_twice_the_peer_is_the_most():
    assert verdict(rounds(20, 10, 0.3), CUSTOMERS).ok
    missed = json.loads(verdict(rounds(20.5, 10, 0.3), CUSTOMERS).line("v2"))
    assert (missed["ratio"], missed["bound"], missed["ok"]) == (2.05, 2.0, False)
