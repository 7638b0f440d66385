"""A record's parts in the form in which a report asks for them.

Owns how a figure is found by metric and labels, and the join of a gate's plan with its outcome. Takes a record that
``sim.evidence`` has read and checked; absent figures stay absent, never zero. Must not judge anything: verdicts are
those of the record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sim.evidence.schema import Record
from sim.gates import counts, is_host_metric
from sim.gates.rows import GateResultRow, GateRow, Operator

Figure = int | str
"""A number as the record holds it: an integer or an exact decimal text."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured figure, or the want of one."""

    value: Figure | None
    unit: str

    @property
    def exact(self) -> Fraction | None:
        """The value as an exact number."""
        return None if self.value is None else Fraction(self.value)


@dataclass(frozen=True, slots=True)
class Gate:
    """One judged rule: what the plan asked for and what came out."""

    asked: GateRow
    came: GateResultRow

    @property
    def id(self) -> str:
        """Its name."""
        return self.asked["id"]

    @property
    def metric(self) -> str:
        """The metric it bounds."""
        return self.asked["metric"]

    @property
    def where(self) -> Mapping[str, str]:
        """Selector of the metric, empty for the whole run."""
        return {str(key): value for key, value in self.asked["where"].items()}

    @property
    def op(self) -> Operator:
        """Comparison that has to hold between the observed figure and the bound."""
        return self.asked["op"]

    @property
    def bound(self) -> Fraction:
        """The bound, exact."""
        return Fraction(self.asked["bound"])

    @property
    def observed(self) -> Fraction | None:
        """The observed figure, exact."""
        value = self.came["observed"]
        return None if value is None else Fraction(value)

    @property
    def verdict(self) -> str:
        """What it came to."""
        return self.came["verdict"]

    @property
    def implied(self) -> bool:
        """Whether the configuration itself implies the bound."""
        return self.came["implied"]

    @property
    def warns(self) -> bool:
        """Whether it can only warn."""
        return self.asked["severity"] == "warn"

    @property
    def is_host(self) -> bool:
        """Whether it judges the machine, so that a re-run ignores it."""
        return is_host_metric(self.metric)

    @property
    def counts(self) -> bool:
        """Whether it has a say in the verdict: an implied gate only has once it is broken."""
        return counts(self.asked["severity"], implied=self.implied, verdict=self.verdict)

    @property
    def slack(self) -> Fraction:
        """The margin as a share of the bound, to put gates of different units in order; below zero is a miss."""
        margin = Fraction(self.came["margin"] or 0)
        return margin / abs(self.bound) if self.bound else margin


@dataclass(frozen=True)
class Result:
    """A record, with its figures indexed."""

    record: Record

    @property
    def verdict(self) -> str:
        """PASS, FAIL, INCONCLUSIVE or INVALID."""
        return self.record["verdict"]["overall"]

    @property
    def seed(self) -> str:
        """The seed of the first run."""
        return str(self.record["plan"]["seeds"][0])

    @cached_property
    def gates(self) -> tuple[Gate, ...]:
        """Every gate, in the order of the plan."""
        came = {row["id"]: row for row in self.record["gates"]}
        return tuple(Gate(asked, came[asked["id"]]) for asked in self.record["plan"]["gates"] if asked["id"] in came)

    def counted(self, verdict: str) -> list[Gate]:
        """Return the gates that count and came to ``verdict``, the one with least slack first."""
        gates = (gate for gate in self.gates if gate.counts and gate.verdict == verdict)
        return sorted(gates, key=lambda gate: gate.slack)

    def observed(self, metric: str, **labels: str) -> Observation | None:
        """Return the figure of a metric under exactly these labels."""
        return self._figures.get((metric, frozenset(labels.items())))

    def exact(self, metric: str, **labels: str) -> Fraction | None:
        """Return the exact value of a metric under exactly these labels."""
        row = self.observed(metric, **labels)
        return None if row is None else row.exact

    def by(self, metric: str, label: str) -> dict[str, Observation]:
        """Return the figures of a metric under this one label, by its value, in the order of the record."""
        return {
            row["labels"][key]: Observation(row["value"], row["unit"])
            for row in self.record["observations"]
            if row["metric"] == metric and len(row["labels"]) == 1
            for key in row["labels"]
            if key == label
        }

    def names(self, label: str) -> list[str]:
        """Return the values of a label that arrivals are told apart by, in the order of the record."""
        return list(self.by("arrivals", label))

    @cached_property
    def _figures(self) -> dict[tuple[str, frozenset[tuple[str, str]]], Observation]:
        return {
            (row["metric"], frozenset((str(key), value) for key, value in row["labels"].items())): Observation(
                row["value"], row["unit"]
            )
            for row in self.record["observations"]
        }
