"""The arrivals of a manifest: when each request comes, what it asks for, and the draws that belong to it.

Everything random about a request is drawn here, per arrival, from streams named after its stream, so that limits and
disciplines never shift a draw: two profiles see the same requests, with the same service times and failures. This
module must not know limits or clients' decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from sim import seeds
from sim.manifest.model import Manifest, Stream, TraceReplay
from sim.manifest.processes import Batches, Closed, Generated, ModulatedPoisson, RateCurve
from sim.seeds import Words
from sim.workload.batches import members
from sim.workload.blocks import BLOCK_ROWS, ArrivalBlock
from sim.workload.distributions import Integers, draw, happens, words_per_draw
from sim.workload.draws import Draws, block_of
from sim.workload.gaps import unit_gaps
from sim.workload.merge import Rows, merged
from sim.workload.rates import instants, pieces
from sim.workload.reshape import reshaped
from sim.workload.seed_family import seed_family_blocks
from sim.workload.traces.replay import TraceSpec, replay
from tollgate.core.errors import ConfigError
from tollgate.core.units import ms_text

PIECE_ROWS_MIN: Final = 64
"""Fewest arrivals of one stream drawn at a time: below that, numpy's cost a call is most of the cost."""


def arrival_blocks(manifest: Manifest, *, replication: int = 0) -> Iterator[ArrivalBlock]:
    """Return the arrivals of a manifest that come whatever happens, in order, about ``BLOCK_ROWS`` at a time.

    Memory does not grow with their number. Those of closed streams exist only in a run (``sim.workload.closed``).

    Args:
        manifest: What to draw. The same manifest and replication always give the same arrivals.
        replication: Number of the run, from 0.

    Raises:
        ConfigError: For a trace that cannot be read as the manifest says; while iterating, for a row of it that cannot
            be used, lies beyond the phases or belongs to one principal too many.
    """
    if manifest.seed_family is not None:
        return seed_family_blocks(manifest.seed_family)
    sources = [
        _source(manifest, stream, stream.arrivals, replication)
        for stream in manifest.streams
        if not isinstance(stream.arrivals, Closed)
    ]
    return map(block_of, merged(sources, BLOCK_ROWS))


def _source(manifest: Manifest, stream: Stream, arrivals: Generated | TraceReplay, replication: int) -> Iterator[Rows]:
    def take(part: str) -> Callable[[int], Words]:
        return seeds.words(manifest.seed, f"{stream.name}/{part}", replication=replication)

    draws = Draws(manifest, stream, take)
    if isinstance(arrivals, TraceReplay):
        return _replayed(manifest, stream, arrivals, _reading(stream, arrivals), draws)
    return _generated(manifest, stream, arrivals, draws)


def _generated(manifest: Manifest, stream: Stream, arrivals: Generated, draws: Draws) -> Iterator[Rows]:
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


def _batched(arrivals: Batches, batches: Iterator[list[int]], draws: Draws, end_ns: int) -> Iterator[Rows]:
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
        case TraceReplay() | Closed():
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
    manifest: Manifest, stream: Stream, arrivals: TraceReplay, reading: TraceSpec, draws: Draws
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
