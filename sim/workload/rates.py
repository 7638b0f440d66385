"""Arrival instants of a Poisson process whose rate is constant piece by piece.

A Poisson process of rate 1 has exponential gaps; its points, mapped through the inverse of the rate's integral, are the
process wanted. The integral and its inverse are exact: sums of gaps are integers, rates are fractions, and an instant
is rounded once, down to the nanosecond. So no piece's arrivals depend on how many there are in another, and an instant
before the end of a phase stays before it. This module must not know streams of randomness or what arrives.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import gcd
from typing import Final

from sim.manifest.model import BurstyPoisson, Phase, Poisson
from sim.workload.distributions import UNIT_BITS
from tollgate.core.units import NS_PER_S

ONE: Final = 2**UNIT_BITS
"""A gap of mean length, as the integers that are summed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of constant rate, from ``start_ns`` up to ``end_ns``; ``per_ns`` is exact."""

    start_ns: int
    end_ns: int
    per_ns: Fraction


def pieces(arrivals: Poisson | BurstyPoisson, phases: Sequence[Phase], stream: str, principals: int) -> Iterator[Piece]:
    """Yield the stretches of constant rate of one stream, in order.

    Args:
        arrivals: Its rate, for each principal.
        phases: Back to back from 0, with factors by stream name.
        stream: The stream's name.
        principals: How many principals it has. Their processes together are one process of the summed rate, each of
            whose arrivals belongs to any of them alike, so the cost does not depend on how many they are.
    """
    base = arrivals.per_second * principals / NS_PER_S
    for phase in phases:
        rate = base * phase.rate_multiplier.get(stream, Fraction(1))
        if isinstance(arrivals, Poisson):
            yield Piece(phase.start_ns, phase.end_ns, rate)
        else:
            yield from _with_bursts(arrivals, phase, rate)


def _with_bursts(arrivals: BurstyPoisson, phase: Phase, rate: Fraction) -> Iterator[Piece]:
    at = phase.start_ns
    while at < phase.end_ns:
        bursting, until = _burst_at(arrivals, at)
        end = phase.end_ns if until is None else min(until, phase.end_ns)
        yield Piece(at, end, rate * arrivals.multiplier if bursting else rate)
        at = end


def _burst_at(arrivals: BurstyPoisson, at_ns: int) -> tuple[bool, int | None]:
    """Return whether a burst is on, and when that changes next; None for never."""
    if at_ns < arrivals.first_ns:
        return False, arrivals.first_ns
    since = at_ns - arrivals.first_ns
    if arrivals.every_ns is None:
        return (True, arrivals.first_ns + arrivals.burst_ns) if since < arrivals.burst_ns else (False, None)
    start = at_ns - since % arrivals.every_ns
    if at_ns < start + arrivals.burst_ns:
        return True, start + arrivals.burst_ns
    return False, start + arrivals.every_ns


def instants(gaps: Callable[[int], list[int]], rate: Iterator[Piece], rows: int) -> Iterator[list[int]]:
    """Yield the arrival instants of a process, ns, in order, at most ``rows`` at a time.

    Args:
        gaps: Draws the given number of unit exponentials, as integers in steps of ``1 / ONE``.
        rate: The stretches of constant rate.
        rows: How many gaps to draw at a time; the instants do not depend on it.
    """
    sums: list[int] = []  # of the gaps drawn last
    next_row = 0
    passed = Fraction(0)  # integral of the rate up to the piece's start, counted from where ``sums`` begin
    for piece in rate:
        if piece.per_ns == 0:
            continue
        while True:
            if next_row == len(sums):
                if sums:
                    passed -= Fraction(sums[-1], ONE)
                sums = list(accumulate(gaps(rows)))
                next_row = 0
            # (s / ONE - passed) / per_ns as one quotient of integers: (s * factor - shift) // divisor
            factor = passed.denominator * piece.per_ns.denominator
            shift = passed.numerator * ONE * piece.per_ns.denominator
            divisor = ONE * passed.denominator * piece.per_ns.numerator
            common = gcd(factor, shift, divisor)
            factor, shift, divisor = factor // common, shift // common, divisor // common
            beyond = -(-((piece.end_ns - piece.start_ns) * divisor + shift) // factor)  # the first sum past the piece
            stop = bisect_left(sums, beyond, next_row)
            if stop > next_row:
                start_ns = piece.start_ns
                yield [start_ns + (s * factor - shift) // divisor for s in sums[next_row:stop]]
                next_row = stop
            if stop < len(sums):
                break
        passed += (piece.end_ns - piece.start_ns) * piece.per_ns
