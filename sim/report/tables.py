"""The rows that page and terminal both show.

Owns which figures of a record go into which table, in which order, and how many rows a table has at most. Must not know
markup or widths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sim.evidence.schema import Record
from sim.report.headroom import Headroom
from sim.report.result import Gate, Observation, Result
from sim.report.text import DASH, command, ms_text, rounded, seconds_text, with_unit

ROWS_MAX: Final = 20
"""Rows a table has at most: more are a data set, not a table."""

WORST_MAX: Final = 5
"""Worst requests shown."""

WAIT_METRICS: Final = (
    ("queue.wait.mean", "wait, mean"),
    ("queue.wait.p50", "wait, p50"),
    ("queue.wait.p95", "wait, p95"),
    ("queue.wait.p99", "wait, p99"),
    ("queue.wait.max", "wait, longest"),
    ("queue.dwell.p99", "in queue, p99"),
    ("queue.dwell.max", "in queue, longest"),
    ("sojourn.p50", "sojourn, p50"),
    ("sojourn.p95", "sojourn, p95"),
    ("sojourn.p99", "sojourn, p99"),
)
"""Times shown, with their heading."""

COUNT_METRICS: Final = (
    "arrivals", "attempts", "completed", "failed", "shed", "cancelled", "in_flight.end",
    "admission.ratio", "goodput.ratio", "retry.amplification",
)  # fmt: skip
"""Counts and the ratios made of them, in the order in which a request meets them."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate, spelled out."""

    id: str
    metric: str
    scope: str
    observed: str
    bound: str
    margin: str
    verdict: str
    note: str
    n: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of texts: a heading a column, and rows that start with their name."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class HeadroomRow:
    """One limit beside its load, spelled out."""

    scope: str
    limit: str
    bound: str
    offered: str
    peak: str
    use: str
    binds_first: bool


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One of the worst requests, with the command that tells its story."""

    ordinal: int
    who: str
    when: str
    wait: str
    outcome: str
    held_by: str
    command: str


def gate_rows(result: Result) -> list[GateRow]:
    """Return every gate, in the order of the record."""
    return [_gate_row(gate) for gate in result.gates]


def headroom_rows(rows: Sequence[Headroom], first: Headroom | None) -> list[HeadroomRow]:
    """Return limits beside their loads, at most ``ROWS_MAX``."""
    return [
        HeadroomRow(
            scope=row.scope,
            limit=row.limit,
            bound=f"{rounded(row.bound)} {row.unit}",
            offered=rounded(row.offered),
            peak=DASH if row.peak is None else f"{rounded(row.peak)} ({row.peak_phase})",
            use=f"{rounded(100 * row.use, 0)} %",
            binds_first=row is first,
        )
        for row in rows[:ROWS_MAX]
    ]


def counts(result: Result) -> Grid:
    """Return counts and ratios for the whole run and each class."""
    return _by_class(result, [(name, name) for name in COUNT_METRICS])


def waits(result: Result) -> Grid:
    """Return waits and sojourn times for the whole run and each class."""
    return _by_class(result, WAIT_METRICS)


def refusals(result: Result) -> Grid:
    """Return refused requests by reason and class, a column for each phase."""
    phases, classes = result.names("phase"), result.names("class")
    rows = [
        (
            reason.removeprefix("shed."),
            cls,
            *(_count(result.observed(reason, **{"class": cls}, phase=phase)) for phase in phases),
            _count(whole),
        )
        for reason in dict.fromkeys(
            row["metric"] for row in result.record["observations"] if row["metric"].startswith("shed.")
        )
        for cls in classes
        if (whole := result.observed(reason, **{"class": cls})) is not None
    ]
    return Grid(("reason", "class", *phases, "all phases"), tuple(rows[:ROWS_MAX]), max(0, len(rows) - ROWS_MAX))


def digests(record: Record) -> list[tuple[str, str]]:
    """Return every digest that binds the run, by what it is a digest of; what a record leaves empty is left out."""
    found = {
        "record": record["digest"],
        "observations": record["observations_digest"],
        "plan": record["plan_digest"],
        "manifest": record["manifest"]["sha256"],
        "code": record["code"]["source_sha256"],
        "locked dependencies": record["lock_sha256"],
    }
    for run in record["runs"]:
        found[f"arrivals, seed {run['seed']}"] = run["arrivals_sha256"]
        found[f"outcomes, seed {run['seed']}"] = run["outcomes_sha256"]
    return [(name, value) for name, value in found.items() if value]


def worst_rows(slowest: Sequence[Mapping[str, object]], bundle: str) -> list[WorstRow]:
    """Return the worst requests, at most ``WORST_MAX``, in the order given (worst first).

    Args:
        slowest: The rows of ``slowest.json``.
        bundle: Path of the bundle as a reader types it.
    """
    return [_worst_row(row, bundle) for row in slowest[:WORST_MAX]]


def _gate_row(gate: Gate) -> GateRow:
    notes = [
        word
        for word, told in (
            ("implied by the configuration: not counted", gate.implied),
            ("warns only", gate.warns),
            ("host: a re-run ignores it", gate.is_host),
        )
        if told
    ]
    basis, unit = gate.came["basis"], gate.asked["unit"]
    if basis not in {"single-run", "configuration", "host"}:
        notes.append(basis)
    return GateRow(
        id=gate.id,
        metric=gate.metric,
        scope=", ".join(f"{key} {value}" for key, value in gate.where.items()) or "whole run",
        observed=with_unit(gate.came["observed"], unit),
        bound=f"{gate.op} {with_unit(gate.asked['bound'], unit)}",
        margin=with_unit(gate.came["margin"], unit),
        verdict=gate.verdict,
        note="; ".join(notes),
        n=str(gate.came["n"]),
    )


def _by_class(result: Result, columns: Sequence[tuple[str, str]]) -> Grid:
    """Return a row for the whole run and one for each class, a column for each metric of which there is a figure."""
    shown = [(metric, heading) for metric, heading in columns if result.observed(metric) or result.by(metric, "class")]
    classes = result.names("class")
    rows = [("whole run", *(_cell(result.observed(metric)) for metric, _ in shown))]
    rows += [
        (cls, *(_cell(result.observed(metric, **{"class": cls})) for metric, _ in shown))
        for cls in classes[: ROWS_MAX - 1]
    ]
    return Grid(("", *(heading for _, heading in shown)), tuple(rows), max(0, len(classes) - ROWS_MAX + 1))


def _cell(row: Observation | None) -> str:
    return DASH if row is None else with_unit(row.value, row.unit)


def _count(row: Observation | None) -> str:
    """Return a count; what did not occur is left out of a record's metrics by reason, so absent is zero here."""
    return "0" if row is None else _cell(row)


def _worst_row(row: Mapping[str, object], bundle: str) -> WorstRow:
    ordinal = int(str(row["ordinal"]))
    intended, settled = row.get("intended_ns"), row.get("settled_ns")
    wait = row.get("wait_ns", settled - intended if isinstance(settled, int) and isinstance(intended, int) else None)
    reason = str(row.get("reason") or "")
    attempts = row.get("attempts")
    outcome = str(row.get("outcome", "")) + (f": {reason}" if reason else "")
    return WorstRow(
        ordinal=ordinal,
        who=", ".join(str(row[key]) for key in ("principal", "provider", "phase") if row.get(key)),
        when=seconds_text(intended) if isinstance(intended, int) else DASH,
        wait=ms_text(wait) if isinstance(wait, int) else DASH,
        outcome=outcome + (f" after {attempts} attempts" if isinstance(attempts, int) and attempts > 1 else ""),
        held_by=str(row.get("held_by") or DASH),
        command=command("tollgate", "explain", bundle, "--request", str(ordinal)),
    )
