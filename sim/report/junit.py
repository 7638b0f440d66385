"""A report as JUnit XML, for the test view of a continuous integration system: a case for each gate.

Owns how verdicts become the four outcomes that the format knows. Must not know how a verdict came about.

===============================================  =======================================================
FAIL, INCONCLUSIVE                               ``failure`` (contract: gates)
INVALID                                          ``error``
PASS                                             a case without a child
a gate without a say (implied, or it warns only)  ``skipped``, whatever it came to, which its message tells
===============================================  =======================================================

So the file is red exactly where the exit code is not 0. Where no gate has a say, a case ``verdict`` carries the error.
The elements and attributes are those that Jenkins' schema of the format allows (junit-10.xsd), which other systems read
as well; there is no time of day, and every duration is 0, so that one bundle gives one file, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from sim.report import commands, story, tables
from sim.report.markup import xml_attribute, xml_text
from sim.report.report import Report
from sim.report.result import Gate

Outcome = Literal["failure", "error", "skipped"]

_OUTCOMES: Final[dict[str, Outcome]] = {"FAIL": "failure", "INCONCLUSIVE": "failure", "INVALID": "error"}

VERDICT_CASE: Final = "verdict"
"""Name of the case that stands for the whole run where no gate speaks for it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test case.

    Attributes:
        name: Its name.
        outcome: The child element it has; None for a case that passed.
        kind: ``type`` of that element: the verdict.
        message: One line on what came out.
        lines: The details, a line each.
    """

    name: str
    outcome: Outcome | None
    kind: str
    message: str
    lines: tuple[str, ...]


def cases(report: Report) -> list[Case]:
    """Return the cases of a report: every gate in the order of the plan, and the verdict where no gate carries it."""
    result = report.result
    found = [_case(gate, row) for gate, row in zip(result.gates, tables.gates(result), strict=True)]
    carried = any(case.kind == result.verdict and case.outcome != "skipped" for case in found)
    if not carried:
        outcome = _OUTCOMES.get(result.verdict)
        found.append(Case(VERDICT_CASE, outcome, result.verdict, story.why(result), (story.MEANINGS[result.verdict],)))
    return found


def render(report: Report) -> str:
    """Return the report as a JUnit XML document in UTF-8."""
    found = cases(report)
    manifest = report.record["manifest"]
    counts = {outcome: sum(case.outcome == outcome for case in found) for outcome in ("failure", "error", "skipped")}
    totals = {"tests": str(len(found)), "failures": str(counts["failure"]), "errors": str(counts["error"])}
    suite = {"name": f"{manifest['name']} {manifest['version']}", **totals, "skipped": str(counts["skipped"])}
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _tag("testsuites", {"name": "tollgate", **totals, "time": "0"}),
        _tag("testsuite", {**suite, "time": "0"}, indent=2),
        _tag("properties", {}, indent=4),
        *(
            _tag("property", {"name": name, "value": value}, indent=6, closed=True)
            for name, value in _properties(report)
        ),
        "    </properties>",
        *(line for case in found for line in _case_lines(case, f"tollgate.{manifest['name']}")),
        f"    <system-out>{xml_text(_said(report))}</system-out>",
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(gate: Gate, row: tables.GateRow) -> Case:
    note = f"; {row.note}" if row.note else ""
    told = f"{gate.verdict}: {story.gate_sentence(gate)}{note}"
    lines = (
        f"metric {row.metric}, {row.scope}",
        f"observed {row.observed}, bound {row.bound}, margin {row.margin}",
        f"on {row.runs} run(s), estimand {gate.asked['estimand']}, basis {gate.came['basis']}{note}",
    )
    return Case(gate.id, _OUTCOMES.get(gate.verdict) if gate.counts else "skipped", gate.verdict, told, lines)


def _case_lines(case: Case, classname: str) -> Iterator[str]:
    yield _tag("testcase", {"classname": classname, "name": case.name, "time": "0"}, indent=4)
    if case.outcome is not None:
        head = _tag(case.outcome, {"type": case.kind, "message": case.message}, indent=6)
        yield f"{head}{xml_text(chr(10).join(case.lines))}</{case.outcome}>"
    yield f"      <system-out>{xml_text(chr(10).join([case.message, *case.lines]))}</system-out>"
    yield "    </testcase>"


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    record = report.record
    yield "verdict", report.result.verdict
    yield "basis", record["verdict"]["basis"]
    yield "seed", report.result.seed
    yield "discipline", record["target"]["discipline"]
    yield "manifest.sha256", record["manifest"]["sha256"]
    yield "record.digest", record["digest"]
    yield "observations.digest", record["observations_digest"]
    yield "bundle", report.path
    yield "reproduce", commands.again(report)


def _said(report: Report) -> str:
    result = report.result
    return " ".join([f"{result.verdict}.", story.why(result), story.scope_of_claim(result)])


def _tag(name: str, attributes: dict[str, str], *, indent: int = 0, closed: bool = False) -> str:
    pairs = "".join(f' {key}="{xml_attribute(value)}"' for key, value in attributes.items())
    return f"{' ' * indent}<{name}{pairs}{'/' if closed else ''}>"
