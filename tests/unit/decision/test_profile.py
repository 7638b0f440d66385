"""Profiles: one value, whole or refused, with a digest of its limits."""

from __future__ import annotations

import pytest

from tests.unit.decision.desk import NOTHING
from tollgate.core.errors import ConfigError
from tollgate.decision import AdmissionLimits, AdmissionProfile, Scheduling

BLOCK = {
    "profile_version": "nn-1",
    "workspace": {"concurrency": 8, "max_principal_share": "0.5"},
    "providers": {"primary": {"concurrency": 6}},
    "principals": {"noisy": {"concurrency": 8}, "quiet": {"concurrency": 2, "reserved_concurrency": 1}},
}


def test_a_profile_reads_back_from_what_it_writes():
    profile = AdmissionProfile.from_mapping(BLOCK)
    assert AdmissionProfile.from_mapping(profile.to_mapping()) == profile
    assert profile.principals["quiet"].reserved_concurrency == 1


@pytest.mark.parametrize("key", ["profile_version", "workspace", "providers", "principals"])
def test_a_missing_part_is_named(key):
    block = {name: part for name, part in BLOCK.items() if name != key}
    with pytest.raises(ConfigError, match=rf"^profile\.{key}: "):
        AdmissionProfile.from_mapping(block)


@pytest.mark.parametrize("key", ["providers", "principals"])
@pytest.mark.parametrize("value", [{}, [], "x", {"": {}}, {"x" * 129: {}}])
def test_no_providers_or_principals_and_bad_names_are_refused(key, value):
    with pytest.raises(ConfigError, match=rf"^profile\.{key}"):
        AdmissionProfile.from_mapping(BLOCK | {key: value})


@pytest.mark.parametrize("version", ["", "x" * 129, 7, None, "a\0b", "a\x1b[31m", "a\nb"])
def test_a_version_is_a_short_text(version):
    with pytest.raises(ConfigError, match=r"^profile\.profile_version: "):
        AdmissionProfile.from_mapping(BLOCK | {"profile_version": version})


@pytest.mark.parametrize(("workspace", "provider", "where"), [(2, 9, "workspace"), (9, 2, r"providers\.u")])
def test_reservations_above_any_pool_are_refused_and_equality_is_not(workspace, provider, where):
    def profile(each):
        return AdmissionProfile(
            "v",
            AdmissionLimits(concurrency=workspace),
            {"u": AdmissionLimits(concurrency=provider)},
            {"A": AdmissionLimits(reserved_concurrency=1), "B": AdmissionLimits(reserved_concurrency=each)},
        )

    assert profile(1)
    with pytest.raises(ConfigError, match=rf"^{where}\.concurrency: "):
        profile(2)


def test_digest_is_of_the_limits_principals_included_and_not_of_the_version():
    profile = AdmissionProfile.from_mapping(BLOCK)
    renamed = AdmissionProfile.from_mapping(BLOCK | {"profile_version": "nn-2"})
    changed = AdmissionProfile.from_mapping(BLOCK | {"principals": {"noisy": {"concurrency": 7}, "quiet": {}}})
    assert profile.digest == renamed.digest
    assert profile.digest != changed.digest
    reordered = {key: BLOCK[key] for key in reversed(BLOCK)}
    assert AdmissionProfile.from_mapping(reordered).digest == profile.digest


def test_a_profile_never_changes():
    principals = {"A": NOTHING}
    profile = AdmissionProfile("v", NOTHING, {"u": NOTHING}, principals)
    principals["B"] = NOTHING
    assert set(profile.principals) == {"A"}
    with pytest.raises(TypeError):
        profile.principals["C"] = NOTHING


@pytest.mark.parametrize(
    ("key", "value"),
    [("kind", "fifo"), ("quantum_tokens", 0), ("quantum_tokens", 1.5), ("protect_large_requests", "yes")],
)
def test_scheduling_out_of_range_is_refused_by_key(key, value):
    with pytest.raises(ConfigError, match=rf"^profile\.scheduling\.{key}: "):
        AdmissionProfile.from_mapping(BLOCK | {"scheduling": {key: value}})


def test_turns_with_protection_is_the_default():
    assert AdmissionProfile.from_mapping(BLOCK).scheduling == Scheduling("turns", protect_large_requests=True)
