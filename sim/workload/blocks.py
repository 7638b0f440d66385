"""Arrivals in columns: what every generator of traffic yields and what the world and the text formats read.

This module owns the layout of a block. It must not know where arrivals come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

BLOCK_ROWS: Final = 2**14
"""Arrivals a block, about. numpy's cost a call is spread over enough of them, and a block's columns stay near 1 MB."""

ArrivalRow = tuple[int, int, int, int, int, int, int, int, int]
"""One arrival: a value of each column of a block, in their order."""


@dataclass(slots=True)
class ArrivalBlock:
    """Consecutive arrivals, sorted by instant, then stream, then order within the stream.

    All columns are lists of one length ``n`` of plain integers, so that reading one costs no conversion.

    Attributes:
        at_ns: Instant of the arrival, ns from the start of the run.
        stream: Index into the manifest's streams; 0 for the seed's manifests, which have none.
        principal: Index into the manifest's principals.
        provider: Index into the manifest's providers.
        tokens: Estimated tokens.
        service_ns: How long the provider takes for it, ns, in every attempt.
        fails: Which attempts fail: bit k is set if attempt k + 1 does.
        cancel_after_ns: When its caller cancels it, ns from the arrival; -1 for never.
        jitter: A 64-bit word of its own, from which the jitter of its retries is derived (``sim.seeds.derived_word``).
    """

    at_ns: list[int]
    stream: list[int]
    principal: list[int]
    provider: list[int]
    tokens: list[int]
    service_ns: list[int]
    fails: list[int]
    cancel_after_ns: list[int]
    jitter: list[int]

    def __len__(self) -> int:
        return len(self.at_ns)

    def rows(self) -> Iterator[ArrivalRow]:
        """Yield the arrivals one by one, their values in the order of the columns above."""
        return zip(
            self.at_ns,
            self.stream,
            self.principal,
            self.provider,
            self.tokens,
            self.service_ns,
            self.fails,
            self.cancel_after_ns,
            self.jitter,
            strict=True,
        )
