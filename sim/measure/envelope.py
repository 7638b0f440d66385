"""Whether admissions kept within their token buckets' envelopes: in any window, at most burst + rate x length.

Owns that test and nothing else of buckets: it is an oracle beside ``tollgate.core.bucket``, and shares no code with it.

With S the units drawn so far, the draw at t_j keeps every window that ends there iff

    q (S_j - S_{i-1}) - p (t_j - t_i) <= q burst    for every i <= j,  rate = p units per q ns,

that is iff c_j - min_{i<=j} (c_i - q n_i) <= q burst with c_i = q S_i - p t_i. One running minimum per bucket does it,
in integers throughout, and only its last value is carried from block to block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

import numpy as np

from sim.measure.tally import Ints
from tollgate.core.units import Rate

Bucket = tuple[Rate, int]
"""Refill rate and capacity in units."""

_INT64_SAFE: Final = 1 << 61  # sums of two such terms still fit


class Breach(NamedTuple):
    """A draw that some window could not hold."""

    member: int
    at_ns: int
    excess: int  # units above the envelope, rounded up


class Envelope:
    """The buckets of one kind for the members of one scope."""

    __slots__ = ("_capacity", "_gain", "_grain", "_largest", "_last_ns", "_limited", "_lost", "breach")

    def __init__(self, buckets: Sequence[Bucket | None]) -> None:
        """Take each member's bucket, full at the start, or None for one that is not limited."""
        gain = [bucket[0].units if bucket else 0 for bucket in buckets]
        grain = [bucket[0].per_ns if bucket else 1 for bucket in buckets]
        capacity = [q * bucket[1] if bucket else 0 for q, bucket in zip(grain, buckets, strict=True)]
        self._largest = max(*gain, *grain, *capacity)
        dtype = _dtype(self._largest)
        self._limited = np.array([bucket is not None for bucket in buckets], np.bool_)
        self._gain = np.array(gain, dtype)
        self._grain = np.array(grain, dtype)
        self._capacity = np.array(capacity, dtype)
        # c_j - min(...) after the last draw: what the bucket lacked then, in 1/q units.
        self._lost = np.zeros(len(buckets), dtype)
        self._last_ns: Ints = np.zeros(len(buckets), np.int64)
        self.breach: Breach | None = None
        """The first breach; nothing is tested after it."""

    def add(self, members: Ints, at: Ints, units: Ints) -> None:
        """Take draws in order of time: who drew, when (ns), and how many units; all of shape ``(n,)``."""
        drawn = self._limited[members]
        if not drawn.all():
            members, at, units = members[drawn], at[drawn], units[drawn]
        if not len(members) or self.breach is not None:
            return
        order = np.argsort(members, kind="stable")
        members, at, units = members[order], at[order], units[order]
        starts = np.flatnonzero(np.diff(members, prepend=-1))
        ends = np.append(starts[1:], len(members))
        who = members[starts]
        # Everything is counted from the member's last draw before this block, so that numbers stay small.
        wide = int(units.max()) * len(units) >= _INT64_SAFE  # tokens of one request may be 2^53 - 1
        spread = (
            int(self._grain[who].max()) * int(np.add.reduceat(units.astype(object) if wide else units, starts).max())
            + int(self._capacity[who].max())
            + int(self._gain[who].max()) * int((at[ends - 1] - self._last_ns[who]).max())
        )
        apart = 2 * spread
        dtype = _dtype(max(self._largest, apart * (len(who) + 1)))
        sizes = ends - starts

        def each(values: Ints) -> Ints:
            return np.repeat(values.astype(dtype), sizes)

        draws = each(self._grain[who]) * units.astype(dtype)
        before = np.cumsum(draws) - draws
        before -= each(before[starts])
        earned = each(self._gain[who]) * (at - each(self._last_ns[who]))
        # One running minimum serves all members: each starts so far below the one before that it starts afresh.
        shelf = each(np.arange(len(who)).astype(dtype) * apart)
        lows = before - earned - shelf
        lows[starts] = np.minimum(lows[starts], -self._lost[who].astype(dtype) - shelf[starts])
        lost = before + draws - earned - shelf - np.minimum.accumulate(lows)
        over = np.flatnonzero(lost > each(self._capacity[who]))
        if len(over):
            first = int(over[np.argmin(at[over])])
            member = int(members[first])
            excess = int(lost[first]) - int(self._capacity[member])
            self.breach = Breach(member, int(at[first]), -(-excess // int(self._grain[member])))
            return
        self._lost[who] = lost[ends - 1]
        self._last_ns[who] = at[ends - 1]


def _dtype(largest: int) -> np.dtype[np.int64]:
    """Return the type that holds values up to ``largest`` exactly.

    An array of Python integers does the same arithmetic, only slower; for mypy both hold integers.
    """
    return np.dtype(np.int64) if largest < _INT64_SAFE else cast("np.dtype[np.int64]", np.dtype(object))
