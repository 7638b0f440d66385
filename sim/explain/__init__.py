"""One request's story: the run made again, with that request watched.

What happened is told from the trace of the new run, in either discipline; what the controller that ships saw at each
instant is asked of the controller itself. So no ordinary run pays for stories. The reference discipline gives no
diagnoses: its stories have no checks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Final

from sim.baselines.harness import run_reference
from sim.explain.story import RowsOf, Told, steps
from sim.explain.watch import Watch
from sim.kernel import Kernel, Progress
from sim.manifest import Manifest
from sim.report.explain import ExplainStep, render
from sim.report.text import plural, with_ms
from sim.targets.controller import build
from sim.trace import Trace
from sim.workload.arrivals import arrival_blocks
from sim.workload.blocks import ArrivalRow
from sim.workload.closed import Population, populations
from sim.world import World
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_S

__all__ = ["Story", "explain"]

SLICE_NS: Final = 10 * NS_PER_S
"""Simulated time between two looks at whether the watched request is over: what comes after it need not be run."""


@dataclass(frozen=True, slots=True)
class Story:
    """What is told of a request.

    Attributes:
        heading: Which request it is, in one line.
        steps: Its steps, in order of time.
    """

    heading: str
    steps: tuple[ExplainStep, ...]

    def __str__(self) -> str:
        """Return it as text, a line a step with its checks below."""
        return render(self.heading, self.steps)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space: pre-wrap">{escape(str(self))}</pre>'


def explain(manifest: Manifest, ordinal: int, *, progress: Progress | None = None) -> Story:
    """Return the story of one request.

    Args:
        manifest: What to run: overrides, seed, window and discipline applied.
        ordinal: The request's place among the arrivals, from 0.
        progress: Is told how far the run is on its way to the request's arrival.

    Raises:
        ConfigError: If the manifest lacks what a run needs, or has no such request.
    """
    manifest.refuse_lacking()
    rows = RowsOf(ordinal)
    if manifest.discipline == "reference":
        found = _found(manifest, ordinal)
        heading = _heading(manifest, ordinal, found)
        run_reference(manifest, Trace((rows,)), progress=progress)
        return Story(heading, tuple(steps(rows, (), {}, _told(manifest, found))))
    loops = populations(manifest)
    arrival = None if loops else _found(manifest, ordinal)  # in closed loops it is known once it has come
    watch = Watch(build(manifest), str(ordinal))
    heard: dict[int, ArrivalRow] = {}
    last_ns = manifest.horizon_ns if arrival is None else arrival[0]
    for now_ns in _rerun(manifest, watch, rows, loops, heard):
        if progress is not None:
            progress(min(now_ns, last_ns), last_ns)
    if arrival is None:
        if ordinal not in heard:
            raise _no_such(manifest, ordinal, max(heard, default=-1) + 1)
        arrival = heard[ordinal]
    seen = steps(rows, watch.looks, watch.decisions, _told(manifest, arrival))
    return Story(_heading(manifest, ordinal, arrival), tuple(seen))


def _rerun(
    manifest: Manifest, watch: Watch, rows: RowsOf, loops: Sequence[Population], heard: dict[int, ArrivalRow]
) -> Iterator[int]:
    """Run the production controller, no further than until the request is over; yield where it is now and then, ns.

    Where there are closed loops, ``heard`` takes the request's arrival, and the latest one.
    """

    def hear(ordinal: int, row: ArrivalRow) -> None:
        if ordinal - 1 != rows.ordinal:
            heard.pop(ordinal - 1, None)
        heard[ordinal] = row

    kernel = Kernel()
    blocks = arrival_blocks(manifest)
    world = World(manifest, blocks, watch, Trace((rows,)), kernel, populations=loops, heard=hear)
    end_ns = manifest.horizon_ns + manifest.drain_ns
    now_ns = 0
    while now_ns < end_ns and not watch.is_over:
        yield now_ns
        now_ns = min(now_ns + SLICE_NS, end_ns)
        kernel.run(now_ns)
    world.close(now_ns)


def _told(manifest: Manifest, arrival: ArrivalRow) -> Told:
    """Return what the manifest tells of a request's provider and client."""
    _, stream, _, provider, *_ = arrival
    client = manifest.client if manifest.client is not None else manifest.streams[stream].client
    return Told(manifest.providers[provider].outages, client.max_attempts)


def _heading(manifest: Manifest, ordinal: int, arrival: ArrivalRow) -> str:
    _, _, principal, provider, tokens, service_ns, *_ = arrival
    who, whom = manifest.principals[principal].name, manifest.providers[provider].id
    size, served = plural(tokens, "token"), with_ms(service_ns)
    return f"request {ordinal}: {who} to {whom}, {size}, {served} of service an attempt"


def _found(manifest: Manifest, ordinal: int) -> ArrivalRow:
    """Return the request out of the arrivals.

    Raises:
        ConfigError: If there are not so many.
    """
    passed = 0
    for block in arrival_blocks(manifest):
        row = ordinal - passed
        if 0 <= row < len(block):
            return next(islice(block.rows(), row, None))
        passed += len(block)
    raise _no_such(manifest, ordinal, passed)


def _no_such(manifest: Manifest, ordinal: int, passed: int) -> ConfigError:
    allowed = f"0 to {passed - 1}, the places of the arrivals" if passed else "none: nothing arrives in this run"
    return ConfigError("--request", ordinal, allowed, file=str(manifest.path))
