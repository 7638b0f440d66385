"""What continuous integration reads has the structure of Jenkins' schema, and is red where the exit code is not 0."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from sim.cli.exits import of_verdict
from sim.report import junit

CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["testsuite", "properties", "testcase", "system-out", "system-err"],
    "properties": ["property"],
    "testcase": ["skipped", "error", "failure", "system-out", "system-err"],
}
"""What may stand in what (junit-10.xsd of Jenkins' xunit plugin); other elements hold text alone."""

ATTRIBUTES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"time", "skipped", "timestamp", "hostname", "id", "package"},
    ),
    "property": ({"name", "value"}, set()),
    "testcase": ({"name"}, {"classname", "time", "group"}),
    **dict.fromkeys(("skipped", "error", "failure"), (set(), {"type", "message"})),
}
"""Required and further attributes, likewise."""

TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def faults(element: ET.Element) -> list[str]:
    """Return where an element departs from the schema."""
    required, further = ATTRIBUTES.get(element.tag, (set(), set()))
    found = [f"{element.tag}: lacks {name}" for name in required - element.attrib.keys()]
    found += [f"{element.tag}: has {name}" for name in element.attrib.keys() - required - further]
    found += [] if TIME.fullmatch(element.get("time", "")) else [f"time {element.get('time')}"]
    allowed = CHILDREN.get(element.tag, [])
    found += [f"{element.tag}: holds {child.tag}" for child in element if child.tag not in allowed]
    return found + [fault for child in element for fault in faults(child)]


def parsed(report) -> ET.Element:
    root = ET.fromstring(junit.render(report).encode())
    assert root.tag == "testsuites"
    assert faults(root) == []
    return root


def red(root: ET.Element) -> int:
    (suite,) = root
    return int(suite.get("failures")) + int(suite.get("errors"))


def outcomes(root: ET.Element) -> dict[str, tuple[str | None, str]]:
    """Return each case's outcome and its message."""
    found = {}
    for case in root.iter("testcase"):
        child = next((child for child in case if child.tag != "system-out"), None)
        found[case.get("name")] = (None, "") if child is None else (child.tag, child.get("message"))
    return found


def test_the_checks_of_this_file_see_a_departure():
    bad = ET.fromstring('<testsuite name="x" tests="1" failures="0"><gate/></testsuite>')
    assert sorted(faults(bad)) == ["testsuite: holds gate", "testsuite: lacks errors"]


def test_every_gate_is_a_case_and_totals_agree(any_report):
    root = parsed(any_report)
    found = outcomes(root)
    assert list(found) == [gate.id for gate in any_report.result.gates]
    for element in (root, *root):
        assert int(element.get("tests")) == len(found)
        assert int(element.get("failures")) == sum(tag == "failure" for tag, _ in found.values())
        assert int(element.get("errors")) == sum(tag == "error" for tag, _ in found.values())
    assert int(root[0].get("skipped")) == sum(tag == "skipped" for tag, _ in found.values())


def test_the_file_is_red_exactly_where_the_exit_code_is_not_0(any_report):
    assert (red(parsed(any_report)) > 0) == (of_verdict(any_report.result.verdict) != 0)


def test_a_missed_gate_is_a_failure_that_says_what_came_out(failing):
    tag, message = outcomes(parsed(failing))["quiet-admitted"]
    assert tag == "failure"
    assert message.startswith("FAIL: admission.ratio of class quiet came to 94.11 % and should be at least 95 %")


def test_an_undecided_gate_is_a_failure_and_an_invalid_one_an_error(inconclusive, invalid):
    assert outcomes(parsed(inconclusive))["quiet-wait"][0] == "failure"
    assert outcomes(parsed(invalid))["quiet-wait"][0] == "error"


def test_an_implied_gate_is_skipped_and_says_so(passing):
    tag, message = outcomes(parsed(passing))["active"]
    assert tag == "skipped"
    assert "implied by the configuration, not counted" in message


@pytest.mark.parametrize("verdict", ["PASS", "FAIL", "INCONCLUSIVE", "INVALID"])
def test_a_gate_that_warns_only_is_skipped_whatever_it_came_to(make_record, make_report, verdict):
    warned = {"verdict": verdict, "severity": "warn"}
    root = parsed(make_report(make_record("PASS", gate_changes={"quiet_wait": warned})))
    tag, message = outcomes(root)["quiet-wait"]
    assert tag == "skipped"
    assert message.startswith(f"{verdict}: ")
    assert "warns only" in message
    assert red(root) == 0


def test_where_no_gate_has_a_say_the_verdict_is_a_case(make_record, make_report):
    implied = {name: {"implied": True} for name in ("quiet_admitted", "quiet_wait", "amplification")}
    root = parsed(make_report(make_record("INVALID", "no-deciding-gate", gate_changes=implied)))
    assert outcomes(root)["verdict"][0] == "error"
    assert red(root) == 1


def test_the_suite_says_how_to_get_there_again(passing):
    properties = {each.get("name"): each.get("value") for each in parsed(passing).iter("property")}
    assert properties["reproduce"].startswith("tollgate run manifests/noisy-neighbour.yaml")
    assert properties["record.digest"] == passing.record["digest"]


def test_a_hostile_name_stays_a_name(make_record, make_report):
    name = 'x"/><testcase name="forged">\x1b]0;\x00 & ]]>'
    report = make_report(make_record("PASS", name=name), manifest_path=f"{name}\n.yaml")
    root = parsed(report)
    assert "forged" not in outcomes(root)
    assert root[0].get("name") == f"{name} 1.0.0".replace("\x1b", "\\x1b").replace("\x00", "\\x00")
