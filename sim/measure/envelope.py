"""Whether admissions kept within their token buckets' envelopes: in any window, at most burst + rate x length.

Owns that test and nothing else of buckets: it is an oracle beside ``tollgate.core.bucket``, and shares no code with it.

With S the units drawn so far, the draw at t_j keeps every window that ends there iff

    q (S_j - S_{i-1}) - p (t_j - t_i) <= q burst    for every i <= j,  rate = p units per q ns,

that is iff c_j - min_{i<=j} (c_i - q n_i) <= q burst with c_i = q S_i - p t_i. One running minimum per bucket does it,
in integers throughout, and only its last value is carried from block to block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from sim.measure.tally import Ints
from tollgate.core.units import Rate

Bucket = tuple[Rate, int]
"""Refill rate and capacity in units."""

_INT64_SAFE: Final = 1 << 61  # sums of two such terms still fit


class Envelope:
    """The buckets of one kind for the members of one scope."""

    __slots__ = ("_burst", "_carried", "_gain", "_grain", "_last_ns", "_limited", "worst")

    def __init__(self, buckets: Sequence[Bucket | None]) -> None:
        """Take each member's bucket, full at the start, or None for one that is not limited."""
        self._limited = np.array([bucket is not None for bucket in buckets], np.bool_)
        self._gain = [bucket[0].units if bucket else 0 for bucket in buckets]
        self._grain = [bucket[0].per_ns if bucket else 1 for bucket in buckets]
        self._burst = [bucket[1] if bucket else 0 for bucket in buckets]
        # c_j - min(...) after the last draw: what the bucket had lost, in 1/q units. Python integers, for any rate.
        self._carried = [0] * len(buckets)
        self._last_ns = [0] * len(buckets)
        self.worst: tuple[int, int, int] | None = None
        """The first breach found: member, instant in ns, and units above the envelope (rounded up)."""

    def add(self, members: Ints, at: Ints, units: Ints) -> None:
        """Take draws in order of time: who drew, when (ns), and how many units; all of shape ``(n,)``."""
        drawn = self._limited[members]
        if not drawn.all():
            members, at, units = members[drawn], at[drawn], units[drawn]
        if not len(members):
            return
        order = np.argsort(members, kind="stable")
        members, at, units = members[order], at[order], units[order]
        starts = np.flatnonzero(np.diff(members, prepend=-1))
        ends = np.append(starts[1:], len(members))
        who = members[starts].tolist()
        sums = np.add.reduceat(units, starts).tolist()
        last = at[ends - 1].tolist()
        # Everything is counted from the member's last draw before this block, so numbers stay small.
        spread = max(
            self._grain[m] * (total + self._burst[m]) + self._gain[m] * (end_ns - self._last_ns[m]) + self._carried[m]
            for m, total, end_ns in zip(who, sums, last, strict=True)
        )
        small = spread * 2 * (len(who) + 1) < _INT64_SAFE
        # An array of Python integers does the same arithmetic, only slower; mypy sees both as integers.
        dtype = np.dtype(np.int64) if small else cast("np.dtype[np.int64]", np.dtype(object))
        self._test(who, at, units, starts, ends, dtype, 2 * spread)

    def _test(
        self,
        who: list[int],
        at: Ints,
        units: Ints,
        starts: Ints,
        ends: Ints,
        dtype: np.dtype[np.int64],
        apart: int,
    ) -> None:
        """Test one block, sorted by member; ``apart`` is above any difference between two values of one member."""
        sizes = ends - starts

        def each(values: list[int]) -> NDArray[np.int64]:
            return np.repeat(np.array(values, dtype), sizes)

        grain = each([self._grain[m] for m in who])
        draws = grain * units.astype(dtype)
        before = np.cumsum(draws) - draws
        before -= each(before[starts].tolist())
        earned = each([self._gain[m] for m in who]) * (at.astype(dtype) - each([self._last_ns[m] for m in who]))
        # One running minimum serves all members: each starts so far below the one before that it starts afresh.
        shelf = each([apart * place for place in range(len(who))])
        lows = before - earned - shelf
        lows[starts] = np.minimum(lows[starts], np.array([-self._carried[m] for m in who], dtype) - shelf[starts])
        lost = before + draws - earned - shelf - np.minimum.accumulate(lows)
        over = np.flatnonzero(lost > grain * each([self._burst[m] for m in who]))
        if len(over) and self.worst is None:
            first = int(over[np.argmin(at[over])])
            member = who[int(np.searchsorted(starts, first, side="right")) - 1]
            excess = int(lost[first]) - self._grain[member] * self._burst[member]
            self.worst = (member, int(at[first]), -(-excess // self._grain[member]))
        for member, end, lost_ns in zip(who, ends.tolist(), lost[ends - 1].tolist(), strict=True):
            self._carried[member] = lost_ns
            self._last_ns[member] = int(at[end - 1])
