"""How long it took after each outage until as much was completed again as before it.

Owns the reckoning of one outage: how much its provider completed a second before it (the base), and the first instant
after it from which a window of 10 s holds 95 % of that. It must not know what an outage does. Nothing is kept but the
completions that could still begin such a window: memory follows the goodput, not the length of the run. A run without
outages costs nothing.

Spec 00 states the share and the window; the rest is decision 0034.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sim.manifest.providers import Outage
from sim.measure.quantiles import Mask
from sim.measure.shape import RunShape
from sim.measure.tally import Ints
from sim.trace import Consumer, RequestCol, RequestOutcome, Rows
from tollgate.core.units import NS_PER_S

WINDOW_NS: Final = 10 * NS_PER_S
"""Length of the windows in which goodput is looked at; the least that may lie before and after an outage, too."""

SHARE: Final = (95, 100)
"""Of the goodput before the outage, what has to be reached again."""

METASTABLE_NS: Final = 60 * NS_PER_S
"""From the end of the outage's ramp: a run whose goodput takes longer to come back is stuck in a state of its own
making. Six windows, and as long as the longest of the outages that the suite's own gates allow for."""

Stretch = tuple[int, int]
"""From an instant, up to and without another, ns."""


class Recoveries(Consumer):
    """A consumer that follows every outage of the run, for all classes together and for each."""

    def __init__(self, shape: RunShape) -> None:
        """Prepare for the outages that the shape names."""
        self._class_of = np.asarray(shape.class_of, np.int64)
        self.outages = shape.outages
        self._watches = [
            (_Watch(outage, shape), [_Watch(outage, shape) for _ in shape.classes]) for outage in shape.outages
        ]

    def requests(self, rows: Rows) -> None:
        """Take request rows, in order of settlement."""
        done = rows[rows[:, RequestCol.OUTCOME] == RequestOutcome.COMPLETED]
        at, provider = done[:, RequestCol.SETTLED], done[:, RequestCol.PROVIDER]
        cls = self._class_of[done[:, RequestCol.PRINCIPAL]]
        for outage, (whole, by_class) in zip(self.outages, self._watches, strict=True):
            here = provider == outage.provider
            whole.add(at[here])
            for index, watch in enumerate(by_class):
                watch.add(at[here & (cls == index)])

    def unjudged(self) -> list[Outage]:
        """Return the outages with too little time before or after them to be judged."""
        return [
            outage for outage, (watch, _) in zip(self.outages, self._watches, strict=True) if not watch.can_be_judged
        ]

    def time_ns(self, provider: int | None, cls: int | None) -> int | None:
        """Return the longest recovery, ns; None where there is nothing to tell or an outage cannot be judged.

        Args:
            provider: Whose outages; None for all.
            cls: Whose goodput; None for everybody's.
        """
        watches = self._chosen(provider, cls)
        return max((watch.time_ns for watch in watches), default=None)

    def is_metastable(self, provider: int | None, cls: int | None) -> bool | None:
        """Return whether goodput stayed away for longer than stated after any outage; None as :meth:`time_ns`."""
        watches = self._chosen(provider, cls)
        return any(watch.is_metastable for watch in watches) if watches else None

    def _chosen(self, provider: int | None, cls: int | None) -> list[_Watch]:
        chosen = [
            whole if cls is None else by_class[cls]
            for outage, (whole, by_class) in zip(self.outages, self._watches, strict=True)
            if provider in {None, outage.provider}
        ]
        if not all(watch.can_be_judged for watch in chosen):
            return []
        return [watch for watch in chosen if watch.needed]


class _Watch:
    """One outage and the completions of one selection."""

    __slots__ = ("_before", "_last_ns", "_outage", "_recent", "_recovered_ns", "_seen")

    def __init__(self, outage: Outage, shape: RunShape) -> None:
        self._outage = outage
        self._before = base_of(outage, shape)
        self._last_ns = shape.horizon_ns
        self._seen = 0  # completed in the base
        self._recent: Ints = np.empty(0, np.int64)  # completed after the outage, as far as a window may still begin
        self._recovered_ns: int | None = None

    @property
    def can_be_judged(self) -> bool:
        """Whether a window fits before the outage and another after it."""
        return self._base_ns >= WINDOW_NS and self._outage.end_ns + WINDOW_NS <= self._last_ns

    @property
    def needed(self) -> int:
        """Completions that a window has to hold; 0 if nothing was completed before the outage."""
        part, whole = SHARE
        return -(-part * self._seen * WINDOW_NS // (whole * self._base_ns)) if self._base_ns else 0

    @property
    def time_ns(self) -> int:
        """From the outage's end to the first instant of a good window, or to the end of the arrivals without one."""
        return (self._last_ns if self._recovered_ns is None else self._recovered_ns) - self._outage.end_ns

    @property
    def is_metastable(self) -> bool:
        """Whether no good window began in time."""
        return self._recovered_ns is None or self._recovered_ns > self._outage.ramp_end_ns + METASTABLE_NS

    def add(self, at: Ints) -> None:
        """Take instants of completion, in order."""
        if not len(at) or self._recovered_ns is not None or not self.can_be_judged:
            return
        self._seen += sum(int(np.count_nonzero(_within(at, stretch))) for stretch in self._before)
        after = at[np.searchsorted(at, self._outage.end_ns) :]
        # The base ends before the outage does, so it is complete once there is anything after it.
        if not len(after) or not self.needed:
            return
        times = np.concatenate([self._recent, after])
        ahead = self.needed - 1
        if len(times) > ahead:
            fits = times[ahead:] - times[: len(times) - ahead] < WINDOW_NS
            first = int(np.argmax(fits))
            if fits[first]:
                # The window ends behind the last of them; it may begin earlier than the first.
                begins_ns = max(self._outage.end_ns, int(times[first + ahead]) - WINDOW_NS + 1)
                if begins_ns + WINDOW_NS <= self._last_ns:
                    self._recovered_ns = begins_ns
        self._recent = times[len(times) - ahead :] if len(times) > ahead else times

    @property
    def _base_ns(self) -> int:
        return sum(end_ns - start_ns for start_ns, end_ns in self._before)


def base_of(outage: Outage, shape: RunShape) -> list[Stretch]:
    """Return the time whose goodput an outage is compared with.

    It is the phase that holds the last instant before the outage: its part after warm-up and before the outage, without
    the time under other outages of the same provider.
    """
    start_ns = max(
        (phase.start_ns for phase in shape.phases if phase.start_ns < outage.start_ns), default=outage.start_ns
    )
    clear = [(max(start_ns, shape.warmup_ns), outage.start_ns)]
    for other in shape.outages:
        if other.provider == outage.provider and other != outage:
            clear = [part for stretch in clear for part in _without(stretch, (other.start_ns, other.ramp_end_ns))]
    return [(start_ns, end_ns) for start_ns, end_ns in clear if start_ns < end_ns]


def _without(stretch: Stretch, hole: Stretch) -> list[Stretch]:
    (start_ns, end_ns), (from_ns, to_ns) = stretch, hole
    return [(start_ns, min(end_ns, from_ns)), (max(start_ns, to_ns), end_ns)]


def _within(at: Ints, stretch: Stretch) -> Mask:
    mask: Mask = (at >= stretch[0]) & (at < stretch[1])
    return mask
