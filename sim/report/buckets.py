"""How full the token buckets of a run were, worked out from its series.

Owns the recursion over bins. What is drawn in a bin counts as drawn evenly over it, so a level is that of the bin's end
up to what was drawn within the bin. Must not know how a bucket decides or what is drawn on paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Final

from sim.measure.series import SeriesView, series_name
from sim.report.scopes import Scope, scopes
from tollgate.core.units import NS_PER_MIN, NS_PER_S

_KINDS: Final = (
    ("requests_per_minute", "requests_burst", "admitted", NS_PER_MIN),
    ("tokens_per_second", "tokens_burst", "drawn", NS_PER_S),
)
"""Rate, size, the series of what is drawn, and the time that the rate counts over."""


@dataclass(frozen=True, slots=True)
class BucketLevel:
    """One bucket over a run.

    Attributes:
        name: Whose it is and which, such as ``workspace, tokens_per_second``.
        size: What it holds when full.
        levels: Level at the end of each bin, in parts of which ``full`` are the whole bucket, shape ``(bins,)``.
        full: Such parts in a full bucket.
    """

    name: str
    size: Fraction
    levels: Sequence[int]
    full: int

    @property
    def shares(self) -> list[Fraction]:
        """The levels as shares of ``size``, from 0 to 1."""
        return [Fraction(level, self.full) for level in self.levels]

    @property
    def lowest(self) -> Fraction:
        """The lowest share of all."""
        return Fraction(min(self.levels, default=self.full), self.full)


def bucket_levels(view: SeriesView, profile: Mapping[str, object]) -> list[BucketLevel]:
    """Return every bucket of a profile whose draws the series tell, the emptiest first.

    Args:
        view: The run's series.
        profile: The ``profile:`` block of the run.
    """
    workspace, providers, principals = scopes(profile)
    found = [level for scope in (workspace, *providers, *principals) for level in _of_scope(view, scope)]
    return sorted(found, key=lambda level: level.lowest)


def _of_scope(view: SeriesView, scope: Scope) -> Iterator[BucketLevel]:
    for limit, burst, metric, over_ns in _KINDS:
        rate, size = scope.bound(limit), scope.burst(limit, burst)
        drawn = view.series.get(series_name(metric, scope.label))
        if rate is not None and size is not None and drawn is not None:
            per_ns = rate / over_ns
            parts = lcm(per_ns.denominator, size.denominator)  # of one unit: in these all figures are whole
            full = int(size * parts)
            levels = _levels(view, drawn, (int(per_ns * parts), parts, full))
            yield BucketLevel(f"{scope.name}, {limit}", size, levels, full)


def _levels(view: SeriesView, drawn: Sequence[int], parts: tuple[int, int, int]) -> list[int]:
    """Return the level at the end of each bin; ``parts`` come in a ns, make up a unit, and fill the bucket."""
    per_ns, unit, full = parts
    level, levels = full, []
    for place, amount in enumerate(drawn):
        length_ns = min(view.bin_ns, view.end_ns - place * view.bin_ns)
        level = min(full, max(0, level + per_ns * length_ns - unit * amount))
        levels.append(level)
    return levels
