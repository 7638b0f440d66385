from __future__ import annotations

from fractions import Fraction

import pytest

from sim.manifest import load, with_overrides
from tests.unit.manifest.texts import SMALL, read
from tollgate.core.errors import ConfigError

S = 10**9


@pytest.fixture(scope="module")
def small():
    return read(SMALL)


@pytest.fixture(scope="module")
def v2(repository):
    return load(repository / "manifests/load-manifest.v2.json")


def test_a_value_is_replaced_and_recorded_and_the_bytes_stay(small):
    found = with_overrides(small, [("profile.workspace.concurrency", "6")])
    assert found.profile.workspace.concurrency == 6
    assert found.overrides == (("profile.workspace.concurrency", "6"),)
    assert (found.raw, found.sha256) == (small.raw, small.sha256)
    assert small.profile.workspace.concurrency == 8


@pytest.mark.parametrize(
    "path", ["streams.noisy.arrivals.per_second", "streams.0.arrivals.per_second", "streams[0].arrivals.per_second"]
)
def test_an_entry_of_a_list_is_named_by_name_or_place(small, path):
    assert with_overrides(small, [(path, "20.5")]).streams[0].arrivals.per_second == Fraction(41, 2)


def test_an_entry_of_a_list_is_named_by_id_too(small):
    assert with_overrides(small, [("gates.quiet-wait.bound", "7")]).gates[1].bound == "7"


def test_a_key_with_a_dot_in_it_can_be_named(repository):
    everything = load(repository / "tests/fixtures/manifests/everything.yaml")
    found = with_overrides(
        everything, [("profile.providers.gpt-4.1.concurrency", "5"), ("providers.gpt-4.1.service_ms", "3")]
    )
    assert found.profile.providers["gpt-4.1"].concurrency == 5
    assert found.providers[1].service.value == 3_000_000


def test_a_key_that_the_file_leaves_out_can_be_set(small):
    found = with_overrides(small, [("warmup_seconds", "5"), ("profile.workspace.max_queue_wait_ms", "100")])
    assert found.warmup_ns == 5 * S
    assert found.profile.workspace.max_queue_wait_ns == S // 10


def test_a_value_may_be_a_block(small):
    found = with_overrides(small, [("streams.quiet.client", "{timeout_ms: 100}")])
    assert found.streams[1].client.timeout_ns == S // 10


def test_values_are_read_as_a_manifest_reads_them(small):
    with pytest.raises(ConfigError, match=r"small\.yaml: seed: got 'on'; allowed: an integer"):
        with_overrides(small, [("seed", "on")])


def test_later_overrides_win_and_earlier_calls_stay(small):
    found = with_overrides(small, [("seed", "3"), ("seed", "4")])
    assert found.seed == 4
    again = with_overrides(found, [("warmup_seconds", "2")], window_s=40)
    assert (again.seed, again.warmup_ns, again.horizon_ns) == (4, 2 * S, 40 * S)
    assert again.overrides == (("seed", "4"), ("warmup_seconds", "2"))
    assert with_overrides(again, seed=9).horizon_ns == 40 * S


def test_works_on_the_seeds_manifests_in_their_spelling(v2):
    found = with_overrides(v2, [("workspace.maxQueueWaitMs", "1500"), ("arrivalModel.maxRetries", "3")])
    assert found.profile.workspace.max_queue_wait_ns == 1_500_000_000
    assert (found.seed_family.max_retries, found.client.max_attempts) == (3, 4)


def test_a_seed_replaces_the_manifests(small, v2):
    assert with_overrides(small, seed=99).seed == 99
    found = with_overrides(v2, seed=99)
    assert (found.seed, found.seed_family.seed) == (99, 99)
    assert found.overrides == ()


def test_a_window_cuts_the_phases(small, v2):
    found = with_overrides(small, window_s="62.5")
    assert [(phase.name, phase.end_ns) for phase in found.phases] == [("load", 60 * S), ("spike", 62_500_000_000)]
    assert (found.window_ns, found.declared_horizon_ns) == (62_500_000_000, 70 * S)
    assert [phase.name for phase in with_overrides(v2, window_s=60).phases] == ["load"]
    assert with_overrides(v2, window_s=90).seed_family.end_ms == 90_000


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("profil.workspace.concurrency", "6", 'did you mean "profile"?'),
        ("profile.workspace.concurency", "6", 'did you mean "concurrency"?'),
        ("profile.principals.nosy.concurrency", "6", 'did you mean "noisy"?'),
        ("streams.nosy.arrivals.per_second", "6", 'did you mean "noisy"?'),
        ("streams.2.name", "x", "one of noisy, quiet"),
        ("streams.-1.name", "x", "one of noisy, quiet"),
        ("gates.0.bound.x", "1", "nothing below"),
        ("gates.0.bound", "many", "gates[0].bound: got 'many'"),
        ("seed", "[1", "well-formed YAML"),
        ("seed", "", "a value after the ="),
        ("", "1", "the unknown key ''"),
        ("schema", "decision-load-manifest/v2", "other than its schema"),
        ("warmup_seconds", "&a 1", "anchors are refused"),
    ],
)
def test_a_bad_override_is_refused(small, path, value, complaint):
    with pytest.raises(ConfigError) as caught:
        with_overrides(small, [(path, value)])
    assert str(caught.value).startswith("small.yaml: ")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("profile.workspace.concurrency", "workspace.concurrency"),
        ("profile.workspace.max_queue_wait_ms", "workspace.maxQueueWaitMs"),
        ("profile.providers.jev.requests_per_minute", "providers.jev.requestsPerMinute"),
        ("profile.providers.jev.circuit_breaker.open_ms", "providers.jev.circuitBreaker.openMs"),
        ("profile.principals.noisy.max_queue_length", "principals.noisy.limits.maxQueueLength"),
    ],
)
def test_our_path_on_a_seed_manifest_is_answered_with_the_seeds(v2, path, right):
    with pytest.raises(ConfigError) as caught:
        with_overrides(v2, [(path, "5")])
    assert str(caught.value).endswith(f"; a decision-load-manifest/v2 has no profile block, here it is {right}")
    with_overrides(v2, [(right, "5")])


@pytest.mark.parametrize("path", ["profile.scheduling.kind", "profile.workspace"])
def test_what_a_seed_manifest_does_not_have_is_answered_without_a_place(v2, path):
    with pytest.raises(ConfigError, match=r"has no profile block$"):
        with_overrides(v2, [(path, "5")])


@pytest.mark.parametrize(
    ("path", "right"),
    [
        ("workspace.concurrency", "profile.workspace.concurrency"),
        ("workspace.maxQueueWaitMs", "profile.workspace.max_queue_wait_ms"),
        ("principals.noisy.limits.maxQueueLength", "profile.principals.noisy.max_queue_length"),
    ],
)
def test_the_seeds_path_on_our_manifest_is_answered_with_ours(small, path, right):
    with pytest.raises(ConfigError) as caught:
        with_overrides(small, [(path, "5")])
    assert str(caught.value).endswith(f"; a capacity-manifest/v1 keeps limits in its profile, here it is {right}")
    with_overrides(small, [(right, "5")])


@pytest.mark.parametrize("window", [0, -1, 71, "0.0000000001", "1e1", "x"])
def test_a_bad_window_is_refused(small, window):
    with pytest.raises(ConfigError, match=r"small\.yaml: window"):
        with_overrides(small, window_s=window)


def test_a_window_of_a_seed_manifest_is_in_whole_milliseconds(v2):
    with pytest.raises(ConfigError, match="whole milliseconds"):
        with_overrides(v2, window_s="1.0005")


def test_a_window_shorter_than_the_warm_up_is_refused(small):
    with pytest.raises(ConfigError, match="warmup_seconds: got 30"):
        with_overrides(with_overrides(small, [("warmup_seconds", "30")]), window_s=20)


@pytest.mark.parametrize("seed", [-1, 2**53])
def test_a_bad_seed_is_refused(small, seed):
    with pytest.raises(ConfigError, match=r"small\.yaml: seed"):
        with_overrides(small, seed=seed)


def test_a_seed_manifests_seed_has_32_bits(v2):
    with pytest.raises(ConfigError, match="4294967295"):
        with_overrides(v2, seed=2**32)


RATE = "streams.noisy.arrivals.per_second"
OVERLAPPING = {
    "the same path twice": [(RATE, "3"), (RATE, "5")],
    "one entry under two names": [("streams.noisy.arrivals.per_second", "3"), ("streams.0.arrivals.per_second", "5")],
    "two spellings of a place": [("streams[0].arrivals.per_second", "3"), ("streams.0.arrivals.per_second", "5")],
    "a block after its part": [(RATE, "3"), ("streams.noisy.arrivals", "{kind: poisson, per_second: 5}")],
    "a part after its block": [("streams.noisy.arrivals", "{kind: poisson, per_second: 3}"), (RATE, "5")],
    "a part by place after its block by name": [
        ("streams.noisy.arrivals", "{kind: poisson, per_second: 3}"),
        ("streams.0.arrivals.per_second", "5"),
    ],
    "an entry that was renamed": [
        ("streams.quiet.class", "quiet"),
        ("streams.quiet.name", "able"),
        ("streams.able.arrivals.per_second", "5"),
    ],
    "an entry renamed twice": [
        ("streams.quiet.class", "quiet"),
        ("streams.quiet.name", "able"),
        ("streams.able.arrivals.per_second", "5"),
        ("streams.able.name", "zoe"),
    ],
}


@pytest.mark.parametrize("sets", OVERLAPPING.values(), ids=OVERLAPPING)
def test_changes_kept_by_path_give_the_same_manifest_in_the_order_of_the_paths(small, sets):
    # A record is canonical JSON: its keys are in order, whatever order the changes were given in.
    found = with_overrides(small, sets)
    assert 5 in [stream.arrivals.per_second for stream in found.streams]
    kept = dict(found.overrides)
    assert len(kept) == len(found.overrides)
    for order in (found.overrides, sorted(kept.items())):
        again = with_overrides(small, order)
        assert (again.streams, again.phases, dict(again.overrides)) == (found.streams, found.phases, kept)


def test_changes_that_do_not_meet_are_kept_as_they_were_given(small):
    sets = [(RATE, "5"), ("profile.workspace.concurrency", "6"), ("gates.quiet-wait.bound", "7")]
    assert with_overrides(small, sets).overrides == tuple(sets)
