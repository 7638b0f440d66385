"""Generated traces, the floor that reading them cannot go below, and what a look at one keeps in memory.

``python -m benchmarks.trace_files FILE ACTION`` does one action in a process of its own and prints the peak.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benchmarks.memory import ROOT, peak_of_this_process
from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.detect import detect
from sim.workload.traces.inspect import inspect
from sim.workload.traces.replay import TraceSpec, replay
from sim.workload.traces.to_manifest import ManifestOptions, to_manifest

COLUMNS: Final = ("timestamp_ms", "tenant", "input_tokens", "output_tokens")
PRINCIPALS: Final = 200


def write(path: Path, rows: int) -> None:
    """Write a trace of so many rows, CSV or JSON lines by its suffix: about 100 arrivals a second."""
    with path.open("w", encoding="ascii", newline="") as stream:
        if path.suffix == ".csv":
            table = csv.writer(stream)
            table.writerow(COLUMNS)
            table.writerows(_rows(rows))
        else:
            for row in _rows(rows):
                stream.write(json.dumps(dict(zip(COLUMNS, row, strict=True))) + "\n")


def _rows(count: int) -> Iterator[tuple[int, str, int, int]]:
    at_ms = 0
    for row in range(count):
        at_ms += row * 7919 % 20  # a prime spreads the values; no clock, no generator
        yield at_ms, f"t{row * 31 % PRINCIPALS}", 1 + row * 7907 % 4000, 1 + row * 104_729 % 900


def csv_floor(path: Path) -> int:
    """Read a CSV trace with Python's own reader and turn its numbers into integers; nothing is checked."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = csv.reader(stream)
        next(rows)
        return sum(int(at_ms) + int(tokens_in) + int(tokens_out) for at_ms, _, tokens_in, tokens_out in rows)


def jsonl_floor(path: Path) -> int:
    """Read a JSON-lines trace with Python's own parser; nothing is checked."""
    total = 0
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            total += row["timestamp_ms"] + row["input_tokens"] + row["output_tokens"]
    return total


def look(path: Path) -> int:
    """Return the rows that ``trace inspect`` finds."""
    return inspect(path, TraceOptions()).rows


def make_manifest(path: Path) -> int:
    """Return the length of the manifest that ``trace to-manifest`` writes."""
    return len(to_manifest(path, TraceOptions(), ManifestOptions(folder=path.parent)))


def replay_all(path: Path) -> int:
    """Return the rows that a replay yields."""
    reading = detect(path, TraceOptions()).reading
    sha256 = inspect(path, TraceOptions()).sha256
    spec = TraceSpec(**vars(reading), file=path.name, sha256=sha256)
    return sum(len(block.at_ns) for block in replay(spec, path))


ACTIONS: Final[Mapping[str, Callable[[Path], int]]] = {
    "inspect": look,
    "to-manifest": make_manifest,
    "replay": replay_all,
}


def peak_of_child(path: Path, action: str) -> int:
    """Return the peak resident memory of a fresh process that does one action, bytes."""
    command = [sys.executable, "-m", "benchmarks.trace_files", str(path), action]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    ACTIONS[sys.argv[2]](Path(sys.argv[1]))
    print(peak_of_this_process())
