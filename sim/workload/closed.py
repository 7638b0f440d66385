"""Closed loops: callers who ask, wait for the answer, think, and ask again.

When a request comes depends on how the one before it ended, so such arrivals exist only while a run goes on. What a
request is, and how long its caller thinks before it, does not: each is drawn from words that belong to the stream, the
caller and the number of the request, in whatever order they are asked for. Limits and other callers shift nothing of
it. This module owns those draws and the instant at which thinking ends. It must not know what an answer is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Final, cast

import numpy as np

from sim import seeds
from sim.manifest.model import Manifest, Stream
from sim.manifest.processes import Closed
from sim.seeds import Words
from sim.workload.blocks import ArrivalRow
from sim.workload.distributions import Integers, draw, words_per_draw
from sim.workload.draws import Draws, row_at
from sim.workload.merge import Rows

PIECE_ROWS: Final = 4096
"""Requests drawn at a time, about: numpy's cost a call is spread over them."""

KEPT_A_GROUP: Final = 3
"""Drawn pieces that are kept for each group of callers. One may be ahead of another; a piece that is gone is drawn
again."""

KEPT_ROWS: Final = 2**19
"""Requests that are kept at most, about, 72 bytes each. The more callers, the fewer requests of each are in a piece."""

_EACH_MIN, _EACH_MAX = 4, 64


class _Piece:
    """Requests drawn together: some of each caller of a group, caller by caller."""

    __slots__ = ("rows", "thinks_ns")

    def __init__(self, rows: Rows, thinks_ns: list[int]) -> None:
        self.rows = rows
        self.thinks_ns = thinks_ns


class Population:
    """The callers of one closed stream.

    Attributes:
        size: How many they are, numbered from 0.
    """

    def __init__(self, manifest: Manifest, stream: Stream, replication: int) -> None:
        """Stand at the beginning."""
        closed = cast("Closed", stream.arrivals)
        self.size = closed.population
        self._think = closed.think
        self._steps = [(p.start_ns, p.end_ns, p.rate_multiplier.get(stream.name, Fraction(1))) for p in manifest.phases]
        self._manifest, self._stream, self._replication = manifest, stream, replication
        self._members = np.array(stream.principals, dtype=np.int64)
        # requests of a caller in one piece, and callers
        self._each = min(max(_EACH_MIN, KEPT_ROWS // KEPT_A_GROUP // self.size), _EACH_MAX)
        self._group = min(self.size, PIECE_ROWS // self._each)
        self._words: dict[str, Words] = {}
        self._pieces: OrderedDict[tuple[int, int], _Piece] = OrderedDict()
        self._kept = KEPT_A_GROUP * -(-self.size // self._group)

    def request(self, caller: int, number: int, now_ns: int) -> ArrivalRow | None:
        """Return a caller's next request, its instant included, or None if the run's arrivals end before it.

        Args:
            caller: Who.
            number: Which request of this caller, from 0; each is preceded by a think time.
            now_ns: When the caller begins to think, ns.
        """
        group, place = divmod(caller, self._group)
        turn, offset = divmod(number, self._each)
        piece = self._piece(group, turn)
        index = place * self._each + offset
        at_ns = self._end_of_thinking(now_ns, piece.thinks_ns[index])
        if at_ns is None:
            return None
        return row_at(piece.rows, index, at_ns)

    def _end_of_thinking(self, now_ns: int, think_ns: int) -> int | None:
        """Return when a caller has thought for so long, ns; None if that is not before the end of the last phase.

        A phase's factor on the stream's rate is one on the speed of thinking; at 0 nobody gets on with it.
        """
        left: int | Fraction = think_ns
        for start_ns, end_ns, speed in self._steps:
            if end_ns <= now_ns or not speed:
                continue
            from_ns = max(start_ns, now_ns)
            lasts = left if speed == 1 else Fraction(left) / speed
            if lasts < end_ns - from_ns:
                return from_ns + ceil(lasts)
            left -= end_ns - from_ns if speed == 1 else (end_ns - from_ns) * speed
        return None

    def _piece(self, group: int, turn: int) -> _Piece:
        key = (group, turn)
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._pieces[key] = self._drawn(group, turn)
            if len(self._pieces) > self._kept:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(key)
        return piece

    def _drawn(self, group: int, turn: int) -> _Piece:
        first = group * self._group
        callers = np.repeat(np.arange(first, min(first + self._group, self.size)), self._each)
        count = len(callers)
        numbers = np.tile(np.arange(turn * self._each, (turn + 1) * self._each, dtype=np.uint64), count // self._each)

        def words(part: str) -> Callable[[int], Words]:
            def take(total: int) -> Words:
                a_request = np.uint64(total // count)
                of_caller = self._base(part)[callers][:, None]
                places = (numbers[:, None] * a_request + np.arange(a_request, dtype=np.uint64)).astype(np.uint64)
                return seeds.derived_words(of_caller, places).ravel()

            return take

        draws = Draws(self._manifest, self._stream, words)
        rows = draws.rows(np.zeros(count, dtype=np.int64), principal=self._principals(callers))
        thinks = draw(self._think, words("think")(count * words_per_draw(self._think)), count)
        return _Piece(rows, thinks.tolist())

    def _principals(self, callers: Integers) -> Integers:
        """Return whose callers they are: they are dealt out to the stream's principals in turn."""
        return self._members[callers % len(self._members)]

    def _base(self, part: str) -> Words:
        """Return a word for each caller, from which its own are derived, shape ``(size,)``."""
        if part not in self._words:
            name = f"{self._stream.name}/{part}"
            self._words[part] = seeds.words(self._manifest.seed, name, replication=self._replication)(self.size)
        return self._words[part]


def populations(manifest: Manifest, *, replication: int = 0) -> list[Population]:
    """Return the callers of each closed stream of a manifest, in the streams' order.

    Args:
        manifest: What to draw.
        replication: Number of the run, from 0.
    """
    closed = [stream for stream in manifest.streams if isinstance(stream.arrivals, Closed)]
    return [Population(manifest, stream, replication) for stream in closed]
