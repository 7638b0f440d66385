"""How far a run is: a bar with the time left on a terminal, a plain line now and then elsewhere, always on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sim.cli.console import is_terminal, note

Tell = Callable[[int, int], None]
"""Is told the simulated instant and the end of the arrivals, ns."""

LINES_EVERY_S: Final = 10.0
"""Seconds between two plain lines: a log of an hour's run then has a few hundred."""


@contextmanager
def shown(*, quiet: bool) -> Iterator[Tell | None]:
    """Show progress while the body runs.

    Args:
        quiet: Show none.

    Yields:
        What is to be told, or None.
    """
    if quiet:
        yield None
    elif is_terminal(sys.stderr):
        with _bar() as tell:
            yield tell
    else:
        yield lines(time.monotonic)


@contextmanager
def _bar() -> Iterator[Tell]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("simulating"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda now_ns, end_ns: progress.update(task, completed=now_ns, total=end_ns)


def lines(clock: Callable[[], float]) -> Tell:
    """Return what writes a plain line at most every :data:`LINES_EVERY_S` seconds, none for a short run.

    Args:
        clock: Seconds that only grow.
    """
    began = latest = clock()

    def tell(now_ns: int, end_ns: int) -> None:
        nonlocal latest
        now = clock()
        if now - latest < LINES_EVERY_S or not now_ns:
            return
        latest = now
        left = (now - began) * (end_ns - now_ns) / now_ns
        note(f"simulating: {now_ns * 100 // end_ns} %, about {left:.0f} s left")

    return tell
