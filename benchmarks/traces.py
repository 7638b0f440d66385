"""``traces``: what a row of a recorded trace costs, and what a long one keeps in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.result import Plan, Result
from benchmarks.timing import STATED, interleaved, median_ns, median_ratio
from benchmarks.trace_files import ACTIONS, csv_floor, jsonl_floor, look, peak_of_child, write

CSV_BOUND: Final = 10.0
JSONL_BOUND: Final = 6.0
"""Beside the floor a row is checked, bound by a digest, put in order and described by thirty figures."""

MEMORY_BOUND: Final = 1.1
"""Of about 60 MB, nearly all of it imports: reached at 7 bytes a row, less than one integer of each takes."""

WALL_BOUND_S: Final = 20
"""What a million rows may take; said in ``how``, as a time is no ratio."""


def of_csv(plan: Plan) -> Result:
    """Compare a look at a CSV trace with Python's own reader and integers."""
    return _compare("trace.csv", csv_floor, CSV_BOUND, plan)


def of_jsonl(plan: Plan) -> Result:
    """Compare a look at a JSON-lines trace with Python's own parser."""
    return _compare("trace.jsonl", jsonl_floor, JSONL_BOUND, plan)


def memory(plan: Plan) -> Result:
    """Compare the peak memory of each action on a long trace with that on one a tenth as long; the worst counts."""
    large, small = plan.arrivals_max, plan.arrivals_max // 10
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{rows}.csv") for rows in (large, small)]
        for path, rows in zip(paths, (large, small), strict=True):
            write(path, rows)
        peaks = {action: [peak_of_child(path, action) for path in paths] for action in ACTIONS}
    said = ", ".join(f"{action} {of[0] / 1e6:.1f} and {of[1] / 1e6:.1f} MB" for action, of in peaks.items())
    return Result(
        max(of[0] / of[1] for of in peaks.values()),
        MEMORY_BOUND,
        f"peak resident memory with {large} and {small} rows of CSV: {said}; one fresh process each, gc on",
    )


def _compare(name: str, floor: Callable[[Path], int], bound: float, plan: Plan) -> Result:
    rows = plan.arrivals_max // 5
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        write(path, rows)
        sides = (partial(look, path), partial(floor, path))
        for side in sides:
            side()
        rounds = interleaved(sides, plan.rounds)
    ours, theirs = (median_ns(rounds, side) / rows / 1000 for side in (0, 1))
    return Result(
        median_ratio(rounds),
        bound,
        f"trace inspect of {rows} rows, {ours:.2f} us a row, against reading and parsing them alone, {theirs:.2f} us; "
        f"a million rows take {ours:.1f} s (at most {WALL_BOUND_S}); {STATED.format(rounds=plan.rounds)}",
    )
