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
from sim.manifest.model import Manifest, Stream, TokenService, TraceReplay
from sim.manifest.processes import Batches, Generated, ModulatedPoisson, RateCurve
from sim.manifest.scalars import HORIZON_MAX_NS
from sim.manifest.wording import Said
from sim.seeds import Words
from sim.workload.batches import members
from sim.workload.blocks import BLOCK_ROWS, ArrivalBlock
from sim.workload.distributions import Integers, below, choose, draw, happens, words_per_draw
from sim.workload.figures import ROWS, WorkColumns, WorkDraws, figures_of
from sim.workload.gaps import unit_gaps
from sim.workload.merge import Rows, merged
from sim.workload.rates import instants, pieces
from sim.workload.reshape import reshaped
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


def _generated(manifest: Manifest, stream: Stream, arrivals: Generated, draws: _Draws) -> Iterator[Rows]:
    states = draws.words("states") if isinstance(arrivals, ModulatedPoisson) else None
    rate = pieces(arrivals, manifest.phases, stream.name, len(stream.principals), states)
    share = _mean_rate(stream) / (sum(map(_mean_rate, manifest.streams)) or 1)
    rows = max(PIECE_ROWS_MIN, int(BLOCK_ROWS * share))
    found = instants(unit_gaps(arrivals, draws.words("arrivals")), rate, rows)
    if isinstance(arrivals, Batches):
        yield from _batched(arrivals, found, draws, manifest.horizon_ns)
        return
    for at_ns in found:
        yield draws.rows(np.array(at_ns, dtype=np.int64))


def _batched(arrivals: Batches, batches: Iterator[list[int]], draws: _Draws, end_ns: int) -> Iterator[Rows]:
    take = draws.words("batch")
    words = words_per_draw(arrivals.size)

    def sizes(count: int) -> Integers:
        return draw(arrivals.size, take(count * words), count)

    spread = draws.words("spread")
    for found in members(batches, sizes, draws.principals, spread, arrivals.within_ns, end_ns):
        yield draws.rows(found.at_ns, principal=found.mark)


def _mean_rate(stream: Stream) -> float:
    """Return about how many arrivals a second a stream has; pieces of streams then cover about the same time."""
    match stream.arrivals:
        case RateCurve(points):
            rate = sum(each for _, each in points) / len(points)
        case ModulatedPoisson(states):
            rate = sum(state.per_second for state in states) / len(states)
        case TraceReplay():
            return 0.0
        case generated:
            rate = generated.per_second
    return float(rate) * len(stream.principals)


def _reading(stream: Stream, arrivals: TraceReplay) -> TraceSpec:
    try:
        return TraceSpec(**arrivals.options)  # type: ignore[arg-type]  # the manifest's schema has checked each key
    except ConfigError as error:
        raise error.within(f"streams[{stream.index}].arrivals") from None


def _replayed(
    manifest: Manifest, stream: Stream, arrivals: TraceReplay, reading: TraceSpec, draws: _Draws
) -> Iterator[Rows]:
    principals = np.array(stream.principals, dtype=np.int64)
    how, key = arrivals.reshape, f"streams[{stream.index}]"
    take, thinned = draws.words("bootstrap"), draws.words("thin")
    recorded = replay(reading, arrivals.path)
    end_ns = manifest.declared_horizon_ns
    for columns in reshaped(recorded, how, take, arrivals.path, f"{key}.arrivals", end_ns):
        at_ns = columns[0]
        kept = int(np.searchsorted(at_ns, manifest.horizon_ns))
        if at_ns[-1] >= end_ns:
            raise ConfigError(
                "phases",
                f"an end at {ms_text(end_ns)} ms",
                f"phases that cover {arrivals.path.name}: it has a row at {ms_text(int(at_ns[-1]))} ms",
            )
        if kept == 0:
            return
        _, who, tokens, service_ns = columns[:, :kept]
        if int(who.max()) >= len(principals):
            allowed = f"a count that covers {arrivals.path.name}: it names more than {len(principals)} principals"
            raise ConfigError(f"{key}.count", len(principals), allowed)
        rows = draws.rows(
            at_ns[:kept],
            principal=principals[who],
            tokens=tokens if reading.tokens_columns else None,
            service_ns=service_ns if reading.has_service else None,
        )
        if how.keep < 1:
            rows = rows[:, happens(thinned(kept), how.keep)]  # a row that is left out takes its draws with it
        if rows.size:
            yield rows


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
