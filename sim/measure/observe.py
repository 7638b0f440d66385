"""The list of observations of a run.

Owns what is listed, in which order, and how values are spelt. It must not know how a metric is computed, nor records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final, TypedDict

import numpy as np

from sim.measure.accumulate import Accumulator, Chosen
from sim.measure.lanes import LaneTracker
from sim.measure.levels import LevelTracker, scope_of
from sim.measure.metrics import DEFINITIONS, Reading
from sim.measure.quantiles import EXACT_VALUES_MAX, LogLinearHistogram
from sim.measure.recovery import Recoveries
from sim.measure.series import series_name
from sim.measure.shape import RunShape, Where
from sim.metrics import BY_NAME, METRICS, SELECTORS, Metric
from sim.trace import Consumer
from tollgate.core.errors import CallerError
from tollgate.core.units import NS_PER_MS, decimal_text

PRINCIPALS_LISTED_MAX: Final = 20
"""Most principals that are listed, those with the most arrivals (spec 00: at most 20 rows a table)."""

Asked = tuple[str, Where]
"""A metric's name and the selection a gate asks it for."""

_TIMED: Final = (
    *("queue.wait.", "queue.dwell.", "lane.", "sojourn.", "cancel.", "retry.amplification.peak_10s"),
    "tokens.",
)
"""Prefixes of metrics that are kept by principal only for those whose times are kept apart."""

_BY_REASON: Final = ("shed.", "deferrals.", "retry.stopped.")
"""Prefixes of metrics that are listed by class and phase together as well."""

_IF_OCCURRED: Final = (*_BY_REASON, "tokens.")
"""Prefixes of metrics that are listed where they are not 0."""


_LEVELS: Final = ("active.", "queue.length.", "utilisation")
"""Prefixes of metrics of levels, which are kept by two selectors together only where that was asked for."""


class Observation(TypedDict):
    """One measured value. A count is an integer, everything else a decimal text with six places."""

    metric: str
    labels: dict[str, str]
    value: int | str
    unit: str
    n: int
    half_width: str | None


class Measure:
    """What is observed of one run: hand its consumers the trace, then ask."""

    def __init__(
        self, shape: RunShape, asked: Iterable[Asked] = (), *, exact_values_max: int = EXACT_VALUES_MAX
    ) -> None:
        """Prepare for one run.

        Args:
            shape: Of the run.
            asked: Metrics and selections that gates will look for, beside those that are always listed. Metrics of the
                host are not measured here and are passed over.
            exact_values_max: Waits, and sojourn times, of which every one is kept; above it they are binned.
        """
        self._shape = shape
        self._asked = [(metric, where) for metric, where in asked if not BY_NAME[metric].host]
        chosen = [shape.resolve(where) for _, where in self._asked]
        named = [selection["principal"] for selection in chosen if "principal" in selection]
        levels = [
            selection for (metric, _), selection in zip(self._asked, chosen, strict=True) if metric.startswith(_LEVELS)
        ]
        self.tracker = LevelTracker(
            shape,
            (scope_of(selection) for selection in levels),
            (scope_of(selection) for selection in levels if "phase" in selection),
        )
        self._run = Accumulator(shape, named, exact_values_max=exact_values_max)
        self._lanes = LaneTracker(shape)
        self._recoveries = Recoveries(shape)

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """What to hand the trace to."""
        followed = (self.tracker, self._run, self._lanes)
        return (*followed, self._recoveries) if self._shape.outages else followed

    def value(self, metric: str, where: Where) -> int | str | None:
        """Return one metric of one selection, None where there is nothing to measure.

        Args:
            metric: A name of ``sim.metrics`` that does not depend on the host.
            where: Selectors that the metric knows. Times of a principal where there are many, and levels of two
                selectors together, must have been asked for before the run.

        Raises:
            CallerError: If the metric or the selection is not measured.
        """
        return self._value(metric, self._reading(metric, where))

    def observations(self) -> list[Observation]:
        """Return every metric for the whole run, by each single selector, and as it was asked for.

        Metrics by reason, and errors of estimates, that did not occur are left out unless asked for, and so is what has
        no value.
        """
        single = [self._labelled(where) for where in ({}, *self._single_selections())]
        crossed = [
            self._labelled({"class": cls, "phase": phase})
            for cls in self._shape.classes
            for phase in self._shape.names("phase")
        ]
        extra: dict[str, list[Where]] = {}
        for name, where in self._asked:
            extra.setdefault(name, []).append(where)
        found: list[Observation] = []
        for metric in METRICS:
            if metric.host:
                continue
            by_reason = metric.name.startswith(_BY_REASON)
            values: dict[tuple[tuple[str, str], ...], int | str] = {}
            for labels, reading in single + crossed if by_reason else single:
                if set(labels) <= set(metric.selectors) and self._is_kept(metric.name, reading.chosen):
                    exact = DEFINITIONS[metric.name](reading)
                    if exact is not None and (exact or not metric.name.startswith(_IF_OCCURRED)):
                        values[tuple(labels.items())] = _spelt(metric, exact)
            for where in extra.get(metric.name, ()):
                value = self.value(metric.name, where)
                if value is not None:
                    values[tuple(self._labelled(where)[0].items())] = value
            found += [_observation(metric, dict(labels), value) for labels, value in values.items()]
        return found

    def histograms(self) -> dict[str, LogLinearHistogram]:
        """Return waits of admitted attempts and times of completed requests, overall and by class, for figures."""
        found = {}
        for where in ({}, *({"class": cls} for cls in self._shape.classes)):
            labels, reading = self._labelled(where)
            zeros = reading.admitted_attempts - reading.waits.count
            found[series_name("queue.wait", labels)] = reading.waits.histogram().with_zeros(zeros)
            found[series_name("sojourn", labels)] = reading.sojourns.histogram()
        return found

    def notes(self) -> tuple[str, ...]:
        """Return what a reader of the observations should be told about them."""
        notes = [
            f"{stream} is a closed loop of {callers} callers, who ask again once answered: what is slow is asked less"
            for stream, callers in self._shape.loops
        ]
        principals = len(self._shape.principals)
        if principals > PRINCIPALS_LISTED_MAX:
            notes.append(f"of {principals} principals the {PRINCIPALS_LISTED_MAX} with the most arrivals are listed")
        for name, store in (("waits", self._run.waits), ("sojourn times", self._run.sojourns)):
            if not store.is_exact:
                notes.append(f"quantiles of {name} are upper bin edges, less than 0.8 % above the exact value")
        notes += [
            f"recovery from outage {one.name} is not judged: that takes 10 s of its phase before it and 10 s after it"
            for one in self._recoveries.unjudged()
        ]
        return tuple(notes)

    @staticmethod
    def _value(metric: str, reading: Reading) -> int | str | None:
        value = DEFINITIONS[metric](reading)
        return None if value is None else _spelt(BY_NAME[metric], value)

    def _reading(self, metric: str, where: Where) -> Reading:
        if metric not in DEFINITIONS:
            raise CallerError(f"{metric}: no metric of a run")
        if not set(where) <= set(BY_NAME[metric].selectors):
            allowed = ", ".join(BY_NAME[metric].selectors) or "none"
            raise CallerError(f"{metric}: got selectors {', '.join(where)}; allowed: {allowed}")
        chosen = self._shape.resolve(where)
        if metric.startswith(_LEVELS) and not self.tracker.is_followed(scope_of(chosen), by_phase="phase" in chosen):
            raise CallerError(f"{metric}: the level by {' and '.join(where)} was not asked for before the run")
        if not self._is_kept(metric, chosen):
            raise CallerError(f"{metric}: times of principal {where['principal']!r} were not asked for before the run")
        return self._read(chosen)

    def _read(self, chosen: Chosen) -> Reading:
        return Reading(self._run, self.tracker, self._lanes, self._recoveries, chosen)

    def _is_kept(self, metric: str, chosen: Chosen) -> bool:
        if "principal" not in chosen or not metric.startswith(_TIMED):
            return True
        return self._run.groups.knows(chosen["principal"])

    def _labelled(self, where: Where) -> tuple[dict[str, str], Reading]:
        """Return the labels in their canonical order, and the reading."""
        labels: dict[str, str] = {selector: where[selector] for selector in SELECTORS if selector in where}
        return labels, self._read(self._shape.resolve(where))

    def _single_selections(self) -> Iterator[Where]:
        for cls in self._shape.classes:
            yield {"class": cls}
        arrivals, _ = self._run.admissions_by_principal({})
        largest = np.argsort(-arrivals, kind="stable")[:PRINCIPALS_LISTED_MAX]
        for principal in sorted(largest.tolist()):
            yield {"principal": self._shape.principals[principal]}
        for provider in self._shape.providers:
            yield {"provider": provider}
        for phase in self._shape.names("phase"):
            yield {"phase": phase}


def _spelt(metric: Metric, value: int | Fraction) -> int | str:
    if isinstance(value, int) and metric.unit == "count":
        return value
    return decimal_text(Fraction(value) / NS_PER_MS if metric.unit == "ms" else value)


def _observation(metric: Metric, labels: dict[str, str], value: int | str) -> Observation:
    return {"metric": metric.name, "labels": labels, "value": value, "unit": metric.unit, "n": 1, "half_width": None}
