"""One request's story: the run made again, with that request watched.

What happened is told from the trace of the new run, in either discipline; what the controller that ships saw at each
instant is asked of the controller itself. So no ordinary run pays for stories. The reference discipline gives no
diagnoses: its stories have no checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sim.baselines.harness import run_reference
from sim.experiment import Progress
from sim.explain.story import RowsOf, steps
from sim.explain.watch import Watch
from sim.kernel import Kernel
from sim.manifest import Manifest
from sim.report.explain import ExplainStep
from sim.report.text import plural, with_ms
from sim.targets.controller import build
from sim.trace import Trace
from sim.workload.arrivals import arrival_blocks
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


def explain(manifest: Manifest, ordinal: int, *, progress: Progress | None = None) -> Story:
    """Return the story of one request.

    Args:
        manifest: What to run: overrides, seed, window and discipline applied.
        ordinal: The request's place among the arrivals, from 0.
        progress: Is told how far the run is on its way to the request's arrival.

    Raises:
        ConfigError: If the manifest lacks what a run needs, or has no such request.
    """
    if manifest.lacks:
        allowed = f"a manifest that states {', '.join(manifest.lacks)}; give them with --assume FILE"
        raise ConfigError("", manifest.name, allowed, file=str(manifest.path))
    heading, arrives_ns = _found(manifest, ordinal)
    rows = RowsOf(ordinal)
    if manifest.discipline == "reference":
        run_reference(manifest, Trace((rows,)), progress=progress)
        return Story(heading, tuple(steps(rows, (), {})))
    watch = Watch(build(manifest), str(ordinal))
    for now_ns in _rerun(manifest, watch, rows):
        if progress is not None:
            progress(min(now_ns, arrives_ns), arrives_ns)
    return Story(heading, tuple(steps(rows, watch.looks, watch.decisions)))


def _rerun(manifest: Manifest, watch: Watch, rows: RowsOf) -> Iterator[int]:
    """Run the production controller, no further than until the request is over; yield where it is now and then, ns."""
    kernel = Kernel()
    world = World(manifest, arrival_blocks(manifest), watch, Trace((rows,)), kernel)
    end_ns = manifest.horizon_ns + manifest.drain_ns
    now_ns = 0
    while now_ns < end_ns and not watch.is_over:
        yield now_ns
        now_ns = min(now_ns + SLICE_NS, end_ns)
        kernel.run(now_ns)
    world.close(now_ns)


def _found(manifest: Manifest, ordinal: int) -> tuple[str, int]:
    """Return who the request is, from the arrivals, and when it arrives, ns.

    Raises:
        ConfigError: If there are not so many.
    """
    passed = 0
    for block in arrival_blocks(manifest):
        row = ordinal - passed
        if 0 <= row < len(block):
            principal = manifest.principals[block.principal[row]].name
            provider = manifest.providers[block.provider[row]].id
            size, served = plural(block.tokens[row], "token"), with_ms(block.service_ns[row])
            heading = f"request {ordinal}: {principal} to {provider}, {size}, {served} of service an attempt"
            return heading, block.at_ns[row]
        passed += len(block)
    allowed = f"0 to {passed - 1}, the places of the arrivals" if passed else "none: nothing arrives in this run"
    raise ConfigError("--request", ordinal, allowed, file=str(manifest.path))
