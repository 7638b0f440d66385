from __future__ import annotations

import re

from sim.report import markdown


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a text as rows of cells, rules left out; a bar behind a backslash is part of its cell."""
    found = []
    for block in text.split("\n\n"):
        if block.startswith("| "):
            rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
            assert all(re.fullmatch(r"-{2,3}:?", cell) for cell in rows[1])
            found.append([rows[0], *rows[2:]])
    return found


def test_it_begins_with_verdict_and_reason(failing):
    lines = markdown.render(failing).split("\n\n")
    assert lines[0] == "## FAIL: noisy-neighbour 1.0.0, seed 2601"
    assert lines[1].startswith("quiet-admitted does not hold: admission.ratio of class quiet came to 94.11 %")


def test_it_has_gates_refusals_and_the_command_that_reproduces_it(failing):
    text = markdown.render(failing)
    gates, refusals = tables(text)
    assert gates[1] == ["quiet-admitted", "**FAIL**", "94.11 %", "\\>= 95 %", "-0.89 points", ""]
    assert gates[4][5] == "implied by the configuration, not counted"
    assert refusals[0] == ["reason", "class", "load", "spike", "soak", "all phases"]
    assert ["queue-timeout", "noisy", "0", "73", "7", "80"] in refusals
    assert "```text\ntollgate run manifests/noisy-neighbour.yaml\n```" in text
    assert failing.record["digest"] in text


def test_every_verdict_has_one(any_report):
    text = markdown.render(any_report)
    assert text.startswith(f"## {any_report.result.verdict}: ")
    assert text.endswith("\n")
    assert all(len({len(row) for row in table}) == 1 for table in tables(text))


def test_a_hostile_name_adds_no_cell_no_heading_and_no_element(make_record, make_report):
    name = "a|b\n# forged <img src=x> [x](y)"
    record = make_record("PASS", name=name)
    record["plan"]["gates"][0]["id"] = record["gates"][0]["id"] = name
    text = markdown.render(make_report(record))
    gates, _ = tables(text)
    assert {len(row) for row in gates} == {6}
    assert not re.search(r"^# ", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)<img", text)


def test_a_command_that_holds_a_fence_stays_in_its_block(make_record, make_report):
    text = markdown.render(make_report(make_record("PASS"), manifest_path="x\n```\n# forged.yaml"))
    fenced = text.partition("### Reproduce\n\n")[2]
    assert fenced.startswith("````text\n")
    assert "# forged" in fenced.split("\n````\n")[0]


def test_many_gates_are_cut_to_those_with_the_worse_verdicts(make_record, make_report):
    record = make_record("FAIL")
    asked, came = record["plan"]["gates"][0], record["gates"][0]
    for at in range(300):
        verdict = "FAIL" if at == 299 else "PASS"
        record["plan"]["gates"].append(asked | {"id": f"g{at}"})
        record["gates"].append(came | {"id": f"g{at}", "verdict": verdict})
    text = markdown.render(make_report(record))
    gates, _ = tables(text)
    assert len(gates) == 1 + markdown.GATES_MAX
    assert gates[1][:2] == ["g299", "**FAIL**"]
    assert "204 more gates" in text
