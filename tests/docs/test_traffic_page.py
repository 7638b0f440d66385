"""The streams that the page on traffic shows can be copied into a manifest, which runs."""

from __future__ import annotations

import re
from pathlib import Path

import sim
from sim import metrics
from sim.manifest import parse, with_overrides
from sim.manifest.arrival_blocks import PoissonArrivals
from sim.manifest.traffic import ArrivalBlock

PAGE = (Path(__file__).parents[2] / "docs/how-to/describe-traffic.md").read_text(encoding="utf-8")
MANIFEST = """\
schema: capacity-manifest/v1
name: traffic
version: 1.0.0
seed: 3
profile: {profile_version: t, workspace: {concurrency: 40}, providers: {llm: {}}, principals: {staff: {}, robots: {}}}
phases: [{name: all, seconds: 600}]
streams:
STREAMS
providers: [{id: llm, service_ms: {kind: exponential, mean: 200}}]
gates: [{id: g, metric: admission.ratio, op: ">=", bound: 0.5, estimand: path}]
"""


def streams():
    """Return the blocks of the page as one list; a principal has one class whatever its stream."""
    text = "".join(re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    return re.sub(r"^  principal: (\w+)$", r"  principal: \1\n  class: \1", text, flags=re.MULTILINE)


def test_the_streams_shown_run_together_and_hold_their_checks():
    manifest = parse(MANIFEST.replace("STREAMS\n", streams()).encode(), path=Path("traffic.yaml"))
    assert len(manifest.streams) == 7
    run = sim.run(with_overrides(manifest, window_s=60))
    assert [check for check in run.checks if not check["ok"]] == []
    assert int(run.value("completed")) > 300


def test_every_kind_of_arrivals_has_a_row():
    kinds = {block.model_fields["kind"].annotation.__args__[0] for block in ArrivalBlock.__args__}
    assert PoissonArrivals.model_fields["kind"].annotation.__args__[0] in kinds
    assert set(re.findall(r"^\|.*\| \[?`([a-z-]+)`.*\|$", PAGE, re.MULTILINE)) == kinds


def test_metrics_that_the_page_names_exist():
    named = re.findall(r"`(tokens\.[a-z.]+)`", PAGE)
    assert len(named) == 2
    assert set(named) <= {metric.name for metric in metrics.METRICS}
