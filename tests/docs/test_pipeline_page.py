"""The pipeline that the page describes works: the example parses, its commands exist and leave what the page says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from sim.cli import main
from sim.cli.exits import of_verdict
from sim.gates import Verdict
from sim.notebook.qualification import NAMES
from tests.docs import test_commands

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGE = (HOW_TO / "qualify-in-a-pipeline.md").read_text(encoding="utf-8")
EXAMPLE = HOW_TO / "qualify-in-a-pipeline.yml"
SHELL = {"cat", "mkdir"}
FOREIGN = {"python": ["-m", "pip", "install"]}


def steps() -> list[dict]:
    document = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    assert {"name", True, "permissions", "jobs"} == set(document)  # YAML 1.1 reads the key `on` as true
    (job,) = document["jobs"].values()
    assert job["runs-on"]
    assert job["timeout-minutes"] <= 60
    return job["steps"]


def commands() -> list[str]:
    return [line for step in steps() if "run" in step for line in step["run"].strip().splitlines()]


def test_every_step_does_one_thing_that_actions_know():
    for step in steps():
        assert ("run" in step) != ("uses" in step)
        assert set(step) <= {"name", "uses", "with", "run", "if", "continue-on-error"}
        assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/checkout@v4"))


@pytest.mark.parametrize("line", commands())
def test_every_command_exists_with_its_options(line):
    program, *words = shlex.split(line)
    if program == "tollgate":
        test_commands.test_a_command_line_names_a_command_and_options_that_exist(EXAMPLE.name, line)
    elif program in FOREIGN:
        assert words[: len(FOREIGN[program])] == FOREIGN[program]
        assert words[-1].startswith("./")  # from a checkout: the name on the index is somebody else's
    else:
        assert program in SHELL


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The repository that the example has in mind, with a manifest that passes."""
    (tmp_path / "limits").mkdir()
    shutil.copy(ROOT / "manifests/noisy-neighbour.yaml", tmp_path / "limits/service.yaml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("changes", "code"), [([], 0), (["--set", "gates.1.bound=1"], 1)], ids=["pass", "fail"])
def test_the_steps_leave_what_the_page_says_is_to_be_kept(folder, capsys, changes, code):
    (run,) = [shlex.split(line)[1:] for line in commands() if line.startswith("tollgate run")]
    (folder / "out").mkdir()
    assert main([*run, "--window", "30", *changes]) == code
    (bundle,) = [path for path in (folder / "out").iterdir() if path.is_dir()]
    assert {"record.json", "report.html"} <= {path.name for path in bundle.iterdir()}
    assert (folder / "out/summary.md").read_text().startswith("## FAIL" if code else "## PASS")
    assert ('failures="0"' in (folder / "out/junit.xml").read_text()) == (code == 0)


def test_the_page_shows_the_command_of_the_example():
    (run,) = [line for line in commands() if line.startswith("tollgate run")]
    assert f"$ {run}\n" in PAGE


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_page_knows_every_verdict_by_its_exit_code(verdict):
    assert f"\n| {of_verdict(verdict):d} | {verdict} | " in PAGE


def test_the_page_lists_the_notebook_s_parameters():
    table = PAGE.partition("| Parameter |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == NAMES
