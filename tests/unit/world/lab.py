"""Small manifests, and what became of each request."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import sim
from sim.kernel import Kernel
from sim.manifest import parse
from sim.measure import Instruments
from sim.targets.controller import build
from sim.trace import Trace
from sim.workload.arrivals import arrival_blocks
from sim.workload.blocks import ArrivalBlock
from sim.world import World

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


def arrivals(at, service, *, fails=None, cancel_after=None, tokens=1, figures=None):
    """Return arrivals of the first principal at the first provider; columns in ms, one figure of tokens for all."""
    zeros = [0] * len(at)
    return ArrivalBlock(
        at_ns=[value * MS for value in at],
        stream=zeros,
        principal=zeros,
        provider=zeros,
        tokens=tokens if isinstance(tokens, list) else [tokens] * len(at),
        service_ns=[int(value * MS) for value in service],
        fails=list(fails or zeros),
        cancel_after_ns=[-1 if value < 0 else value * MS for value in cancel_after or [-1] * len(at)],
        jitter=zeros,
        figures=figures,
    )


def play(of, block, *consumers):
    """Run given arrivals to the end, shown to consumers, and hold the run to its checks; returns its instruments."""
    kernel = Kernel()
    instruments = Instruments(of)
    world = World(of, [block], build(of), Trace([*instruments.consumers, *consumers]), kernel)
    kernel.run(of.horizon_ns + of.drain_ns)
    found = world.audit()
    assert found == [], found
    assert world.unsettled == 0
    world.close(max(of.horizon_ns, world.last_settled_ns))
    broken = [check for check in instruments.checks() if not check["ok"]]
    assert broken == [], broken
    return instruments


def ms(ns):
    """Nanoseconds as the text formats spell them."""
    whole, rest = divmod(ns, MS)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") if rest else str(whole)
