"""The baseline against the reference's own results: v2 and eight variants, exactly.

The expected figures were measured on the reference and are carried in ``data``. Where the environment names the folder
with the larger files (TOLLGATE_SHARED), every single outcome of v2 is compared too, so that a difference has a line.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections import Counter
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

import sim
from sim import manifest as manifests
from sim.baselines.breakers import BreakerChange
from sim.manifest import Manifest
from sim.workload.seed_family import seed_family_blocks
from tests.conformance.figures import Figures, figures
from tollgate.core.units import NS_PER_MS

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]
SHARED = os.environ.get("TOLLGATE_SHARED")

NAMES = ("v2", *sorted(path.name.removesuffix(".expected.json") for path in DATA.glob("[0-9]*.expected.json")))


@cache
def loaded(name: str) -> Manifest:
    return manifests.load(ROOT / "manifests/load-manifest.v2.json" if name == "v2" else DATA / f"{name}.json")


@cache
def ran(name: str) -> Figures:
    return figures(loaded(name))


def changes(ran: Figures) -> list[BreakerChange]:
    return [change for change, _ in ran.run.controller.changes]


def expected(name: str) -> dict[str, Any]:
    return json.loads((DATA / f"{name}.expected.json").read_bytes())


def test_v2_and_eight_variants_are_here():
    assert len(NAMES) == 9


@pytest.mark.parametrize("name", NAMES)
def test_the_manifest_has_the_bytes_the_figures_were_measured_on(name):
    assert f"sha256:{loaded(name).sha256}" == expected(name)["manifestDigest"]


@pytest.mark.parametrize("name", NAMES)
def test_arrivals_agree(name):
    assert ran(name).arrivals_sha256 == expected(name)["arrivalsSha256"]


@pytest.mark.parametrize("name", NAMES)
def test_observations_agree(name):
    assert ran(name).observations == expected(name)["observations"]


@pytest.mark.parametrize("name", NAMES)
def test_every_outcome_agrees(name):
    assert ran(name).outcomes_sha256 == expected(name)["outcomesSha256"]
    assert ran(name).outcomes_with_reason_sha256 == expected(name)["outcomesWithReasonSha256"]


@pytest.mark.parametrize("name", NAMES)
def test_every_principal_fares_as_measured(name):
    assert ran(name).by_principal == expected(name)["perPrincipal"]


@pytest.mark.parametrize("name", NAMES)
def test_breaker_changes_agree(name):
    seen = changes(ran(name))
    text = "".join(
        f"{change.provider} {change.from_state} {change.to_state} {change.at_ms} {change.failures}\n" for change in seen
    )
    kinds = Counter(f"{change.provider}:{change.from_state}->{change.to_state}" for change in seen)
    found = {
        "total": len(seen),
        "byKind": dict(sorted(kinds.items())),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "first": [
            {
                "providerId": change.provider,
                "from": change.from_state.value,
                "to": change.to_state.value,
                "atEpochMs": change.at_ms,
                "failures": change.failures,
            }
            for change in seen[:5]
        ],
        "historyLength": len(ran(name).run.controller.history),
    }
    assert found == expected(name)["breakerTransitions"]


@pytest.mark.parametrize("name", NAMES)
def test_our_metrics_of_the_run_are_the_references_own_figures(name):
    found = {
        (row["metric"], *row["labels"].items()): row["value"]
        for row in ran(name).instruments.observations()
        if set(row["labels"]) <= {"class"}
    }
    figures = expected(name)["observations"]
    for metric, figure in {
        "arrivals": "arrivals",
        "attempts": "attempts",
        "completed": "completed",
        "failed": "failed",
        "shed": "shed",
        "cancelled": "cancelled",
        "active.max": "maximumActiveCalls",
        "queue.length.max": "maximumQueuedCalls",
        "queue.wait.max": "maximumEligibleLaneWaitMs",
        "lane.eligible_wait.max": "maximumEligibleLaneWaitMs",
        "retry.amplification": "retryAmplificationRatio",
        "cancel.latency.max": "maximumCancellationLatencyMs",
    }.items():
        assert float(found[metric,]) == figures[figure], metric
    for cls in ("quiet", "noisy"):
        assert float(found["admission.ratio", ("class", cls)]) == figures[f"{cls}PrincipalAdmissionRatio"]
    for reason, count in figures["shedReasons"].items():
        assert found[f"shed.{reason}",] == count


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_of_the_run_pass_every_self_check(name):
    assert [check for check in ran(name).instruments.checks() if not check["ok"]] == []


def test_a_run_of_the_lab_has_the_digests_of_the_references_texts():
    name = "00-v2-short"
    run = sim.run(loaded(name), discipline="reference")
    assert run.arrivals_sha256 == expected(name)["arrivalsSha256"]
    assert run.outcomes_sha256 == expected(name)["outcomesWithReasonSha256"]


def test_v2_takes_as_many_pumps_and_admission_tests_as_the_reference():
    assert (ran("v2").pumps, ran("v2").judged) == (74_666, 125_199)


def test_the_first_twenty_arrivals_agree():
    manifest = loaded("v2")
    assert manifest.seed_family is not None
    block = next(seed_family_blocks(manifest.seed_family))
    found = [
        {
            "ordinal": ordinal,
            "atMs": block.at_ns[ordinal] // NS_PER_MS,
            "principalId": manifest.principals[block.principal[ordinal]].name,
            "providerId": manifest.providers[block.provider[ordinal]].id,
            "tokens": block.tokens[ordinal],
            "serviceMs": block.service_ns[ordinal] // NS_PER_MS,
            "failsFirstAttempt": bool(block.fails[ordinal]),
            "cancelAtMs": None
            if block.cancel_after_ns[ordinal] < 0
            else (block.at_ns[ordinal] + block.cancel_after_ns[ordinal]) // NS_PER_MS,
        }
        for ordinal in range(20)
    ]
    assert found == json.loads((DATA / "v2.first20.json").read_bytes())


@pytest.mark.skipif(not SHARED, reason="TOLLGATE_SHARED names no folder with the larger files")
def test_no_outcome_of_v2_differs_line_by_line():
    with gzip.open(Path(str(SHARED)) / "conformance/v2.outcomes.txt.gz", "rt", encoding="ascii") as file:
        pairs = zip_longest(ran("v2").outcomes.splitlines(), file.read().splitlines())
    first = next(((line, ours, theirs) for line, (ours, theirs) in enumerate(pairs, 1) if ours != theirs), None)
    assert first is None, f"first difference (line, ours, the reference's): {first}"


def test_a_correct_breaker_alone_opens_no_breaker_by_cancellations():
    name = "11-cancellation-03"
    assert len(changes(ran(name))) == 10
    assert changes(figures(loaded(name), correct_breaker=True)) == []


def test_a_correct_breaker_alone_is_never_closed_from_open():
    seen = changes(figures(loaded("07-failures-05-retries-3"), correct_breaker=True))
    assert seen
    assert not [change for change in seen if (change.from_state, change.to_state) == ("open", "closed")]


def test_a_correct_breaker_changes_nothing_where_none_opens():
    assert figures(loaded("00-v2-short"), correct_breaker=True) == ran("00-v2-short")
