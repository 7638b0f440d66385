"""Filling the bins of a run's time series, block by block.

Owns the binning behind :class:`~sim.measure.series.SeriesView`. It must not know figures or files. Memory is that of
``BINS_MAX`` bins whatever happens: a run that outlasts its bins has them joined in pairs, so their length is the first
one's times a power of two, decided by the last instant alone and not by the blocks that rows come in.
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
from sim.measure.wide import WideSums, halves
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
from tollgate.decision.profile import AdmissionProfile

Named = tuple[str, list[int]]
"""A series by its name."""

_BINS_KEPT: Final = BINS_MAX + 2
"""Bins that are kept: one more for what happens the instant the last one ends, and an even number to be joined."""

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
        """Start with bins that fit the horizon."""
        self._shape = shape
        self._bin_ns = bin_length(shape.horizon_ns)
        self._by_principal = len(shape.principals) <= PRINCIPALS_LISTED_MAX
        self._class_of: Ints = np.asarray(shape.class_of, np.int64)
        self._groups = len(shape.principals if self._by_principal else shape.classes)
        providers = len(shape.providers)
        self._counts = Tally(_BINS_KEPT, len(_COUNTERS), len(REASONS) + 1, self._groups, providers)
        # Per kind, group and provider: the net change of the level in each bin, and what that change adds to the
        # integral of its own bin. Both add up, so no level has to be followed.
        shape_of_levels = (len(LevelKind), self._groups, providers, _BINS_KEPT)
        self._change: NDArray[np.int64] = np.zeros(shape_of_levels, np.int64)
        self._area = WideSums.zeros(*shape_of_levels)
        # Tokens asked for, by the instant of asking: what is offered to the token buckets, admitted or not.
        self._tokens = WideSums.zeros(*shape_of_levels[1:])
        # Tokens drawn, by the instant of admission; kept where there is a bucket to draw them from.
        self._has_buckets = _has_token_buckets(shape.profile)
        self._drawn = WideSums.zeros(*shape_of_levels[1:])
        self._end = RunEnd(0, 0, (), ())

    # ------------------------------------------------------------------------------------------------------- consumer

    def levels(self, rows: Rows) -> None:
        """Take level rows."""
        at, delta = rows[:, LevelCol.AT], rows[:, LevelCol.DELTA]
        self._reach(int(at.max()))
        place = at // self._bin_ns
        group = self._group(rows[:, LevelCol.PRINCIPAL])
        where = np.ravel_multi_index(
            (rows[:, LevelCol.KIND], group, rows[:, LevelCol.PROVIDER], place), self._change.shape
        )
        np.add.at(self._change.reshape(-1), where, delta)
        self._area.add_at(where, delta * ((place + 1) * self._bin_ns - at))
        if self._has_buckets:
            began = (rows[:, LevelCol.KIND] == LevelKind.ACTIVE) & (delta == 1)
            cells = (group[began], rows[began, LevelCol.PROVIDER], place[began])
            where = np.ravel_multi_index(cells, self._drawn.high.shape)
            self._drawn.add_at(where, rows[began, LevelCol.AMOUNT])

    def attempts(self, rows: Rows) -> None:
        """Take attempt rows."""
        requested, decided = rows[:, AttemptCol.REQUESTED], rows[:, AttemptCol.DECIDED]
        self._reach(int(max(requested.max(), decided.max())))
        group, provider = self._group(rows[:, AttemptCol.PRINCIPAL]), rows[:, AttemptCol.PROVIDER]
        self._count(requested, _ATTEMPTS, _NO_REASON, group, provider)
        where = np.ravel_multi_index((group, provider, requested // self._bin_ns), self._tokens.high.shape)
        self._tokens.add_at(where, rows[:, AttemptCol.TOKENS])
        admitted = IS_ADMITTED[rows[:, AttemptCol.OUTCOME]]
        self._count(decided[admitted], _ADMITTED, _NO_REASON, group[admitted], provider[admitted])

    def requests(self, rows: Rows) -> None:
        """Take request rows."""
        intended, settled_at = rows[:, RequestCol.INTENDED], rows[:, RequestCol.SETTLED]
        self._reach(int(max(intended.max(), settled_at.max())))
        group, provider = self._group(rows[:, RequestCol.PRINCIPAL]), rows[:, RequestCol.PROVIDER]
        self._count(intended, _ARRIVALS, _NO_REASON, group, provider)
        counter = _OF_OUTCOME[rows[:, RequestCol.OUTCOME]]
        reason = np.where(counter == _SHED, rows[:, RequestCol.REASON] + 1, _NO_REASON)
        settled = counter != NONE
        self._count(settled_at[settled], counter[settled], reason[settled], group[settled], provider[settled])

    def close(self, end: RunEnd) -> None:
        """Take the end of the run."""
        self._end = end

    # ----------------------------------------------------------------------------------------------------------- view

    def view(self, histograms: Mapping[str, LogLinearHistogram]) -> SeriesView:
        """Return the run's series with the given histograms; call it once the trace is closed."""
        end_ns = max(self._end.at_ns, 1)
        self._reach(end_ns)
        bins = -(-end_ns // self._bin_ns)
        series = {**dict(self._counts_by_bin(bins)), **dict(self._levels_by_bin(bins, end_ns))}
        return SeriesView(self._bin_ns, end_ns, series, dict(histograms), tuple(self._bands()))

    def _counts_by_bin(self, bins: int) -> Iterator[Named]:
        (place, counter, reason, group, provider), counts = self._counts.table()
        # An event at the very end belongs to the last bin even where a new one would begin.
        place = np.minimum(place, bins - 1)
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

    def _levels_by_bin(self, bins: int, end_ns: int) -> Iterator[Named]:
        change = self._change[..., :bins]
        before = np.cumsum(change, axis=-1) - change
        # Areas were counted to the end of the bin; where the run ends before it, the surplus is taken off again.
        length = np.full(bins, self._bin_ns)
        length[-1] = end_ns - (bins - 1) * self._bin_ns
        parts = zip((self._area.high, self._area.low), halves(length), halves(self._bin_ns - length), strict=True)
        whole = WideSums(*(before * kept + part[..., :bins] - change * cut for part, kept, cut in parts))
        for kind, name in _LEVELS.items():
            yield from self._by_label(name, whole.high[kind], whole.low[kind])
        # As with counts, what was asked for at the very end belongs to the last bin.
        for name, sums in (("tokens", self._tokens), ("drawn", self._drawn)):
            yield from self._by_label(name, *(_folded(part, bins) for part in (sums.high, sums.low)))

    def _by_label(self, name: str, *parts: NDArray[np.int64]) -> Iterator[Named]:
        """Yield a table of shape ``(groups, providers, bins)``, or both halves of one, added up for each label."""
        yield from _named(name, {}, *(part.sum(axis=(0, 1)) for part in parts))
        for index, cls in enumerate(self._shape.classes):
            yield from _named(name, {"class": cls}, *(part[self._of_class(index)].sum(axis=(0, 1)) for part in parts))
        if self._by_principal:
            for index, principal in enumerate(self._shape.principals):
                yield from _named(name, {"principal": principal}, *(part[index].sum(axis=0) for part in parts))
        for index, provider in enumerate(self._shape.providers):
            yield from _named(name, {"provider": provider}, *(part[:, index].sum(axis=0) for part in parts))

    def _bands(self) -> Iterator[Band]:
        end_ns = self._end.at_ns
        for phase in self._shape.phases:
            yield Band("phase", phase.name, "", phase.start_ns, phase.end_ns)
        yield from _outage_bands(self._shape, end_ns)
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

    def _reach(self, at_ns: int) -> None:
        """Join bins in pairs until they reach ``at_ns``; the instant at which the last one ends is still theirs."""
        times = 0
        while at_ns > BINS_MAX * self._bin_ns:
            # A change in the first bin of a pair lasts through the second one.
            lasting = self._change[..., 0::2]
            sums, lengths = (self._area.high, self._area.low), halves(self._bin_ns)
            self._area = WideSums(
                *(_joined(part, lasting * length) for part, length in zip(sums, lengths, strict=True))
            )
            self._area.carry()
            self._tokens = WideSums(_joined(self._tokens.high), _joined(self._tokens.low))
            self._tokens.carry()
            self._drawn = WideSums(_joined(self._drawn.high), _joined(self._drawn.low))
            self._drawn.carry()
            self._change = _joined(self._change)
            self._bin_ns *= 2
            times += 1
        if times:
            self._counts.halve(times)


def _has_token_buckets(profile: AdmissionProfile) -> bool:
    scopes = (profile.workspace, *profile.providers.values(), *profile.principals.values())
    return any(limits.tokens_per_second is not None for limits in scopes)


def _folded(kept: NDArray[np.int64], bins: int) -> NDArray[np.int64]:
    """Return the first ``bins`` of the last axis, all behind them added to the last one."""
    return np.concatenate([kept[..., : bins - 1], kept[..., bins - 1 :].sum(axis=-1, keepdims=True)], axis=-1)


def _joined(bins: NDArray[np.int64], surplus: NDArray[np.int64] | int = 0) -> NDArray[np.int64]:
    """Return bins added up in pairs along the last axis, each with its surplus, and zeros behind them."""
    pairs = bins[..., 0::2] + bins[..., 1::2] + surplus
    return np.concatenate([pairs, np.zeros_like(pairs)], axis=-1)


def _named(metric: str, labels: Mapping[str, str], *parts: Ints) -> Iterable[Named]:
    values = WideSums(*parts).integers() if len(parts) > 1 else parts[0].tolist()
    return [(series_name(metric, labels), values)] if any(values) else []


def _outage_bands(shape: RunShape, end_ns: int) -> Iterator[Band]:
    """Yield every outage by its kind, and its ramp after it."""
    for outage in shape.outages:
        provider = shape.providers[outage.provider]
        for state, from_ns, to_ns in (
            (outage.kind, outage.start_ns, outage.end_ns),
            ("ramp", outage.end_ns, outage.ramp_end_ns),
        ):
            if from_ns < min(to_ns, end_ns):
                yield Band("outage", provider, state, from_ns, min(to_ns, end_ns))


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
