from __future__ import annotations

import hashlib
import struct
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import pytest

from sim.manifest import load
from sim.manifest.clients import Client, Herd, RatioBudget, Retry, TokenBudget
from sim.manifest.distributions import (
    BoundedPareto,
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Uniform,
)
from sim.manifest.model import Phase, PrincipalInfo, Provenance, TraceReplay
from sim.manifest.processes import (
    Batches,
    BurstyPoisson,
    Closed,
    ModulatedPoisson,
    Poisson,
    RateCurve,
    Renewal,
    Reshape,
    State,
)
from sim.manifest.work import MaxTokens, Work
from tests.unit.manifest.texts import SMALL, changed, read

MS = 10**6
S = 10**9


@pytest.fixture(scope="module")
def everything(repository):
    return load(repository / "tests/fixtures/manifests/everything.yaml")


def test_the_exact_bytes_are_kept_and_digested(everything):
    assert everything.raw == everything.path.read_bytes()
    assert everything.sha256 == hashlib.sha256(everything.raw).hexdigest()


def test_head_of_the_manifest(everything):
    assert (everything.schema, everything.name, everything.version) == ("capacity-manifest/v1", "everything", "1.2.3")
    assert (everything.mode, everything.seed, everything.replications_n) == ("offline-fake-provider", 41, 30)
    assert (everything.target_kind, everything.discipline) == ("admission-controller", "reference")
    assert everything.lacks == ()
    assert everything.seed_family is None


def test_lengths_of_time_are_whole_nanoseconds(everything):
    assert everything.phases[0] == Phase("load", 0, 60 * S)
    assert (everything.phases[1].start_ns, everything.phases[1].end_ns) == (60 * S, 62_500_000_000)
    assert everything.horizon_ns == everything.declared_horizon_ns == 62_500_000_000
    assert (everything.warmup_ns, everything.drain_ns) == (10 * S, 30 * S)


def test_multipliers_shares_and_probabilities_are_exact(everything):
    assert everything.phases[1].rate_multiplier == {"loud": Fraction(4), "bursts": Fraction(1, 2)}
    # floor(0.29 * 100) is 28 in doubles.
    assert everything.profile.workspace.max_principal_share == Fraction(29, 100)
    assert everything.profile.workspace.tokens_per_second == Fraction(40_001, 2)
    assert everything.profile.workspace.max_queue_wait_ns == 2_000_500_000
    assert everything.providers[0].failure_probability == Fraction(1, 20)


def test_count_makes_principals_that_share_one_object_of_limits(everything):
    names = [info.name for info in everything.principals]
    assert names == ["loud", "calm-1", "calm-2", "calm-3", "calm-4"] == list(everything.profile.principals)
    assert everything.streams[1].principals == (1, 2, 3, 4)
    assert len({id(everything.profile.principals[name]) for name in names[1:]}) == 1
    assert everything.profile.principals["calm-3"].reserved_concurrency == 1


def test_a_class_is_that_of_the_stream_or_its_name(everything):
    assert everything.principals[0] == PrincipalInfo("loud", "noisy")
    assert everything.principals[1] == PrincipalInfo("calm-1", "calm")
    assert [stream.cls for stream in everything.streams[:5]] == ["noisy", "calm", "noisy", "noisy", "noisy"]


def test_arrivals(everything):
    loud, calm, bursts, recorded, office = everything.streams[:5]
    assert loud.arrivals == Poisson(Fraction(12))
    assert calm.arrivals == Poisson(Fraction(5, 2))
    assert bursts.arrivals == BurstyPoisson(Fraction(3), Fraction(8), 5 * S, 2 * S, 20 * S)
    assert isinstance(recorded.arrivals, TraceReplay)
    assert recorded.arrivals.path.name == "recorded.csv"
    assert recorded.arrivals.options["tokens_columns"] == ["prompt", "output"]
    assert office.arrivals == Closed(5, Exponential(30 * S))
    assert recorded.arrivals.reshape == Reshape()


def test_arrivals_of_every_kind(everything):
    found = {stream.name: stream.arrivals for stream in everything.streams}
    assert found["again"].reshape == Reshape(scale_rate=Fraction(3, 2), bootstrap_ns=S, keep=Fraction(9, 10))
    assert found["warped"].reshape == Reshape(time_warp=((0, 0), (60 * S, 30 * S)))
    assert found["day"] == RateCurve(
        ((0, Fraction(2)), (30 * S, Fraction(25, 2)), (62_500_000_000, Fraction(4))), is_linear=True
    )
    assert found["moods"] == ModulatedPoisson(
        (
            State(Fraction(1), Fraction(20 * S), ((1, Fraction(1)),)),
            State(Fraction(20), Fraction(2 * S), ((0, Fraction(1)),)),
        ),
        1,
    )
    assert found["moods-by-rates"] == ModulatedPoisson(
        (
            State(Fraction(1), Fraction(2 * S), ((1, Fraction(1)),)),
            State(Fraction(20), Fraction(2 * S), ((0, Fraction(1, 2)), (2, Fraction(1, 2)))),
            State(Fraction(0), Fraction(S), ((1, Fraction(1)),)),
        ),
        0,
    )
    assert found["steady"] == Renewal(Fraction(2), "weibull", Fraction(3, 10))
    assert found["jobs"] == Batches(Fraction(1, 5), Gamma(8, Fraction(1)), 250 * MS)


def test_work_that_is_more_than_tokens(everything, fixtures_folder):
    day = next(stream for stream in everything.streams if stream.name == "day")
    values = struct.pack("<4q", 192, 192, 1624, 2406)
    assert day.tokens == Constant(0)
    assert day.work == Work(
        Lognormal(300, None, 4000),
        Lognormal(250, Fraction(6, 5)),
        MaxTokens(1024),
        MappingProxyType(
            {
                "request_bytes": Empirical("sizes.csv", values),
                "cost_micros": None,
                "items": Uniform(1, 4),
                "attempts": Constant(1),
                "batch_size": Constant(2),
                "retained_work": BoundedPareto(Fraction(6, 5), 1, 16),
            }
        ),
    )
    assert everything.streams[0].work is None


def test_distributions(everything):
    assert everything.streams[0].tokens == Mixture(
        (
            (Fraction(49, 50), Constant(200)),
            (Fraction(3, 200), Uniform(5, 9)),
            (Fraction(1, 200), Constant(6000)),
        )
    )
    assert everything.streams[1].tokens == Constant(200)
    assert everything.streams[2].tokens == Uniform(100, 300)
    assert everything.providers[0].service == Uniform(40 * MS, 160 * MS)
    assert everything.providers[1].service == Exponential(80 * MS)


def test_provider_weights_sum_to_one(everything):
    assert everything.streams[0].providers == ((0, Fraction(2, 3)), (1, Fraction(1, 3)))


def test_clients(everything):
    assert everything.streams[0].client == Client(
        timeout_ns=10 * S,
        cancel_probability=Fraction(1, 100),
        cancel_after_ns=50 * MS,
        on_refusal="retry",
        layers=(Retry("exponential", 250 * MS, 5 * S, "full", 3),),
        honour_retry_after=False,
        abandon="provider-continues",
        frees_abandoned=True,
    )
    floor = RatioBudget(Fraction(1, 5), Fraction(5, 2), 8 * S)
    assert everything.streams[2].client.layers == (Retry("fixed", 100 * MS, 100 * MS, "none", 2, floor),)
    throttle = TokenBudget(10, Fraction(1, 10), "principal")
    assert everything.streams[1].client == Client(
        layers=(
            Retry("decorrelated", 50 * MS, 900 * MS, "none", 3, throttle, "sdk"),
            Retry("exponential", 500 * MS, 4 * S, "equal", 4, None, "service"),
        ),
        retry_after_cap_ns=120 * S,
        herd=Herd("blackout", 0, 12 * S, 15 * S, 50 * MS),
    )
    assert everything.streams[1].client.max_attempts == 12
    assert everything.streams[3].client == Client()


def test_gates(everything):
    admitted, wait, storms = everything.gates
    assert (admitted.metric, admitted.op, admitted.bound, admitted.unit) == ("admission.ratio", ">=", "0.95", "ratio")
    assert (admitted.estimand, admitted.confidence, admitted.where) == ("mean", Fraction(99, 100), {"class": "calm"})
    assert (wait.bound, wait.unit, wait.where) == ("1500", "ms", {"principal": "calm-4", "phase": "load"})
    assert (storms.estimand, storms.min_probability, storms.severity) == ("hold", Fraction(9, 10), "warn")


def test_inputs_and_provenance(everything, fixtures_folder):
    data = {name: (fixtures_folder / name).read_bytes() for name in ("recorded.csv", "sizes.csv")}
    assert [(entry.name, entry.sha256, entry.bytes) for entry in everything.inputs] == [
        (name, hashlib.sha256(content).hexdigest(), len(content)) for name, content in data.items()
    ]
    assert everything.provenance == (
        Provenance("streams[0].arrivals.per_second", "12", "measured", "a week of counts"),
    )


@pytest.fixture(scope="module")
def fixtures_folder(repository):
    return repository / "tests/fixtures/manifests"


def test_json_and_yaml_of_one_document_give_one_model():
    document = (
        '{"schema": "capacity-manifest/v1", "name": "n", "version": "1", "seed": 1, "profile": {"profile_version": "p",'
        ' "workspace": {}, "providers": {"v": {}}, "principals": {"a": {}}}, "phases": [{"name": "x", "seconds": 1.5}],'
        ' "streams": [{"name": "s", "principal": "a", "arrivals": {"kind": "poisson", "per_second": 0.1},'
        ' "work": {"tokens": 1}, "providers": {"v": 1}}], "providers": [{"id": "v", "service_ms": 0.5}]}'
    )
    as_json, as_yaml = read(document, "m.json"), read(document, "m.yaml")
    assert as_json.streams == as_yaml.streams
    assert as_json.providers == as_yaml.providers
    assert as_json.providers[0].service == Constant(500_000)
    assert as_json.profile == as_yaml.profile


def test_a_hundred_thousand_principals_share_limits_and_a_small_file():
    manifest = read(changed(("count: 4", "count: 100000"), ("reserved_concurrency: 1", "reserved_concurrency: 0")))
    assert len(manifest.principals) == len(manifest.profile.principals) == 100_001
    assert manifest.profile.principals["quiet-100000"] is manifest.profile.principals["quiet-1"]


def test_a_template_stays_a_principal_where_a_stream_uses_it_without_count():
    plain = (
        "- {name: one, principal: quiet, class: quiet, arrivals: {kind: poisson, per_second: 1}, work: {tokens: 1},"
        " providers: {primary: 1}}\n"
    )
    text = changed(("- name: quiet\n  count: 4", f"{plain}- name: quiet\n  count: 2"))
    manifest = read(text)
    assert [info.name for info in manifest.principals] == ["noisy", "quiet", "quiet-1", "quiet-2"]
    assert [stream.principals for stream in manifest.streams] == [(0,), (1,), (2, 3)]


def test_a_principal_without_traffic_is_kept():
    manifest = read(changed(("noisy: {concurrency: 8}", "noisy: {concurrency: 8}, idle: {concurrency: 1}")))
    assert PrincipalInfo("idle", "idle") in manifest.principals


def test_the_file_name_decides_how_bytes_are_read_and_without_one_their_first_character():
    assert read(SMALL, "x.yml").format == "yaml"
    assert read(SMALL, "x").format == "yaml"
    with pytest.raises(Exception, match="JSON"):
        read(SMALL, "x.json")


def test_loading_needs_no_current_folder(tmp_path, monkeypatch, repository):
    monkeypatch.chdir(tmp_path)
    found = load(repository / "manifests/noisy-neighbour.yaml")
    assert isinstance(found.path, Path)
