"""``scale``: what an arrival costs, and what a run keeps in memory, as runs and crowds grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from benchmarks.memory import peak_of_child
from benchmarks.result import Plan, Result
from benchmarks.steady import steady
from benchmarks.timing import STATED, interleaved, median_ns, median_ratio
from sim.experiment import run

ARRIVALS_BOUND: Final = 1.3
PRINCIPALS_BOUND: Final = 1.6
MEMORY_BOUND: Final = 1.2
"""Of the whole process, about 80 MB: reached at 17 bytes an arrival, less than keeping one integer of each takes."""

FEW_ARRIVALS: Final = 10_000
FEW_PRINCIPALS: Final = 100
MANY_PRINCIPALS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Case:
    """A run of so many arrivals by so many principals."""

    arrivals: int
    principals: int

    def action(self) -> Callable[[], object]:
        """Return the run, its manifest parsed."""
        return partial(run, steady(self.arrivals, self.principals), observations_only=True)


def arrivals(plan: Plan) -> Result:
    """Compare the cost per arrival of a long run with that of a short one."""
    return _compare(Case(plan.arrivals_max, FEW_PRINCIPALS), Case(FEW_ARRIVALS, FEW_PRINCIPALS), ARRIVALS_BOUND, plan)


def principals(plan: Plan) -> Result:
    """Compare the cost per arrival of a crowd, most of whom ask for the first time, with that of a few."""
    count = plan.arrivals_max // 10
    return _compare(Case(count, MANY_PRINCIPALS), Case(count, FEW_PRINCIPALS), PRINCIPALS_BOUND, plan)


def memory(plan: Plan) -> Result:
    """Compare the peak memory of a long run with that of one a tenth as long."""
    large, small = plan.arrivals_max, plan.arrivals_max // 10
    large_bytes, small_bytes = peak_of_child(large), peak_of_child(small)
    growth = (large_bytes - small_bytes) / (large - small)
    return Result(
        large_bytes / small_bytes,
        MEMORY_BOUND,
        f"peak resident memory, observations only: {large_bytes / 1e6:.1f} MB with {large} arrivals, "
        f"{small_bytes / 1e6:.1f} MB with {small}: {growth:.1f} bytes an arrival more; one fresh process each, gc on",
    )


def _compare(large: Case, small: Case, bound: float, plan: Plan) -> Result:
    actions = [case.action() for case in (large, small)]
    actions[1]()
    rounds = interleaved(actions, plan.rounds)
    costs = (
        f"{median_ns(rounds, side) / case.arrivals / 1000:.1f} us an arrival with {case.arrivals} by {case.principals} "
        "principals"
        for side, case in enumerate((large, small))
    )
    return Result(
        median_ratio(rounds) * small.arrivals / large.arrivals,
        bound,
        f"{', '.join(costs)}; parsed manifest to observations; {STATED.format(rounds=plan.rounds)}",
    )
