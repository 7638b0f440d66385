"""Two disciplines on the same traffic: a table, and what it comes to in words.

Owns which figures stand side by side and the sentences about them. Takes records, so that a retained one does as well
as a fresh one; must not work out a figure that they lack.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import pandas as pd

from sim.gates.verdict import Verdict
from sim.report import reading
from sim.report.comparisons import ROWS_MAX, Pair, paired
from sim.report.result import Result
from sim.report.story import scope_of_claim, why
from sim.report.style import ReportFigure
from sim.report.text import DASH, listing, plural, rounded
from tollgate.core.errors import EvidenceError

_SHED: Final = "shed."

_ROWS: Final = (
    ("arrivals", "arrivals"),
    ("admission.ratio", "admitted, share of arrivals"),
    ("completed", "completed"),
    ("cancelled", "cancelled by their callers"),
    ("shed", "refused"),
    (_SHED, ""),
    ("queue.wait.mean", "wait, mean"),
    ("queue.wait.p95", "wait, p95"),
    ("queue.wait.p99", "wait, p99"),
    ("lane.eligible_wait.max", "longest wait while its turn was possible"),
    ("retry.amplification", "attempts an arrival"),
)
"""Metrics with their headings; the bare prefix stands for every reason of refusal that occurred."""


def side_by_side(results: dict[str, Result]) -> pd.DataFrame:
    """Return the figures of each class under each discipline.

    Args:
        results: Records of the same traffic, by the name of their column.

    Raises:
        EvidenceError: If their arrivals differ: a comparison would be of luck, not of disciplines.
    """
    _same_arrivals(results)
    first = next(iter(results.values()))
    columns = [(cls, name) for cls in first.names("class") for name in results]
    rows = {
        heading: [_cell(results[name], metric, cls) for cls, name in columns]
        for metric, heading in _headed(list(results.values()))
    }
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=pd.MultiIndex.from_tuples(columns, names=["class", "discipline"])
    )


def pairs_of(ours: Result, theirs: Result, metric: str = "admission.ratio") -> ReportFigure:
    """Draw a figure of each principal under two disciplines, on the same arrivals.

    Args:
        ours: Record of the discipline that is judged.
        theirs: Record of the discipline it is compared with, drawn first.
        metric: What is drawn; shares are in percent.

    Raises:
        EvidenceError: If their arrivals differ, or neither has the figure by principal.
    """
    _same_arrivals({"ours": ours, "theirs": theirs})
    scale = 100 if metric in reading.SHARES else 1
    mine, other = ours.by(metric, "principal"), theirs.by(metric, "principal")
    pairs = [
        Pair(name, float(scale * (other[name].exact or 0)), float(scale * (row.exact or 0)))
        for name, row in mine.items()
        if name in other
    ][:ROWS_MAX]
    if not pairs:
        raise EvidenceError(f"the records have no figure {metric} by principal")
    unit = " (%)" if metric in reading.SHARES else ""
    names = (theirs.record["target"]["discipline"], ours.record["target"]["discipline"])
    return paired(pairs, names=names, measure=f"{metric}{unit}", verdict=Verdict(ours.verdict))


def answer(ours: Result, theirs: Result, cls: str) -> str:
    """Return what a comparison says of one class, as Markdown.

    Args:
        ours: Record of the discipline that is judged.
        theirs: Record of the discipline it is compared with.
        cls: The class that is to be protected.

    Raises:
        EvidenceError: If either lacks the figures of that class.
    """
    mine, other = ours.record["target"]["discipline"], theirs.record["target"]["discipline"]
    others = [name for name in ours.names("class") if name != cls]
    paid = "".join(f" Class {it} had {_refusals(ours, it)} instead of {_refusals(theirs, it)}." for it in others)
    longest, longer = (_said(result, "lane.eligible_wait.max") for result in (ours, theirs))
    return (
        f"**{ours.verdict}.** {why(ours)} {scope_of_claim(ours)}\n\n"
        f"Of {_exact(ours, 'arrivals', cls)} {cls} requests, {_percent(ours, cls)} % were admitted under *{mine}* and "
        f"{_percent(theirs, cls)} % under *{other}*, on the same arrivals: {_refusals(ours, cls)} instead of "
        f"{_refusals(theirs, cls)}.{paid} None whose turn was possible waited longer than {longest}, against {longer}; "
        f"{_said(ours, 'completed')} requests completed in all, against {_said(theirs, 'completed')}."
    )


def _same_arrivals(results: dict[str, Result]) -> None:
    digests = {name: result.record["runs"][0]["arrivals_sha256"] for name, result in results.items()}
    if len(set(digests.values())) != 1 or "" in digests.values():
        raise EvidenceError(f"arrivals differ, or their digest is missing: {digests}")


def _headed(results: list[Result]) -> list[tuple[str, str]]:
    """Return metrics with headings, the reasons of refusal that any record has written out."""
    reasons = sorted(
        {
            row["metric"]
            for result in results
            for row in result.record["observations"]
            if row["metric"].startswith(_SHED)
        }
    )
    rows: list[tuple[str, str]] = []
    for metric, heading in _ROWS:
        if metric == _SHED:
            rows.extend((name, f"refused: {name.removeprefix(_SHED)}") for name in reasons)
        else:
            rows.append((metric, heading))
    return rows


def _cell(result: Result, metric: str, cls: str) -> str:
    row = result.observed(metric, **{"class": cls})
    if row is not None:
        return reading.figure(metric, row)
    return "0" if metric.startswith(_SHED) else DASH  # records leave out reasons that did not occur


def _said(result: Result, metric: str) -> str:
    return reading.figure(metric, result.observed(metric))


def _exact(result: Result, metric: str, cls: str) -> Fraction:
    value = result.exact(metric, **{"class": cls})
    if value is None:
        raise EvidenceError(f"the record has no figure {metric} for class {cls}")
    return value


def _refusals(result: Result, cls: str) -> str:
    """Return how many requests of a class were refused, and in which phases."""
    phases: dict[str, int] = {}
    for row in result.record["observations"]:
        labels, value = row["labels"], row["value"]
        if row["metric"].startswith(_SHED) and labels.keys() == {"class", "phase"} and labels["class"] == cls and value:
            phases[labels["phase"]] = phases.get(labels["phase"], 0) + int(value)
    told = listing(f"{count} in {name}" for name, count in phases.items())
    return f"{plural(int(_exact(result, 'shed', cls)), 'refusal')}{f' ({told})' if told else ''}"


def _percent(result: Result, cls: str) -> str:
    return rounded(100 * _exact(result, "admission.ratio", cls))
