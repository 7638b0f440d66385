"""The machine a run happens on: its figures, apart from everything that is reproducible.

The only module of the lab below its command line that reads a clock: the CPU time of this process. Nothing it returns
may reach an observation or a decision.
"""

from __future__ import annotations

import gc
import platform
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Final

from tollgate.core.units import NS_PER_S, decimal_text

# The kernel counts in KiB on Linux and in bytes on macOS (getrusage(2) of each).
_RSS_UNITS_PER_MIB: Final = 1024 if sys.platform != "darwin" else 1024 * 1024


@contextmanager
def collector_paused() -> Iterator[None]:
    """Hold Python's cyclic garbage collector off, and leave it as it was afterwards.

    A run makes no cycles, so there is nothing to collect; but with 10^5 principals the collector would walk all of them
    again and again (a third of such a run, measured).
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def cpu_ns() -> int:
    """Return the CPU time this process has used, ns."""
    return time.process_time_ns()


def figures(cpu_used_ns: int, simulated_ns: int) -> dict[str, int | str]:
    """Return the host's figures of one run.

    Args:
        cpu_used_ns: CPU time the run took, ns.
        simulated_ns: Length of its timeline, ns.

    Returns:
        ``python``, ``platform`` and ``arch``; ``rss_peak``, the largest resident memory of the process so far in MiB;
        ``cpu_ratio``, CPU time over simulated time, which projects the load on one core at this arrival rate;
        ``cpu_seconds``.
    """
    peak = Fraction(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, _RSS_UNITS_PER_MIB)
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "arch": platform.machine(),
        "rss_peak": decimal_text(peak),
        "cpu_ratio": decimal_text(Fraction(cpu_used_ns, max(simulated_ns, 1))),
        "cpu_seconds": decimal_text(Fraction(cpu_used_ns, NS_PER_S)),
    }
