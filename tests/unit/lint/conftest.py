"""A manifest in which no rule finds anything, and changes of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sim.lint import lint
from sim.manifest import parse

CLEAN = {
    "schema": "capacity-manifest/v1",
    "name": "clean",
    "version": "1.0.0",
    "mode": "offline-fake-provider",
    "seed": 7,
    "target": {"kind": "admission-controller", "discipline": "default"},
    "profile": {
        "profile_version": "clean-1",
        "workspace": {"concurrency": 4, "max_queue_length": 8, "max_queue_wait_ms": 500},
        "providers": {"u": {}},
        "principals": {"ann": {"concurrency": 3}, "bob": {"concurrency": 3}},
    },
    "phases": [{"name": "a", "seconds": 20}, {"name": "b", "seconds": 20}],
    "warmup_seconds": 5,
    "drain_seconds": 30,
    "streams": [
        {
            "name": name,
            "principal": name,
            "class": name,
            "arrivals": {"kind": "poisson", "per_second": 10},
            "work": {"tokens": 100},
            "providers": {"u": 1},
            "client": {"on_refusal": "give-up"},
        }
        for name in ("ann", "bob")
    ],
    "providers": [{"id": "u", "service_ms": {"kind": "uniform", "min": 50, "max": 150}}],
    "gates": [{"id": "g", "metric": "admission.ratio", "op": ">=", "bound": "0.9", "estimand": "path"}],
}


def changed(changes: dict[str, object]) -> dict:
    """Return the clean manifest with values put at key paths; a list's entry is named by its place."""
    document = copy.deepcopy(CLEAN)
    for path, value in changes.items():
        node = document
        *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
        for step in steps:
            node = node[step] if isinstance(step, int) else node.setdefault(step, {})
        if isinstance(node, list) and last == len(node):
            node.append(value)
        else:
            node[last] = value
    return document


@pytest.fixture
def found() -> Callable[[dict[str, object]], list]:
    """Lint the clean manifest with changes."""

    def found(changes: dict[str, object]) -> list:
        return lint(parse(json.dumps(changed(changes)).encode(), path=Path("clean.json")))

    return found
