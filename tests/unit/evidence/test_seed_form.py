"""The export in the seed's form, against what the seed's harness measured (tests/conformance/data, figures only)."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from pathlib import Path

import pytest
import rfc8785

from sim.evidence import pack
from sim.evidence.record import seal
from sim.evidence.seed_form import export, not_exportable, read_export
from sim.manifest import load
from tests.unit.evidence.made_runs import HOST, TOOL, made_run, row
from tollgate.core.errors import EvidenceError

ROOT = Path(__file__).parents[3]
DATA = ROOT / "tests/conformance/data"
MANIFESTS = {"v2": ROOT / "manifests/load-manifest.v2.json"} | {
    path.stem: path for path in sorted(DATA.glob("*.json")) if path.stem.partition(".")[0] == path.stem
}

RATIOS = {
    "retryAmplificationRatio": ("retry.amplification", "ratio", {}),
    "quietPrincipalAdmissionRatio": ("admission.ratio", "ratio", {"class": "quiet"}),
    "noisyPrincipalAdmissionRatio": ("admission.ratio", "ratio", {"class": "noisy"}),
}
OTHERS = {
    "maximumActiveCalls": ("active.max", "count"),
    "maximumQueuedCalls": ("queue.length.max", "count"),
    "maximumEligibleLaneWaitMs": ("lane.eligible_wait.max", "ms"),
    "maximumCancellationLatencyMs": ("cancel.latency.max", "ms"),
}


def measured(expected):
    """Return the observations of a run that measured what the seed's harness did, spelt as records spell them."""
    for name, value in expected.items():
        if name == "virtualDurationMs":
            continue  # the record takes it from the run's end
        if name == "shedReasons":
            yield from (row(f"shed.{reason}", count) for reason, count in value.items())
        elif name in RATIOS:
            metric, unit, labels = RATIOS[name]
            yield row(metric, f"{Decimal(str(value)):.6f}", unit, **labels)
        else:
            metric, unit = OTHERS.get(name, (name, "count"))
            yield row(metric, value if unit == "count" else f"{value}.000000", unit)
    yield row("in_flight.end", 0)


def expected_of(name):
    return json.loads((DATA / f"{name}.expected.json").read_bytes())


def record_of(name="v2", **changes):
    manifest = load(MANIFESTS[name])
    expected = expected_of(name)["observations"]
    run = {
        "observations": tuple(measured(expected)),
        "end_ns": expected["virtualDurationMs"] * 1_000_000,
        "seed": manifest.seed,
        "series": None,
    } | changes
    return pack(made_run(manifest=manifest, **run), TOOL).record


def bytes_of(exported):
    return json.dumps(exported, indent=2).encode()


@pytest.mark.parametrize("name", sorted(MANIFESTS))
def test_the_observations_are_the_seeds_to_the_last_digit(name):
    expected = expected_of(name)
    exported = export(record_of(name))
    assert json.dumps(exported["observations"]) == json.dumps(expected["observations"])  # 4 is 4 and never 4.0
    assert exported["manifest"]["digest"] == expected["manifestDigest"]


def test_a_passing_run_of_v2_is_exported_as_the_seed_would_write_it():
    exported = export(record_of())
    assert list(exported) == [
        *("schema", "manifest", "mode", "target", "window", "environment"),
        *("observations", "resources", "comparisons", "passed", "digest"),
    ]
    assert exported["schema"] == "decision-load-result/v1"
    assert exported["manifest"] == {
        "schema": "decision-load-manifest/v2",
        "version": "2.0.0",
        "digest": "sha256:416a41466dc58063f45b5e5e9a7ad78b011cf6d3be50b081bab6e47c76a28a0c",
    }
    assert exported["mode"] == "offline-fake-provider"
    assert exported["window"] == {"seconds": 990}
    assert exported["environment"] == {"python": "3.11.7", "platform": "linux", "arch": "x86_64"}
    assert exported["comparisons"] == [
        {"bound": "maximumActiveCalls", "limit": 4, "observed": 4, "pass": True},
        {"bound": "maximumQueuedCalls", "limit": 128, "observed": 112, "pass": True},
        {"bound": "maximumHeapUsedMiB", "limit": 512, "observed": 80.5, "pass": True},
        {"bound": "maximumCpuPercentOneCore", "limit": 80, "observed": 1.2, "pass": True},
        {"bound": "maximumEligibleLaneWaitMs", "limit": 2000, "observed": 1999, "pass": True},
        {"bound": "maximumRetryAmplificationRatio", "limit": 1.25, "observed": 1.047854, "pass": True},
        {"bound": "maximumCancellationLatencyMs", "limit": 100, "observed": 0, "pass": True},
        {"bound": "minimumQuietPrincipalAdmissionRatio", "limit": 0.95, "observed": 0.991454, "pass": True},
    ]
    assert exported["passed"] is True


def test_the_digest_is_over_rfc_8785_bytes_without_the_digest():
    exported = export(record_of())
    rest = {key: value for key, value in exported.items() if key != "digest"}
    assert exported["digest"] == "sha256:" + hashlib.sha256(rfc8785.dumps(rest)).hexdigest()


def test_a_missed_bound_fails_the_export():
    # Variant 05 offers three times the traffic: quiet admission is 0.848539 against 0.95.
    exported = export(record_of("05-rate-60"))
    missed = [each["bound"] for each in exported["comparisons"] if not each["pass"]]
    assert missed == ["minimumQuietPrincipalAdmissionRatio"]
    assert exported["passed"] is False


def test_an_invalid_run_passes_nothing():
    exported = export(record_of(checks=({"name": "conservation", "ok": False, "detail": "one is missing"},)))
    assert not any(each["pass"] for each in exported["comparisons"])
    assert exported["passed"] is False


def test_another_discipline_is_named_in_the_target():
    assert export(record_of())["target"] == "admission-controller"
    assert export(record_of(discipline="reference"))["target"] == "admission-controller/reference"


def test_the_seeds_conventions_stand_for_what_was_not_measured():
    # A ratio over nothing is 1, and no cancellation has no latency (REFERENCE 8.5).
    kept = tuple(
        each
        for each in measured(expected_of("v2")["observations"])
        if each["metric"] not in {"cancel.latency.max", "admission.ratio"}
    )
    exported = export(record_of(observations=kept))
    assert exported["observations"]["maximumCancellationLatencyMs"] == 0
    assert exported["observations"]["quietPrincipalAdmissionRatio"] == 1
    assert exported["comparisons"][-1] == {
        "bound": "minimumQuietPrincipalAdmissionRatio",
        "limit": 0.95,
        "observed": None,
        "pass": False,
    }


def test_what_the_form_cannot_say_is_not_exported():
    ours = pack(made_run(), TOOL).record
    changed = seal(record_of() | {"overrides": {"workspace.concurrency": "6"}})
    reseeded = seal(record_of() | {"overrides": {"seed": "7"}})
    assert "capacity-manifest/v1" in not_exportable(ours["manifest"]["schema"], ())
    assert "seed" in not_exportable(reseeded["manifest"]["schema"], reseeded["overrides"])
    assert "workspace.concurrency" in not_exportable(changed["manifest"]["schema"], changed["overrides"])
    assert not_exportable(record_of()["manifest"]["schema"], ()) is None
    for record in (ours, changed, reseeded):
        with pytest.raises(EvidenceError, match="no export as decision-load-result/v1"):
            export(record)


def test_a_record_without_a_figure_the_form_needs_is_not_exported():
    kept = tuple(each for each in measured(expected_of("v2")["observations"]) if each["metric"] != "active.max")
    with pytest.raises(EvidenceError, match=r"got no active\.max"):
        export(record_of(observations=kept))


# ------------------------------------------------------------------------------------------------------------- reading


def test_an_export_reads_back_whatever_its_layout():
    exported = export(record_of())
    for data in (bytes_of(exported), rfc8785.dumps(exported), json.dumps(exported).encode() + b"\n"):
        assert read_export(data, file="x.json") == exported


def digested(exported):
    rest = {key: value for key, value in exported.items() if key != "digest"}
    return rest | {"digest": "sha256:" + hashlib.sha256(rfc8785.dumps(rest)).hexdigest()}


def test_ev2_a_changed_value_is_reported():
    exported = export(record_of())
    exported["observations"]["completed"] += 1
    with pytest.raises(EvidenceError, match="altered after it was written"):
        read_export(bytes_of(exported), file="x.json")


def test_ev3_a_pass_that_its_own_numbers_deny_is_reported_though_digested_again():
    exported = export(record_of())
    exported["comparisons"][-1]["observed"] = 0.94
    with pytest.raises(EvidenceError, match=r"comparisons\[7\]"):
        read_export(bytes_of(digested(exported)), file="x.json")


def test_ev3_passed_must_follow_from_the_comparisons():
    exported = export(record_of("05-rate-60")) | {"passed": True}
    with pytest.raises(EvidenceError, match="passed: got True"):
        read_export(bytes_of(digested(exported)), file="x.json")
    with pytest.raises(EvidenceError, match="passed: got True"):
        read_export(bytes_of(digested(export(record_of()) | {"comparisons": []})), file="x.json")


@pytest.mark.parametrize(
    "change", [{"schema": "decision-load-result/v2"}, {"mode": "staged-provider"}, {"extra": 1}, {"window": {}}]
)
def test_an_export_of_another_shape_is_refused(change):
    with pytest.raises(EvidenceError, match=next(iter(change))):
        read_export(bytes_of(digested(export(record_of()) | change)), file="x.json")


def test_figures_of_the_host_are_told_apart_as_resources():
    exported = export(record_of(host=HOST | {"rss_peak": "96.000000"}))
    assert exported["resources"] == {"peakResidentMiB": 96, "cpuPercentOneCore": 1.2}
