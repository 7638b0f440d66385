"""What to try next, as commands that can be typed.

Owns the suggestions. They are things to try, not promises: a suggested limit is the smallest that would carry the
measured peak, and what binds after it only another run tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic.alias_generators import to_camel

from sim.manifest.model import SEED_SCHEMAS
from sim.report import commands
from sim.report.headroom import Headroom
from sim.report.report import Report

_NO_MATTER_OF_ROOM: Final = ("retry.", "breaker.", "pause.", "cancel.", "failed", "host.")
"""Metrics that higher limits do not help."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to try next: a sentence and, where there is one, the command."""

    text: str
    command: str | None = None


def next_steps(report: Report) -> list[Step]:
    """Return what to try next, most useful first."""
    if report.result.verdict == "INVALID":
        return list(_when_invalid(report))
    own = {"FAIL": _when_failed, "INCONCLUSIVE": _when_undecided}.get(report.result.verdict)
    return [*(own(report) if own else ()), *_always(report)]


def _when_invalid(report: Report) -> Iterator[Step]:
    basis = report.record["verdict"]["basis"]
    if basis in {"checks-failed", "implied-bound-broken"}:
        yield Step(
            "Make sure that the record is what was measured, and comes out the same again:", commands.verify(report)
        )
        yield Step("If it does, this is a fault of the program, not of the limits: keep the bundle and report it.")
    elif basis == "unsettled":
        yield Step("Give the run longer to drain (drain_seconds), or offer it less: the backlog outlived the run.")
    elif basis == "no-deciding-gate":
        yield Step("Add a gate that the limits do not imply, such as a least admission.ratio of a class you care for.")
    else:
        yield Step("Correct the gate that cannot be judged, and run again.")


def _when_failed(report: Report) -> Iterator[Step]:
    missed = report.result.counted("FAIL")
    if any(gate.metric.startswith("retry.") for gate in missed):
        yield Step(
            "Retry amplification follows from what clients retry (max_attempts, on_refusal) and how providers fail, "
            "before it follows from limits: look there first."
        )
    schema = report.record["manifest"]["schema"]
    sets = {
        path: row.needed
        for row in report.headroom
        if row.use > 1 and not row.is_buffer and (path := _settable(row, schema)) is not None
    }
    if sets and any(not gate.metric.startswith(_NO_MATTER_OF_ROOM) for gate in missed):
        yield Step(
            "Give the limits that cannot carry their peak room for it, and see what binds then:",
            commands.again(report, sets=sets),
        )
    if report.slowest:
        worst = report.slowest[0]["ordinal"]
        yield Step("See what held the worst request, check by check:", commands.explain(report, worst))


def _when_undecided(report: Report) -> Iterator[Step]:
    sets = {
        f"gates.{place}.estimand": "path"
        for place, gate in enumerate(report.result.gates)
        if gate.verdict == "INCONCLUSIVE" and gate.asked["estimand"] == "mean"
    }
    if sets:
        yield Step(
            "Let this one run decide, of this seed alone, what is asked of the mean:", commands.again(report, sets=sets)
        )


def _always(report: Report) -> Iterator[Step]:
    if not report.is_drawn:
        yield Step(
            "Nothing in this run is drawn, so another random seed gives the same: change a limit, or the traffic."
        )
        return
    other = report.record["plan"]["seeds"][0] + 1
    yield Step("See whether another random seed says the same:", commands.again(report, seed=other))
    yield Step(
        "One run is one draw. A verdict on the mean needs many seeds and an interval: that is tollgate replicate, "
        "which this version does not have yet."
    )


def _settable(row: Headroom, schema: str) -> str | None:
    """Return the key path that ``--set`` takes for a limit of the workspace or a provider; None for other limits.

    A principal's entry may be a template for many, and a share is no figure to round up: those are left to the reader.
    The seed's manifests have no ``profile`` block and spell their keys in camel case.
    """
    if row.limit == "max_principal_share" or row.scope.startswith("principal "):
        return None
    if schema not in SEED_SCHEMAS:
        return row.path
    return row.path.removeprefix("profile.").removesuffix(row.limit) + to_camel(row.limit)
