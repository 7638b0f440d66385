"""The README does what it says: its code runs and prints what stands beside it, its output is the command's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs" / "explanation" / "against-the-reference.md").read_text(encoding="utf-8")
SAYS = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def cells(table: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("code", blocks("python"), ids=["service", "lab"])
def test_an_example_is_short_and_prints_what_it_says(
    code: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert code.count("\n") < 20
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    said = SAYS.findall(code)
    assert said
    assert capsys.readouterr().out.splitlines() == said


def test_the_output_shown_is_that_of_the_command_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["run", "manifests/load-manifest.v2.json", "--out", str(tmp_path), "--quiet"]) == 0
    printed = [
        " ".join(line.split()) for line in capsys.readouterr().out.splitlines()
    ]  # columns follow the host's figures
    (shown,) = blocks("text")
    position = 0
    for line in (" ".join(line.split()) for line in shown.splitlines()):
        if line != "...":
            assert line in printed[position:], line
            position = printed.index(line, position) + 1


def test_the_short_table_agrees_with_the_full_one() -> None:
    full = cells(COMPARISON.partition("## Waits")[0])
    rows = [row for row in cells(README) if re.match(r"v2$|\d\d-", row[0])]
    assert rows == [[row[0], row[1], row[2], row[4]] for row in full if re.match(r"v2$|\d\d-", row[0])]
    assert len({row[0] for row in rows}) == 9


def test_the_two_commands_of_a_newcomer_are_there() -> None:
    for command in ("`make run`", "`make test`"):
        assert command in README
