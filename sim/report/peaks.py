"""The most that was offered over any short stretch of a run.

Owns the length of a stretch and what is offered over one, read from a run's series. A stretch averages over what a
queue or a bucket's burst can take up, yet is far shorter than a phase. Must not know limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Final

from sim.measure.series import SeriesView, series_name
from tollgate.core.units import NS_PER_S

STRETCH_NS: Final = 10 * NS_PER_S
"""Length aimed at; whole bins come as near to it as they can from below, and one bin is the least."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """Busiest stretches of a run.

    Attributes:
        view: Its series.
        warmup_ns: Bins that begin before it are left out, as the warm-up is in observations.
    """

    view: SeriesView
    warmup_ns: int = 0

    @property
    def length_ns(self) -> int:
        """Length of a stretch, ns."""
        return self._width * self.view.bin_ns

    def most(self, metric: str, label: Mapping[str, str]) -> Fraction | None:
        """Return the highest mean of a series over a stretch, per ns; None where the run keeps no such series."""
        values = self._measured(metric, label)
        return None if values is None else Fraction(_highest_sum(values, self._width), self.length_ns)

    def calls(self, label: Mapping[str, str]) -> Fraction | None:
        """Return the calls that would have been in service over the busiest stretch if all were admitted.

        By Little's law these are the attempts a second times the mean time in service. Calls that were in service can
        be more, where they took longer than the mean.
        """
        attempts, served = self.most("attempts", label), self.most("active", label)
        active, admitted = self._measured("active", label), self._measured("admitted", label)
        if attempts is None or served is None or active is None or admitted is None or not any(admitted):
            return served
        return max(served, attempts * Fraction(sum(active), sum(admitted)))

    @property
    def _width(self) -> int:
        return max(1, min(STRETCH_NS // self.view.bin_ns, self.view.bins))

    def _measured(self, metric: str, label: Mapping[str, str]) -> Sequence[int] | None:
        values = self.view.series.get(series_name(metric, label))
        return None if values is None else values[-(-self.warmup_ns // self.view.bin_ns) :]


def _highest_sum(values: Sequence[int], width: int) -> int:
    """Return the highest sum of ``width`` values in a row, or of all if there are fewer."""
    sums = [0, *accumulate(values)]
    return max(after - before for before, after in zip(sums, sums[min(width, len(values)) :], strict=False))
