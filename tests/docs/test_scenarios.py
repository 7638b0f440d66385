"""Every run that a scenario's page lists ends as the page says, and every manifest of ours has its page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from sim.cli import main

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs/scenarios"
ROW = re.compile(r"^\| (nothing|`.+`) \| ([A-Z]+) \| (.+) \|$", re.MULTILINE)
CODES = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}


def listed() -> list[tuple[str, tuple[str, ...], str, str]]:
    """Return manifest, changes, verdict and failing gates of each row of each page."""
    return [
        (page.stem, tuple(re.findall(r"`([^`]+)`", change)), verdict, gates)
        for page in sorted(PAGES.glob("*.md"))
        for change, verdict, gates in ROW.findall(page.read_text(encoding="utf-8"))
    ]


def test_each_manifest_of_ours_has_a_page_with_runs_that_pass_and_that_fail() -> None:
    manifests = sorted(path.stem for path in ROOT.joinpath("manifests").glob("*.yaml"))
    assert sorted(page.stem for page in PAGES.glob("*.md") if page.stem != "README") == manifests
    for name in manifests:
        assert {verdict for page, _, verdict, _ in listed() if page == name} == {"PASS", "FAIL"}, name


@pytest.mark.parametrize(("name", "changes", "verdict", "gates"), listed())
def test_the_run_ends_as_the_page_says(
    name: str,
    changes: tuple[str, ...],
    verdict: str,
    gates: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sets = [word for change in changes for word in ("--set", change)]
    code = main(["run", str(ROOT / f"manifests/{name}.yaml"), *sets, "--json", "--quiet", "--out", str(tmp_path)])
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"]["overall"], code) == (verdict, CODES[verdict])
    failing = sorted(gate["id"] for gate in record["gates"] if gate["verdict"] == "FAIL")
    assert (" ".join(failing) or "none") == gates
