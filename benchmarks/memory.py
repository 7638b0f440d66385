"""What a run keeps in memory, measured in a process of its own: ``python -m benchmarks.memory ARRIVALS``."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

from benchmarks.steady import steady
from sim.experiment import run

ROOT: Final = Path(__file__).parents[1]
PRINCIPALS: Final = 100


def peak_of_child(arrivals: int) -> int:
    """Return the peak resident memory of a fresh process that simulates so many arrivals, bytes."""
    command = [sys.executable, "-m", "benchmarks.memory", str(arrivals)]
    return int(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def peak_of_this_process() -> int:
    """Return the peak resident memory of this process so far, bytes.

    Linux's getrusage(2) also counts what the parent held before the process became its own program, so that its status
    file is read where there is one.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii")) if status.exists() else None
    if found is not None:
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    run(steady(int(sys.argv[1]), PRINCIPALS), observations_only=True)
    print(peak_of_this_process())
