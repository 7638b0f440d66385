"""Arrivals in columns: what every generator of traffic yields and what the world and the text formats read.

This module owns the layout of a block. It must not know where arrivals come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Final, NamedTuple

BLOCK_ROWS: Final = 2**14
"""Arrivals a block, about. numpy's cost a call is spread over enough of them, and a block's columns stay near 1 MB."""

UNKNOWN: Final = -1
"""Stands for a figure that the caller does not know."""


class Figures(NamedTuple):
    """What one request uses and says of itself, beside the tokens that it is estimated at.

    Only requests that differ from the plain one carry them. A plain request uses the tokens it is estimated at, all of
    them in its prompt, and asks for one item in one attempt, at no cost, of a size that nobody states.

    Attributes:
        prompt_tokens: Tokens it brings, as they turn out.
        output_tokens: Tokens that the provider answers with, as they turn out.
        request_bytes: Its size, bytes. This and what follows is what it states, and ``UNKNOWN`` what it leaves out; the
            names are those of ``tollgate.decision.Estimate``.
        cost_micros: What it is expected to cost, millionths of a dollar.
        items: Items.
        attempts: Attempts it stands for in its invocation's budget.
        batch_size: Batch size.
        retained_work: Units of work that stay with the provider.
    """

    prompt_tokens: int
    output_tokens: int
    request_bytes: int
    cost_micros: int
    items: int
    attempts: int
    batch_size: int
    retained_work: int

    @property
    def actual_tokens(self) -> int:
        """Tokens that the request really uses."""
        return self.prompt_tokens + self.output_tokens


ArrivalRow = tuple[int, int, int, int, int, int, int, int, int, Figures | None]
"""One arrival: a value of each column of a block, in their order."""


@dataclass(slots=True)
class ArrivalBlock:
    """Consecutive arrivals, sorted by instant, then stream, then order within the stream.

    All columns are lists of one length ``n``, all but the last of plain integers, so that reading one costs no
    conversion.

    Attributes:
        at_ns: Instant of the arrival, ns from the start of the run.
        stream: Index into the manifest's streams; 0 for the seed's manifests, which have none.
        principal: Index into the manifest's principals.
        provider: Index into the manifest's providers.
        tokens: Estimated tokens; ``UNKNOWN`` where nobody estimates them, which takes figures.
        service_ns: How long the provider takes for it, ns, in every attempt.
        fails: Which attempts fail: bit k is set if attempt k + 1 does.
        cancel_after_ns: When its caller cancels it, ns from the arrival; -1 for never.
        jitter: A 64-bit word of its own, from which the jitter of its retries is derived (``sim.seeds.derived_word``).
        figures: What is special about each request, None for a plain one; no list where all are plain.
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
    figures: list[Figures | None] | None = None

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
            repeat(None, len(self.at_ns)) if self.figures is None else self.figures,
            strict=True,
        )
