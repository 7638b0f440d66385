"""Filling the bins of a run's time series, block by block.

Owns the binning behind :class:`~sim.measure.series.SeriesView`. It must not know figures or files. Memory follows the
length of the run in bins, not the number of arrivals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.measure.accumulate import IS_ADMITTED
from sim.measure.observe import PRINCIPALS_LISTED_MAX
from sim.measure.quantiles import LogLinearHistogram
from sim.measure.series import BINS_MAX, Band, SeriesView, series_name
from sim.measure.shape import RunShape
from sim.measure.tally import Ints, Tally
from sim.trace import (
    NONE,
    REASONS,
    AttemptCol,
    Consumer,
    LevelCol,
    LevelKind,
    PauseRow,
    RequestCol,
    RequestOutcome,
    Rows,
    RunEnd,
    TransitionRow,
)

_BINS_PACKED_MAX: Final = 1 << 31
_NO_REASON: Final = 0
_COUNTERS: Final = ("arrivals", "attempts", "admitted", "completed", "failed", "cancelled", "shed")
_ARRIVALS, _ATTEMPTS, _ADMITTED, _COMPLETED, _FAILED, _CANCELLED, _SHED = range(len(_COUNTERS))
_SETTLED_AS: Final = {
    RequestOutcome.COMPLETED: _COMPLETED,
    RequestOutcome.FAILED: _FAILED,
    RequestOutcome.SHED: _SHED,
    RequestOutcome.CANCELLED: _CANCELLED,
    RequestOutcome.IN_FLIGHT: NONE,  # settled in no bin
}
_OF_OUTCOME: Final = np.array([_SETTLED_AS[outcome] for outcome in RequestOutcome], np.int64)
_LEVELS: Final = {LevelKind.ACTIVE: "active", LevelKind.QUEUE: "queue"}


def bin_length(horizon_ns: int) -> int:
    """Return the shortest of 1, 2, 5, 10, ... ns that needs at most 588 bins up to the horizon.

    The dozen left is room for the drain, so that a run that ends soon after its horizon keeps its round bins.
    """
    shortest = -(-horizon_ns // (BINS_MAX - 12))
    power: int = 10 ** (len(str(shortest)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= shortest)


class SeriesRecorder(Consumer):
    """A consumer that fills the bins. Series are by principal if there are at most 20 of them, else by class only."""

    def __init__(self, shape: RunShape) -> None:
        """Start with bins that fit the horizon; they are joined in the end if the run turns out longer."""
        self._shape = shape
        self._bin_ns = bin_length(shape.horizon_ns)
        self._by_principal = len(shape.principals) <= PRINCIPALS_LISTED_MAX
        self._class_of: Ints = np.asarray(shape.class_of, np.int64)
        self._groups = len(shape.principals if self._by_principal else shape.classes)
        providers = len(shape.providers)
        self._counts = Tally(_BINS_PACKED_MAX, len(_COUNTERS), len(REASONS) + 1, self._groups, providers)
        # Per kind, group and provider: the net change of the level in each bin, and what that change adds to the
        # integral of its own bin. Both add up, so no level has to be followed.
        shape_of_levels = (len(LevelKind), self._groups, providers, BINS_MAX)
        self._change: NDArray[np.int64] = np.zeros(shape_of_levels, np.int64)
        self._area: NDArray[np.int64] = np.zeros(shape_of_levels, np.int64)
        # Tokens asked for, by the instant of asking: what is offered to the token buckets, admitted or not.
        self._tokens: NDArray[np.int64] = np.zeros(shape_of_levels[1:], np.int64)
        self._end = RunEnd(0, 0, (), ())

    # ------------------------------------------------------------------------------------------------------- consumer

    def levels(self, rows: Rows) -> None:
        """Take level rows."""
        at, delta = rows[:, LevelCol.AT], rows[:, LevelCol.DELTA]
        place = at // self._bin_ns
        self._make_room(int(place[-1]) + 1)
        group = self._group(rows[:, LevelCol.PRINCIPAL])
        where = np.ravel_multi_index(
            (rows[:, LevelCol.KIND], group, rows[:, LevelCol.PROVIDER], place), self._change.shape
        )
        np.add.at(self._change.reshape(-1), where, delta)
        np.add.at(self._area.reshape(-1), where, delta * ((place + 1) * self._bin_ns - at))

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        group, provider = self._group(rows[:, AttemptCol.PRINCIPAL]), rows[:, AttemptCol.PROVIDER]
        self._count(rows[:, AttemptCol.REQUESTED], _ATTEMPTS, _NO_REASON, group, provider)
        place = rows[:, AttemptCol.REQUESTED] // self._bin_ns
        self._make_room(int(place.max()) + 1)
        np.add.at(self._tokens, (group, provider, place), rows[:, AttemptCol.TOKENS])
        admitted = IS_ADMITTED[rows[:, AttemptCol.OUTCOME]]
        self._count(rows[admitted, AttemptCol.DECIDED], _ADMITTED, _NO_REASON, group[admitted], provider[admitted])

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        group, provider = self._group(rows[:, RequestCol.PRINCIPAL]), rows[:, RequestCol.PROVIDER]
        self._count(rows[:, RequestCol.INTENDED], _ARRIVALS, _NO_REASON, group, provider)
        counter = _OF_OUTCOME[rows[:, RequestCol.OUTCOME]]
        reason = np.where(counter == _SHED, rows[:, RequestCol.REASON] + 1, _NO_REASON)
        settled = counter != NONE
        self._count(
            rows[settled, RequestCol.SETTLED], counter[settled], reason[settled], group[settled], provider[settled]
        )

    def close(self, end: RunEnd) -> None:
        """Take the end of the run."""
        self._end = end

    # ----------------------------------------------------------------------------------------------------------- view

    def view(self, histograms: Mapping[str, LogLinearHistogram]) -> SeriesView:
        """Return the run's series with the given histograms; call it once the trace is closed."""
        end_ns = max(self._end.at_ns, 1)
        fine = -(-end_ns // self._bin_ns)
        joined = -(-fine // BINS_MAX)
        bins = -(-fine // joined)
        series = {**dict(self._counts_by_bin(bins, joined)), **dict(self._levels_by_bin(bins, joined, end_ns))}
        return SeriesView(joined * self._bin_ns, end_ns, series, dict(histograms), tuple(self._bands()))

    def _counts_by_bin(self, bins: int, joined: int) -> Iterator[tuple[str, list[int]]]:
        (place, counter, reason, group, provider), counts = self._counts.table()
        # An event at the very end belongs to the last bin even where a new one would begin.
        place = np.minimum(place // joined, bins - 1)
        table = np.zeros((len(_COUNTERS), self._groups, len(self._shape.providers), bins), np.int64)
        np.add.at(table, (counter, group, provider, place), counts)
        for name, of_counter in zip(_COUNTERS, table, strict=True):
            yield from self._by_label(name, of_counter)
        shed = counter == _SHED
        by_reason = np.zeros((len(REASONS) + 1, self._groups, bins), np.int64)
        np.add.at(by_reason, (reason[shed], group[shed], place[shed]), counts[shed])
        for code, word in enumerate(REASONS, start=1):
            yield from _named("shed", {"reason": word.value}, by_reason[code].sum(axis=0))
            for index, cls in enumerate(self._shape.classes):
                of_class = by_reason[code, self._of_class(index)].sum(axis=0)
                yield from _named("shed", {"class": cls, "reason": word.value}, of_class)

    def _levels_by_bin(self, bins: int, joined: int, end_ns: int) -> Iterator[tuple[str, list[int]]]:
        self._make_room(bins * joined)
        change, area = self._change[..., : bins * joined], self._area[..., : bins * joined]
        before = np.cumsum(change, axis=-1) - change
        starts = np.arange(bins * joined) * self._bin_ns
        lengths = np.clip(end_ns - starts, 0, self._bin_ns)
        # Areas were counted to the end of the bin; where the run ends before it, the surplus is taken off again.
        integral = np.where(lengths > 0, before * lengths + area - change * (self._bin_ns - lengths), 0)
        whole = integral.reshape(*integral.shape[:-1], bins, joined).sum(axis=-1)
        for kind, name in _LEVELS.items():
            yield from self._by_label(name, whole[kind])
        tokens = self._tokens[..., : bins * joined]
        yield from self._by_label("tokens", tokens.reshape(*tokens.shape[:-1], bins, joined).sum(axis=-1))

    def _by_label(self, name: str, table: NDArray[np.int64]) -> Iterator[tuple[str, list[int]]]:
        """Yield a table of shape ``(groups, providers, bins)`` added up for each single label."""
        yield from _named(name, {}, table.sum(axis=(0, 1)))
        for index, cls in enumerate(self._shape.classes):
            yield from _named(name, {"class": cls}, table[self._of_class(index)].sum(axis=(0, 1)))
        if self._by_principal:
            for index, principal in enumerate(self._shape.principals):
                yield from _named(name, {"principal": principal}, table[index].sum(axis=0))
        for index, provider in enumerate(self._shape.providers):
            yield from _named(name, {"provider": provider}, table[:, index].sum(axis=0))

    def _bands(self) -> Iterator[Band]:
        end_ns = self._end.at_ns
        for phase in self._shape.phases:
            yield Band("phase", phase.name, "", phase.start_ns, phase.end_ns)
        yield from _breaker_bands(self._shape.providers, self._end.transitions, end_ns)
        yield from _pause_bands(self._shape.providers, self._end.pauses, end_ns)

    # ---------------------------------------------------------------------------------------------------------- parts

    def _count(self, at: Ints, counter: Ints | int, reason: Ints | int, group: Ints, provider: Ints) -> None:
        self._counts.add(at // self._bin_ns, counter, reason, group, provider)

    def _group(self, principal: Ints) -> Ints:
        return principal if self._by_principal else self._class_of[principal]

    def _of_class(self, index: int) -> Ints:
        """Return the groups of a class."""
        return np.flatnonzero(self._class_of == index) if self._by_principal else np.array([index])

    def _make_room(self, bins: int) -> None:
        have = self._change.shape[-1]
        if bins > have:
            widen = [(0, 0)] * 3 + [(0, max(bins, 2 * have) - have)]
            self._change, self._area = np.pad(self._change, widen), np.pad(self._area, widen)
            self._tokens = np.pad(self._tokens, widen[1:])


def _named(metric: str, labels: Mapping[str, str], values: Ints) -> Iterable[tuple[str, list[int]]]:
    return [(series_name(metric, labels), values.tolist())] if values.any() else []


def _breaker_bands(providers: tuple[str, ...], rows: Iterable[TransitionRow], end_ns: int) -> Iterator[Band]:
    """Yield every stretch in which a breaker was not closed."""
    since: dict[int, tuple[str, int]] = {}
    for row in rows:
        if row.provider in since:
            state, start_ns = since.pop(row.provider)
            yield Band("breaker", providers[row.provider], state, start_ns, row.at_ns)
        if row.to_state != "closed":
            since[row.provider] = (row.to_state, row.at_ns)
    for provider, (state, start_ns) in since.items():
        yield Band("breaker", providers[provider], state, start_ns, end_ns)


def _pause_bands(providers: tuple[str, ...], rows: Iterable[PauseRow], end_ns: int) -> Iterator[Band]:
    for row in rows:
        if row.from_ns < end_ns:
            yield Band("pause", providers[row.provider], "paused", row.from_ns, min(row.until_ns, end_ns))
