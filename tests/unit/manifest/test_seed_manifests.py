from __future__ import annotations

import hashlib
from fractions import Fraction

import pytest

from sim.manifest import load, parse, with_overrides
from sim.manifest.clients import Client, Retry
from sim.manifest.distributions import Uniform
from sim.manifest.model import Phase, PrincipalInfo, Provenance
from tollgate.core.breaker import BreakerConfig
from tollgate.core.errors import ConfigError

MS = 10**6
S = 10**9

ASSUMPTIONS = """\
schema: capacity-assumptions/v1
source: an invented pair
principals: [{id: loud, class: noisy, weight: 0.75}, {id: calm, class: quiet, weight: 0.25}]
providers: [b, a]
tokens: {small: 200, huge: 900, huge_share: 0.02}
service_ms: {min: 40, max: 160}
failure_probability: 0.05
retries: {max_retries: 1, backoff_ms: 250}
cancellation: {probability: 0.01, after_ms: 50}
"""


@pytest.fixture(scope="module")
def v1(repository):
    return load(repository / "manifests/load-manifest.v1.json")


@pytest.fixture(scope="module")
def v2(repository):
    return load(repository / "manifests/load-manifest.v2.json")


@pytest.fixture
def assumed(repository, tmp_path):
    path = tmp_path / "assume.yaml"
    path.write_text(ASSUMPTIONS)
    return load(repository / "manifests/load-manifest.v1.json", assume=path)


def test_the_shipped_manifests_are_the_seeds_to_the_byte(v1, v2):
    # The digests that the seed prints.
    assert v1.sha256 == "9c6db981b0e1d124e317651ed15e8972fbf27b7a7596b15aa23ea3baac4bb03f"
    assert v2.sha256 == "416a41466dc58063f45b5e5e9a7ad78b011cf6d3be50b081bab6e47c76a28a0c"
    assert hashlib.sha256(v2.raw).hexdigest() == v2.sha256


def test_v2_phases_put_the_spike_after_the_load_and_make_it_as_long_as_the_arrival_model_says(v2):
    # REFERENCE 8.1: the spike lasts spikeDurationSeconds from loadSeconds; spikeSeconds only adds to the total.
    assert v2.phases == (Phase("load", 0, 60 * S), Phase("spike", 60 * S, 70 * S), Phase("soak", 70 * S, 990 * S))
    assert v2.warmup_ns == 0


def test_v2_limits_are_exact(v2):
    workspace, jev = v2.profile.workspace, v2.profile.providers["jev"]
    assert (workspace.concurrency, workspace.max_queue_length, workspace.max_retained_work) == (4, 128, 16)
    assert workspace.requests_per_minute == 2400
    assert workspace.max_queue_wait_ns == 2 * S
    assert workspace.max_cost_micros == 1_000_000
    assert workspace.max_principal_share == Fraction(1, 2)
    assert jev.max_principal_share == Fraction(3, 4)
    assert jev.circuit_breaker == BreakerConfig(failure_threshold=5, open_ns=S, half_open_max_calls=1)
    assert v2.profile.principals["quiet-reserved"].reserved_concurrency == 1
    assert v2.profile.principals["noisy"].tokens_per_second == 50_000
    assert v2.profile.profile_version == "load-offline-v2"


def test_v2_principals_and_providers(v2):
    assert v2.principals[0] == PrincipalInfo("noisy", "noisy")
    assert [info.name for info in v2.principals[1:]] == ["quiet-reserved", "quiet-a", "quiet-b", "quiet-c"]
    assert {info.cls for info in v2.principals[1:]} == {"quiet"}
    for provider in v2.providers:
        assert provider.service == Uniform(40 * MS, 160 * MS)
        assert provider.failure_probability == Fraction(1, 20)


def test_v2_clients_retry_once_after_a_fixed_wait_that_a_cancellation_does_not_end(v2):
    assert v2.client == Client(
        cancel_probability=Fraction(1, 100),
        cancel_after_ns=50 * MS,
        layers=(Retry("fixed", 250 * MS, 250 * MS, "none", 2),),
        abortable_backoff=False,
    )
    assert v2.streams == ()


def test_v2_arrival_model(v2):
    family = v2.seed_family
    assert (family.seed, family.rate, family.spike_multiplier) == (2601, 20.0, 4.0)
    assert (family.spike_start_ms, family.spike_ms, family.end_ms) == (60_000, 10_000, 990_000)
    assert family.principals == ((0, 0.6), (1, 0.1), (2, 0.1), (3, 0.1), (4, 0.1))
    assert family.providers == (0, 1)
    assert (family.small_tokens, family.huge_tokens, family.huge_share) == (200, 6000, 0.02)
    assert (family.service_min_ms, family.service_max_ms) == (40, 160)
    assert (family.failure_rate, family.max_retries, family.backoff_ms) == (0.05, 1, 250)
    assert (family.cancellation_rate, family.cancel_after_ms) == (0.01, 50)


def test_v2_bounds_are_gates_on_the_path_under_the_seeds_names(v2):
    assert [(gate.id, gate.metric, gate.op, gate.bound) for gate in v2.gates] == [
        ("maximumActiveCalls", "active.max", "<=", "4"),
        ("maximumQueuedCalls", "queue.length.max", "<=", "128"),
        ("maximumHeapUsedMiB", "host.rss_peak", "<=", "512"),
        ("maximumCpuPercentOneCore", "host.cpu_ratio", "<=", "0.8"),
        ("maximumEligibleLaneWaitMs", "lane.eligible_wait.max", "<=", "2000"),
        ("maximumRetryAmplificationRatio", "retry.amplification", "<=", "1.25"),
        ("maximumCancellationLatencyMs", "cancel.latency.max", "<=", "100"),
        ("minimumQuietPrincipalAdmissionRatio", "admission.ratio", ">=", "0.95"),
    ]
    assert {gate.estimand for gate in v2.gates} == {"path"}
    assert v2.gates[-1].where == {"class": "quiet"}


def test_providers_are_ordered_by_code_unit_for_the_generator_only(repository):
    # UTF-16 puts U+1F600 (a surrogate pair) before U+FB33, UTF-8 and code points after it.
    raw = (repository / "manifests/load-manifest.v2.json").read_text(encoding="utf-8")
    raw = raw.replace('"jev":', '"\ufb33":').replace('"llm-subagent":', '"\U0001f600":')
    manifest = parse(raw.encode(), path=repository / "x.json")
    assert [provider.id for provider in manifest.providers] == ["\ufb33", "\U0001f600"]
    assert manifest.seed_family.providers == (1, 0)


def test_every_variant_loads(repository):
    variants = sorted((repository / "tests/conformance/data").rglob("[0-9][0-9]-*.json"))
    variants = [path for path in variants if not path.name.endswith(".expected.json")]
    assert len(variants) == 8
    for path in variants:
        assert load(path).lacks == ()


def test_a_rate_below_one_a_minute_is_kept_exact(repository):
    (path,) = (repository / "tests/conformance/data").rglob("17-rpm-bound.json")
    assert load(path).profile.principals["quiet-b"].requests_per_minute == Fraction(1, 2)


@pytest.mark.parametrize(
    ("path", "value", "pieces"),
    [
        ("workspace.concurrency", "0", ["workspace.concurrency: got 0"]),
        ("workspace.max_queue_length", "1", ["workspace.max_queue_length", 'did you mean "maxQueueLength"?']),
        ("workspace.requestsBurst", "1", ["workspace.requestsBurst: got the unknown key"]),
        (
            "providers.jev.circuitBreaker.halfOpenMaxCalls",
            "0",
            ["providers.jev.circuitBreaker.halfOpenMaxCalls: got 0"],
        ),
        ("principals.quiet-a.limits.reservedConcurrency", "3", ["principals[2].limits.reservedConcurrency: got 3"]),
        ("principals.noisy.limits.reservedConcurrency", "5", ["workspace.concurrency: got 4", "6"]),
        ("principals.noisy.id", "quiet-a", ["principals[2].id: got 'quiet-a'"]),
        ("principals", "[]", ["principals: got an empty list"]),
        ("providers", "{}", ["providers: got an empty mapping"]),
        ("principals.noisy.weight", "0", ["principals[0].weight: got 0", "above 0"]),
        ("arrivalModel.hugeTokenShare", "1.5", ["arrivalModel.hugeTokenShare: got 1.5"]),
        ("arrivalModel.kind", "poisson", ["arrivalModel.kind", "seeded-bursty-poisson"]),
        ("arrivalModel.serviceTimeMs.maximum", "3", ["serviceTimeMs.maximum: got 3", "at least minimum"]),
        ("duration", "{loadSeconds: 0, spikeSeconds: 0, soakSeconds: 0}", ["duration", "more than 0 seconds"]),
        ("bounds.maximumActiveCall", "3", ["bounds.maximumActiveCall", 'did you mean "maximumActiveCalls"?']),
        ("passFail.liveServiceRequired", "true", ["passFail.liveServiceRequired: got true; allowed: false"]),
        ("mode", "staged-provider", ["mode staged-provider is not available in this version"]),
    ],
)
def test_complaints_about_a_seed_manifest_speak_its_own_spelling(v2, path, value, pieces):
    with pytest.raises(ConfigError) as caught:
        with_overrides(v2, [(path, value)])
    for piece in pieces:
        assert piece in str(caught.value)


def test_v1_loads_without_assumptions_and_says_what_it_lacks(v1):
    assert v1.lacks == ("principals", "providers", "token sizes", "service times", "failures", "cancellations")
    assert v1.seed_family.end_ms == 990_000
    assert [gate.id for gate in v1.gates][2] == "maximumResidentMemoryMiB"


def test_v1_bounds_its_one_evaluation_by_the_smallest_ceiling(v1):
    # 8, 4, 6, 3, 4, 4 in the order binding, caller, graph, principal, workspace, provider.
    assert v1.profile.workspace.concurrency == 3
    assert v1.profile.workspace.max_attempts == 64
    assert v1.profile.workspace.max_cost_micros == 1_000_000
    assert v1.profile.workspace.max_queue_wait_ns == 2 * S


def test_assumptions_complete_v1(assumed):
    assert assumed.lacks == ()
    assert assumed.principals == (PrincipalInfo("loud", "noisy"), PrincipalInfo("calm", "quiet"))
    assert assumed.seed_family.principals == ((0, 0.75), (1, 0.25))
    assert [provider.id for provider in assumed.providers] == ["b", "a"]
    assert assumed.seed_family.providers == (1, 0)
    assert assumed.seed_family.huge_share == 0.02
    assert assumed.client.max_attempts == 2
    assert assumed.profile.principals["calm"].concurrency == 3
    assert assumed.profile.providers["a"].concurrency == 4


def test_assumptions_are_an_input_and_marked_as_assumed(assumed):
    (entry,) = assumed.inputs
    assert (entry.name, entry.bytes) == ("assume.yaml", len(ASSUMPTIONS))
    assert entry.sha256 == hashlib.sha256(ASSUMPTIONS.encode()).hexdigest()
    assert Provenance("principals[0].weight", "0.75", "assumed", "assume.yaml: an invented pair") in assumed.provenance
    assert Provenance("retries.backoff_ms", "250", "assumed", "assume.yaml: an invented pair") in assumed.provenance
    assert {line.kind for line in assumed.provenance} == {"assumed"}
    assert not [line for line in assumed.provenance if line.path in {"schema", "source"}]


def test_assumptions_survive_an_override(assumed):
    changed = with_overrides(assumed, [("profile.workspaceConcurrency", "2")])
    assert changed.profile.workspace.concurrency == 2
    assert changed.principals == assumed.principals
    assert changed.inputs == assumed.inputs


def test_bad_assumptions_are_refused_under_their_own_name(repository, tmp_path):
    path = tmp_path / "assume.yaml"
    path.write_text(ASSUMPTIONS.replace("backoff_ms", "backof_ms"))
    with pytest.raises(ConfigError, match=r"assume\.yaml: retries\.backof_ms: .*backoff_ms"):
        load(repository / "manifests/load-manifest.v1.json", assume=path)


def test_a_complete_manifest_takes_no_assumptions(repository, tmp_path):
    path = tmp_path / "assume.yaml"
    path.write_text(ASSUMPTIONS)
    for name in ("load-manifest.v2.json", "noisy-neighbour.yaml"):
        with pytest.raises(ConfigError, match="to go with assumptions"):
            load(repository / "manifests" / name, assume=path)
