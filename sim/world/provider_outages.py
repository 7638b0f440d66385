"""What is left of an outage at an instant, and how fast a provider runs through its stalls.

This module owns the course of an outage in time: whole from its start up to its end, then fading in equal steps. It
must not know calls, or what an outage does to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from sim.manifest.providers import Outage


def share_left(outage: Outage, now_ns: int) -> Fraction:
    """Return how much of an outage is left, from 0 to 1.

    In step k of n of its ramp it is 1 - (2k - 1) / (2n), which a straight line from 1 to 0 has in the step's middle.
    Step k begins ``floor((k - 1) * ramp / n)`` ns after the outage's end.

    Args:
        outage: The outage.
        now_ns: The instant, ns.
    """
    if now_ns < outage.end_ns:
        return Fraction(int(now_ns >= outage.start_ns))
    if now_ns >= outage.ramp_end_ns:
        return Fraction(0)
    steps = outage.ramp_steps
    passed = ((now_ns - outage.end_ns + 1) * steps - 1) // (outage.ramp_end_ns - outage.end_ns)
    return Fraction(2 * (steps - passed) - 1, 2 * steps)


def speeds(outages: Iterable[Outage]) -> Iterator[tuple[int, Fraction]]:
    """Yield (instant, share of full speed from then on) at each change that stalls make, in the order of time.

    Args:
        outages: A provider's, by their start; those that stall it do not overlap.
    """
    for outage in outages:
        if outage.kind != "stall":
            continue
        yield outage.start_ns, Fraction(0)
        ramp_ns = outage.ramp_end_ns - outage.end_ns
        begins = dict.fromkeys(step * ramp_ns // outage.ramp_steps for step in range(outage.ramp_steps))
        for after_ns in begins if ramp_ns else ():
            yield outage.end_ns + after_ns, 1 - share_left(outage, outage.end_ns + after_ns)
        yield outage.ramp_end_ns, Fraction(1)
