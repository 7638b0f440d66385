"""From stored numbers to verdicts: a pure function of gates, observations and self-checks.

Owns what each gate comes to and how gates combine. Everything it reads stands in a record, so anyone can work a verdict
out again. It must not know runs, manifests or files, and compares exact fractions only.

No PASS comes out of missing data: a number that is absent, unreadable, drawn from no arrivals, or taken from a run that
failed its own checks makes a gate INVALID.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

from sim.gates.gate import Gate
from sim.gates.rows import CheckRow, GateResultRow, Number, ObservationRow
from sim.gates.verdict import Verdict
from tollgate.core.errors import ConfigError
from tollgate.core.units import decimal_text, fraction

UNSETTLED_METRIC: Final = "in_flight.end"
"""Requests unsettled when the drain ended; a run that leaves any behind has no verdict (contract: drain)."""


class Basis(StrEnum):
    """What a verdict rests on."""

    SINGLE_RUN = "single-run"  # one seed; nothing is said of others
    CONFIGURATION = "configuration"  # an implied gate: no run could miss it
    HOST = "host"  # a figure of this machine, which a re-run ignores
    CHECKS_FAILED = "checks-failed"
    NO_CHECKS = "no-checks"
    UNSETTLED = "unsettled"
    MISSING = "missing"
    UNREADABLE = "not-a-number"
    WRONG_UNIT = "wrong-unit"
    NO_ARRIVALS = "no-arrivals"
    IMPLIED_BROKEN = "implied-bound-broken"  # the code under test let through what its configuration forbids
    NO_DECIDING_GATE = "no-deciding-gate"


_Numbers = Mapping[tuple[str, frozenset[tuple[str, str]]], list[ObservationRow]]
"""The rows of each (metric, labels): one, unless something is wrong."""

METHOD: Final = "point"
"""How one run's number meets its bound: compared as it is."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one gate came to.

    Attributes:
        gate: The gate.
        observed: The stored number, or None when there is none.
        margin: Signed distance to the bound in the gate's unit, exact decimal; negative is a miss; None without a
            number.
        verdict: The verdict.
        basis: What it rests on, or what keeps the gate from deciding.
        n: Runs it rests on.
        method: How the number met the bound.
    """

    gate: Gate
    observed: Number | None
    margin: str | None
    verdict: Verdict
    basis: Basis
    n: int = 1
    method: str = METHOD

    def to_row(self) -> GateResultRow:
        """Return the row that a record holds."""
        return GateResultRow(
            id=self.gate.id,
            metric=self.gate.metric,
            op=self.gate.op,
            bound=self.gate.bound,
            observed=self.observed,
            margin=self.margin,
            verdict=self.verdict.value,
            implied=self.gate.is_implied,
            basis=self.basis.value,
            n=self.n,
            method=self.method,
        )


class Overall(NamedTuple):
    """The verdict over all gates and what it rests on."""

    verdict: Verdict
    basis: Basis


def evaluate(
    gates: Sequence[Gate],
    observations: Iterable[ObservationRow],
    *,
    checks: Sequence[CheckRow],
    n: int = 1,
) -> list[GateResult]:
    """Work out what each gate comes to.

    Args:
        gates: The gates, each with what its configuration guarantees.
        observations: All stored numbers of the run, those of the host included.
        checks: The run's self-checks.
        n: Runs behind the numbers; only 1 for now.

    Returns:
        One result a gate, in the order of ``gates``.

    Raises:
        ConfigError: For any ``n`` but 1.
    """
    if n != 1:
        raise ConfigError("n", n, "1; gates over several replications (intervals, shares of runs) are not built yet")
    numbers: dict[tuple[str, frozenset[tuple[str, str]]], list[ObservationRow]] = {}
    for row in observations:
        numbers.setdefault((row["metric"], frozenset(row["labels"].items())), []).append(row)
    fault = _fault_of_run(numbers, checks)
    return [_evaluate_one(gate, numbers, fault) for gate in gates]


def counts(severity: str, *, implied: bool, verdict: str) -> bool:
    """Return whether a gate has a say in the verdict over all.

    A gate that only warns never counts. An implied gate counts when it is INVALID; otherwise it is shown and not
    counted, so that gates which no run could miss never make a PASS.
    """
    return severity == "block" and (not implied or verdict == Verdict.INVALID)


def overall(results: Sequence[GateResult]) -> Overall:
    """Return the verdict over all gates: the worst of those that count."""
    counted = [
        result
        for result in results
        if counts(result.gate.severity, implied=result.gate.is_implied, verdict=result.verdict)
    ]
    if not counted:
        return Overall(Verdict.INVALID, Basis.NO_DECIDING_GATE)
    worst = max((result.verdict for result in counted), key=lambda verdict: verdict.weight)
    bases = [result.basis for result in counted if result.verdict is worst]
    return Overall(worst, next((basis for basis in bases if basis is not Basis.HOST), Basis.HOST))


def _evaluate_one(gate: Gate, numbers: _Numbers, fault: Basis | None) -> GateResult:
    scope = frozenset(gate.where.items())
    rows = numbers.get((gate.metric, scope), [])
    observed = _value_of(rows)
    if observed is None:
        absent = Basis.UNREADABLE if len(rows) == 1 else Basis.MISSING
        return GateResult(gate, None, None, Verdict.INVALID, fault or absent)
    value = rows[0]["value"]
    if fault is None and gate.metric != "arrivals" and _value_of(numbers.get(("arrivals", scope), [])) == 0:
        fault = Basis.NO_ARRIVALS  # a ratio over nothing is 1 by convention, and would pass
    verdict, basis = (Verdict.INVALID, fault) if fault else _judge(gate, rows[0], observed)
    return GateResult(gate, value, _same_places(gate.margin(observed), gate.bound, value), verdict, basis)


def _judge(gate: Gate, row: ObservationRow, observed: Fraction) -> tuple[Verdict, Basis]:
    """Return what a gate comes to on one sound run."""
    if row["unit"] != gate.unit:
        return Verdict.INVALID, Basis.WRONG_UNIT
    holds = gate.holds(observed)
    if gate.is_implied:
        # Every run holds what the configuration guarantees, so the estimand does not matter; a miss is the code's
        # fault.
        return (Verdict.PASS, Basis.CONFIGURATION) if holds else (Verdict.INVALID, Basis.IMPLIED_BROKEN)
    basis = Basis.HOST if gate.is_host else Basis.SINGLE_RUN
    if gate.estimand != "path":
        return Verdict.INCONCLUSIVE, basis
    return Verdict.PASS if holds else Verdict.FAIL, basis


def _fault_of_run(numbers: _Numbers, checks: Sequence[CheckRow]) -> Basis | None:
    """Return what keeps every number of the run from counting, or None."""
    if not checks:
        return Basis.NO_CHECKS
    if not all(check["ok"] is True for check in checks):
        return Basis.CHECKS_FAILED
    if _value_of(numbers.get((UNSETTLED_METRIC, frozenset()), [])) != 0:
        return Basis.UNSETTLED  # also when it was not measured: nothing says that the run ended
    return None


def _value_of(rows: Sequence[ObservationRow]) -> Fraction | None:
    return _number(rows[0]["value"]) if len(rows) == 1 else None


def _number(value: object) -> Fraction | None:
    """Return a stored number exactly, or None for anything that is not an integer or a plain decimal."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return fraction(value)
    except ConfigError:
        return None


def _same_places(value: Fraction, *operands: Number) -> str:
    """Return a sum of decimals as text, with as many places as its finest operand has."""
    return decimal_text(value, places=max(len(str(operand).partition(".")[2]) for operand in operands))
