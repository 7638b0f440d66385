"""The part of a run's series that figures and sentences read.

Owns the names under which series are found and how bins are merged. Must not know who counted them: a ``Run`` and a
bundle both provide a view of this form. Counts are per bin; levels (``active``, ``queue``) are integrals over the bin
in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from tollgate.core.units import NS_PER_S

Named = TypeVar("Named")


class Histogram(Protocol):
    """Counts of waits, nanoseconds, by bucket."""

    def buckets(self) -> Iterable[tuple[int, int, int]]:
        """Yield (lowest value, highest value, count) of each bucket that is not empty, in rising order."""


class SeriesView(Protocol):
    """Equal time bins and histograms of one run."""

    @property
    def start_ns(self) -> int:
        """Start of the first bin."""

    @property
    def bin_ns(self) -> int:
        """Length of a bin."""

    @property
    def series(self) -> Mapping[str, Sequence[int]]:
        """Values by name, such as ``arrivals|class=noisy``."""

    @property
    def histograms(self) -> Mapping[str, Histogram]:
        """Histograms by name, such as ``queue.wait|class=noisy``."""

    @property
    def bands(self) -> Sequence[tuple[str, str, str, int, int]]:
        """Stretches of time: (kind, label, state, from_ns, to_ns); the kinds are phase, breaker, pause and outage."""


def by_label(named: Mapping[str, Named], name: str, label: str) -> dict[str, Named]:
    """Return what stands under ``name|label=value`` and no further label, by the value, in the order of the view."""
    prefix = f"{name}|{label}="
    found = ((key.removeprefix(prefix), value) for key, value in named.items() if key.startswith(prefix))
    return {value: item for value, item in found if "|" not in value}


def total(view: SeriesView, name: str) -> list[int]:
    """Return a series over the whole run: the one without a label, else the sum over classes.

    Returns:
        A value a bin, shape ``(bins,)``; zeros where the view does not have the series.
    """
    if name in view.series:
        return list(view.series[name])
    parts = by_label(view.series, name, "class").values()
    return [sum(column) for column in zip(*parts, strict=True)] if parts else [0] * bins(view)


def bins(view: SeriesView) -> int:
    """Return the number of bins."""
    return max((len(values) for values in view.series.values()), default=0)


@dataclass(frozen=True, slots=True)
class Grid:
    """A coarser time grid over a view's bins: what the eye can follow.

    Attributes:
        start_ns: Start of the first cell.
        bin_ns: Length of a bin of the view.
        per_cell: Bins merged into a cell; the last cell may hold fewer.
        bins: Bins of the view.
    """

    start_ns: int
    bin_ns: int
    per_cell: int
    bins: int

    @classmethod
    def over(cls, view: SeriesView, cells: int) -> Grid:
        """Return the grid of at most ``cells`` cells."""
        n = bins(view)
        return cls(view.start_ns, view.bin_ns, max(1, -(-n // cells)), n)

    def edges_s(self) -> list[float]:
        """Return the edges of the cells in seconds, shape ``(cells + 1,)``."""
        marks = [*range(0, self.bins, self.per_cell), self.bins]
        return [(self.start_ns + mark * self.bin_ns) / NS_PER_S for mark in marks]

    def sums(self, values: Sequence[int]) -> list[int]:
        """Return the sum of a series over each cell, shape ``(cells,)``."""
        return [sum(values[at : at + self.per_cell]) for at in range(0, self.bins, self.per_cell)]

    def lengths_ns(self) -> list[int]:
        """Return the length of each cell in nanoseconds, shape ``(cells,)``."""
        return [min(self.per_cell, self.bins - at) * self.bin_ns for at in range(0, self.bins, self.per_cell)]

    def per_second(self, counts: Sequence[int]) -> list[float]:
        """Return counts a bin as a rate over each cell, per second, shape ``(cells,)``."""
        return [n * NS_PER_S / ns for n, ns in zip(self.sums(counts), self.lengths_ns(), strict=True)]

    def mean_level(self, integrals: Sequence[int]) -> list[float]:
        """Return a level's time average over each cell, shape ``(cells,)``, from its integrals a bin in nanoseconds."""
        return [area / ns for area, ns in zip(self.sums(integrals), self.lengths_ns(), strict=True)]


def trailing(values: Sequence[int], width: int) -> list[int]:
    """Return at each position the sum of the last ``width`` values up to and including it, shape as ``values``."""
    sums, running = [], 0
    for index, value in enumerate(values):
        running += value - (values[index - width] if index >= width else 0)
        sums.append(running)
    return sums
