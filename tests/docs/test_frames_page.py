"""The page of frames lists the columns that frames have, and its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.measure.frames import ATTEMPTS, OBSERVATIONS, REQUESTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/frames.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "columns"),
    [("`run.requests`", REQUESTS), ("`run.attempts`", ATTEMPTS), ("`run.observations_frame`", OBSERVATIONS)],
)
def test_a_table_has_the_columns_with_types_and_units(heading, columns):
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \| (\S+) \| (.*) \|$", section, re.MULTILINE) == [
        (column.name, column.dtype, column.meaning) for column in columns
    ]


def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "frames.md", "exec"), {"__name__": "page"})
    requests, refused, arrivals = map(int, capsys.readouterr().out.split())
    assert requests == arrivals > refused >= 0
