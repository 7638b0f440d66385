"""The reference page lists what is measured, no more and no less."""

from __future__ import annotations

import re

import sim
from sim.manifest import load, with_overrides
from sim.metrics import METRICS

BY_REASON = ("shed.", "deferrals.", "retry.stopped.")


def rows(page: str) -> dict[str, list[str]]:
    lines = (re.match(r"\| `([^`]+)` \|(.*)\|$", line) for line in page.splitlines())
    return {line[1]: [cell.strip() for cell in line[2].split("|")] for line in lines if line}


def test_the_page_lists_every_metric_with_its_unit_and_selectors(repository):
    page = (repository / "docs" / "reference" / "metrics.md").read_text("utf-8")
    listed = {name: (cells[0], cells[-1]) for name, cells in rows(page).items() if len(cells) == 3}
    registry = {}
    for metric in METRICS:
        by_reason = next((prefix for prefix in BY_REASON if metric.name.startswith(prefix)), None)
        name = f"{by_reason}<reason>" if by_reason else metric.name
        registry[name] = (metric.unit, ", ".join(metric.selectors) or "none")
    assert listed == registry


def test_the_page_lists_every_check_in_order(repository):
    page = (repository / "docs" / "reference" / "metrics.md").read_text("utf-8")
    manifest = with_overrides(load(repository / "manifests" / "load-manifest.v2.json"), window_s=1)
    checks = [check["name"] for check in sim.run(manifest, observations_only=True).checks]
    assert [name for name, cells in rows(page).items() if len(cells) == 1] == checks
