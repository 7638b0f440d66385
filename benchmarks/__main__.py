"""``python -m benchmarks [--only NAME] [--quick]``: one JSON object a line, progress on standard error.

The exit code is 0 if every bound holds, 1 if one is missed, 4 if a comparison was refused as saying nothing, 2 for a
name that is none.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from benchmarks import bucket, scale, traces, v2, world
from benchmarks.result import QUICK, Plan, Result

Benchmark = Callable[[Plan], Result]

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "v2": v2.measure,
    "scale-arrivals": scale.arrivals,
    "scale-principals": scale.principals,
    "scale-memory": scale.memory,
    "traces-csv": traces.of_csv,
    "traces-jsonl": traces.of_jsonl,
    "traces-memory": traces.memory,
    "world": world.attempts,
    "world-explain": world.story,
    "world-page": world.page,
    "world-memory": world.memory,
    "bucket": bucket.handwritten,
    # Last: these libraries leave a thread behind that now and then takes some of the process's time.
    "bucket-limits": bucket.against_limits,
    "bucket-throttled-py": bucket.against_throttled,
    "bucket-pyrate-limiter": bucket.against_pyrate,
}

MISSED: Final = 1
REFUSED: Final = 4


def main(arguments: Sequence[str], benchmarks: Mapping[str, Benchmark] = BENCHMARKS) -> int:
    """Run the benchmarks that were asked for and return the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks", description="Measure ratios and hold them against bounds.")
    parser.add_argument(
        "--only", metavar="NAME", help=f"one of {', '.join(benchmarks)}, or what some of them begin with"
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs and fewer rounds; no figures to quote")
    options = parser.parse_args(arguments)
    chosen = _chosen(options.only, benchmarks)
    if not chosen:
        parser.error(f"argument --only: {options.only!r} is none of {', '.join(benchmarks)}")
    code = 0
    for name, benchmark in chosen.items():
        began = time.monotonic()
        result = benchmark(QUICK if options.quick else Plan())
        print(result.line(name), flush=True)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        code = max(code, 0 if result.ok else MISSED if result.ratio is not None else REFUSED)
    return code


def _chosen(only: str | None, benchmarks: Mapping[str, Benchmark]) -> dict[str, Benchmark]:
    """Return the benchmark of that name and those of its group; all of them without a name."""
    if only is None:
        return dict(benchmarks)
    return {name: each for name, each in benchmarks.items() if name == only or name.startswith(f"{only}-")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
