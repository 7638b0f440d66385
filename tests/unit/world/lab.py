"""Small manifests, and what became of each request."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import sim
from sim.manifest import parse
from sim.workload.arrivals import arrival_blocks

MS = 10**6


def manifest(*, workspace=None, provider=None, principal=None, arrivals=None, client=None, seconds=20, **rest):
    """One stream of one principal to one provider; blocks replace the defaults key by key."""
    document = {
        "schema": "capacity-manifest/v1",
        "name": "small",
        "version": "1.0.0",
        "mode": "offline-fake-provider",
        "seed": rest.pop("seed", 7),
        "target": {"kind": "admission-controller", "discipline": "default"},
        "profile": {
            "profile_version": "small",
            "workspace": workspace or {},
            "providers": {"p": {}},
            "principals": {"ann": principal or {}},
        },
        "phases": [{"name": "all", "seconds": seconds}],
        "drain_seconds": 600,
        "streams": [
            {
                "name": "ann",
                "principal": "ann",
                "class": "ann",
                "arrivals": arrivals or {"kind": "poisson", "per_second": 20},
                "work": {"tokens": 1},
                "providers": {"p": 1},
                "client": client or {"on_refusal": "give-up"},
            }
        ],
        "providers": [{"id": "p", "service_ms": {"kind": "exponential", "mean": 60}, **(provider or {})}],
        "gates": [{"id": "g", "metric": "admission.ratio", "op": ">=", "bound": "0.1", "estimand": "path"}],
        **rest,
    }
    return parse(json.dumps(document).encode(), path=Path("small.json"))


@dataclass(frozen=True)
class Outcome:
    """One line of the outcomes text, in ms as it stands there."""

    outcome: str
    attempts: int
    settled: str
    delays: tuple[str, ...]
    reason: str


def run(of):
    """Run a manifest and hold it to its checks; returns the run, its arrivals (at_ns, service_ns) and its outcomes."""
    text = io.StringIO()
    done = sim.run(of, outcomes_out=text)
    assert [check for check in done.checks if not check["ok"]] == []
    outcomes = []
    for line in text.getvalue().splitlines():
        _, outcome, attempts, settled, delays, reason = line.split(" ")
        waits = () if delays == "-" else tuple(delays.split(","))
        outcomes.append(Outcome(outcome, int(attempts), settled, waits, reason))
    rows = [
        SimpleNamespace(at_ns=at_ns, service_ns=service_ns)
        for block in arrival_blocks(of)
        for at_ns, service_ns in zip(block.at_ns, block.service_ns, strict=True)
    ]
    return done, rows, outcomes


def ms(ns):
    """Nanoseconds as the text formats spell them."""
    whole, rest = divmod(ns, MS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") if rest else str(whole)
