"""A run's series as figures and sentences read them: picked by label, merged into coarser cells, added up.

Owns arithmetic on bins, in integers as far as a line on paper allows. Must not know what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

from sim.measure.series import SeriesView
from tollgate.core.units import NS_PER_S

Named = TypeVar("Named")


def by_label(named: Mapping[str, Named], metric: str, label: str) -> dict[str, Named]:
    """Return what stands under ``metric|label=value`` and no further label, by the value, in the order of the view."""
    prefix = f"{metric}|{label}="
    found = ((key.removeprefix(prefix), item) for key, item in named.items() if key.startswith(prefix))
    return {value: item for value, item in found if "," not in value}


def summed(view: SeriesView, metric: str, label: str, values: Sequence[str]) -> list[int]:
    """Return the series of several values of a label added up, shape ``(bins,)``; of none, that of the whole run."""
    if not values:
        return view.values(metric)
    parts = [view.values(f"{metric}|{label}={value}") for value in values]
    return [sum(column) for column in zip(*parts, strict=True)]


def trailing_ratios(above: Sequence[int], below: Sequence[int], width: int) -> list[Fraction | None]:
    """Return at each place the ratio of two sums over the last ``width`` values, shape as ``above``.

    None where fewer than ``width`` values lie behind, unless there are fewer in all, and where the lower sum is zero.
    """
    width = min(width, len(above))
    ratios: list[Fraction | None] = []
    over = under = 0
    for place, (upper, lower) in enumerate(zip(above, below, strict=True)):
        over, under = over + upper, under + lower
        if place >= width:
            over, under = over - above[place - width], under - below[place - width]
        ratios.append(Fraction(over, under) if under and place >= width - 1 else None)
    return ratios


def phase_at(view: SeriesView, at_ns: int) -> str | None:
    """Return the phase that an instant lies in; None after the last one."""
    phases = (band for band in view.bands if band.kind == "phase")
    return next((band.label for band in phases if band.from_ns <= at_ns < band.to_ns), None)


def measured_tokens(view: SeriesView, warmup_ns: int) -> dict[str, int]:
    """Return the tokens that attempts asked for by scope (``workspace``, ``provider jev``), where they are kept.

    Bins that begin within the warm-up are left out, as the warm-up is in observations.
    """
    first = -(-warmup_ns // view.bin_ns)
    sums = {labels: sum(values[first:]) for labels, values in view.select("tokens").items() if "," not in labels}
    return {labels.replace("=", " ", 1) or "workspace": tokens for labels, tokens in sums.items()}


@dataclass(frozen=True, slots=True)
class Cells:
    """Equal numbers of bins merged into cells: as many as the eye can follow.

    Attributes:
        view: The series that are merged.
        per_cell: Bins in a cell; the last cell may hold more or fewer, and its last bin may be shorter.
    """

    view: SeriesView
    per_cell: int

    @classmethod
    def over(cls, view: SeriesView, most: int) -> Cells:
        """Return at most ``most`` cells over a view."""
        return cls(view, -(-view.bins // most))

    def starts(self) -> list[int]:
        """Return the first bin of each cell, shape ``(cells,)``; a last cell below half a cell joins the one before."""
        starts = [*range(0, self.view.bins, self.per_cell)]
        left_ns = self.view.end_ns - starts[-1] * self.view.bin_ns
        return starts[:-1] if len(starts) > 1 and 2 * left_ns < self.per_cell * self.view.bin_ns else starts

    def edges_ns(self) -> list[int]:
        """Return the edges of the cells, shape ``(cells + 1,)``; the last is the end of the run."""
        return [*(start * self.view.bin_ns for start in self.starts()), self.view.end_ns]

    def per_second(self, counts: Sequence[int]) -> list[float]:
        """Return counts by bin as rates over the cells, per second, shape ``(cells,)``."""
        return self.means([count * NS_PER_S for count in counts])

    def means(self, integrals: Sequence[int]) -> list[float]:
        """Return the time average over each cell, shape ``(cells,)``, of a level given by its integrals in ns."""
        places = [*self.starts(), self.view.bins]
        lengths = [after - edge for edge, after in pairwise(self.edges_ns())]
        return [sum(integrals[at:end]) / ns for (at, end), ns in zip(pairwise(places), lengths, strict=True)]
