"""Good and bad times of a provider: a chain of two states in time, drawn from words of its own.

So neither limits nor traffic shift a time. This module owns the chain. It must not know calls.

Source:
    Gilbert, "Capacity of a burst-noise channel" (BSTJ 1960), and Elliott (BSTJ 1963), in continuous time: the stays are
    exponential and alternate. The share of bad time tends to bad / (good + bad).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from sim.manifest.distributions import Exponential
from sim.manifest.providers import Bursts
from sim.seeds import Words
from sim.workload.distributions import draw

_DRAWN_AT_ONCE: Final = 64


class BadTimes:
    """The chain, followed from the start of the run; it begins with a good time."""

    __slots__ = ("_is_bad", "_stays", "_until_ns")

    def __init__(self, model: Bursts, words: Callable[[int], Words]) -> None:
        """Begin at instant 0.

        Args:
            model: Mean stays.
            words: Takes the next raw words of the provider's own named stream: for each good time and the bad one after
                it one word each.
        """
        self._stays = _stays(model, words)
        self._is_bad = False
        self._until_ns = next(self._stays)

    def is_bad(self, now_ns: int) -> bool:
        """Return whether an instant lies in a bad time; instants must not go back."""
        while now_ns >= self._until_ns:
            self._is_bad = not self._is_bad
            self._until_ns += next(self._stays)
        return self._is_bad


def _stays(model: Bursts, words: Callable[[int], Words]) -> Iterator[int]:
    good, bad = Exponential(model.good_ns), Exponential(model.bad_ns)
    while True:
        taken = words(2 * _DRAWN_AT_ONCE)
        pairs = zip(
            draw(good, taken[0::2], _DRAWN_AT_ONCE).tolist(),
            draw(bad, taken[1::2], _DRAWN_AT_ONCE).tolist(),
            strict=True,
        )
        for pair in pairs:
            yield from pair
