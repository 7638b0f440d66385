"""The two text formats that bind a run: one line an arrival, one line a settled request.

A record carries the digests of these texts, and ``--arrivals`` and ``--outcomes`` write them out, so that two runs (or
two programs) can be compared line by line. This module owns how the lines are spelt, and their digests. It must not
know manifests, controllers or where a text is kept.

Times are milliseconds from the start of the run, as decimals without trailing zeros; every line ends in a newline, the
last one too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from sim.workload.blocks import UNKNOWN, ArrivalBlock, Figures
from tollgate.core.units import NS_PER_MS, ms_text

ABSENT: Final = "-"
"""What a column holds that has no value."""


class TextOut(Protocol):
    """Where lines go: an open text file, or anything else with its ``write``."""

    def write(self, text: str, /) -> object:
        """Take ``text``."""
        ...


def _ms(ns: int) -> str:
    """Return ``ns`` as milliseconds; most times here are whole ones, and their text is the integer's."""
    whole, rest = divmod(ns, NS_PER_MS)
    return ms_text(ns) if rest else str(whole)


def arrival_line(
    ordinal: int,
    at_ns: int,
    principal: str,
    provider: str,
    tokens: int,
    service_ns: int,
    fails: int,
    cancel_after_ns: int,
    figures: Figures | None = None,
) -> str:
    """Spell one arrival: ``ordinal,atMs,principal,provider,tokens,serviceMs,fails,cancelAtMs``.

    A request that is not plain has eight columns more:
    ``promptTokens,outputTokens,requestBytes,costMicros,items,attempts,batchSize,retainedWork``.

    Args:
        ordinal: Place in the list of arrivals, from 0.
        at_ns: Time of the arrival, ns.
        principal: Who asks.
        provider: Who is to serve.
        tokens: Estimated tokens.
        service_ns: Service time of every attempt, ns.
        fails: Attempts that fail, bit k for attempt k + 1. The seed's traffic has 0 and 1 only, its first attempt or
            none.
        cancel_after_ns: Time from the arrival to the caller's cancellation, ns, or -1. The line carries the instant
            itself.
        figures: What is special about it, if anything.
    """
    cancel = _ms(at_ns + cancel_after_ns) if cancel_after_ns >= 0 else ABSENT
    more = "" if figures is None else _figures(figures)
    return f"{ordinal},{_ms(at_ns)},{principal},{provider},{tokens},{_ms(service_ns)},{fails},{cancel}{more}\n"


def _figures(figures: Figures) -> str:
    return "".join(f",{ABSENT if value == UNKNOWN else value}" for value in figures)


def arrival_lines(
    block: ArrivalBlock, ordinal: int, principals: Sequence[str], providers: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a block of arrivals.

    Args:
        block: The arrivals.
        ordinal: Place of the first of them in the list of all.
        principals: Names by index.
        providers: Names by index.
    """
    for place, row in enumerate(block.rows(), ordinal):
        at_ns, _, who, whom, tokens, service_ns, fails, cancel_ns, _, figures = row
        yield arrival_line(
            place, at_ns, principals[who], providers[whom], tokens, service_ns, fails, cancel_ns, figures
        )


def outcome_line(
    ordinal: int, outcome: str, attempts: int, settled_ns: int, queue_delays_ns: Sequence[int], reason: str | None
) -> str:
    """Spell one settled request: ``ordinal outcome attempts settledAtMs queueDelays reason``.

    Args:
        ordinal: The arrival's place, from 0.
        outcome: ``completed``, ``failed``, ``shed`` or ``cancelled``.
        attempts: Times it asked for admission.
        settled_ns: When it was over, ns.
        queue_delays_ns: Wait before each admission it got, ns, in order.
        reason: Why admission refused it, or None.
    """
    delays = ",".join(map(_ms, queue_delays_ns)) or ABSENT
    return f"{ordinal} {outcome} {attempts} {_ms(settled_ns)} {delays} {reason or ABSENT}\n"


class LineDigest:
    """SHA-256 of a text that arrives line by line, and its copy to ``out`` if one is given.

    Lines are hashed in batches: a call into the hash costs more than a short line does.
    """

    __slots__ = ("_hash", "_out", "_pending")

    BATCH: Final = 4096
    """Lines held back at most; memory stays flat however long the text grows."""

    def __init__(self, out: TextOut | None = None) -> None:
        self._hash = hashlib.sha256()
        self._out = out
        self._pending: list[str] = []

    def add(self, line: str) -> None:
        """Take one line, its newline included."""
        self._pending.append(line)
        if len(self._pending) >= self.BATCH:
            self._flush()

    def add_all(self, lines: Iterable[str]) -> None:
        """Take lines in order."""
        for line in lines:
            self.add(line)

    def hexdigest(self) -> str:
        """Return the digest of all lines so far, lower-case hex; everything so far has reached ``out`` by then."""
        self._flush()
        return self._hash.hexdigest()

    def _flush(self) -> None:
        text = "".join(self._pending)
        self._pending.clear()
        self._hash.update(text.encode())
        if self._out is not None:
            self._out.write(text)
