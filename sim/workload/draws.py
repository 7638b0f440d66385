"""What is drawn for each request of a stream: whose it is, its size, service and failures, whether it is cancelled.

Everything belongs to the request, and each part of it has words of its own, so that limits and disciplines never shift
a draw: two profiles see the same requests, with the same service times and failures. This module must not know when
requests come, nor where the words come from.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from math import floor
from typing import Final

import numpy as np

from sim import seeds
from sim.manifest.distributions import Constant
from sim.manifest.model import Manifest, Stream
from sim.manifest.providers import TokenService
from sim.manifest.scalars import HORIZON_MAX_NS
from sim.manifest.wording import Said
from sim.seeds import MASK, Words
from sim.workload.blocks import ArrivalBlock, ArrivalRow
from sim.workload.distributions import Integers, below, choose, draw_by_word, happens
from sim.workload.figures import ROWS, WorkColumns, WorkDraws, figures_of
from sim.workload.merge import Rows
from tollgate.core.errors import ConfigError

COLUMNS: Final = 9
"""Columns of a plain arrival. Where the requests of any stream are special, all rows have those of figures as well."""


class Draws:
    """What is drawn for the arrivals of one stream: a column at a time, each from words of its own."""

    def __init__(self, manifest: Manifest, stream: Stream, words: Callable[[str], Callable[[int], Words]]) -> None:
        """Stand at the beginning of the words.

        Args:
            manifest: Where the stream and its providers are.
            stream: Whose requests.
            words: Gives, for each part of a request, what takes the next raw words for it. For n requests it is asked
                for a whole multiple of n, those of the first request first.
        """
        self.words = words
        self._stream = stream
        self._providers = [manifest.providers[index] for index, _ in stream.providers]
        self._may_fail = any(provider.failure_probability for provider in self._providers)
        self._has_word = stream.client.is_drawn or any(one.has_chances for one in self._providers)
        self._known = np.array(stream.principals, dtype=np.int64)
        self._principal = words("principal")
        self._provider = words("provider")
        self._work = WorkDraws(stream.tokens, stream.work, words)
        self._has_figures = any(one.work is not None for one in manifest.streams)
        self._service = words("service")
        self._failures = words("failures")
        self._cancel = words("cancel")
        self._jitter = words("jitter")

    def rows(
        self,
        at_ns: Integers,
        *,
        principal: Integers | None = None,
        tokens: Integers | None = None,
        service_ns: Integers | None = None,
    ) -> Rows:
        """Return the columns of the next arrivals, as ``ArrivalBlock`` orders them; what is not given is drawn.

        Args:
            at_ns: Their instants, shape ``(n,)``.
            principal: Indices of principals, shape ``(n,)``.
            tokens: Sizes, shape ``(n,)``.
            service_ns: Times of service, shape ``(n,)``.
        """
        count = len(at_ns)
        stream = self._stream
        choice = self._choices(count)
        work = self._work.next(count, tokens)
        rows = np.empty((COLUMNS + (ROWS if self._has_figures else 0), count), dtype=np.int64)
        rows[0] = at_ns
        rows[1] = stream.index
        rows[2] = self.principals(count) if principal is None else principal
        rows[3] = np.array([index for index, _ in stream.providers], dtype=np.int64)[choice]
        rows[4] = work.tokens
        rows[5] = self._services(choice, work) if service_ns is None else service_ns
        rows[6] = self._fails(choice) if self._may_fail else 0
        rows[7] = self._cancels(count)
        rows[8] = self._jitter(count).view(np.int64) if self._has_word else 0
        if self._has_figures:
            work.fill(rows[COLUMNS:])
        return rows

    def principals(self, count: int) -> Integers:
        """Draw whom each of the next requests, or batches of them, belongs to."""
        known = self._known
        return known[below(self._principal(count), len(known))] if len(known) > 1 else np.repeat(known, count)

    def _choices(self, count: int) -> Integers:
        """Return which of the stream's providers serves each arrival."""
        weights = [weight for _, weight in self._stream.providers]
        return choose(self._provider(count), weights) if len(weights) > 1 else np.zeros(count, dtype=np.int64)

    def _services(self, choice: Integers, work: WorkColumns) -> Integers:
        """Return the work of each arrival, ns: drawn with a word each, whichever provider serves it, or by size."""
        kinds = [provider.service for provider in self._providers]
        words = self._service(0 if all(isinstance(kind, (Constant, TokenService)) for kind in kinds) else len(choice))
        found = np.empty(len(choice), dtype=np.int64)
        for index, kind in enumerate(kinds):
            mine = np.flatnonzero(choice == index)
            if isinstance(kind, TokenService):
                output = None if work.output is None else work.output[mine]
                found[mine] = self._by_size(index, kind, work.prompt[mine], output)
            else:
                found[mine] = draw_by_word(kind, words[mine] if len(words) else words, len(mine))
        return found

    def _by_size(self, index: int, kind: TokenService, prompt: Integers, output: Integers | None) -> list[int]:
        """Return the work of requests whose provider takes so long a token that they really use."""
        brought = [kind.base_ns + kind.per_prompt_token_ns * tokens for tokens in prompt.tolist()]
        answered = repeat(0) if output is None else output.tolist()
        per_output_ns = kind.per_output_token_ns
        work_ns = [max(1, floor(one + per_output_ns * tokens)) for one, tokens in zip(brought, answered, strict=False)]
        if max(work_ns, default=0) > HORIZON_MAX_NS:
            provider, _ = self._stream.providers[index]
            raise ConfigError(
                f"providers[{provider}].service",
                Said(f"{max(work_ns)} ns for one call"),
                "times a token that stay below a year",
            )
        return work_ns

    def _fails(self, choice: Integers) -> Integers:
        """Return which attempts fail. Attempt 1 takes the arrival's word, later ones words derived from it.

        So the number of attempts a client may make shifts nothing.
        """
        first = self._failures(len(choice))
        found = np.zeros(len(choice), dtype=np.int64)
        for attempt in range(self._stream.client.max_attempts):
            words = seeds.derived_words(first, attempt - 1) if attempt else first
            for index, provider in enumerate(self._providers):
                failed = happens(words, provider.failure_probability) & (choice == index)
                found |= failed.astype(np.int64) << attempt
        return found

    def _cancels(self, count: int) -> Integers:
        client = self._stream.client
        if client.cancel_after_ns is None:
            return np.full(count, -1, dtype=np.int64)
        return np.where(happens(self._cancel(count), client.cancel_probability), client.cancel_after_ns, -1)


def block_of(rows: Rows) -> ArrivalBlock:
    """Return rows as :meth:`Draws.rows` makes them, as a block."""
    at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns = rows[: COLUMNS - 1].tolist()
    jitter = rows[COLUMNS - 1].view(np.uint64).tolist()
    figures = figures_of(rows[COLUMNS:]) if len(rows) > COLUMNS else None
    return ArrivalBlock(at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns, jitter, figures)


def row_at(rows: Rows, index: int, at_ns: int) -> ArrivalRow:
    """Return one of the rows, at another instant.

    Args:
        rows: Rows as :meth:`Draws.rows` makes them.
        index: Which one.
        at_ns: Its instant, ns.
    """
    _, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns, jitter = rows[:COLUMNS, index].tolist()
    figures = figures_of(rows[COLUMNS:, index : index + 1])[0] if len(rows) > COLUMNS else None
    return at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns, jitter & MASK, figures
