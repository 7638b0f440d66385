"""What a verdict means and why it came out, in sentences that page and terminal share.

Owns wording. Judges nothing: verdicts, bases and margins are those of the record. Must not know layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sim.report import reading
from sim.report.result import Gate, Result
from sim.report.text import listing, plural
from tollgate.core.errors import EvidenceError

MEANINGS: Final[Mapping[str, str]] = {
    "PASS": "Every gate that counts holds for this traffic.",
    "FAIL": "At least one gate that counts does not hold: under this traffic the limits break a promise.",
    "INCONCLUSIVE": "Nothing is proven either way: the gates ask for more than one run can decide.",
    "INVALID": "The measurement itself cannot be relied on, so nothing is said of the limits, good or bad.",
}
"""What each verdict says, for a reader who meets the word for the first time."""

OP_WORDS: Final[Mapping[str, str]] = {"<=": "at most", ">=": "at least", "<": "below", ">": "above"}
"""Comparisons as a sentence has them."""

SPOILT: Final[Mapping[str, str]] = {
    "checks-failed": "the run breaks one of its own checks",
    "no-checks": "the run carries no self-checks, so nothing vouches for its numbers",
    "missing": "it has no observation to compare with its bound",
    "not-a-number": "its observation is not a number",
    "wrong-unit": "its observation is in another unit than its bound",
    "unsettled": "requests had not settled when the run ended",
    "no-arrivals": "no request arrived that it could speak of",
    "implied-bound-broken": "the configuration forbids what was observed, so the code under test let it through",
    "no-deciding-gate": "no gate counts: each is implied by the configuration or only warns",
}
"""What each basis of an INVALID gate says (``sim.gates.evaluation.Basis``)."""


ESTIMANDS: Final[Mapping[str, str]] = {
    "path": "speaks of this run",
    "mean": "speaks of the mean over many runs",
    "hold": "speaks of the share of many runs that hold",
}
"""What the bound of a gate speaks of, which tells why one run leaves it open."""


def gate_sentence(gate: Gate) -> str:
    """Return what a gate observed and asked for, in words."""
    of = listing(f"{key} {value}" for key, value in gate.where.items())
    return (
        f"{gate.metric}{f' of {of}' if of else ''} came to {reading.observed(gate)} "
        f"and should be {OP_WORDS[gate.op]} {reading.bound(gate)}"
    )


def why(result: Result) -> str:
    """Return in one sentence why the verdict is what it is.

    Raises:
        EvidenceError: If no gate of the record came to its verdict.
    """
    told = {"PASS": _why_pass, "FAIL": _why_fail, "INCONCLUSIVE": _why_inconclusive, "INVALID": _why_invalid}
    return told[result.verdict](result)


def scope_of_claim(result: Result) -> str:
    """Return how far the verdict reaches."""
    runs = result.record["plan"]["n"]
    return "On 1 seed; nothing is said of others." if runs == 1 else f"Over {runs} seeds."


def _deciding(result: Result) -> list[Gate]:
    """Return the gates that made the verdict, the one with least slack first.

    Raises:
        EvidenceError: If there is none: whoever wrote this record did not work its verdict out.
    """
    gates = result.counted(result.verdict)
    if not gates:
        raise EvidenceError(
            f"record.json: verdict.overall: got {result.verdict}; allowed: what a gate that counts came to"
        )
    return gates


def _why_pass(result: Result) -> str:
    held = _deciding(result)
    all_hold = "The gate that counts holds" if len(held) == 1 else f"All {len(held)} gates that count hold"
    return f"{all_hold}; nearest to its bound is {held[0].id}: {gate_sentence(held[0])}."


def _why_fail(result: Result) -> str:
    worst, *others = _deciding(result)
    also = f"; {listing(gate.id for gate in others)} also missed" if others else ""
    return f"{worst.id} does not hold: {gate_sentence(worst)}{also}."


def _why_inconclusive(result: Result) -> str:
    undecided = _deciding(result)
    names = listing(gate.id for gate in undecided)
    are, bounds = ("is", "its bound speaks") if len(undecided) == 1 else ("are", "their bounds speak")
    held = len(result.counted("PASS"))
    rest = f"; {'the other gate that counts holds' if held == 1 else f'the other {held} gates that count hold'}"
    return f"{names} {are} not decided: {bounds} of many runs, and this is one of them{rest if held else ''}."


def _why_invalid(result: Result) -> str:
    basis = result.record["verdict"]["basis"]
    broken = [check for check in result.record["checks"] if not check["ok"]]
    if broken:
        more = f" and {plural(len(broken) - 1, 'more check')}" if len(broken) > 1 else ""
        return f"The run breaks its own check {broken[0]['name']}{more}: {broken[0]['detail']}."
    if basis == "unsettled":
        left = result.exact("in_flight.end")
        who = plural(int(left), "request") if left else "Requests"
        return f"{who} had not settled when the drain ended, so the run has no outcome for them."
    spoilt = result.counted("INVALID")
    if not spoilt or basis in {"no-checks", "no-deciding-gate"}:
        reason = SPOILT.get(basis, f"basis {basis}")
        return f"{reason[0].upper()}{reason[1:]}."
    return f"{spoilt[0].id} cannot be judged: {SPOILT.get(spoilt[0].came['basis'], spoilt[0].came['basis'])}."
