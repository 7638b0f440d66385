"""Requests that come in batches: from the instants of batches to those of their members.

Members may come after the next batch has begun, so those that are not certain to be next are held back. Which member
comes when does not depend on how many batches are looked at together. This module must not know where the instants come
from or who asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from sim.seeds import Words
from sim.workload.blocks import BLOCK_ROWS
from sim.workload.distributions import Integers, below

SIZE_MAX: Final = 100_000
"""Most members of a batch: they are in memory together, in some 100 bytes each."""


class Members(NamedTuple):
    """Requests in the order of time, each of shape ``(n,)``.

    Attributes:
        at_ns: Their instants.
        mark: What their batches are marked with.
    """

    at_ns: Integers
    mark: Integers


def members(
    batches: Iterator[list[int]],
    sizes: Callable[[int], Integers],
    marks: Callable[[int], Integers],
    offsets: Callable[[int], Words],
    within_ns: int,
    end_ns: int,
) -> Iterator[Members]:
    """Yield the members of batches, by instant, then batch.

    Args:
        batches: Instants of batches, in order, some at a time.
        sizes: Draws the sizes of so many batches.
        marks: Draws what so many batches are marked with.
        offsets: Takes the words of so many members; not asked where all come at once.
        within_ns: Longest time from a batch to its members, ns.
        end_ns: Members from here on are left out: the run's arrivals are over.
    """
    held = Members(*np.empty((2, 0), dtype=np.int64))
    for instants in batches:
        size = np.minimum(sizes(len(instants)), SIZE_MAX)
        mark = marks(len(instants))
        at_ns = np.array(instants, dtype=np.int64)
        for some in _some_at_a_time(size):
            begun = np.repeat(at_ns[some], size[some])
            late = below(offsets(len(begun)), within_ns + 1) if within_ns else 0
            known = _sorted(held, Members(begun + late, np.repeat(mark[some], size[some])))
            # Whoever is not known yet belongs to a batch at or after the last one here, and is behind its members.
            stop = int(np.searchsorted(known.at_ns, at_ns[some][-1], side="right"))
            yield from _until(Members(known.at_ns[:stop], known.mark[:stop]), end_ns)
            held = Members(known.at_ns[stop:], known.mark[stop:])
    yield from _until(held, end_ns)


def _some_at_a_time(sizes: Integers) -> Iterator[slice]:
    """Yield runs of batches, each with about a block of members."""
    sums = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = int(sums[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(sums, before + BLOCK_ROWS, side="right")))
        yield slice(start, stop)
        start = stop


def _sorted(held: Members, more: Members) -> Members:
    at_ns, mark = (np.concatenate(pair) for pair in zip(held, more, strict=True))
    order = np.argsort(at_ns, kind="stable")
    return Members(at_ns[order], mark[order])


def _until(found: Members, end_ns: int) -> Iterator[Members]:
    stop = int(np.searchsorted(found.at_ns, end_ns))
    if stop:
        yield Members(found.at_ns[:stop], found.mark[:stop])
