from __future__ import annotations

from sim.manifest import load
from sim.measure import Instruments, RunShape
from sim.metrics import BY_NAME
from tests.unit.measure.written import Ask, S, Try, write


def test_the_shape_of_a_manifest_numbers_names_as_rows_do(repository):
    manifest = load(repository / "manifests" / "load-manifest.v2.json")
    of = RunShape.of(manifest)
    assert of.principals == tuple(principal.name for principal in manifest.principals)
    assert [of.classes[index] for index in of.class_of] == [principal.cls for principal in manifest.principals]
    assert of.providers == tuple(provider.id for provider in manifest.providers)
    assert of.horizon_ns == manifest.horizon_ns == 990 * S


def test_one_trace_gives_all_results_and_every_gate_its_observation(repository):
    manifest = load(repository / "manifests" / "load-manifest.v2.json")
    instruments = Instruments(manifest)
    asks = [Ask((Try(at * S, wait=at, service=S),), principal=at % 5, provider=at % 2) for at in range(9)]
    written = write(RunShape.of(manifest), asks)
    written.read(instruments.consumers)
    assert all(check["ok"] for check in instruments.checks())
    assert sum(instruments.series().values("completed")) == 9
    assert [request["ordinal"] for request in instruments.slowest()] == [8, 7, 6, 5, 4]
    assert len(instruments.outcomes_sha256()) == 64
    observed = {(row["metric"], tuple(sorted(row["labels"].items()))) for row in instruments.observations()}
    for gate in manifest.gates:
        if not BY_NAME[gate.metric].host and gate.metric != "cancel.latency.max":  # nobody cancelled here
            assert (gate.metric, tuple(sorted(gate.where.items()))) in observed
