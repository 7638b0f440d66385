"""Arrival instants of a process whose rate is constant or straight piece by piece.

A process of rate 1 has gaps of mean 1 (exponential for a Poisson process); its points, mapped through the inverse of
the rate's integral, are the process wanted. So a factor on the rate is a change of the clock that the gaps are measured
on. The integral and its inverse are exact: sums of gaps are integers, rates are fractions, the root that a straight
rate takes is one of integers, and an instant is rounded once, down to the nanosecond. So no piece's arrivals depend on
how many there are in another, and an instant before the end of a phase stays before it. This module must not know
streams of randomness or what arrives.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import ceil, gcd, isqrt, lcm
from typing import Final

from sim.manifest.model import Phase
from sim.manifest.processes import (
    Batches,
    BurstyPoisson,
    Generated,
    ModulatedPoisson,
    Poisson,
    RateCurve,
    Renewal,
)
from sim.seeds import Words
from sim.workload.distributions import UNIT_BITS
from sim.workload.states import sojourns
from tollgate.core.errors import CallerError
from tollgate.core.units import NS_PER_S

ONE: Final = 2**UNIT_BITS
"""A gap of mean length, as the integers that are summed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time, from ``start_ns`` up to ``end_ns``, with its rate; rates are exact.

    Attributes:
        start_ns: Its start.
        end_ns: Its end.
        per_ns: Rate at its start.
        end_per_ns: Rate at its end, reached in a straight line; None if it is constant.
    """

    start_ns: int
    end_ns: int
    per_ns: Fraction
    end_per_ns: Fraction | None = None

    def cut(self, start_ns: int, end_ns: int, factor: Fraction) -> Piece:
        """Return the part of it between two instants, its rate multiplied."""
        if self.end_per_ns is None:
            return Piece(start_ns, end_ns, self.per_ns * factor)
        slope = (self.end_per_ns - self.per_ns) / (self.end_ns - self.start_ns)
        low, high = (self.per_ns + slope * (at_ns - self.start_ns) for at_ns in (start_ns, end_ns))
        return Piece(start_ns, end_ns, low * factor, high * factor)

    @property
    def total(self) -> Fraction:
        """Integral of the rate."""
        length = self.end_ns - self.start_ns
        return length * (self.per_ns if self.end_per_ns is None else (self.per_ns + self.end_per_ns) / 2)


def pieces(
    arrivals: Generated,
    phases: Sequence[Phase],
    stream: str,
    principals: int,
    states: Callable[[int], Words] | None = None,
) -> Iterator[Piece]:
    """Yield the stretches of one stream's rate, in order.

    Args:
        arrivals: Its process, for each principal.
        phases: Back to back from 0, with factors by stream name.
        stream: The stream's name.
        principals: How many principals it has. Their processes together are one process of the summed rate, each of
            whose arrivals belongs to any of them alike, so the cost does not depend on how many they are.
        states: Takes the words that changes of state are drawn from; needed for a modulated process.
    """
    scale = Fraction(principals, NS_PER_S)
    end_ns = phases[-1].end_ns
    match arrivals:
        case Poisson() | Renewal() | Batches():
            own = iter([Piece(0, end_ns, arrivals.per_second * scale)])
        case BurstyPoisson():
            own = _with_bursts(arrivals, end_ns, arrivals.per_second * scale)
        case RateCurve():
            own = _along(arrivals, scale)
        case ModulatedPoisson():
            if states is None:
                raise CallerError("a modulated process takes words for its states")
            own = _through_states(arrivals, states, end_ns, scale)
    yield from _in_phases(own, phases, stream)


def _in_phases(own: Iterator[Piece], phases: Sequence[Phase], stream: str) -> Iterator[Piece]:
    """Yield pieces that reach to the end of the phases, cut at their edges, with the stream's factor in each."""
    piece = next(own)
    for phase in phases:
        factor = phase.rate_multiplier.get(stream, Fraction(1))
        at_ns = phase.start_ns
        while at_ns < phase.end_ns:
            while piece.end_ns <= at_ns:
                piece = next(own)
            until_ns = min(piece.end_ns, phase.end_ns)
            yield piece.cut(at_ns, until_ns, factor)
            at_ns = until_ns


def _along(curve: RateCurve, scale: Fraction) -> Iterator[Piece]:
    for (start_ns, rate), (end_ns, next_rate) in pairwise(curve.points):
        yield Piece(start_ns, end_ns, rate * scale, next_rate * scale if curve.is_linear else None)


def _through_states(
    process: ModulatedPoisson, take: Callable[[int], Words], end_ns: int, scale: Fraction
) -> Iterator[Piece]:
    at_ns = 0
    for state, length_ns in sojourns(process, take):
        until_ns = end_ns if length_ns is None else at_ns + length_ns
        yield Piece(at_ns, until_ns, process.states[state].per_second * scale)
        at_ns = until_ns


def _with_bursts(arrivals: BurstyPoisson, end_ns: int, rate: Fraction) -> Iterator[Piece]:
    at = 0
    while at < end_ns:
        bursting, until = _burst_at(arrivals, at)
        end = end_ns if until is None else min(until, end_ns)
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
        total = piece.total
        if total == 0:
            continue
        while True:
            if next_row == len(sums):
                if sums:
                    passed -= Fraction(sums[-1], ONE)
                sums = list(accumulate(gaps(rows)))
                next_row = 0
            beyond = ceil((passed + total) * ONE)  # the first sum past the piece
            stop = bisect_left(sums, beyond, next_row)
            if stop > next_row:
                own = sums[next_row:stop]
                yield _constant(piece, passed, own) if piece.end_per_ns is None else _straight(piece, passed, own)
                next_row = stop
            if stop < len(sums):
                break
        passed += total


def _constant(piece: Piece, passed: Fraction, sums: list[int]) -> list[int]:
    """Return the instants at which a piece of constant rate has these integrals.

    They are start + (s / ONE - passed) / per_ns, as one quotient of integers: (s * factor - shift) // divisor.
    """
    factor = passed.denominator * piece.per_ns.denominator
    shift = passed.numerator * ONE * piece.per_ns.denominator
    divisor = ONE * passed.denominator * piece.per_ns.numerator
    common = gcd(factor, shift, divisor)
    factor, shift, divisor = factor // common, shift // common, divisor // common
    start_ns = piece.start_ns
    return [start_ns + (s * factor - shift) // divisor for s in sums]


def _straight(piece: Piece, passed: Fraction, sums: list[int]) -> list[int]:
    """Return the instants at which a piece whose rate goes straight from end to end has these integrals.

    With t the time since the start, a the rate there, k its slope and y = s / ONE - passed, they solve
    k t^2 + 2 a t = 2 y; multiplied out, p t^2 + 2 q t = s * factor - shift in integers. So p t = sqrt(d) - q with
    d = q^2 + p (s * factor - shift), and rounding d's root to an integer, downwards where p is positive and upwards
    where it is negative, changes no whole nanosecond.
    """
    rate, end_rate = piece.per_ns, piece.end_per_ns or Fraction(0)
    slope = (end_rate - rate) / (piece.end_ns - piece.start_ns)
    if slope == 0:
        return _constant(piece, passed, sums)
    common = lcm(slope.denominator, rate.denominator)
    scale = ONE * passed.denominator
    p, q = int(slope * common) * scale, int(rate * common) * scale
    factor, shift = 2 * common * passed.denominator, 2 * common * passed.numerator * ONE
    shared = gcd(p, q, factor, shift)
    p, q, factor, shift = p // shared, q // shared, factor // shared, shift // shared
    start_ns, linear, constant = piece.start_ns, p * factor, q * q - p * shift
    if p > 0:
        return [start_ns + (isqrt(constant + linear * s) - q) // p for s in sums]
    return [start_ns + (q - _root_up(constant + linear * s)) // -p for s in sums]


def _root_up(square: int) -> int:
    """Return the smallest integer whose square is not below ``square``."""
    return isqrt(square - 1) + 1 if square > 0 else 0
