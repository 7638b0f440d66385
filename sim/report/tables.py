"""The rows that page and terminal both show, as texts.

Owns which figures of a record go into which table, in which order, and how many rows a table has at most. Must not know
markup or widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sim.evidence.schema import Record
from sim.measure.slowest import SlowRequest
from sim.report import commands, reading
from sim.report.headroom import Headroom
from sim.report.headroom import with_unit as load_text
from sim.report.report import Report
from sim.report.result import Gate, Result
from sim.report.story import ESTIMANDS, SPOILT
from sim.report.text import DASH, listing, plural, rounded

CLASSES_MAX: Final = 8
"""Classes with a column of their own: a wider table is read by nobody."""

ROWS_MAX: Final = 20
"""Rows a table has at most (contract on records): more are a data set, not a table."""

PRINCIPALS_MAX: Final = 10
"""Principals of whom refusals are shown, those with the most."""

WORST_MAX: Final = 5
"""Worst requests shown."""

_COUNTS: Final = (
    "arrivals",
    "attempts",
    "completed",
    "failed",
    "shed",
    "cancelled",
    "in_flight.end",
    "admission.ratio",
    "goodput.ratio",
    "retry.amplification",
)
"""Counts, in the order in which a request meets them, and the ratios made of them."""

_TIMES: Final = (
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
"""Times, with their headings."""

_FAIRNESS: Final = (
    ("fairness.jain", "Jain's index of goodput"),
    ("fairness.service_lag.max", "service lag, most turns"),
    ("fairness.starvation.max", "starvation, longest"),
    ("lane.eligible_wait.max", "wait while its turn was possible, longest"),
)
"""Figures of fairness, with their headings."""

_PROVIDERS: Final = (
    ("attempts", "attempts"),
    ("completed", "completed"),
    ("failed", "failed"),
    ("active.mean", "calls in service, mean"),
    ("active.max", "calls in service, most"),
    ("utilisation", "of its permits in use"),
    ("breaker.transitions", "breaker, changes of state"),
    ("breaker.open_time", "breaker, time open"),
    ("pause.time", "announced pauses"),
    ("recovery.time", "recovery after an outage"),
    ("recovery.metastable", "outages not recovered from"),
)
"""Figures of providers, with their headings."""

_OF_PRINCIPALS: Final = ("arrivals", "shed", "admission.ratio")
"""What is told of a principal whose requests were refused."""

_PLAIN_BASES: Final = ("single-run", "configuration", "host")
"""Bases of a gate that its other columns already tell."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts.

    Attributes:
        head: Heading of each column.
        rows: Cells of each row.
        names: How many columns, from the left, hold names; the rest hold figures.
        left_out: Rows or classes that did not fit.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate, spelled out."""

    id: str
    verdict: str
    observed: str
    bound: str
    margin: str
    metric: str
    scope: str
    runs: str
    note: str


@dataclass(frozen=True, slots=True)
class HeadroomRow:
    """One limit beside its load, spelled out."""

    scope: str
    limit: str
    bound: str
    offered: str
    peak: str
    use: str
    mark: str


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One of the worst requests, with the command that tells its story."""

    ordinal: int
    who: str
    arrived: str
    took: str
    waited: str
    outcome: str
    held_by: str
    command: str


def gates(result: Result) -> list[GateRow]:
    """Return every gate, in the order of the plan."""
    return [_gate(gate) for gate in result.gates]


def headroom(report: Report) -> list[HeadroomRow]:
    """Return limits beside their loads, the fullest first."""
    return [
        HeadroomRow(
            scope=row.scope,
            limit=row.limit,
            bound=load_text(row.bound, row),
            offered=rounded(row.offered),
            peak=_peak(row),
            use=f"{rounded(100 * row.use, 0)} %",
            mark="" if row is not report.binding else "binds first" if row.use > 1 else "nearest",
        )
        for row in report.headroom[:ROWS_MAX]
    ]


def counts(result: Result) -> Table:
    """Return counts and ratios, a column for the whole run and each class."""
    return _by_label(result, [(metric, metric) for metric in _COUNTS], "class")


def times(result: Result) -> Table:
    """Return waits and sojourn times, a column for the whole run and each class."""
    return _by_label(result, _TIMES, "class")


def fairness(result: Result) -> Table:
    """Return how alike principals were served, a column for the whole run and each class; no rows for one principal."""
    table = _by_label(result, _FAIRNESS, "class")
    return table if len(result.names("principal")) != 1 else Table(table.head, (), names=1)


def providers(result: Result) -> Table:
    """Return load, states and recovery of the providers, a column for the whole run and each."""
    return _by_label(result, _PROVIDERS, "provider", names=list(result.by("utilisation", "provider")))


def refusals(report: Report) -> Table:
    """Return refused requests by reason and class, a column for each phase."""
    result, phases = report.result, report.phase_names
    metrics = (row["metric"] for row in result.record["observations"] if row["metric"].startswith("shed."))
    found = (
        (metric, cls, result.observed(metric, **{"class": cls}))
        for metric in dict.fromkeys(metrics)
        for cls in result.names("class")
    )
    rows = [
        (metric.removeprefix("shed."), cls, *(_count(result, metric, cls, at) for at in phases), whole)
        for metric, cls, row in found
        if (whole := reading.figure(metric, row)) != DASH
    ]
    return _cut(Table(("reason", "class", *phases, "all phases"), tuple(rows), names=2))


def refused_principals(result: Result) -> Table:
    """Return who was refused, most refusals first; no rows where each class is one principal, as classes then tell."""
    head = ("principal", "requests", "refused", "admission.ratio")
    refused = {name: row.exact for name, row in result.by("shed", "principal").items()}
    if len(result.names("principal")) <= len(result.names("class")):
        return Table(head, (), names=1)
    most = sorted((name for name, count in refused.items() if count), key=lambda name: -(refused[name] or 0))
    rows = tuple(
        (name, *(reading.figure(metric, result.observed(metric, principal=name)) for metric in _OF_PRINCIPALS))
        for name in most[:PRINCIPALS_MAX]
    )
    return Table(head, rows, names=1, left_out=len(most) - len(rows))


def worst(report: Report) -> list[WorstRow]:
    """Return the worst requests, the worst first."""
    return [_worst(row, commands.explain(report, row["ordinal"])) for row in report.slowest[:WORST_MAX]]


def digests(record: Record) -> list[tuple[str, str]]:
    """Return what each digest is of, and the digest; what the record leaves empty is left out."""
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


def _peak(row: Headroom) -> str:
    if row.peak is None or row.peak_bound is None:
        return DASH
    allowed = "" if row.peak_bound == row.bound else f" of {rounded(row.peak_bound)} with burst"
    return f"{rounded(row.peak)}{allowed} ({row.peak_over})"


def _gate(gate: Gate) -> GateRow:
    notes = [
        note
        for note, told in (
            ("implied by the configuration, not counted", gate.implied and not gate.counts),
            ("warns only", gate.warns),
            ("of the machine, ignored by a re-run", gate.is_host),
            (ESTIMANDS[gate.asked["estimand"]], gate.verdict == "INCONCLUSIVE"),
            (SPOILT.get(gate.came["basis"], gate.came["basis"]), gate.came["basis"] not in _PLAIN_BASES),
        )
        if told
    ]
    return GateRow(
        id=gate.id,
        verdict=gate.verdict,
        observed=reading.observed(gate),
        bound=f"{gate.op} {reading.bound(gate)}",
        margin=reading.margin(gate),
        metric=gate.metric,
        scope=", ".join(f"{key} {value}" for key, value in gate.where.items()) or "whole run",
        runs=str(gate.came["n"]),
        note="; ".join(notes),
    )


def _by_label(
    result: Result, metrics: Sequence[tuple[str, str]], label: str, names: Sequence[str] | None = None
) -> Table:
    """Return a row for each metric of which there is a figure, a column for the whole run and each name."""
    every = result.names(label) if names is None else names
    shown = every[:CLASSES_MAX]
    scopes: list[dict[str, str]] = [{}, *({label: name} for name in shown)]
    rows = [
        (heading, *(reading.figure(metric, result.observed(metric, **labels)) for labels in scopes))
        for metric, heading in metrics
        if any(result.observed(metric, **labels) for labels in scopes)
    ]
    head = ("", "whole run", *(f"{label} {name}" for name in shown))
    return Table(head, tuple(rows), names=1, left_out=len(every) - len(shown))


def _cut(table: Table) -> Table:
    rows = table.rows[:ROWS_MAX]
    return Table(table.head, rows, table.names, left_out=len(table.rows) - len(rows))


def _count(result: Result, metric: str, cls: str, phase: str) -> str:
    """Return a count by reason; records leave out those that did not occur, so absent is zero here."""
    row = result.observed(metric, **{"class": cls}, phase=phase)
    return "0" if row is None else reading.figure(metric, row)


def _worst(row: SlowRequest, command: str) -> WorstRow:
    attempts = row["attempts"]
    holds = dict.fromkeys(attempt["hold_text"] for attempt in attempts if attempt["hold"] is not None)
    outcome = f"{row['outcome']}, {row['reason']}" if row["reason"] else row["outcome"]
    return WorstRow(
        ordinal=row["ordinal"],
        who=f"{row['principal']} on {row['provider']}, phase {row['phase']}",
        arrived=reading.seconds(row["intended_ns"]),
        took=reading.ms(row["sojourn_ns"]),
        waited=reading.ms(row["wait_ns"]),
        outcome=f"{outcome} ({plural(len(attempts), 'attempt')})",
        held_by=listing(holds) or "nothing held it",
        command=command,
    )
