"""The page of lint has the table in the code, and says of the repository's own manifests what is found in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import sim
from sim.lint import RULES, Basis, lint

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/lint.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\| `.*$", section, re.MULTILINE)
    ]


def test_every_rule_is_there_as_the_code_has_it():
    said = {Basis.CONFIGURATION: "", Basis.OFFERED_LOAD: " (of the offered load)"}
    assert rows("Rules") == [[f"`{rule.code}`", rule.finds + said[rule.basis], rule.advice] for rule in RULES]


def test_what_is_found_in_the_manifests_of_the_repository_is_what_the_page_says():
    found = {}
    for path in sorted((ROOT / "manifests").iterdir()):
        if path.suffix in {".yaml", ".json"} and not (manifest := sim.load(path)).lacks:
            counts = Counter(finding.code for finding in lint(manifest))
            found[f"`{path.name}`"] = ", ".join(f"{n} `{code}`" for code, n in counts.items()) or "none"
    assert dict(rows("The manifests of this repository")) == found


def test_the_finding_shown_is_one_that_is_made():
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (shown,) = json.loads(text)["findings"]
    finding = next(
        finding for finding in lint(sim.load(ROOT / "manifests/noisy-neighbour.yaml")) if finding.path == shown["path"]
    )
    assert shown == {
        "code": finding.code,
        "path": finding.path,
        "values": dict(finding.values),
        "says": finding.says,
        "advice": finding.advice,
        "basis": finding.basis,
    }
