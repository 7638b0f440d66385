"""``world``: what the full world costs, and how long one waits for what is told of it.

Four questions: does a provider with an outage, a breaker that trips and callers who try again cost more for each
attempt than v2 does; and are a request's story, the page and a million arrivals within what somebody waits for, or has?
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.memory import peak_of_child
from benchmarks.result import Plan, Result
from benchmarks.timing import STATED, interleaved, median_ns, median_ratio
from sim.cli.checkout import this_tool
from sim.evidence import pack, read_bundle, write_bundle
from sim.experiment import Run, run
from sim.explain import explain
from sim.manifest import Manifest, load
from sim.report.page import render
from sim.report.report import Report

MANIFESTS: Final = Path(__file__).parents[1] / "manifests"
STORM: Final = MANIFESTS / "provider-outage-retry-storm.yaml"
V2: Final = MANIFESTS / "load-manifest.v2.json"

ATTEMPT_BOUND: Final = 1.5
WAIT_S: Final = 2.0
"""What somebody waits for a story or a page, seconds of CPU; the bounds on both are 1."""

MEMORY_MB: Final = 200.0
"""Peak resident memory of a million arrivals of which only observations are kept, MB; the bound is 1."""


def attempts(plan: Plan) -> Result:
    """Compare the cost per attempt of the storm with that of v2, everything measured in both."""
    actions: list[Callable[[], Run]] = [partial(run, load(path)) for path in (STORM, V2)]
    made = [int(action().value("attempts")) for action in actions]
    rounds = interleaved(actions, plan.rounds)
    costs = " against ".join(
        f"{median_ns(rounds, side) / made[side] / 1000:.1f} us for each of {made[side]}" for side in (0, 1)
    )
    return Result(
        median_ratio(rounds) * made[1] / made[0],
        ATTEMPT_BOUND,
        f"CPU an attempt, parsed manifest to a run with series and worst requests: {STORM.stem}, {costs} of v2; "
        f"{STATED.format(rounds=plan.rounds)}",
    )


def story(plan: Plan) -> Result:
    """Time the story of v2's last request, for which the whole run is made again."""
    manifest = load(V2)
    last = int(run(manifest, observations_only=True).value("arrivals")) - 1
    return _within(partial(explain, manifest, last), f"story of request {last} of v2, the last one", plan)


def page(plan: Plan) -> Result:
    """Time the page of v2, from the bundle on disk to the text."""
    manifest = load(V2)
    with tempfile.TemporaryDirectory() as folder:
        bundle = write_bundle(pack(run(manifest), this_tool()), Path(folder)).folder
        return _within(partial(_page, bundle, manifest), "page of v2, from its bundle", plan)


def memory(plan: Plan) -> Result:
    """Hold the peak memory of a long run against what a small machine has for it."""
    peak_mb = peak_of_child(plan.arrivals_max) / 1e6
    return Result(
        peak_mb / MEMORY_MB,
        1.0,
        f"peak resident memory, observations only, {plan.arrivals_max} arrivals: {peak_mb:.1f} MB of {MEMORY_MB:g} MB; "
        "a fresh process, gc on",
    )


def _page(bundle: Path, manifest: Manifest) -> str:
    return render(Report.of(read_bundle(bundle), manifest, path=bundle, manifest_path=V2, assume_path=None))


def _within(action: Callable[[], object], what: str, plan: Plan) -> Result:
    """Return how much of :data:`WAIT_S` an action takes, once it is warm."""
    action()
    rounds = interleaved([action], plan.rounds)
    seconds = median_ns(rounds, 0) / 1e9
    return Result(
        seconds / WAIT_S, 1.0, f"{what}: {seconds:.2f} s of {WAIT_S:g} s; {STATED.format(rounds=plan.rounds)}"
    )
