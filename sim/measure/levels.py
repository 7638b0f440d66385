"""Levels over time: calls in flight and requests waiting, by scope, from ``+1``/``-1`` events.

Owns maxima, minima and exact time integrals of every level. It must not know what the levels are limited by; metrics
and checks read the same figures from here.

An integral is a sum of ``-delta * at`` plus ``level * end``. Each term fits 64 bits, their sum need not (a queue of
10^5 over a week exceeds them), so integrals are :class:`~sim.measure.wide.WideSums`.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.measure.shape import RunShape
from sim.measure.tally import Ints
from sim.measure.wide import WideSums, halves
from sim.metrics import SELECTORS, Selector
from sim.trace import Consumer, LevelCol, LevelKind, Rows, RunEnd

Scope = tuple[Selector, ...]
"""What a level is counted by: nothing (the workspace), or selectors in the order of ``SELECTORS``, phase excepted."""

WARMUP: Final = 0
MEASURED: Final = 1
DRAIN: Final = 2
"""Spans of a run: before ``warmup_ns``, from there to the horizon, and after it. Scopes that are followed by phase have
the middle one in parts, a part for each phase that reaches beyond warm-up."""

_DEFAULT_SCOPES: Final[tuple[Scope, ...]] = ((), ("class",), ("principal",), ("provider",))
_RADIX_SORTED_MAX: Final = 1 << 16  # numpy sorts 16-bit keys by radix, about 8 times as fast as 64-bit ones


class LevelTracker(Consumer):
    """A consumer that follows every level of the run."""

    def __init__(
        self, shape: RunShape, extra_scopes: Iterable[Scope] = (), scopes_by_phase: Iterable[Scope] = ()
    ) -> None:
        """Follow the workspace, by phase too, and each class, principal and provider.

        Args:
            shape: Of the run.
            extra_scopes: Combinations to follow as well.
            scopes_by_phase: Scopes to follow by phase as well.
        """
        self._shape = shape
        self._class_of = np.asarray(shape.class_of, np.int64)
        measured = [phase for phase in range(len(shape.phases)) if shape.phases[phase].end_ns > shape.warmup_ns]
        self._part_of = {phase: MEASURED + part for part, phase in enumerate(measured)}
        self._edges = (shape.warmup_ns, *(shape.phases[phase].end_ns for phase in measured))
        if not measured:  # warm-up takes up the whole run
            self._edges = (shape.warmup_ns, shape.horizon_ns)
        self._part = 0
        by_phase = {(), *scopes_by_phase}
        scopes = dict.fromkeys((*_DEFAULT_SCOPES, *extra_scopes, *scopes_by_phase))
        self._levels = {
            scope: _ScopeLevels(
                prod(len(shape.names(selector)) for selector in scope), len(self._edges), by_phase=scope in by_phase
            )
            for scope in scopes
        }
        self._enter_parts(0)

    def levels(self, rows: Rows) -> None:
        """Take a block of level rows."""
        at = rows[:, LevelCol.AT]
        start = 0
        while start < len(at):
            self._enter_parts(int(at[start]))
            stop = len(at)
            if self._part < len(self._edges):
                stop = int(np.searchsorted(at, self._edges[self._part]))
            self._within_part(rows[start:stop])
            start = stop

    def close(self, end: RunEnd) -> None:
        """Carry every level on to the end of the run."""
        self._enter_parts(end.at_ns)
        for levels in self._levels.values():
            levels.integral.add_product(levels.columns[self._part], levels.current, end.at_ns)

    def is_followed(self, scope: Scope, *, by_phase: bool) -> bool:
        """Return whether a scope's levels are known, and by phase where that is asked."""
        return scope in self._levels and (not by_phase or self._levels[scope].by_phase)

    def peak(self, scope: Scope, kind: LevelKind, index: int, *, since: int = WARMUP, phase: int | None = None) -> int:
        """Return the highest level of one scope from the start of a span to the end of the run, or within a phase.

        What a phase begins with belongs to it; of the phase that warm-up ends in, only the part after it is looked at.
        """
        levels = self._levels[scope]
        columns = slice(levels.of_span(since).start, None)
        if phase is not None:
            part = self._part_of.get(phase)
            columns = slice(0) if part is None else slice(part, part + 1)
        return int(levels.peak[self._row(scope, kind, index), columns].max(initial=0))

    def peaks(self, scope: Scope, kind: LevelKind) -> Ints:
        """Return the highest level of each of the scope's members over the whole run."""
        members: Ints = self._members(scope, kind, self._levels[scope].peak).max(axis=1)
        return members

    def lowest(self, scope: Scope, kind: LevelKind) -> Ints:
        """Return the lowest level of each of the scope's members over the whole run; it starts at 0."""
        return self._members(scope, kind, self._levels[scope].trough)

    def final(self, scope: Scope, kind: LevelKind) -> Ints:
        """Return the last level of each of the scope's members."""
        return self._members(scope, kind, self._levels[scope].current)

    def integral(self, scope: Scope, kind: LevelKind, index: int, *spans: int) -> int:
        """Return the level's integral over the given spans (all of them by default), in nanoseconds."""
        levels, row = self._levels[scope], self._row(scope, kind, index)
        columns = [column for span in spans or (WARMUP, MEASURED, DRAIN) for column in levels.of_span(span)]
        return sum(levels.integral.at(row, column) for column in columns)

    def phase_integral(self, scope: Scope, kind: LevelKind, index: int, phase: int) -> int:
        """Return the integral over the part of a phase after warm-up, ns, of a scope that is followed by phase."""
        part = self._part_of.get(phase)
        return 0 if part is None else self._levels[scope].integral.at(self._row(scope, kind, index), part)

    def _row(self, scope: Scope, kind: LevelKind, index: int) -> int:
        return kind * self._levels[scope].size + index

    def _members(self, scope: Scope, kind: LevelKind, values: Ints) -> Ints:
        size = self._levels[scope].size
        return values[kind * size : (kind + 1) * size]

    def _enter_parts(self, at_ns: int) -> None:
        """Move on to the part that holds ``at_ns``, closing the parts before it."""
        while self._part < len(self._edges) and at_ns >= self._edges[self._part]:
            edge = self._edges[self._part]
            for levels in self._levels.values():
                levels.cross(self._part, edge)
            self._part += 1

    def _within_part(self, rows: Rows) -> None:
        at = rows[:, LevelCol.AT]
        delta = rows[:, LevelCol.DELTA]
        area = halves(delta * at)
        for scope, levels in self._levels.items():
            key = rows[:, LevelCol.KIND].copy()
            for selector in scope:
                key *= len(self._shape.names(selector))
                key += self._column(selector, rows)
            levels.add(key, delta, area, levels.columns[self._part])

    def _column(self, selector: Selector, rows: Rows) -> Ints:
        if selector == "provider":
            return rows[:, LevelCol.PROVIDER]
        principal = rows[:, LevelCol.PRINCIPAL]
        return principal if selector == "principal" else self._class_of[principal]


class _ScopeLevels:
    """Both kinds of level for each member of one scope; rows are ``kind * size + member``."""

    __slots__ = ("_key_type", "by_phase", "columns", "current", "integral", "peak", "size", "trough")

    def __init__(self, size: int, last: int, *, by_phase: bool) -> None:
        """Start at 0, with a column for each part of the run, of which ``last`` is the drain, or one a span."""
        self.size = size
        self.by_phase = by_phase
        self.columns = list(range(last + 1)) if by_phase else [WARMUP, *[MEASURED] * (last - 1), DRAIN]
        rows = len(LevelKind) * size
        self._key_type = np.uint16 if rows <= _RADIX_SORTED_MAX else np.int64
        self.current: Ints = np.zeros(rows, np.int64)
        self.trough: Ints = np.zeros(rows, np.int64)
        self.peak: NDArray[np.int64] = np.zeros((rows, self.columns[-1] + 1), np.int64)
        self.integral = WideSums.zeros(rows, self.columns[-1] + 1)

    def of_span(self, span: int) -> range:
        """Return the columns of a span."""
        first, last = MEASURED, self.columns[-1]
        return (range(first), range(first, last), range(last, last + 1))[span]

    def add(self, key: Ints, delta: Ints, area: tuple[Ints, Ints], column: int) -> None:
        """Take events of one part, in order of time, each with the row it belongs to and the halves of delta * at."""
        order = np.argsort(key.astype(self._key_type), kind="stable")
        key, delta = key[order], delta[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        rows = key[starts]
        running = np.cumsum(delta)
        last = np.append(starts[1:], len(key)) - 1
        # What the levels of a row's events are above its own running sum: the level before, less earlier rows' events.
        offset = self.current[rows] - (running[starts] - delta[starts])
        self.peak[rows, column] = np.maximum(self.peak[rows, column], np.maximum.reduceat(running, starts) + offset)
        self.trough[rows] = np.minimum(self.trough[rows], np.minimum.reduceat(running, starts) + offset)
        self.integral.expect(len(key))
        self.integral.high[rows, column] -= np.add.reduceat(area[0][order], starts)
        self.integral.low[rows, column] -= np.add.reduceat(area[1][order], starts)
        self.current[rows] = running[last] + offset

    def cross(self, part: int, edge_ns: int) -> None:
        """End a part at ``edge_ns`` and begin the next with the levels as they are."""
        column, following = self.columns[part], self.columns[part + 1]
        if following > column:
            self.integral.add_product(column, self.current, edge_ns)
            self.integral.add_product(following, -self.current, edge_ns)
            self.peak[:, following] = self.current


def scope_of(where: Iterable[Selector]) -> Scope:
    """Return the scope that a selection names, in the canonical order; a phase is none."""
    chosen = set(where) - {"phase"}
    return tuple(selector for selector in SELECTORS if selector in chosen)
