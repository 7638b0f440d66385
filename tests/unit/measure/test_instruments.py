from __future__ import annotations

import gc
import sys
from types import FunctionType, ModuleType

from sim.manifest import load
from sim.measure import Instruments, Measure, RunShape
from sim.measure.checks import Checks
from sim.measure.outcomes import Outcomes
from sim.measure.recorder import SeriesRecorder
from sim.measure.slowest import Slowest
from sim.metrics import BY_NAME
from tests.unit.measure.written import Ask, S, Try, shape, write


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
    assert instruments.checks()[-1]["detail"] == "every principal is listed, every quantile is exact"
    assert sum(instruments.series().values("completed")) == 9
    assert [request["ordinal"] for request in instruments.slowest()] == [8, 7, 6, 5, 4]
    assert len(instruments.outcomes_sha256()) == 64
    observed = {(row["metric"], tuple(sorted(row["labels"].items()))) for row in instruments.observations()}
    for gate in manifest.gates:
        if not BY_NAME[gate.metric].host and gate.metric != "cancel.latency.max":  # nobody cancelled here
            assert (gate.metric, tuple(sorted(gate.where.items()))) in observed


def test_what_a_reader_of_the_observations_should_know_is_among_the_checks(repository, monkeypatch):
    monkeypatch.setattr(Measure, "notes", lambda _: ("quantiles are bin edges", "20 principals are listed"))
    instruments = Instruments(load(repository / "manifests" / "load-manifest.v2.json"))
    write(shape(), [Ask((Try(0, service=S),))]).read(instruments.consumers)
    told = {check["name"]: check["detail"] for check in instruments.checks()}
    assert told["observations"] == "quantiles are bin edges; 20 principals are listed"


def reachable_bytes(root: object) -> int:
    """Return the size of everything an object holds on to, classes and modules apart."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        found = waiting.pop()
        if id(found) not in seen and not isinstance(found, type | ModuleType | FunctionType):
            seen[id(found)] = found
            waiting.extend(gc.get_referents(found))
    return sum(sys.getsizeof(found) for found in seen.values())


def kept_bytes(arrivals: int) -> int:
    """Return what the consumers hold after a run of 30 s with so many arrivals, each waiting and served for 10 ms."""
    of = shape()
    asks = [Ask((Try(at * 30 * S // arrivals, wait=S // 100, service=S // 100),)) for at in range(arrivals)]
    measure = Measure(of, exact_values_max=200)
    recorder, outcomes = SeriesRecorder(of), Outcomes()
    consumers = [*measure.consumers, Checks(of, measure.tracker), recorder, outcomes, Slowest(of)]
    write(of, asks).read(consumers, block_rows=128)
    assert measure.value("arrivals", {}) == arrivals
    # Asking settles what is held back for a batch: lines to hash, keys to merge.
    measure.observations(), recorder.view({}), outcomes.hexdigest()
    return reachable_bytes(consumers)


def test_what_is_kept_does_not_grow_with_the_arrivals():
    few, many = kept_bytes(2000), kept_bytes(10_000)
    assert many - few < 8000  # a byte for each further arrival would be too much
