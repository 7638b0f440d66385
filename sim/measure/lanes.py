"""Lanes that could have gone and were not served: for how long, and how often another went meanwhile.

Owns the two figures of every lane (a principal's requests to one provider): its longest starvation and its worst
service lag, from the level rows alone. It must not know how turns are handed out. Memory is 44 bytes a lane, whatever
the number of arrivals.

A lane is *owed* service from the instant its head lacked nothing but shared permits until it is served. What leaves
the queue tells how long its lane had been owed by then, so each stretch is known when it ends; a head that was refused
hands its stretch on to the one behind it if that was owed service at once. A lane that a refusal left empty is owed
nothing, and whoever comes to it in that very instant begins anew, as the controller has it.

* Starvation is the length of the longest such stretch.
* Service lag counts turns, which are the virtual time of a discipline that serves each lane once a round: how often
  the rival served most often went while the lane was owed service, since the instant after the stretch began. It is
  Golestani's service gap between two backlogged lanes (INFOCOM 1994), taken where one of them got nothing; decision
  0033 says why it is that one. Serving the lane served longest ago keeps it at 1, for however many lanes.

Rivals are the lanes of the same provider; for a lane without a reservation only those without one, because the
permits kept back for reservations were never its to have.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from sim.measure.quantiles import Mask
from sim.measure.shape import RunShape
from sim.measure.tally import Ints
from sim.trace import NONE, Consumer, LevelCol, LevelKind, Rows, RunEnd

DISPATCHES_KEPT: Final = 1 << 12
"""The latest admissions of each group of rivals in which a lag above 1 is counted: 64 kB. A lane that waited while more
went than that has at least the lag it shows."""

_SERVED: Final = LevelKind.ACTIVE + 1  # kind + delta of an admission: 1, and 0 of what leaves the queue; no other row's
_NEVER: Final = -1

_Kind = Literal["all", "reserved", "unreserved"]
"""Whose waits a group of rivals is for."""


class LaneTracker(Consumer):
    """A consumer that follows every lane."""

    def __init__(self, shape: RunShape, *, dispatches_kept: int = DISPATCHES_KEPT) -> None:
        """Start with empty lanes.

        Args:
            shape: Of the run.
            dispatches_kept: Admissions of a group of rivals that are kept.
        """
        self._providers = len(shape.providers)
        self._warmup_ns = shape.warmup_ns
        lanes = len(shape.principals) * self._providers
        self._key_type = np.uint16 if lanes <= 1 << 16 else np.int64
        self._class_of = np.asarray(shape.class_of, np.int64)
        self.knows_owed = True
        """Whether what wrote the trace told how long lanes had been owed service."""
        self.has_equal_turns = shape.profile.scheduling.kind == "turns"
        """Whether each lane is due one admission a round; by weight and size there is no such unit."""
        limits = [shape.profile.principals[name] for name in shape.principals]
        self._is_reserved: Mask = np.array([own.reserved_concurrency > 0 for own in limits], np.bool_)
        kinds: tuple[_Kind, ...] = ("all",)
        if self._is_reserved.any() and not self._is_reserved.all():
            kinds = ("reserved", "unreserved")
        self._groups = [
            (_Rivals(dispatches_kept), provider, kind) for provider in range(self._providers) for kind in kinds
        ]
        self._starved_ns: Ints = np.zeros(lanes, np.int64)
        self._lag: Ints = np.zeros(lanes, np.int64)
        # Of the stretch that a refusal ended last: since when, and until when; _NEVER where it was handed on to nobody.
        self._since: Ints = np.full(lanes, _NEVER)
        self._until: Ints = np.full(lanes, _NEVER)
        self._served: Ints = np.full(lanes, _NEVER)  # instant of the latest admission
        self._waiting = np.zeros(lanes, np.int32)  # how many wait
        self._held_over: Rows = np.empty((0, len(LevelCol)), np.int64)
        self._held_over_empties: Mask = np.empty(0, np.bool_)

    # ------------------------------------------------------------------------------------------------------- consumer

    def levels(self, rows: Rows) -> None:
        """Take a block of level rows."""
        step = rows[:, LevelCol.KIND] + rows[:, LevelCol.DELTA]
        chosen = np.flatnonzero((step | 1) == _SERVED)
        empties = self._left_empty(rows)[chosen]
        rows = rows.take(chosen, axis=0)  # four times as fast as by the mask
        if len(self._held_over):
            rows = np.concatenate([self._held_over, rows])
            empties = np.concatenate([self._held_over_empties, empties])
        # Whether the last one that left was served is told by the row behind it.
        whole = len(rows) - (len(rows) > 0 and rows[-1, LevelCol.DELTA] < 0)
        self._held_over, self._held_over_empties = rows[whole:], empties[whole:]
        self._take(rows[:whole], empties[:whole])

    def close(self, end: RunEnd) -> None:
        """Take the heads that are owed service at the end."""
        self._take(self._held_over, self._held_over_empties)
        if end.heads:
            principal, provider, since = np.array(end.heads, np.int64).T
            lanes = principal * self._providers + provider
            until = np.full(len(since), end.at_ns)
            none = np.zeros(len(since), np.int64)
            self._stretches(lanes, since, until, none > 0, none > 0, none)

    # -------------------------------------------------------------------------------------------------------- answers

    def starvation_ns(self, principal: int | None, cls: int | None, provider: int | None) -> int | None:
        """Return the longest time a lane of the selection was owed service, ns; None if that was not told."""
        return self._worst(self._starved_ns, principal, cls, provider) if self.knows_owed else None

    def service_lag(self, principal: int | None, cls: int | None, provider: int | None) -> int | None:
        """Return the worst lag of a lane of the selection, admissions; None if there are no equal turns to count."""
        is_known = self.knows_owed and self.has_equal_turns
        return self._worst(self._lag, principal, cls, provider) if is_known else None

    def _worst(self, figures: Ints, principal: int | None, cls: int | None, provider: int | None) -> int:
        step = self._providers
        chosen = figures.reshape(-1, step)[:, slice(None) if provider is None else slice(provider, provider + 1)]
        if principal is not None:
            chosen = chosen[principal : principal + 1]
        if cls is not None:
            members = self._class_of if principal is None else self._class_of[principal : principal + 1]
            chosen = chosen[members == cls]
        return int(chosen.max(initial=0))

    # ---------------------------------------------------------------------------------------------------------- parts

    def _left_empty(self, rows: Rows) -> Mask:
        """Count who waits, and return for each row whether it left its lane without a request that waits."""
        empty = np.zeros(len(rows), np.bool_)
        queued = np.flatnonzero(rows[:, LevelCol.KIND] == LevelKind.QUEUE)
        if len(queued):
            own = rows.take(queued, axis=0)
            lanes = own[:, LevelCol.PRINCIPAL] * self._providers + own[:, LevelCol.PROVIDER]
            order = np.argsort(lanes.astype(self._key_type), kind="stable")
            lanes = lanes[order]
            starts = np.flatnonzero(np.diff(lanes, prepend=-1))
            steps = own[order, LevelCol.DELTA]
            steps[starts] += self._waiting[lanes[starts]]
            sizes = np.cumsum(steps)
            counts = np.diff(starts, append=len(lanes))
            sizes -= np.repeat(sizes[starts] - steps[starts], counts)
            self._waiting[lanes[starts]] = sizes[starts + counts - 1]
            empty[queued[order]] = sizes == 0
        return empty

    def _take(self, rows: Rows, empties: Mask) -> None:
        """Take rows of admissions and of what left the queue, an admission right behind what it took out.

        Args:
            rows: The rows.
            empties: Whether each left its lane empty.
        """
        if not len(rows):
            return
        at, owed = rows[:, LevelCol.AT], rows[:, LevelCol.AMOUNT]
        lanes = rows[:, LevelCol.PRINCIPAL] * self._providers + rows[:, LevelCol.PROVIDER]
        is_admission = rows[:, LevelCol.DELTA] > 0
        is_served = np.zeros(len(rows), np.bool_)
        is_served[:-1] = is_admission[1:] & (lanes[1:] == lanes[:-1]) & (at[1:] == at[:-1])
        ends = np.flatnonzero(~is_admission & (is_served | empties | (owed != 0)))
        admissions = np.flatnonzero(is_admission)
        self._admit(admissions, lanes[admissions], at[admissions])
        if len(ends):
            if (owed[ends] == NONE).any():
                self.knows_owed = False
            self._stretches(lanes[ends], at[ends] - owed[ends], at[ends], is_served[ends], empties[ends], ends)
        for rivals, _, _ in self._groups:
            rivals.end_block()

    def _admit(self, places: Ints, lanes: Ints, at: Ints) -> None:
        """Let every group of rivals know who was admitted, and when that lane was admitted before."""
        order = np.argsort(lanes.astype(self._key_type), kind="stable")
        ordered, at_ordered = lanes[order], at[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=-1))
        last = np.append(starts[1:], len(lanes))[: len(starts)] - 1
        before = np.empty(len(lanes), np.int64)
        before[1:] = at_ordered[:-1]
        before[starts] = self._served[ordered[starts]]
        self._served[ordered[starts]] = at_ordered[last]
        earlier = np.empty(len(lanes), np.int64)
        earlier[order] = before
        provider, is_reserved = lanes % self._providers, self._is_reserved[lanes // self._providers]
        for rivals, place, kind in self._groups:
            # Whoever has a reservation is compared with everybody.
            counts = (provider == place) & ~is_reserved if kind == "unreserved" else provider == place
            own = np.flatnonzero(counts)
            rivals.add(places[own], lanes[own], at[own], earlier[own])

    def _stretches(self, lanes: Ints, since: Ints, until: Ints, is_served: Mask, is_empty: Mask, places: Ints) -> None:
        """Take stretches in which lanes were owed service, in the order in which they ended.

        Args:
            lanes: Whose.
            since: Beginning of each, ns.
            until: End of each, ns.
            is_served: Whether a service ended it.
            is_empty: Whether nobody waited there any more.
            places: Place of its end among the rows of the block that the rivals have.
        """
        order = np.argsort(lanes.astype(self._key_type), kind="stable")
        lanes, since, until, places = lanes[order], since[order], until[order], places[order]
        is_over = (is_served | is_empty)[order]
        first = np.diff(lanes, prepend=-1) != 0
        starts = np.flatnonzero(first)
        last = np.append(starts[1:], len(lanes)) - 1
        refused_at = np.where(is_over, _NEVER, until)
        refused_before = np.empty(len(lanes), np.int64)
        refused_before[1:] = refused_at[:-1]
        refused_before[first] = self._until[lanes[first]]
        goes_on = since <= refused_before
        since = np.where(goes_on & first, self._since[lanes], since)
        begins = np.maximum.accumulate(np.where(goes_on & ~first, 0, np.arange(len(lanes))))
        since = since[begins]
        self._since[lanes[last]] = since[last]
        self._until[lanes[last]] = refused_at[last]
        since = np.maximum(since, self._warmup_ns)
        np.maximum.at(self._starved_ns, lanes, until - since)
        provider, is_reserved = lanes % self._providers, self._is_reserved[lanes // self._providers]
        for rivals, place, kind in self._groups:
            suffers = provider == place
            if kind != "all":
                suffers &= is_reserved == (kind == "reserved")
            own = np.flatnonzero(suffers)
            rivals.hold_against(self._lag, lanes[own], since[own], places[own])


class _Rivals:
    """The admissions that count as turns of others for some of the lanes of one provider."""

    __slots__ = ("_at", "_at_before", "_lanes", "_lanes_before", "_last_ns", "_places", "_twice_ns")

    def __init__(self, kept: int) -> None:
        # The latest admissions before the block that is being read, and those of the block.
        self._at_before: Ints = np.full(kept, _NEVER)
        self._lanes_before: Ints = np.full(kept, _NEVER)
        self._at: Ints = np.empty(0, np.int64)
        self._lanes: Ints = self._at
        # Places of the block's admissions among its rows; before each of them and behind the last, the instant of the
        # latest admission so far, and the latest instant after which some lane was admitted twice.
        self._places: Ints = self._at
        self._last_ns: Ints = np.full(1, _NEVER)
        self._twice_ns: Ints = np.full(1, _NEVER)

    def add(self, places: Ints, lanes: Ints, at: Ints, before: Ints) -> None:
        """Take the admissions of a block, each with the instant of its lane's admission before it."""
        self._places, self._lanes, self._at = places, lanes, at
        self._last_ns = np.concatenate([self._last_ns, at])
        self._twice_ns = np.maximum.accumulate(np.concatenate([self._twice_ns, before]))

    def end_block(self) -> None:
        """Keep what the next block needs."""
        _shift_in(self._at_before, self._at)
        _shift_in(self._lanes_before, self._lanes)
        self._at = self._lanes = self._places = np.empty(0, np.int64)
        self._last_ns, self._twice_ns = self._last_ns[-1:].copy(), self._twice_ns[-1:].copy()

    def hold_against(self, lag: Ints, lanes: Ints, since: Ints, places: Ints) -> None:
        """Raise the lag of lanes that were owed service from an instant up to a place of the last block."""
        seen = np.searchsorted(self._places, places)
        np.maximum.at(lag, lanes, (self._last_ns[seen] > since).astype(np.int64))
        twice = np.flatnonzero(self._twice_ns[seen] > since)
        if not len(twice):
            return
        # Somebody went twice while one that could go waited: rare enough to count one by one.
        all_at = np.concatenate([self._at_before, self._at])
        all_lanes = np.concatenate([self._lanes_before, self._lanes])
        kept = len(self._at_before)
        begins = np.maximum(np.searchsorted(all_at, since[twice], side="right"), seen[twice])
        for lane, begin, end in zip(lanes[twice].tolist(), begins.tolist(), (kept + seen[twice]).tolist(), strict=True):
            if end - begin > lag[lane]:
                _, turns = np.unique(all_lanes[begin:end], return_counts=True)
                lag[lane] = max(int(lag[lane]), int(turns.max()), 2)


def _shift_in(kept: Ints, new: Ints) -> None:
    """Put new values behind those that are kept, of which as many fall out in front."""
    if len(new) < len(kept):
        kept[: len(kept) - len(new)] = kept[len(new) :]
        kept[len(kept) - len(new) :] = new
    else:
        kept[:] = new[len(new) - len(kept) :]
