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


def fares_alike(document: dict, paths: list[str]) -> None:
    before = sim.run(manifest_of(document))
    for path in paths:
        assert sim.run(manifest_of(without(document, path))).outcomes_sha256 == before.outcomes_sha256, path


@examples(50)
@given(manifests())
def test_every_request_fares_as_before_without_a_limit_that_is_idle(document):
    paths = [finding.path for finding in lint(manifest_of(document)) if finding.code in IDLE]
    idle = [path for path in paths if not path.endswith("tokens_per_second")]
    assume(idle)
    fares_alike(document, idle)


@examples(30)
@given(manifests())
def test_so_it_does_without_an_idle_token_bucket_where_large_requests_are_not_protected(document):
    """Protection looks at which buckets a waiting request draws on, be they short or not (decision 0010)."""
    document["profile"]["scheduling"] = {"protect_large_requests": False}
    found = [finding for finding in lint(manifest_of(document)) if finding.code == "bucket-cannot-bind"]
    idle = [finding.path for finding in found if finding.path.endswith("tokens_per_second")]
    assume(idle)
    fares_alike(document, idle)
