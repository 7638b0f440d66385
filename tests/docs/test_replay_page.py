"""The path from a trace to a verdict works as the page and the README tell it, with the limits file that they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.cli import main
from sim.manifest import load

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/replay-a-trace.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIMITS = re.compile(r"^```yaml\n(profile:\n.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ tollgate (.+)$", re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the page's limits file and the repository's traces."""
    (limits,) = LIMITS.findall(PAGE)
    (tmp_path / "limits.yaml").write_text(limits, encoding="utf-8")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_both_pages_show_one_limits_file_of_five_lines() -> None:
    (limits,) = LIMITS.findall(PAGE)
    assert LIMITS.findall(README) == [limits]
    assert limits.count("\n") == 5


def test_the_steps_from_limits_to_a_checked_bundle_work(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, run, checked = (step.split() for step in STEP.findall(PAGE.partition("## 3.")[2]))
    assert main(made) == 0
    assert load("grid.yaml").profile.workspace.concurrency == 4
    assert main(run) in {0, 1}
    (bundle,) = (folder / "out").iterdir()
    words = [str(bundle) if "<digest>" in word else word for word in checked]
    assert main(words) == 0
    capsys.readouterr()
    assert main(words[:-2]) == 2
    assert "--manifest" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("limits", "first", "second"), [([], "p0001", "p0002"), (["--profile", "limits.yaml"], "caller0001", "caller0002")]
)
def test_ids_are_numbered_as_they_appear_and_share_one_set_of_limits(
    folder: Path, limits: list[str], first: str, second: str
) -> None:
    (folder / "two.csv").write_text("ms,user\n0,zoe\n1000,ann\n2000,zoe\n", encoding="utf-8")
    columns = ["--time-column", "ms", "--time-unit", "ms", "--principal-column", "user", "--tokens-columns", ""]
    assert main(["trace", "to-manifest", "two.csv", *columns, *limits, "-o", "two.yaml"]) == 0
    main(["run", "two.yaml", "--arrivals", "arrivals.txt", "--quiet"])
    rows = (folder / "arrivals.txt").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[2] for row in rows] == [first, second, first]
    profile = load("two.yaml").profile
    assert profile.principals[first] == profile.principals[second]
