"""What a verdict means, why it came out, when it began to go wrong, and what to try next.

Owns the sentences that page and terminal share. Judges nothing: verdicts, bases and margins are those of the record.
Must not know layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from sim.gates.gate import OPERATORS
from sim.report.headroom import Headroom
from sim.report.result import Gate, Result
from sim.report.series import SeriesView, total, trailing
from sim.report.text import command, listing, plural, rounded, seconds_text, with_unit
from tollgate.core.units import NS_PER_S

MEANINGS: Final[Mapping[str, str]] = {
    "PASS": "Every gate that counts holds for this traffic.",
    "FAIL": "At least one gate that counts does not hold: under this traffic the limits break a promise.",
    "INCONCLUSIVE": "Nothing is proven either way: the gates ask for more than the runs made can decide.",
    "INVALID": "The measurement itself cannot be relied on, so nothing is said of the limits, good or bad.",
}
"""What each verdict says, for a reader who meets the word for the first time."""

_INVALID_BASES: Final[Mapping[str, str]] = {
    "no-checks": "the run carries no self-checks, so nothing vouches for its numbers",
    "missing": "it has no observation to compare with its bound",
    "not-a-number": "its observation is not a number",
    "wrong-unit": "its observation is in another unit than its bound",
    "no-arrivals": "no request arrived that it could speak of",
    "implied-bound-broken": "the configuration forbids what was observed: the code under test let it through",
    "no-deciding-gate": "no gate counts: each is implied by the configuration or only warns",
}

_REFUSAL_METRICS: Final = ("admission.ratio", "goodput.ratio", "goodput.per_second", "completed", "shed")
"""Metrics that refusals move."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to try next: a sentence and, where there is one, the command."""

    text: str
    command: str | None = None


def gate_sentence(gate: Gate) -> str:
    """Return what a gate observed and asked for, in words."""
    of = listing(f"{key} {value}" for key, value in gate.where.items())
    return (
        f"{gate.metric}{f' of {of}' if of else ''} came to {with_unit(gate.came['observed'], gate.asked['unit'])}, "
        f"asked for is {gate.op} {with_unit(gate.asked['bound'], gate.asked['unit'])}"
    )


def why(result: Result) -> str:
    """Return in one sentence why the verdict is what it is."""
    return {"PASS": _why_pass, "FAIL": _why_fail, "INCONCLUSIVE": _why_inconclusive, "INVALID": _why_invalid}[
        result.verdict
    ](result)


def scope_of_claim(result: Result) -> str:
    """Return how far the verdict reaches."""
    runs = result.record["plan"]["n"]
    return "On 1 seed; nothing is said of others." if runs == 1 else f"Over {runs} runs."


def first_breach(result: Result, view: SeriesView | None) -> str | None:
    """Return when the first failing gate began to go wrong, or None for a verdict without a failing gate.

    Args:
        result: The record.
        view: The series of the run; without them the sentence says that they are missing.
    """
    failing = result.missed("FAIL")
    if not failing:
        return None
    if view is None:
        return "When it began is not known: the bundle has no series."
    moments = [(at, gate, what) for gate in failing if (found := _breach(gate, view)) for at, what in [found]]
    if not moments:
        return "The series do not show when it began: no bin by itself crosses the bound."
    at, gate, what = min(moments, key=lambda moment: moment[0])
    start = view.start_ns + at * view.bin_ns
    phase = phase_at(view, start)
    return (
        f"First breach ({gate.id}): {what} between {seconds_text(start)} and {seconds_text(start + view.bin_ns)}"
        f"{f', in phase {phase}' if phase else ''}."
    )


def phase_at(view: SeriesView, at_ns: int) -> str | None:
    """Return the phase that an instant lies in."""
    return next((label for kind, label, _, start, end in view.bands if kind == "phase" and start <= at_ns < end), None)


def next_steps(
    result: Result, rows: Sequence[Headroom], *, manifest: str, bundle: str, worst: int | None
) -> list[Step]:
    """Return what to try next, most useful first.

    Args:
        result: The record.
        rows: Headroom of the run, may be empty.
        manifest: Path of the manifest as a reader types it.
        bundle: Path of the bundle as a reader types it.
        worst: Ordinal of the worst request, where one is kept.
    """
    run = ["tollgate", "run", manifest]
    steps: list[Step] = []
    if result.verdict == "INVALID":
        return _steps_when_invalid(result, bundle)
    if result.verdict == "FAIL":
        tight = [row for row in rows if row.use > 1 and not row.is_buffer]
        sets = [
            f"{path}={-(-row.highest // 1)}"
            for row in tight
            if (path := _settable(row, result.record["manifest"]["schema"]))
        ]
        if sets:
            words = [word for change in sets for word in ("--set", change)]
            steps.append(
                Step(
                    "Give the limits that cannot carry their peak room for it, and see what binds then:",
                    command(*run, *words),
                )
            )
        if worst is not None:
            steps.append(
                Step(
                    "See what held the worst request, check by check:",
                    command("tollgate", "explain", bundle, "--request", str(worst)),
                )
            )
    if result.seed.isdecimal():
        steps.append(
            Step("See whether another seed says the same:", command(*run, "--seed", str(int(result.seed) + 1)))
        )
    steps.append(
        Step(
            "One run is one draw: a verdict with an interval needs many seeds, which `tollgate replicate` makes once your version has it."
        )
    )
    return steps


# ----------------------------------------------------------------------------------------------------------------------- why


def _why_pass(result: Result) -> str:
    counted = result.missed("PASS")
    held = "The gate that counts holds" if len(counted) == 1 else f"All {len(counted)} gates that count hold"
    return f"{held}; nearest to its bound is {counted[0].id}: {gate_sentence(counted[0])}."


def _why_fail(result: Result) -> str:
    worst, *others = result.missed("FAIL")
    also = f"; {listing(gate.id for gate in others)} also missed" if others else ""
    return f"{worst.id} does not hold: {gate_sentence(worst)}{also}."


def _why_inconclusive(result: Result) -> str:
    undecided = result.missed("INCONCLUSIVE")
    are = "is" if len(undecided) == 1 else "are"
    return f"{listing(gate.id for gate in undecided)} {are} not decided: the bound speaks of many runs and this is one of them."


def _why_invalid(result: Result) -> str:
    basis = result.record["verdict"]["basis"]
    broken = [check for check in result.record["checks"] if not check["ok"]]
    if broken:
        more = f" and {plural(len(broken) - 1, 'more check')}" if len(broken) > 1 else ""
        return f"The run breaks its own check {broken[0]['name']}{more}: {broken[0]['detail']}."
    if basis == "unsettled":
        left = result.exact("in_flight.end")
        return f"{plural(int(left), 'request') if left else 'Requests'} had not settled when the drain ended, so the run has no outcome for them."
    reason = _INVALID_BASES.get(basis, f"basis {basis}")
    spoilt = result.missed("INVALID")
    if not spoilt or basis in {"no-checks", "no-deciding-gate"}:
        return f"{reason[0].upper()}{reason[1:]}."
    return f"{spoilt[0].id} cannot be judged: {_INVALID_BASES.get(spoilt[0].came['basis'], reason)}."


# -------------------------------------------------------------------------------------------------------------------- breach


def _breach(gate: Gate, view: SeriesView) -> tuple[int, str] | None:
    """Return the first bin in which a gate's metric goes wrong, and what happened in it."""
    if gate.metric in _REFUSAL_METRICS or gate.metric.startswith("shed."):
        refused = _series(view, "shed", gate.where)
        at = next((index for index, count in enumerate(refused or ()) if count), None)
        of = listing(f"{key} {value}" for key, value in gate.where.items())
        return None if at is None else (at, f"the first refusal{f' of {of}' if of else ''}")
    if gate.metric.startswith("retry.amplification"):
        arrivals, attempts = _series(view, "arrivals", gate.where), _series(view, "attempts", gate.where)
        if arrivals is None or attempts is None:
            return None
        width = max(1, 10 * NS_PER_S // view.bin_ns)
        for index, (came, made) in enumerate(zip(trailing(arrivals, width), trailing(attempts, width), strict=True)):
            if came and not OPERATORS[gate.op](Fraction(made, came), gate.bound):
                return index, f"{rounded(Fraction(made, came))} attempts an arrival over ten seconds"
        return None
    level = {"queue.length.max": "queue", "active.max": "active"}.get(gate.metric)
    if level is not None:
        for index, area in enumerate(_series(view, level, gate.where) or ()):
            if not OPERATORS[gate.op](Fraction(area, view.bin_ns), gate.bound):
                return index, f"{rounded(Fraction(area, view.bin_ns))} on average"
    return None


def _series(view: SeriesView, name: str, where: Mapping[str, str]) -> Sequence[int] | None:
    """Return the series that a gate's selector picks; None where the view keeps none."""
    if not where:
        return total(view, name)
    if len(where) > 1:
        return None
    ((key, value),) = where.items()
    return view.series.get(f"{name}|{key}={value}")


# --------------------------------------------------------------------------------------------------------------------- steps


def _settable(row: Headroom, schema: str) -> str | None:
    """Return the key path that ``--set`` takes for a limit of the workspace or a provider; None for other limits.

    A principal's entry may be a template for many, and a share is no figure to round up: those are left to the reader.
    The seed's manifests have no ``profile`` block and spell keys in camel case.
    """
    if row.limit == "max_principal_share" or row.scope.startswith("principal "):
        return None
    if not schema.startswith("decision-load-manifest/"):
        return row.path
    first, *rest = row.limit.split("_")
    return (
        row.path.removeprefix("profile.").removesuffix(row.limit) + first + "".join(word.capitalize() for word in rest)
    )


def _steps_when_invalid(result: Result, bundle: str) -> list[Step]:
    basis = result.record["verdict"]["basis"]
    if basis in {"checks-failed", "implied-bound-broken"}:
        verify = command("tollgate", "verify", bundle, "--rerun")
        return [
            Step("Make sure that the record is what was measured, and that it comes out the same again:", verify),
            Step("If it does, this is a fault of the program, not of the limits: keep the bundle and report it."),
        ]
    if basis == "unsettled":
        return [Step("Give the run longer to drain (drain_seconds), or offer it less: the backlog outlived the run.")]
    if basis == "no-deciding-gate":
        return [
            Step("Add a gate that the limits do not imply, such as a least admission.ratio of the class you care for.")
        ]
    return [Step("Correct the gate that cannot be judged, and run again.")]


def described(figure: Fraction, unit: str) -> str:
    """Return a derived load or limit with its unit."""
    return f"{rounded(figure)} {unit}"
