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
"""Spans of a run: before ``warmup_ns``, from there to the horizon, and after it."""

_DEFAULT_SCOPES: Final[tuple[Scope, ...]] = ((), ("class",), ("principal",), ("provider",))
_RADIX_SORTED_MAX: Final = 1 << 16  # numpy sorts 16-bit keys by radix, about 8 times as fast as 64-bit ones


class LevelTracker(Consumer):
    """A consumer that follows every level of the run."""

    def __init__(self, shape: RunShape, extra_scopes: Iterable[Scope] = ()) -> None:
        """Follow the workspace, each class, principal and provider, and the combinations of ``extra_scopes``."""
        self._shape = shape
        self._class_of = np.asarray(shape.class_of, np.int64)
        self._edges = (shape.warmup_ns, shape.horizon_ns)
        self._span = WARMUP
        scopes = dict.fromkeys((*_DEFAULT_SCOPES, *extra_scopes))
        self._levels = {scope: _ScopeLevels(prod(len(shape.names(selector)) for selector in scope)) for scope in scopes}
        self._enter_spans(0)

    def levels(self, rows: Rows) -> None:
        """Take a block of level rows."""
        at = rows[:, LevelCol.AT]
        start = 0
        while start < len(at):
            self._enter_spans(int(at[start]))
            stop = len(at)
            if self._span < DRAIN:
                stop = int(np.searchsorted(at, self._edges[self._span]))
            self._within_span(rows[start:stop])
            start = stop

    def close(self, end: RunEnd) -> None:
        """Carry every level on to the end of the run."""
        self._enter_spans(end.at_ns)
        for levels in self._levels.values():
            levels.integral.add_product(self._span, levels.current, end.at_ns)

    def peak(self, scope: Scope, kind: LevelKind, index: int, *, since: int = WARMUP) -> int:
        """Return the highest level of one scope from the start of a span to the end of the run."""
        return int(self._levels[scope].peak[self._row(scope, kind, index), since:].max())

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
        integral, row = self._levels[scope].integral, self._row(scope, kind, index)
        return sum(integral.at(row, span) for span in spans or (WARMUP, MEASURED, DRAIN))

    def _row(self, scope: Scope, kind: LevelKind, index: int) -> int:
        return kind * self._levels[scope].size + index

    def _members(self, scope: Scope, kind: LevelKind, values: Ints) -> Ints:
        size = self._levels[scope].size
        return values[kind * size : (kind + 1) * size]

    def _enter_spans(self, at_ns: int) -> None:
        """Move on to the span that holds ``at_ns``, closing the spans before it."""
        while self._span < DRAIN and at_ns >= self._edges[self._span]:
            edge = self._edges[self._span]
            for levels in self._levels.values():
                levels.cross(self._span, edge)
            self._span += 1

    def _within_span(self, rows: Rows) -> None:
        at = rows[:, LevelCol.AT]
        delta = rows[:, LevelCol.DELTA]
        area = halves(delta * at)
        for scope, levels in self._levels.items():
            key = rows[:, LevelCol.KIND].copy()
            for selector in scope:
                key *= len(self._shape.names(selector))
                key += self._column(selector, rows)
            levels.add(key, delta, area, self._span)

    def _column(self, selector: Selector, rows: Rows) -> Ints:
        if selector == "provider":
            return rows[:, LevelCol.PROVIDER]
        principal = rows[:, LevelCol.PRINCIPAL]
        return principal if selector == "principal" else self._class_of[principal]


class _ScopeLevels:
    """Both kinds of level for each member of one scope; rows are ``kind * size + member``."""

    __slots__ = ("_key_type", "current", "integral", "peak", "size", "trough")

    def __init__(self, size: int) -> None:
        self.size = size
        rows = len(LevelKind) * size
        self._key_type = np.uint16 if rows <= _RADIX_SORTED_MAX else np.int64
        self.current: Ints = np.zeros(rows, np.int64)
        self.trough: Ints = np.zeros(rows, np.int64)
        self.peak: NDArray[np.int64] = np.zeros((rows, DRAIN + 1), np.int64)
        self.integral = WideSums.zeros(rows, DRAIN + 1)

    def add(self, key: Ints, delta: Ints, area: tuple[Ints, Ints], span: int) -> None:
        """Take events of one span, in order of time, each with the row it belongs to and the halves of delta * at."""
        order = np.argsort(key.astype(self._key_type), kind="stable")
        key, delta = key[order], delta[order]
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        rows = key[starts]
        running = np.cumsum(delta)
        last = np.append(starts[1:], len(key)) - 1
        # What the levels of a row's events are above its own running sum: the level before, less earlier rows' events.
        offset = self.current[rows] - (running[starts] - delta[starts])
        self.peak[rows, span] = np.maximum(self.peak[rows, span], np.maximum.reduceat(running, starts) + offset)
        self.trough[rows] = np.minimum(self.trough[rows], np.minimum.reduceat(running, starts) + offset)
        self.integral.expect(len(key))
        self.integral.high[rows, span] -= np.add.reduceat(area[0][order], starts)
        self.integral.low[rows, span] -= np.add.reduceat(area[1][order], starts)
        self.current[rows] = running[last] + offset

    def cross(self, span: int, edge_ns: int) -> None:
        """End ``span`` at ``edge_ns`` and begin the next with the levels as they are."""
        self.integral.add_product(span, self.current, edge_ns)
        self.integral.add_product(span + 1, -self.current, edge_ns)
        self.peak[:, span + 1] = self.current


def scope_of(where: Iterable[Selector]) -> Scope:
    """Return the scope that a selection names, in the canonical order."""
    chosen = set(where)
    return tuple(selector for selector in SELECTORS if selector in chosen)
