"""What is done to a trace before it is replayed: its clock is changed, and blocks of it are drawn to fill the run.

The clock comes first, so that the length of a block is in the run's time. Which rows are left out belongs to whoever
draws what goes with a row, as a row that is left out takes its draws with it. This module owns both changes; it must
not know files, streams or what a row asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.manifest.processes import Reshape
from sim.manifest.scalars import plain_decimal
from sim.manifest.source import seconds_text
from sim.manifest.wording import Said
from sim.seeds import Words
from sim.workload.distributions import below
from sim.workload.traces.replay import TraceBlock
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_S

Columns = NDArray[np.int64]
"""Rows of a trace by column, shape ``(4, n)``: instant, principal, tokens, time of service (-1 where it has none)."""

BLOCKS_A_TIME: Final = 64
"""Blocks drawn at a time."""

LATEST_NS: Final = 2**63 - 1
"""The last instant that a row can have, ns from the start: 292 years."""

BLOCKS_MIN: Final = 2
"""Fewest blocks that a trace must have to be drawn from: of one, each draw would be the same."""


def reshaped(
    blocks: Iterator[TraceBlock], how: Reshape, take: Callable[[int], Words], path: Path, key: str, end_ns: int
) -> Iterator[Columns]:
    """Yield the rows of a trace on the run's clock.

    Args:
        blocks: The trace.
        how: What is done to it.
        take: Takes the words that blocks are drawn with, one a block.
        path: The file, for complaints.
        key: Key path of the arrivals, for complaints.
        end_ns: End of the phases, before any window: where drawn blocks end, ns.

    Raises:
        ConfigError: While iterating, for a row beyond the last point of a warp, or a trace of fewer than two blocks.
    """
    rows = (_on_clock(_columns(block), how, path, key) for block in blocks)
    return rows if how.bootstrap_ns is None else _bootstrapped(rows, how.bootstrap_ns, take, path, key, end_ns)


def _columns(block: TraceBlock) -> Columns:
    columns = np.empty((4, len(block.at_ns)), dtype=np.int64)
    columns[0], columns[1], columns[2] = block.at_ns, block.principal, block.tokens
    columns[3] = -1 if block.service_ns is None else block.service_ns
    return columns


def _on_clock(columns: Columns, how: Reshape, path: Path, key: str) -> Columns:
    if how.scale_rate != 1:
        over, under = how.scale_rate.numerator, how.scale_rate.denominator
        scaled = [at_ns * under // over for at_ns in columns[0].tolist()]
        if scaled and scaled[-1] > LATEST_NS:
            allowed = f"a factor that leaves all rows of {path.name} within {LATEST_NS // NS_PER_S} s"
            raise ConfigError(f"{key}.scale_rate", Said(plain_decimal(how.scale_rate)), allowed)
        columns[0] = scaled
    elif how.time_warp:
        columns[0] = list(_warped(columns[0].tolist(), how.time_warp, path, key))
    return columns


def _warped(instants_ns: list[int], points: tuple[tuple[int, int], ...], path: Path, key: str) -> Iterator[int]:
    """Yield instants of the run for instants of the trace, which rise; rounded down to the nanosecond."""
    place = 1
    for at_ns in instants_ns:
        while at_ns > points[place][0]:
            place += 1
            if place == len(points):
                got = Said(f"a last point at {seconds_text(points[-1][0])} s of the trace")
                allowed = f"points that cover {path.name}: it has a row at {seconds_text(at_ns)} s"
                raise ConfigError(f"{key}.time_warp", got, allowed)
        (trace_ns, run_ns), (trace_end_ns, run_end_ns) = points[place - 1 : place + 1]
        yield run_ns + (at_ns - trace_ns) * (run_end_ns - run_ns) // (trace_end_ns - trace_ns)


def _bootstrapped(
    rows: Iterator[Columns], block_ns: int, take: Callable[[int], Words], path: Path, key: str, end_ns: int
) -> Iterator[Columns]:
    """Yield whole blocks of a trace, drawn alike and put back to back, until the end.

    The whole trace is kept in memory. What is left of it behind its last whole block is not drawn from.
    """
    pieces = list(rows)
    whole = np.concatenate(pieces, axis=1) if pieces else np.empty((4, 0), dtype=np.int64)
    span_ns = int(whole[0, -1]) if whole.size else 0
    count = span_ns // block_ns
    if count < BLOCKS_MIN:
        got = Said(f"blocks of {seconds_text(block_ns)} s")
        allowed = f"at most half of {path.name}, which lasts {seconds_text(span_ns)} s"
        raise ConfigError(f"{key}.bootstrap_seconds", got, allowed)
    places = -(-end_ns // block_ns)
    for first in range(0, places, BLOCKS_A_TIME):
        starts_ns = below(take(min(BLOCKS_A_TIME, places - first)), count) * block_ns
        begins, ends = (np.searchsorted(whole[0], edge_ns) for edge_ns in (starts_ns, starts_ns + block_ns))
        for place, (start_ns, begin, end) in enumerate(zip(starts_ns, begins, ends, strict=True), start=first):
            found = whole[:, begin:end].copy()
            found[0] += place * block_ns - start_ns
            stop = int(np.searchsorted(found[0], end_ns))
            if stop:
                yield found[:, :stop]
