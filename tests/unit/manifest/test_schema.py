"""The JSON Schema that is shipped accepts what the loader accepts, and keys are written down once."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal

import jsonschema
import pytest

from sim.manifest import schema
from sim.manifest.arrival_build import RESHAPING
from sim.manifest.documents import parse_document
from sim.manifest.limits import (
    BreakerBlock,
    LimitsBlock,
    PrincipalLimits,
    ProfileBlock,
    ProviderLimits,
    SchedulingBlock,
    WindowBlock,
    WorkspaceLimits,
)
from sim.manifest.traffic import TraceArrivals
from sim.workload.traces.replay import TraceSpec
from tests.unit.manifest.texts import SMALL
from tollgate.core.breaker import BreakerConfig, FailureRateWindow
from tollgate.decision.limits import FIELDS
from tollgate.decision.profile import AdmissionProfile, Scheduling


def plain(value):
    """Return a document as a JSON Schema validator wants it: numbers as floats."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


@pytest.fixture(scope="module")
def validator():
    found = schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


@pytest.mark.parametrize("name", ["manifests/noisy-neighbour.yaml", "tests/fixtures/manifests/everything.yaml"])
def test_it_accepts_manifests_that_load(repository, validator, name):
    document = parse_document((repository / name).read_bytes(), "yaml")
    assert [error.message for error in validator.iter_errors(plain(document))] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed: 7", "sed: 7"),
        ("seed: 7", "seed: -7"),
        ("seed: 7", "seed: 7.5"),
        ("per_second: 12", "per_second: 0"),
        ("probability: 0.05", "probability: 2"),
        ("kind: poisson", "kind: closed"),
        ("jitter: full", "jitter: half"),
        ('op: ">="', 'op: "="'),
        ("concurrency: 8,", "concurency: 8,"),
        ("max_attempts: 2", "max_attempts: 63"),
    ],
)
def test_it_refuses_what_the_loader_refuses_by_shape(validator, old, new):
    document = plain(parse_document(SMALL.replace(old, new, 1).encode(), "yaml"))
    assert list(validator.iter_errors(document)) != []


def test_it_is_a_document_of_its_own(validator):
    assert validator.schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert validator.schema["title"] == "capacity-manifest/v1"
    assert "SMALL" not in str(validator.schema)


@pytest.mark.parametrize(
    ("block", "scope"), [(WorkspaceLimits, "workspace"), (ProviderLimits, "provider"), (PrincipalLimits, "principal")]
)
def test_the_limits_of_a_scope_are_those_that_the_library_reads(block, scope):
    entries = [entry for entry in FIELDS if scope in entry.scopes]
    assert set(block.key_names()) == {entry.key for entry in entries}
    assert {name: field.default for name, field in block.model_fields.items()} == {
        entry.key: entry.default for entry in entries
    }


def test_limits_of_every_scope_are_written_once():
    common = {entry.key for entry in FIELDS if len(entry.scopes) == 3}
    assert set(LimitsBlock.key_names()) == common


def test_a_profile_has_the_keys_that_the_library_reads():
    assert set(ProfileBlock.key_names()) == {field.name for field in fields(AdmissionProfile)}
    assert set(SchedulingBlock.key_names()) == {field.name for field in fields(Scheduling)}
    assert SchedulingBlock() == SchedulingBlock(
        **{field.name: getattr(Scheduling(), field.name) for field in fields(Scheduling)}
    )


def test_a_breaker_has_the_keys_that_the_library_reads():
    in_ns = {field.name for field in fields(BreakerConfig)}
    assert {key.replace("_ms", "_ns") for key in BreakerBlock.key_names()} == in_ns
    assert set(WindowBlock.key_names()) == {field.name for field in fields(FailureRateWindow)}


def test_a_trace_has_the_keys_and_defaults_that_the_trace_reader_has():
    known = {field.name: field for field in fields(TraceSpec)}
    assert set(TraceArrivals.key_names()) == {"kind", *known, *RESHAPING}
    for name, field in TraceArrivals.model_fields.items():
        if not field.is_required() and name not in RESHAPING:
            found = field.default
            assert (tuple(found) if isinstance(found, list) else found) == known[name].default
