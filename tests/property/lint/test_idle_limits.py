"""A limit that lint calls idle can be taken out, and every request fares as before."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

from hypothesis import assume, given

import sim
from sim.lint import lint
from sim.manifest import parse
from tests.property.gates.configurations import examples, manifests

IDLE = {"limit-cannot-bind", "wait-cannot-bind", "bucket-cannot-bind", "weight-without-effect", "share-of-nothing"}
GATES = [{"id": "g", "metric": "admission.ratio", "op": ">=", "bound": "0.5", "estimand": "path"}]


def manifest_of(document: dict):
    return parse(json.dumps(document | {"gates": GATES}).encode(), path=Path("any.json"))


def without(document: dict, path: str) -> dict:
    """Return a document without one limit; ``profile.principals.quiet`` is a template's block."""
    changed = copy.deepcopy(document)
    *steps, last = path.split(".")
    node = changed
    for step in steps:
        node = node[step]
    del node[last]
    for key in ("requests_burst", "tokens_burst"):
        if key.startswith(re.match("[a-z]+", last)[0]):
            node.pop(key, None)
    return changed


@examples(50)
@given(manifests())
def test_every_request_fares_as_before_without_a_limit_that_is_idle(document):
    manifest = manifest_of(document)
    paths = [finding.path for finding in lint(manifest) if finding.code in IDLE]
    assume(paths)
    before = sim.run(manifest)
    for path in paths:
        after = sim.run(manifest_of(without(document, path)))
        assert after.outcomes_sha256 == before.outcomes_sha256, path
