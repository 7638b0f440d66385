"""What the how-to shows is what the code prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.inspect import inspect
from tollgate.core.errors import ConfigError

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "replay-a-trace.md").read_text()
COMMAND = "$ tollgate trace inspect "


def shown(name):
    """Return what the page shows below the command that inspects a file."""
    (block,) = [block for block in PAGE.split("```console\n") if block.startswith(f"{COMMAND}{name}\n")]
    return block.partition("\n")[2].partition("```")[0]


def test_the_summary_on_the_page_is_the_one_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    name = "tests/fixtures/traces/grid.jsonl"
    assert shown(name) == inspect(Path(name), TraceOptions()).render()


def test_the_refusal_on_the_page_is_the_one_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    name = "tests/fixtures/traces/two_weeks.jsonl"
    with pytest.raises(ConfigError) as caught:
        inspect(Path(name), TraceOptions())
    assert shown(name) == f"{caught.value}\n"
