"""The states that a modulated process goes through: which, and how long each lasts.

The chain runs in real time: neither phases nor arrivals change it. Each state takes two words, one for its length and
one for what follows, so the chain does not depend on how much of it is asked for. This module must not know rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from sim.manifest.processes import ModulatedPoisson
from sim.seeds import Words
from sim.workload.distributions import UNIT_BITS, choose, unit_exponentials

STATES_A_TIME: Final = 256
"""States drawn at a time; numpy's cost a call is spread over so many."""


def sojourns(process: ModulatedPoisson, take: Callable[[int], Words]) -> Iterator[tuple[int, int | None]]:
    """Yield the states, with the length of each, ns, at least 1; the last has None if it is never left.

    Args:
        process: The states.
        take: Takes the next raw words of the chain's stream.
    """
    state = process.initial
    while True:
        words = take(2 * STATES_A_TIME).reshape(-1, 2)
        for unit, word in zip(unit_exponentials(words[:, 0]).tolist(), words[:, 1:], strict=True):
            here = process.states[state]
            if here.mean_ns is None:
                yield state, None
                return
            yield state, max(1, unit * here.mean_ns.numerator // (here.mean_ns.denominator << UNIT_BITS))
            place = int(choose(word, [share for _, share in here.then])[0])
            state = here.then[place][0]
