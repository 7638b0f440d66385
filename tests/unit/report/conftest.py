"""Bundles made by hand: one that passes, one that fails, one that decides nothing, one that cannot be relied on.

The traffic is a load of 60 s, a spike of 30 s and a soak of 210 s at 0.5 s a bin. The figures of the records are chosen
by hand; nothing here was measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim.evidence.schema import Record
from sim.evidence.shapes import check
from sim.measure.quantiles import LogLinearHistogram
from sim.measure.series import Band, SeriesView
from sim.report import figures, page
from sim.report.report import Report
from sim.report.style import ReportFigure, svg

S = 10**9
MS = 10**6
BINS = 600
BIN_NS = S // 2
CLASSES = ("noisy", "quiet")
PHASES = (("load", 0, 60 * S), ("spike", 60 * S, 90 * S), ("soak", 90 * S, 300 * S))


def in_spike(index: int) -> bool:
    return 120 <= index < 180


def hand_series() -> SeriesView:
    """4 or 5 noisy arrivals a bin and 3 quiet ones; four times the noisy ones in the spike, a third of them refused."""
    noisy = [(16 + index % 4) if in_spike(index) else (4 + index % 2) for index in range(BINS)]
    quiet = [3] * BINS
    shed_noisy = [count // 3 if in_spike(index) and index > 124 else 0 for index, count in enumerate(noisy)]
    shed_quiet = [1 if 130 <= index < 150 else 0 for index in range(BINS)]
    depth = [
        min(80, (index - 119) * 3) if in_spike(index) else max(0, 80 - (index - 179) * 8) if index >= 180 else index % 3
        for index in range(BINS)
    ]
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
    for name in ("arrivals", "attempts", "admitted", "completed", "shed"):
        series[name] = [sum(pair) for pair in zip(*(series[f"{name}|class={cls}"] for cls in CLASSES), strict=True)]
    waits = {
        "noisy": {0: 900, 2 * MS: 300, 65 * MS: 500, 520 * MS: 250, 1999 * MS: 50},
        "quiet": {0: 1500, 2 * MS: 200, 65 * MS: 90, 520 * MS: 10},
    }
    return SeriesView(
        bin_ns=BIN_NS,
        end_ns=BINS * BIN_NS - BIN_NS * 4 // 5,  # real runs end within a bin
        series=series,
        histograms={
            f"queue.wait|class={cls}": LogLinearHistogram.of(np.repeat([*counts], [*counts.values()]))
            for cls, counts in waits.items()
        },
        bands=(
            *(Band("phase", name, "", start, end) for name, start, end in PHASES),
            Band("breaker", "primary", "open", 70 * S, 78 * S),
            Band("breaker", "primary", "half-open", 78 * S, 80 * S),
            Band("pause", "second", "paused", 100 * S, 112 * S),
        ),
    )


PROFILE = {
    "profile_version": "nn-1",
    "workspace": {
        "concurrency": 8,
        "requests_per_minute": 2400,
        "tokens_per_second": 20000,
        "max_queue_length": 128,
        "max_principal_share": "0.5",
    },
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
    return [
        observation("arrivals", 5190),
        *(observation("arrivals", n, **{cls: name}) for name, n in (("noisy", 3390), ("quiet", 1800))),
        *(
            observation("arrivals", n, principal=name)
            for name, n in (("noisy", 3390), ("quiet-1", 930), ("quiet-2", 870))
        ),
        *(observation("arrivals", n, phase=name) for name, n in (("load", 900), ("spike", 1230), ("soak", 3060))),
        observation("attempts", 5310),
        *(observation("attempts", n, **{cls: name}) for name, n in (("noisy", 3510), ("quiet", 1800))),
        *(observation("attempts", n, provider=name) for name, n in (("primary", 3600), ("second", 1710))),
        *(observation("attempts", n, phase=name) for name, n in (("load", 910), ("spike", 1320), ("soak", 3080))),
        observation("completed", 4880),
        *(observation("completed", n, **{cls: name}) for name, n in (("noisy", 3100), ("quiet", 1780))),
        *(
            observation("completed", n, principal=name)
            for name, n in (("noisy", 3100), ("quiet-1", 920), ("quiet-2", 860))
        ),
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
        *(
            observation("admission.ratio", v, "ratio", **{cls: name})
            for name, v in (("noisy", "0.914454"), ("quiet", "0.988889"))
        ),
        observation("active.max", 8),
        observation("active.mean", "4.361000"),
        *(
            observation("active.mean", v, provider=name)
            for name, v in (("primary", "2.900000"), ("second", "1.461000"))
        ),
        *(
            observation("active.mean", v, principal=name)
            for name, v in (("noisy", "2.950000"), ("quiet-1", "0.720000"), ("quiet-2", "0.691000"))
        ),
        observation("queue.length.max", 97),
        observation("queue.length.mean", "8.900000"),
        observation("queue.length.max", 60, provider="second"),
        *(
            observation(f"queue.wait.{q}", v, "ms")
            for q, v in (("mean", "71.250000"), ("p50", "1.500000"), ("p99", "1950.000000"), ("max", "1999.000000"))
        ),
        *(
            observation("queue.wait.p99", v, "ms", **{cls: name})
            for name, v in (("noisy", "1999.000000"), ("quiet", "520.000000"))
        ),
        *(
            observation(f"sojourn.{q}", v, "ms")
            for q, v in (("p50", "103.000000"), ("p95", "640.000000"), ("p99", "2071.000000"))
        ),
        observation("retry.amplification", "1.023121", "ratio"),
        observation("retry.amplification", "1.035398", "ratio", **{cls: "noisy"}),
    ]


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
            "id": name,
            "metric": metric,
            "where": where,
            "op": op,
            "bound": bound,
            "unit": unit,
            "estimand": "path",
            "confidence": None,
            "min_probability": None,
            "severity": "block",
            "guaranteed": guaranteed,
        }
        result = {
            "id": name,
            "metric": metric,
            "op": op,
            "bound": bound,
            "observed": observed,
            "margin": margin,
            "verdict": "PASS",
            "implied": guaranteed is not None,
            "basis": "configuration" if guaranteed else "single-run",
            "n": 1,
            "method": "point",
        }
        plan.append(asked | {key: value for key, value in change.items() if key in asked})
        came.append(result | {key: value for key, value in change.items() if key in result})
    return plan, came


def hexes(letter: str) -> str:
    return letter * 64


def record(
    verdict: str,
    basis: str = "single-run",
    *,
    name: str = "noisy-neighbour",
    gate_changes: dict | None = None,
    **changes: object,
) -> Record:
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
        "plan": {
            "n": 1,
            "seeds": [2601],
            "window_ns": 300 * S,
            "warmup_ns": 0,
            "gates": plan,
            "method": "single-run",
            "confidence": "0.95",
        },
        "plan_digest": f"sha256:{hexes('d')}",
        "runs": [
            {
                "seed": 2601,
                "observations_digest": f"sha256:{hexes('e')}",
                "arrivals_sha256": hexes("1"),
                "outcomes_sha256": hexes("2"),
            }
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
            {
                "path": "streams.noisy.arrivals",
                "value": "12 a second",
                "kind": "measured",
                "source": "gateway log of one week",
            },
            {
                "path": "providers.primary.service_ms",
                "value": "uniform 40 to 160",
                "kind": "assumed",
                "source": "no data yet",
            },
        ],
        "artefacts": [
            {"name": "manifest.yaml", "kind": "manifest", "sha256": hexes("a"), "bytes": 2120},
            {"name": "series.json.gz", "kind": "series", "sha256": hexes("3"), "bytes": 20480},
        ],
        "observations_digest": f"sha256:{hexes('e')}",
        "host": {"python": "3.11.7", "rss_peak_mib": "112.000000"},
        "digest": f"sha256:{hexes('f')}",
    }
    made |= changes
    check(made, Record, file="record.json")
    return made  # type: ignore[return-value]  # just checked


def slow(ordinal: int, intended_ns: int, wait_ns: int) -> dict:
    attempt = {
        "attempt": 1,
        "requested_ns": intended_ns,
        "wait_ns": wait_ns,
        "service_ns": 0,
        "outcome": "shed",
        "reason": "queue-timeout",
        "hold": "concurrency",
        "hold_scope": "workspace",
        "hold_text": "every permit of the workspace was in use",
    }
    return {
        "ordinal": ordinal,
        "principal": "noisy",
        "cls": "noisy",
        "provider": "primary",
        "phase": "spike",
        "outcome": "shed",
        "reason": "queue-timeout",
        "intended_ns": intended_ns,
        "settled_ns": intended_ns + wait_ns,
        "sojourn_ns": wait_ns,
        "wait_ns": wait_ns,
        "attempts": [attempt],
    }


SLOWEST = [slow(1840 + index, 66 * S + index * 137 * MS, 2 * S) for index in range(5)]


def report(made: Record, **changes: object) -> Report:
    given = {
        "record": made,
        "series": hand_series(),
        "slowest": SLOWEST,
        "profile": PROFILE,
        "phases": PHASES,
        "path": "out/noisy-neighbour-ffffffffffff",
        "manifest_path": "manifests/noisy-neighbour.yaml",
        "discipline": "default",
    }
    return Report(**(given | changes))


def observed_instead(metric: str, value: str, **labels: str) -> list[dict]:
    return [
        row | {"value": value} if (row["metric"], row["labels"]) == (metric, labels) else row for row in observations()
    ]


FAILING = {"quiet_admitted": {"observed": "0.941111", "margin": "-0.008889", "verdict": "FAIL"}}
UNDECIDED = {
    name: {"verdict": "INCONCLUSIVE", "estimand": "mean"} for name in ("quiet_admitted", "quiet_wait", "amplification")
}
SPOILT = {name.replace("-", "_"): {"verdict": "INVALID", "basis": "checks-failed"} for name in GATES}


def passing_report(**changes: object) -> Report:
    return report(record("PASS"), **changes)


def failing_report(**changes: object) -> Report:
    figures = observed_instead("admission.ratio", "0.941111", **{"class": "quiet"})
    return report(record("FAIL", gate_changes=FAILING, observations=figures), **changes)


def inconclusive_report(**changes: object) -> Report:
    return report(record("INCONCLUSIVE", gate_changes=UNDECIDED), **changes)


def invalid_report(**changes: object) -> Report:
    broken = [
        {"name": "little", "ok": False, "detail": "queue of primary: mean length 8.9, arrivals times mean wait 9.7"}
    ]
    return report(record("INVALID", "checks-failed", gate_changes=SPOILT, checks=broken), **changes)


MAKERS: dict[str, Callable[..., Report]] = {
    "PASS": passing_report,
    "FAIL": failing_report,
    "INCONCLUSIVE": inconclusive_report,
    "INVALID": invalid_report,
}


@pytest.fixture(scope="session")
def passing() -> Report:
    return passing_report()


@pytest.fixture(scope="session")
def failing() -> Report:
    return failing_report()


@pytest.fixture(scope="session")
def inconclusive() -> Report:
    return inconclusive_report()


@pytest.fixture(scope="session")
def invalid() -> Report:
    return invalid_report()


@pytest.fixture(scope="session", params=sorted(MAKERS))
def any_report(request: pytest.FixtureRequest) -> Report:
    return MAKERS[request.param]()


@pytest.fixture
def make_record() -> Callable[..., Record]:
    return record


@pytest.fixture
def make_report() -> Callable[..., Report]:
    return report


@pytest.fixture(scope="session")
def failing_page(failing: Report) -> str:
    return page.render(failing)


@pytest.fixture
def page_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Report], str]:
    """Render a page without its figures over time, which cost a second and have tests of their own."""

    def page_of(given: Report) -> str:
        monkeypatch.setattr(page, "_figures", lambda report: {"gates": figures.gates(report.result)})
        return page.render(given)

    return page_of


WITH_SERIES = (
    figures.timeline,
    figures.bands,
    figures.load,
    figures.queue_depth,
    figures.wait_distribution,
    figures.amplification,
)
WITHOUT_SERIES = (figures.gates, figures.fairness)


def draw_all(given: Report) -> dict[str, ReportFigure]:
    drawn = {draw.__name__: draw(given.series, given.result) for draw in WITH_SERIES}
    return drawn | {draw.__name__: draw(given.result) for draw in WITHOUT_SERIES}


@pytest.fixture(scope="session", name="draw_all")
def _draw_all() -> Callable[[Report], dict[str, ReportFigure]]:
    return draw_all


@pytest.fixture(scope="session")
def drawings(failing: Report) -> dict[str, ReportFigure]:
    """Every figure of the failing run, drawn once."""
    return draw_all(failing)


@pytest.fixture(scope="session")
def svgs(drawings: dict[str, ReportFigure]) -> dict[str, str]:
    """The same as SVG."""
    return {name: svg(fig, prefix=name) for name, fig in drawings.items()}


STAGES = ("summary", "figures", "page")
IMPORTS = """
import importlib, json, sys
for stage in sys.argv[1:]:
    importlib.import_module(f"sim.report.{stage}")
    print(json.dumps(list(sys.modules)))
"""


@pytest.fixture(scope="session")
def imported(repository: Path) -> dict[str, set[str]]:
    """What a fresh process has imported after summary, figures and page, one after the other."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS, *STAGES], cwd=repository, capture_output=True, text=True, check=True
    )
    return {stage: set(json.loads(line)) for stage, line in zip(STAGES, done.stdout.splitlines(), strict=True)}
