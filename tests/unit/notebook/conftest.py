"""Two short runs of one traffic, long enough for a spike that not everybody gets through."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pytest

import sim
from sim.manifest import Manifest, with_overrides

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Pair:
    manifest: Manifest
    ours: sim.Run
    reference: sim.Run
    outcomes: str


@pytest.fixture(scope="session")
def pair() -> Pair:
    manifest = with_overrides(sim.load(ROOT / "manifests" / "load-manifest.v2.json"), window_s=72)
    outcomes = io.StringIO()
    ours = sim.run(manifest, outcomes_out=outcomes)
    return Pair(manifest, ours, sim.run(manifest, discipline="reference"), outcomes.getvalue())
