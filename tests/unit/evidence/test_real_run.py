"""The way through: real runs, their bundles, their verification by a second run."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from sim.evidence import describe_tool, export, pack, read_bundle, verify, write_bundle
from sim.experiment import run
from sim.manifest import load, with_overrides
from tollgate.core.units import NS_PER_S

ROOT = Path(__file__).parents[3]
V2_SHORT = ROOT / "tests/conformance/data/00-v2-short.json"
EXPECTED = json.loads((ROOT / "tests/conformance/data/00-v2-short.expected.json").read_bytes())


def rerun(request):
    manifest = with_overrides(
        load(request.manifest, assume=request.assumptions),
        request.overrides.items(),
        seed=request.seed,
        window_s=Fraction(request.window_ns, NS_PER_S),
    )
    return run(manifest, discipline=request.discipline)


@pytest.fixture(scope="module")
def reference():
    return pack(run(load(V2_SHORT), discipline="reference"), describe_tool())


def test_the_reference_discipline_exports_the_seeds_figures_to_the_last_digit(reference):
    exported = export(reference.record)
    assert json.dumps(exported["observations"]) == json.dumps(EXPECTED["observations"])
    assert reference.record["runs"][0]["arrivals_sha256"] == EXPECTED["arrivalsSha256"]


@pytest.mark.parametrize("sets", [[], [("workspace.concurrency", "3")]])
def test_ev1_a_bundle_is_repeated_by_running_what_it_states(sets, tmp_path):
    manifest = with_overrides(load(V2_SHORT), sets, seed=7, window_s=20)
    folder = write_bundle(pack(run(manifest), describe_tool()), tmp_path).folder
    report = verify(folder, describe_tool(), rerun=rerun)
    assert (report.problems, report.notes, report.reran) == ([], [], True)
    assert read_bundle(folder).record["overrides"] == {"seed": "7", **dict(sets)}


def test_running_again_writes_no_second_bundle(tmp_path):
    manifest = with_overrides(load(V2_SHORT), window_s=5)
    first, second = (write_bundle(pack(run(manifest), describe_tool()), tmp_path) for _ in range(2))
    assert (first.folder, first.is_new, second.is_new) == (second.folder, True, False)


def test_the_bounds_that_v2s_limits_imply_are_told_apart(reference):
    implied = [gate["id"] for gate in reference.record["gates"] if gate["implied"]]
    assert implied == ["maximumActiveCalls", "maximumQueuedCalls", "maximumEligibleLaneWaitMs"]


ASSUMPTIONS = {
    "schema": "capacity-assumptions/v1",
    "source": "a guess for this test",
    "principals": [{"id": "noisy", "class": "noisy", "weight": 0.6}, {"id": "quiet", "class": "quiet", "weight": 0.4}],
    "providers": ["one"],
    "tokens": {"small": 20, "huge": 200, "huge_share": 0.02},
    "service_ms": {"min": 40, "max": 160},
}


def test_ev1_a_run_with_assumptions_is_repeated_from_its_bundle_alone(tmp_path):
    assume = tmp_path / "assumed.json"
    assume.write_text(json.dumps(ASSUMPTIONS))
    manifest = with_overrides(load(ROOT / "manifests/load-manifest.v1.json", assume=assume), window_s=5)
    folder = write_bundle(pack(run(manifest), describe_tool()), tmp_path).folder
    assume.unlink()
    report = verify(folder, describe_tool(), rerun=rerun)
    assert (report.problems, report.reran) == ([], True)
    assert read_bundle(folder).record["provenance"][0]["kind"] == "assumed"
