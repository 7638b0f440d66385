"""One gate: which number, against which bound, and how much a miss weighs.

Owns the comparison in exact arithmetic. It must not know manifests: a gate is read from the plan of a record.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from sim.gates.rows import GateRow, Operator
from sim.metrics import BY_NAME
from tollgate.core.units import fraction

OPERATORS: Final[Mapping[Operator, Callable[[Fraction, Fraction], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
"""What each ``op`` asks of ``observed op bound``."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A bound on one metric.

    Attributes:
        id: Name of the gate, unique in its manifest.
        metric: Dotted name of the metric.
        where: Selectors that pick one observation; empty for the whole run.
        op: The comparison that must hold between the observed value and ``bound``.
        bound: Exact decimal, in ``unit``.
        unit: Unit of the metric.
        estimand: What the bound speaks of: this very run (``path``), the mean over seeds, or the share of runs that
            hold it (``hold``).
        confidence: Confidence level of the decision, a decimal; only replications use it.
        min_probability: Least share of runs that must hold, a decimal (``hold`` only).
        severity: Whether a miss blocks or only warns.
        guaranteed: The value that the configuration alone keeps the metric from crossing in the direction of ``op``, an
            exact decimal in ``unit``, or None.
    """

    id: str
    metric: str
    where: Mapping[str, str]
    op: Operator
    bound: str
    unit: str
    estimand: Literal["path", "mean", "hold"]
    confidence: str | None
    min_probability: str | None
    severity: Literal["block", "warn"]
    guaranteed: str | None = None

    @classmethod
    def from_row(cls, row: GateRow) -> Gate:
        """Return the gate that a row of a plan states."""
        return cls(**row)

    @property
    def is_host(self) -> bool:
        """Whether the metric is a figure of the machine, which a re-run need not reproduce."""
        return is_host_metric(self.metric)

    @property
    def is_implied(self) -> bool:
        """Whether the configuration alone keeps the bound, so that holding it says nothing of the limits."""
        return self.guaranteed is not None and self.holds(fraction(self.guaranteed))

    def holds(self, observed: Fraction) -> bool:
        """Return whether ``observed`` (in ``unit``) keeps the bound, in exact arithmetic."""
        return OPERATORS[self.op](observed, fraction(self.bound))

    def margin(self, observed: Fraction) -> Fraction:
        """Return the distance from ``observed`` to the bound in ``unit``; negative on the wrong side of it."""
        distance = fraction(self.bound) - observed
        return distance if self.op in {"<=", "<"} else -distance


def is_host_metric(name: str) -> bool:
    """Return whether a metric is a figure of the machine; a name that this version does not know is none."""
    metric = BY_NAME.get(name)
    return metric is not None and metric.host
