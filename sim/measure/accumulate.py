"""From trace rows to counts and samples, block by block.

Owns what is kept of a run so that every metric can be computed when it has ended, and which rows are measured: those
whose request was meant to be made at ``warmup_ns`` or later. It must not know how a metric is defined.

Memory follows the number of labels and windows, not the number of arrivals: counts are kept for each combination of
labels that occurred, times as :class:`~sim.measure.quantiles.SampleStore` keeps them. Times are kept by principal for
the principals that a report can list or a gate names, by class for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.measure.quantiles import EXACT_VALUES_MAX, Mask, Samples, SampleStore
from sim.measure.shape import RunShape
from sim.measure.tally import Ints, Packing, Tally
from sim.measure.wide import WideSums
from sim.metrics import Selector
from sim.trace import (
    NONE,
    REASONS,
    AttemptCol,
    AttemptOutcome,
    Consumer,
    RequestCol,
    RequestOutcome,
    Rows,
    RunEnd,
    Stop,
)
from tollgate.core.units import NS_PER_S
from tollgate.decision.evidence import Hold

Chosen = dict[Selector, int]
"""A selection by index, as :meth:`~sim.measure.shape.RunShape.resolve` returns it."""

PRINCIPALS_TIMED_MAX: Final = 64
"""Up to this many principals, times are kept for each; three times what a table lists."""

PEAK_WINDOW_NS: Final = 10 * NS_PER_S
"""Length of the windows of ``retry.amplification.peak_10s``."""

_ATTEMPTS_MAX: Final = 1 << 16  # attempts of one request; the manifest allows 62

ADMITTED: Final = (AttemptOutcome.COMPLETED, AttemptOutcome.FAILED, AttemptOutcome.ABORTED)
"""Outcomes of attempts that got a permit."""

IS_ADMITTED: Final = np.isin(np.arange(len(AttemptOutcome)), ADMITTED)
"""The same by outcome code, shape ``(len(AttemptOutcome),)``."""


class Groups:
    """By whom times are kept: each kept principal is a group, and so is what is left of each class."""

    __slots__ = ("_by_class", "_kept", "count", "of_principal")

    def __init__(self, shape: RunShape, named: Iterable[int]) -> None:
        """Keep every principal if there are few, else those in ``named``."""
        everybody = range(len(shape.principals))
        kept = list(everybody) if len(everybody) <= PRINCIPALS_TIMED_MAX else sorted(set(named))
        self._kept = {principal: group for group, principal in enumerate(kept)}
        self.count = len(kept) + len(shape.classes)
        class_of = np.asarray(shape.class_of, np.int64)
        self.of_principal: Ints = class_of + len(kept)
        self.of_principal[kept] = np.arange(len(kept))
        self._by_class = np.concatenate([class_of[kept], np.arange(len(shape.classes))])

    def knows(self, principal: int) -> bool:
        """Return whether this principal's times are kept apart."""
        return principal in self._kept

    def mask(self, chosen: Chosen) -> Mask:
        """Return which groups the selection of class and principal holds, shape ``(count,)``."""
        mask = np.ones(self.count, np.bool_)
        if "class" in chosen:
            mask &= self._by_class == chosen["class"]
        if "principal" in chosen:
            mask &= np.arange(self.count) == self._kept[chosen["principal"]]
        return mask


class Accumulator(Consumer):
    """A consumer that keeps what metrics need. Cells are (group, provider, phase)."""

    def __init__(self, shape: RunShape, named: Iterable[int] = (), *, exact_values_max: int = EXACT_VALUES_MAX) -> None:
        """Start empty.

        Args:
            shape: Of the run.
            named: Principals whose times must be kept apart, by index.
            exact_values_max: Values each sample store keeps before it bins them.
        """
        self.shape = shape
        self.groups = Groups(shape, named)
        self._class_of: Ints = np.asarray(shape.class_of, np.int64)
        providers, phases = len(shape.providers), len(shape.phases)
        labels = (len(shape.principals), providers, phases)
        self._cell_key = Packing(self.groups.count, providers, phases)
        windows = shape.horizon_ns // PEAK_WINDOW_NS + 1
        cells = self.groups.count * providers * phases
        self._attempts = Tally(*labels, len(AttemptOutcome), len(Hold))
        self._requests = Tally(*labels, len(RequestOutcome), len(REASONS) + 1, 2)
        self._stops = Tally(*labels, len(Stop))
        self._windows = Tally(windows, self.groups.count, providers, phases, _ATTEMPTS_MAX)
        self.waits = SampleStore(2 * cells, exact_values_max=exact_values_max)
        self.sojourns = SampleStore(cells, exact_values_max=exact_values_max)
        self._eligible_max: Ints = np.zeros(cells, np.int64)
        self._cancel_max: Ints = np.full(cells, -1, np.int64)
        # Estimated above the actual use, below it, and the use itself.
        self._tokens = WideSums.zeros(cells), WideSums.zeros(cells), WideSums.zeros(cells)
        self._warmup_last = -1
        self.end = RunEnd(0, 0, (), ())

    # ------------------------------------------------------------------------------------------------------- consumer

    def attempts(self, rows: Rows) -> None:
        """Take a block of attempt rows."""
        rows = self._without_warmup(rows)
        principal, provider, phase = (rows[:, c] for c in (AttemptCol.PRINCIPAL, AttemptCol.PROVIDER, AttemptCol.PHASE))
        outcome = rows[:, AttemptCol.OUTCOME]
        hold = np.maximum(rows[:, AttemptCol.HOLD], Hold.NONE)
        self._attempts.add(principal, provider, phase, outcome, hold)
        wait = rows[:, AttemptCol.DECIDED] - rows[:, AttemptCol.REQUESTED]
        waited = np.flatnonzero(wait)
        if len(waited):
            cells = self._cells(principal[waited], provider[waited], phase[waited])
            admitted = IS_ADMITTED[outcome[waited]]
            self.waits.add(cells * 2 + admitted, wait[waited])
            np.maximum.at(self._eligible_max, cells, rows[waited, AttemptCol.ELIGIBLE_WAIT] * admitted)

    def requests(self, rows: Rows) -> None:
        """Take a block of request rows."""
        if self.shape.warmup_ns:
            rows = rows[rows[:, RequestCol.INTENDED] >= self.shape.warmup_ns]
        principal, provider, phase = (rows[:, c] for c in (RequestCol.PRINCIPAL, RequestCol.PROVIDER, RequestCol.PHASE))
        outcome, reason = rows[:, RequestCol.OUTCOME], rows[:, RequestCol.REASON] + 1
        admitted = np.minimum(rows[:, RequestCol.ADMISSIONS], 1)
        self._requests.add(principal, provider, phase, outcome, reason, admitted)
        stopped = np.flatnonzero(rows[:, RequestCol.STOPPED] != NONE)
        if len(stopped):
            stops = rows[stopped, RequestCol.STOPPED]
            self._stops.add(principal[stopped], provider[stopped], phase[stopped], stops)
        intended, settled = rows[:, RequestCol.INTENDED], rows[:, RequestCol.SETTLED]
        group = self.groups.of_principal[principal]
        self._windows.add(intended // PEAK_WINDOW_NS, group, provider, phase, rows[:, RequestCol.ATTEMPTS])
        cells = self._cell_key.pack(group, provider, phase)
        completed = np.flatnonzero(outcome == RequestOutcome.COMPLETED)
        self.sojourns.add(cells[completed], settled[completed] - intended[completed])
        self._add_tokens(cells[completed], rows[completed])
        signal = rows[:, RequestCol.SIGNAL]
        cancelled = np.flatnonzero((outcome == RequestOutcome.CANCELLED) & (signal >= 0))
        np.maximum.at(self._cancel_max, cells[cancelled], settled[cancelled] - signal[cancelled])

    def close(self, end: RunEnd) -> None:
        """Take the end of the run."""
        self.end = end

    # -------------------------------------------------------------------------------------------------------- answers

    def attempt_counts(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return how many attempts the selection holds, shape ``(outcomes, holds)``."""
        (*labels, outcome, hold), counts = self._attempts.table()
        mask = self._mask(labels, chosen)
        return _table((len(AttemptOutcome), len(Hold)), (outcome[mask], hold[mask]), counts[mask])

    def request_counts(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return how many requests the selection holds, shape ``(outcomes, 1 + reasons, 2)``.

        The second axis is 0 for no reason, else 1 + reason code; the last is whether the request was ever admitted.
        """
        (*labels, outcome, reason, admitted), counts = self._requests.table()
        mask = self._mask(labels, chosen)
        columns = (outcome[mask], reason[mask], admitted[mask])
        return _table((len(RequestOutcome), len(REASONS) + 1, 2), columns, counts[mask])

    def stopped_count(self, chosen: Chosen, stop: Stop) -> int:
        """Return how many of the selected requests ended because their client was kept from another attempt."""
        (*labels, why), counts = self._stops.table()
        return int(counts[self._mask(labels, chosen) & (why == stop)].sum())

    def admissions_by_principal(self, chosen: Chosen) -> tuple[Ints, Ints]:
        """Return selected arrivals and those of them admitted at least once, both of shape ``(principals,)``."""
        (*labels, _, _, admitted), counts = self._requests.table()
        mask = self._mask(labels, chosen)
        principal, admitted, counts = labels[0][mask], admitted[mask], counts[mask]
        arrivals = np.zeros(len(self.shape.principals), np.int64)
        admissions = np.zeros_like(arrivals)
        np.add.at(arrivals, principal, counts)
        np.add.at(admissions, principal, counts * admitted)
        return arrivals, admissions

    def windows(self, chosen: Chosen) -> tuple[Ints, Ints]:
        """Return arrivals in each 10 s window with any, and their attempts; both of shape ``(windows,)``."""
        (window, group, provider, phase, attempts), counts = self._windows.table()
        mask = self.groups.mask(chosen)[group] & self._places(provider, phase, chosen)
        if not mask.any():
            return np.empty(0, np.int64), np.empty(0, np.int64)
        window, counts, attempts = window[mask], counts[mask], attempts[mask]
        starts = np.flatnonzero(np.diff(window, prepend=-1))
        return np.add.reduceat(counts, starts), np.add.reduceat(counts * attempts, starts)

    def wait_samples(self, chosen: Chosen, *, only_admitted: bool) -> Samples:
        """Return the waits above zero of the selected attempts, ns."""
        cells = self._cell_mask(chosen)
        return self.waits.select(np.stack([cells & (not only_admitted), cells], axis=1).ravel())

    def sojourn_samples(self, chosen: Chosen) -> Samples:
        """Return the times from intended arrival to completion of the selected completed requests, ns."""
        return self.sojourns.select(self._cell_mask(chosen))

    def eligible_wait_max(self, chosen: Chosen) -> int:
        """Return the longest time a selected attempt was eligible and not served, ns."""
        return int(self._eligible_max[self._cell_mask(chosen)].max(initial=0))

    def cancel_latency_max(self, chosen: Chosen) -> int | None:
        """Return the longest time from a cancellation's signal to its settlement, ns; None if there was none."""
        longest = int(self._cancel_max[self._cell_mask(chosen)].max(initial=-1))
        return None if longest < 0 else longest

    def token_errors(self, chosen: Chosen) -> tuple[int, int, int]:
        """Return tokens estimated above what was used, below it, and those used, of selected completed requests."""
        mask = self._cell_mask(chosen)
        over, under, used = self._tokens
        return over.total(mask), under.total(mask), used.total(mask)

    # ---------------------------------------------------------------------------------------------------------- parts

    def _add_tokens(self, cells: Ints, rows: Rows) -> None:
        """Add up how far estimates were off, apart in each direction."""
        estimated, used = rows[:, RequestCol.TOKENS], rows[:, RequestCol.ACTUAL_TOKENS]
        over, under, all_used = self._tokens
        all_used.add_at(cells, used)
        error = estimated - used
        if error.any():
            over.add_at(cells, np.maximum(error, 0))
            under.add_at(cells, np.maximum(-error, 0))

    def _without_warmup(self, rows: Rows) -> Rows:
        """Drop attempts of requests meant to be made during warm-up.

        Ordinals follow intended arrivals, and attempt 1 is requested at the intended arrival and written before any
        later attempt of its request, so one ordinal separates the two.
        """
        if not self.shape.warmup_ns:
            return rows
        ordinal = rows[:, AttemptCol.ORDINAL]
        early = (rows[:, AttemptCol.ATTEMPT] == 1) & (rows[:, AttemptCol.REQUESTED] < self.shape.warmup_ns)
        self._warmup_last = max(self._warmup_last, int(ordinal[early].max(initial=-1)))
        return rows[ordinal > self._warmup_last]

    def _cells(self, principal: Ints, provider: Ints, phase: Ints) -> Ints:
        return self._cell_key.pack(self.groups.of_principal[principal], provider, phase)

    def _cell_mask(self, chosen: Chosen) -> Mask:
        """Return which cells the selection holds, shape ``(cells,)``."""
        shape = (self.groups.count, len(self.shape.providers), len(self.shape.phases))
        mask = np.zeros(shape, np.bool_)
        mask[self.groups.mask(chosen), chosen.get("provider", slice(None)), chosen.get("phase", slice(None))] = True
        return mask.ravel()

    def _mask(self, labels: Sequence[Ints], chosen: Chosen) -> Mask:
        principal, provider, phase = labels
        mask = self._places(provider, phase, chosen)
        if "class" in chosen:
            mask &= self._class_of[principal] == chosen["class"]
        if "principal" in chosen:
            mask &= principal == chosen["principal"]
        return mask

    @staticmethod
    def _places(provider: Ints, phase: Ints, chosen: Chosen) -> Mask:
        mask = np.ones(len(provider), np.bool_)
        if "provider" in chosen:
            mask &= provider == chosen["provider"]
        if "phase" in chosen:
            mask &= phase == chosen["phase"]
        return mask


def _table(shape: tuple[int, ...], columns: tuple[Ints, ...], counts: Ints) -> NDArray[np.int64]:
    table = np.zeros(shape, np.int64)
    np.add.at(table, columns, counts)
    return table
