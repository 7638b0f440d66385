"""CPU time of several sides, measured in turn.

This module owns the order of measurements and the state of the garbage collector: switched on, as in a real run, and
run to the end before each measurement, so that no side pays for another's garbage. Other work on the machine slows
neighbouring measurements alike; that is why ratios are taken inside a round and only then the median.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Final

Action = Callable[[], object]
Clock = Callable[[], int]

STATED: Final = "CPU time, median of {rounds} interleaved rounds after a warm-up, gc on and emptied before each"
"""What goes into every ``how``."""


def interleaved(actions: Sequence[Action], rounds: int, clock: Clock = time.process_time_ns) -> list[tuple[int, ...]]:
    """Run the actions in turn (A B A B ...) and return the time of each, a tuple a round, ns.

    Args:
        actions: One a side. What an action returns is let go inside its own time.
        rounds: How often.
        clock: Reads the CPU time of this process, ns.
    """
    return [tuple(_timed(action, clock) for action in actions) for _ in range(rounds)]


def median_ratio(rounds: Sequence[tuple[int, ...]], ours: int = 0, peer: int = 1) -> float:
    """Return the median over the rounds of one side's time divided by another's, the sides given by position."""
    return median(times[ours] / times[peer] for times in rounds)


def median_ns(rounds: Sequence[tuple[int, ...]], side: int) -> float:
    """Return one side's median time, ns."""
    return median(times[side] for times in rounds)


def _timed(action: Action, clock: Clock) -> int:
    gc.enable()
    gc.collect()
    began_ns = clock()
    action()
    return clock() - began_ns
