"""The arrivals of a manifest: when each request comes, what it asks for, and the draws that belong to it.

Everything random about a request is drawn here, per arrival, from streams named after its stream, so that limits and
disciplines never shift a draw: two profiles see the same requests, with the same service times and failures. This
module must not know limits or clients' decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from math import floor

import numpy as np

from sim import seeds
from sim.manifest.distributions import Constant
from sim.manifest.model import BurstyPoisson, Manifest, Poisson, Stream, TokenService, TraceReplay
from sim.manifest.scalars import HORIZON_MAX_NS
from sim.manifest.wording import Said
from sim.seeds import Words
from sim.workload.blocks import BLOCK_ROWS, ArrivalBlock
from sim.workload.distributions import Integers, below, choose, draw, happens, unit_exponentials, words_per_draw
from sim.workload.figures import ROWS, WorkColumns, WorkDraws, figures_of
from sim.workload.merge import Rows, merged
from sim.workload.rates import instants, pieces
from sim.workload.seed_family import seed_family_blocks
from sim.workload.traces.replay import TraceSpec, replay
from tollgate.core.errors import ConfigError
from tollgate.core.units import ms_text

PIECE_ROWS_MIN = 64
"""Fewest arrivals of one stream drawn at a time: below that, numpy's cost a call is most of the cost."""

COLUMNS = 9
"""Columns of a plain arrival. Where the requests of any stream are special, all rows have those of figures as well."""


def arrival_blocks(manifest: Manifest, *, replication: int = 0) -> Iterator[ArrivalBlock]:
    """Return the arrivals of a manifest in order, about ``BLOCK_ROWS`` at a time.

    Memory does not grow with their number.

    Args:
        manifest: What to draw. The same manifest and replication always give the same arrivals.
        replication: Number of the run, from 0.

    Raises:
        ConfigError: For a trace that cannot be read as the manifest says; while iterating, for a row of it that cannot
            be used, lies beyond the phases or belongs to one principal too many.
    """
    if manifest.seed_family is not None:
        return seed_family_blocks(manifest.seed_family)
    sources = [_source(manifest, stream, replication) for stream in manifest.streams]
    return map(_block, merged(sources, BLOCK_ROWS))


def _block(rows: Rows) -> ArrivalBlock:
    at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns = rows[: COLUMNS - 1].tolist()
    jitter = rows[COLUMNS - 1].view(np.uint64).tolist()
    figures = figures_of(rows[COLUMNS:]) if len(rows) > COLUMNS else None
    return ArrivalBlock(at_ns, stream, principal, provider, tokens, service_ns, fails, cancel_after_ns, jitter, figures)


def _source(manifest: Manifest, stream: Stream, replication: int) -> Iterator[Rows]:
    draws = _Draws(manifest, stream, replication)
    if isinstance(stream.arrivals, TraceReplay):
        return _replayed(manifest, stream, stream.arrivals, _reading(stream, stream.arrivals), draws)
    return _generated(manifest, stream, stream.arrivals, draws)


def _generated(manifest: Manifest, stream: Stream, arrivals: Poisson | BurstyPoisson, draws: _Draws) -> Iterator[Rows]:
    take = draws.words("arrivals")
    rate = pieces(arrivals, manifest.phases, stream.name, len(stream.principals))
    share = _mean_rate(stream) / (sum(map(_mean_rate, manifest.streams)) or 1)
    rows = max(PIECE_ROWS_MIN, int(BLOCK_ROWS * share))
    for at_ns in instants(lambda count: unit_exponentials(take(count)).tolist(), rate, rows):
        yield draws.rows(np.array(at_ns, dtype=np.int64))


def _mean_rate(stream: Stream) -> float:
    """Return about how many arrivals a second a stream has; pieces of streams then cover about the same time."""
    if isinstance(stream.arrivals, TraceReplay):
        return 0.0
    return float(stream.arrivals.per_second) * len(stream.principals)


def _reading(stream: Stream, arrivals: TraceReplay) -> TraceSpec:
    try:
        return TraceSpec(**arrivals.options)  # type: ignore[arg-type]  # the manifest's schema has checked each key
    except ConfigError as error:
        raise error.within(f"streams[{stream.index}].arrivals") from None


def _replayed(
    manifest: Manifest, stream: Stream, arrivals: TraceReplay, reading: TraceSpec, draws: _Draws
) -> Iterator[Rows]:
    principals = np.array(stream.principals, dtype=np.int64)
    for block in replay(reading, arrivals.path):
        at_ns = np.array(block.at_ns, dtype=np.int64)
        kept = int(np.searchsorted(at_ns, manifest.horizon_ns))
        if at_ns[-1] >= manifest.declared_horizon_ns:
            raise ConfigError(
                "phases",
                f"an end at {ms_text(manifest.declared_horizon_ns)} ms",
                f"phases that cover {arrivals.path.name}: it has a row at {ms_text(int(at_ns[-1]))} ms",
            )
        if kept == 0:
            return
        who = np.array(block.principal[:kept], dtype=np.int64)
        if int(who.max()) >= len(principals):
            allowed = f"a count that covers {arrivals.path.name}: it names more than {len(principals)} principals"
            raise ConfigError(f"streams[{stream.index}].count", len(principals), allowed)
        yield draws.rows(
            at_ns[:kept],
            principal=principals[who],
            tokens=np.array(block.tokens[:kept], dtype=np.int64) if reading.tokens_columns else None,
            service_ns=np.array(block.service_ns[:kept], dtype=np.int64) if block.service_ns is not None else None,
        )


class _Draws:
    """What is drawn for the arrivals of one stream: a column at a time, each from words of its own."""

    def __init__(self, manifest: Manifest, stream: Stream, replication: int) -> None:
        self._seed = manifest.seed
        self._replication = replication
        self._stream = stream
        self._providers = [manifest.providers[index] for index, _ in stream.providers]
        self._may_fail = any(provider.failure_probability for provider in self._providers)
        is_jittered = any(layer.is_drawn for layer in stream.client.layers)
        self._has_word = is_jittered or any(one.has_chances for one in self._providers)
        self._known = np.array(stream.principals, dtype=np.int64)
        self._principal = self.words("principal")
        self._provider = self.words("provider")
        self._work = WorkDraws(stream.tokens, stream.work, self.words)
        self._has_figures = any(one.work is not None for one in manifest.streams)
        self._service = self.words("service")
        self._failures = self.words("failures")
        self._cancel = self.words("cancel")
        self._jitter = self.words("jitter")

    def words(self, part: str) -> Callable[[int], Words]:
        """Return what takes the next raw words of one of the stream's named streams."""
        return seeds.words(self._seed, f"{self._stream.name}/{part}", replication=self._replication)

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
        rows[2] = self._principals(count) if principal is None else principal
        rows[3] = np.array([index for index, _ in stream.providers], dtype=np.int64)[choice]
        rows[4] = work.tokens
        rows[5] = self._services(choice, work) if service_ns is None else service_ns
        rows[6] = self._fails(choice) if self._may_fail else 0
        rows[7] = self._cancels(count)
        rows[8] = self._jitter(count).view(np.int64) if self._has_word else 0
        if self._has_figures:
            work.fill(rows[COLUMNS:])
        return rows

    def _principals(self, count: int) -> Integers:
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
                found[mine] = draw(kind, words[mine] if words_per_draw(kind) else words[:0], len(mine))
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
