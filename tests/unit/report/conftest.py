"""Bundles made by hand: one that passes, one that fails, one that decides nothing, one that cannot be relied on.

The traffic is a load of 60 s, a spike of 30 s and a soak of 210 s at 0.5 s a bin; each bin's counts are a fixed pattern, so that every figure
in the records below can be added up from them by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from sim.evidence.schema import Record
from sim.evidence.shapes import check
from sim.report.bundle import ReportInput

S = 10**9
MS = 10**6
BINS = 600
BIN_NS = S // 2
CLASSES = ("noisy", "quiet")
PHASES = (("load", 0, 60 * S), ("spike", 60 * S, 90 * S), ("soak", 90 * S, 300 * S))


@dataclass
class HandHistogram:
    rows: list[tuple[int, int, int]]

    def buckets(self) -> list[tuple[int, int, int]]:
        return self.rows


@dataclass
class HandSeries:
    series: dict[str, list[int]]
    histograms: dict[str, HandHistogram]
    bands: list[tuple[str, str, str, int, int]]
    start_ns: int = 0
    bin_ns: int = BIN_NS


def in_spike(index: int) -> bool:
    return 120 <= index < 180


def hand_series() -> HandSeries:
    """Arrivals of 4 or 5 a bin (noisy) and 3 (quiet), four times the noisy ones in the spike, of which a third is refused."""
    noisy = [(16 + index % 4) if in_spike(index) else (4 + index % 2) for index in range(BINS)]
    quiet = [3] * BINS
    shed_noisy = [count // 3 if in_spike(index) and index > 124 else 0 for index, count in enumerate(noisy)]
    shed_quiet = [1 if 130 <= index < 150 else 0 for index in range(BINS)]
    depth = [min(80, (index - 119) * 3) if in_spike(index) else max(0, 80 - (index - 179) * 8) if index >= 180 else index % 3 for index in range(BINS)]
    series = {
        "active": [(7 if in_spike(index) else 3 + index % 3) * BIN_NS for index in range(BINS)],
        "queue": [level * BIN_NS for level in depth],
        "queue|provider=primary": [level * BIN_NS * 2 // 3 for level in depth],
        "queue|provider=second": [level * BIN_NS // 3 for level in depth],
    }
    for cls, came, shed in (("noisy", noisy, shed_noisy), ("quiet", quiet, shed_quiet)):
        series[f"arrivals|class={cls}"] = came
        series[f"attempts|class={cls}"] = [n + (n // 8 if cls == "noisy" else 0) for n in came]
        series[f"admitted|class={cls}"] = [n - lost for n, lost in zip(came, shed, strict=True)]
        series[f"completed|class={cls}"] = [n - lost for n, lost in zip(came, shed, strict=True)]
        series[f"shed|class={cls}"] = shed
    waits = {
        "noisy": [(0, 0, 900), (MS, 2 * MS, 300), (64 * MS, 65 * MS, 500), (512 * MS, 520 * MS, 250), (1900 * MS, 1999 * MS, 50)],
        "quiet": [(0, 0, 1500), (MS, 2 * MS, 200), (64 * MS, 65 * MS, 90), (512 * MS, 520 * MS, 10)],
    }
    return HandSeries(
        series,
        {f"queue.wait|class={cls}": HandHistogram(rows) for cls, rows in waits.items()},
        [
            *(("phase", name, "", start, end) for name, start, end in PHASES),
            ("breaker", "primary", "closed", 0, 70 * S),
            ("breaker", "primary", "open", 70 * S, 78 * S),
            ("breaker", "primary", "half-open", 78 * S, 80 * S),
            ("breaker", "primary", "closed", 80 * S, 300 * S),
            ("breaker", "second", "closed", 0, 300 * S),
            ("pause", "second", "", 100 * S, 112 * S),
        ],
    )


PROFILE = {
    "profile_version": "nn-1",
    "workspace": {"concurrency": 8, "requests_per_minute": 2400, "tokens_per_second": 20000, "max_queue_length": 128, "max_principal_share": "0.5"},
    "providers": {
        "primary": {"concurrency": 6, "requests_per_minute": "1800"},
        "second": {"concurrency": 3, "max_queue_length": 96},
    },
    "principals": {"noisy": {"concurrency": 8}, "quiet-1": {"concurrency": 2}, "quiet-2": {"concurrency": 2}},
    "scheduling": {"kind": "turns", "quantum_tokens": 1000, "protect_large_requests": True},
}


def observation(metric: str, value: int | str | None, unit: str = "count", **labels: str) -> dict:
    return {"metric": metric, "labels": labels, "value": value, "unit": unit, "n": 1, "half_width": None}


def observations() -> list[dict]:
    cls = "class"
    rows = [
        observation("arrivals", 5190),
        *(observation("arrivals", n, **{cls: name}) for name, n in (("noisy", 3390), ("quiet", 1800))),
        *(observation("arrivals", n, principal=name) for name, n in (("noisy", 3390), ("quiet-1", 930), ("quiet-2", 870))),
        *(observation("arrivals", n, phase=name) for name, n in (("load", 900), ("spike", 1230), ("soak", 3060))),
        observation("attempts", 5310),
        *(observation("attempts", n, **{cls: name}) for name, n in (("noisy", 3510), ("quiet", 1800))),
        *(observation("attempts", n, provider=name) for name, n in (("primary", 3600), ("second", 1710))),
        *(observation("attempts", n, phase=name) for name, n in (("load", 910), ("spike", 1320), ("soak", 3080))),
        observation("completed", 4880),
        *(observation("completed", n, **{cls: name}) for name, n in (("noisy", 3100), ("quiet", 1780))),
        *(observation("completed", n, principal=name) for name, n in (("noisy", 3100), ("quiet-1", 920), ("quiet-2", 860))),
        observation("shed", 310),
        *(observation("shed", n, **{cls: name}) for name, n in (("noisy", 290), ("quiet", 20))),
        observation("shed.queue-full", 210),
        observation("shed.queue-full", 210, **{cls: "noisy"}),
        observation("shed.queue-full", 210, **{cls: "noisy"}, phase="spike"),
        observation("shed.queue-timeout", 100),
        *(observation("shed.queue-timeout", n, **{cls: name}) for name, n in (("noisy", 80), ("quiet", 20))),
        observation("shed.queue-timeout", 73, **{cls: "noisy"}, phase="spike"),
        observation("shed.queue-timeout", 7, **{cls: "noisy"}, phase="soak"),
        observation("shed.queue-timeout", 20, **{cls: "quiet"}, phase="spike"),
        observation("cancelled", 0),
        observation("in_flight.end", 0),
        observation("admission.ratio", "0.940270", "ratio"),
        *(observation("admission.ratio", v, "ratio", **{cls: name}) for name, v in (("noisy", "0.914454"), ("quiet", "0.988889"))),
        observation("active.max", 8),
        observation("active.mean", "4.361000"),
        *(observation("active.mean", v, provider=name) for name, v in (("primary", "2.900000"), ("second", "1.461000"))),
        *(observation("active.mean", v, principal=name) for name, v in (("noisy", "2.950000"), ("quiet-1", "0.720000"), ("quiet-2", "0.691000"))),
        observation("queue.length.max", 97),
        observation("queue.length.mean", "8.900000"),
        observation("queue.length.max", 60, provider="second"),
        *(observation(f"queue.wait.{q}", v, "ms") for q, v in (("mean", "71.250000"), ("p50", "1.500000"), ("p99", "1950.000000"), ("max", "1999.000000"))),
        *(observation("queue.wait.p99", v, "ms", **{cls: name}) for name, v in (("noisy", "1999.000000"), ("quiet", "520.000000"))),
        *(observation(f"sojourn.{q}", v, "ms") for q, v in (("p50", "103.000000"), ("p95", "640.000000"), ("p99", "2071.000000"))),
        observation("retry.amplification", "1.023121", "ratio"),
        observation("retry.amplification", "1.035398", "ratio", **{cls: "noisy"}),
    ]
    return rows


GATES = {
    "quiet-admitted": ("admission.ratio", {"class": "quiet"}, ">=", "0.95", "ratio", "0.988889", "0.038889", None),
    "quiet-wait": ("queue.wait.p99", {"class": "quiet"}, "<=", "1500", "ms", "520.000000", "980.000000", None),
    "amplification": ("retry.amplification", {}, "<=", "1.25", "ratio", "1.023121", "0.226879", None),
    "active": ("active.max", {}, "<=", "8", "count", 8, "0", "8"),
}


def gates(**changes: dict) -> tuple[list[dict], list[dict]]:
    """Return plan rows and result rows; a change is by gate id (dashes as underscores) and merged into both."""
    plan, came = [], []
    for name, (metric, where, op, bound, unit, observed, margin, guaranteed) in GATES.items():
        change = changes.get(name.replace("-", "_"), {})
        asked = {
            "id": name, "metric": metric, "where": where, "op": op, "bound": bound, "unit": unit, "estimand": "path", "confidence": None,
            "min_probability": None, "severity": "block", "guaranteed": guaranteed,
        }  # fmt: skip
        result = {
            "id": name, "metric": metric, "op": op, "bound": bound, "observed": observed, "margin": margin, "verdict": "PASS",
            "implied": guaranteed is not None, "basis": "configuration" if guaranteed else "single-run", "n": 1, "method": "point",
        }  # fmt: skip
        plan.append(asked | {key: value for key, value in change.items() if key in asked})
        came.append(result | {key: value for key, value in change.items() if key in result})
    return plan, came


def hexes(letter: str) -> str:
    return letter * 64


def record(verdict: str, basis: str = "single-run", *, name: str = "noisy-neighbour", gate_changes: dict | None = None, **changes: object) -> Record:
    plan, came = gates(**(gate_changes or {}))
    made = {
        "schema": "capacity-result/v1",
        "tool_version": "0.1.0",
        "manifest": {"name": name, "version": "1.0.0", "schema": "capacity-manifest/v1", "sha256": hexes("a")},
        "inputs": [],
        "target": {"kind": "admission-controller", "discipline": "default"},
        "overrides": {},
        "code": {"source_sha256": hexes("b"), "git_commit": None, "dirty": None},
        "lock_sha256": hexes("c"),
        "plan": {"n": 1, "seeds": [2601], "window_ns": 300 * S, "warmup_ns": 0, "gates": plan, "method": "single-run", "confidence": "0.95"},
        "plan_digest": f"sha256:{hexes('d')}",
        "runs": [
            {"seed": 2601, "observations_digest": f"sha256:{hexes('e')}", "arrivals_sha256": hexes("1"), "outcomes_sha256": hexes("2")}
        ],
        "observations": observations(),
        "checks": [
            {"name": "requests-conserved", "ok": True, "detail": "5190 arrivals = 4880 completed + 310 shed"},
            {"name": "little", "ok": True, "detail": "every queue"},
        ],
        "gates": came,
        "verdict": {"overall": verdict, "basis": basis},
        "flags": ["load-manifest-offline-passed"] if verdict == "PASS" else [],
        "provenance": [
            {"path": "streams.noisy.arrivals", "value": "12 a second", "kind": "measured", "source": "gateway log of one week"},
            {"path": "providers.primary.service_ms", "value": "uniform 40 to 160", "kind": "assumed", "source": "no data yet"},
        ],
        "artefacts": [
            {"name": "manifest.yaml", "kind": "manifest", "sha256": hexes("a"), "bytes": 2120},
            {"name": "series.json.gz", "kind": "series", "sha256": hexes("3"), "bytes": 20480},
        ],
        "observations_digest": f"sha256:{hexes('e')}",
        "host": {"python": "3.11.7", "rss_peak_mib": "112.000000"},
        "digest": f"sha256:{hexes('f')}",
    }  # fmt: skip
    made |= changes
    check(made, Record, file="record.json")
    return made  # type: ignore[return-value]  # just checked


SLOWEST = [
    {
        "ordinal": 1840 + index, "principal": "noisy", "class": "noisy", "provider": "primary", "phase": "spike",
        "intended_ns": 61 * S + index * 137 * MS, "settled_ns": 63 * S + index * 137 * MS, "outcome": "shed", "reason": "queue-timeout",
        "attempts": 1, "held_by": "every permit of the workspace was in use",
    }
    for index in range(8)
]  # fmt: skip


def report(made: Record, **changes: object) -> ReportInput:
    given = {
        "record": made,
        "series": hand_series(),
        "slowest": SLOWEST,
        "profile": PROFILE,
        "phases": PHASES,
        "path": "out/noisy-neighbour-ffffffffffff",
        "manifest_path": "manifests/noisy-neighbour.yaml",
    }
    return ReportInput(**(given | changes))


FAILING = {"quiet_admitted": {"observed": "0.941111", "margin": "-0.008889", "verdict": "FAIL"}}
UNDECIDED = {name: {"verdict": "INCONCLUSIVE", "estimand": "mean"} for name in ("quiet_admitted", "quiet_wait", "amplification")}
SPOILT = {name.replace("-", "_"): {"verdict": "INVALID", "basis": "checks-failed"} for name in GATES}


def passing_report(**changes: object) -> ReportInput:
    return report(record("PASS"), **changes)


def failing_report(**changes: object) -> ReportInput:
    return report(record("FAIL", gate_changes=FAILING), **changes)


def inconclusive_report(**changes: object) -> ReportInput:
    return report(record("INCONCLUSIVE", gate_changes=UNDECIDED), **changes)


def invalid_report(**changes: object) -> ReportInput:
    broken = [{"name": "little", "ok": False, "detail": "queue of primary: mean length 8.9, arrivals times mean wait 9.7"}]
    return report(record("INVALID", "checks-failed", gate_changes=SPOILT, checks=broken), **changes)


MAKERS: dict[str, Callable[..., ReportInput]] = {
    "PASS": passing_report,
    "FAIL": failing_report,
    "INCONCLUSIVE": inconclusive_report,
    "INVALID": invalid_report,
}


@pytest.fixture
def passing() -> ReportInput:
    return passing_report()


@pytest.fixture
def failing() -> ReportInput:
    return failing_report()


@pytest.fixture
def inconclusive() -> ReportInput:
    return inconclusive_report()


@pytest.fixture
def invalid() -> ReportInput:
    return invalid_report()


@pytest.fixture(params=sorted(MAKERS))
def any_report(request: pytest.FixtureRequest) -> ReportInput:
    return MAKERS[request.param]()


@pytest.fixture
def make_record() -> Callable[..., Record]:
    return record


@pytest.fixture
def make_report() -> Callable[..., ReportInput]:
    return report
