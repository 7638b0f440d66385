"""Verdicts from stored numbers alone: anyone with a record can work its verdict out again."""

from __future__ import annotations

from sim.gates.evaluation import Basis, GateResult, Overall, counts, evaluate, overall
from sim.gates.gate import Gate, is_host_metric
from sim.gates.guarantees import Callers, Guarantees
from sim.gates.rows import CheckRow, GateResultRow, GateRow, ObservationRow
from sim.gates.verdict import Verdict

__all__ = [
    "Basis",
    "Callers",
    "CheckRow",
    "Gate",
    "GateResult",
    "GateResultRow",
    "GateRow",
    "Guarantees",
    "ObservationRow",
    "Overall",
    "Verdict",
    "counts",
    "evaluate",
    "is_host_metric",
    "overall",
]
