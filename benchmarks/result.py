"""What a benchmark says: one ratio, the bound it has to keep, and how it was measured.

This module owns that value and its line of JSON. It must not know clocks or what was measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure.

    Attributes:
        rounds: Measurements of each side; the median counts.
        arrivals_max: Arrivals of the longest run.
        calls: Calls of a bucket that make one measurement.
    """

    rounds: int = 5
    arrivals_max: int = 1_000_000
    calls: int = 100_000


QUICK = Plan(rounds=3, arrivals_max=100_000, calls=20_000)
"""For work on the benchmarks themselves: a tenth of the length, and no figure to quote."""


@dataclass(frozen=True, slots=True)
class Result:
    """One measured ratio.

    Attributes:
        ratio: Ours divided by the peer's, or the large case divided by the small one; None if the comparison was
            refused because it would say nothing.
        bound: The most it may be.
        how: What was measured on what, in a sentence.
    """

    ratio: float | None
    bound: float
    how: str

    @property
    def ok(self) -> bool:
        """Whether the bound holds; a refused comparison does not."""
        return self.ratio is not None and self.ratio <= self.bound

    def line(self, name: str) -> str:
        """Return the JSON object of one line, keys ``name``, ``ratio``, ``bound``, ``ok``, ``how``."""
        ratio = None if self.ratio is None else round(self.ratio, 3)
        return json.dumps({"name": name, "ratio": ratio, "bound": self.bound, "ok": self.ok, "how": self.how})
