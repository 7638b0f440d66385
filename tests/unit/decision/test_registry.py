"""One controller a workspace, versions that keep their meaning, an audit, evictions that give nothing away."""

from __future__ import annotations

import doctest
import gc
import hashlib
import json
import logging

import pytest

from tollgate.core.breaker import FAILURE, SUCCESS, BreakerConfig, BreakerState
from tollgate.core.canonical import canonical_bytes, digest
from tollgate.core.deny import DenyReason
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MIN, NS_PER_S
from tollgate.decision import (
    AdmissionLimits,
    AdmissionProfile,
    AdmissionRegistry,
    InvalidDefinition,
    RegistryFull,
    Request,
    registry,
)

NONE = AdmissionLimits()
OPENS_AT_ONCE = AdmissionLimits(circuit_breaker=BreakerConfig(1, NS_PER_S, 1))


def profile(version="v1", *, providers=None, principals=None, **workspace):
    return AdmissionProfile(
        version, AdmissionLimits(**workspace), providers or {"llm": NONE}, principals or {"ann": NONE, "bob": NONE}
    )


def ask(controller, now_ns, *, principal="ann", budget_id="job"):
    """Return the decision on one request, None if it waits."""
    controller.request(Request(budget_id, principal, controller.workspace, "llm"), now_ns)
    decisions = controller.poll(now_ns)
    return decisions[-1] if decisions else None


def changes(of, workspace_id="w"):
    return [(change.kind.value, change.previous_version, change.version) for change in of.profile_history(workspace_id)]


# One controller a workspace


def test_policies_built_for_each_request_share_one_controller_and_its_ceilings():
    of = AdmissionRegistry()
    first = of.register("w", profile(requests_per_minute=1), 0)
    assert ask(first, 0).is_admitted
    again = of.register("w", profile(requests_per_minute=1), 1)
    assert again is first
    assert ask(again, 1) is None  # it waits: the one request of this minute is spent
    assert of.controller("w") is first
    assert len(of) == 1


def test_the_order_in_which_a_policy_names_principals_and_providers_is_no_difference():
    of = AdmissionRegistry()
    one = profile(providers={"u": NONE, "v": OPENS_AT_ONCE}, principals={"ann": NONE, "bob": NONE})
    other = profile(providers={"v": OPENS_AT_ONCE, "u": NONE}, principals={"bob": NONE, "ann": NONE})
    assert of.register("w", one, 0) is of.register("w", other, 0)


def test_two_workspaces_share_nothing():
    of = AdmissionRegistry()
    one, other = (of.register(name, profile(requests_per_minute=1), 0) for name in ("w1", "w2"))
    assert one is not other
    assert ask(one, 0).is_admitted
    assert ask(other, 0).is_admitted


def test_a_workspace_never_registered_has_no_controller_and_no_history():
    of = AdmissionRegistry()
    assert of.controller("w") is None
    assert of.profile_history("w") == ()


# Versions


def test_another_version_changes_all_limits_at_once_and_keeps_what_is_in_flight():
    of = AdmissionRegistry()
    controller = of.register("w", profile(concurrency=2), 0)
    held = ask(controller, 0).permit
    tighter = profile("v2", concurrency=1, principals={"ann": NONE})
    assert of.register("w", tighter, 1) is controller
    assert controller.active == 1
    assert ask(controller, 1) is None  # one place now, and it is taken
    assert ask(controller, 1, principal="bob").denial.reason is DenyReason.UNCONFIGURED_PRINCIPAL
    assert controller.release(held, SUCCESS, 2)
    assert [decision.is_admitted for decision in controller.poll(2)] == [True]


def test_what_waits_is_judged_again_under_the_new_version():
    of = AdmissionRegistry()
    controller = of.register("w", profile(concurrency=1), 0)
    ask(controller, 0)
    assert ask(controller, 0) is None
    of.register("w", profile("v2", concurrency=1, requests_per_minute=0), 1)
    assert [decision.denial.reason for decision in controller.poll(1)] == [DenyReason.REQUESTS_PER_MINUTE]


def test_an_earlier_version_is_a_rollback_with_its_first_digest():
    of = AdmissionRegistry()
    for at_ns, (version, concurrency) in enumerate([("v1", 4), ("v2", 2), ("v1", 4), ("v3", 3), ("v2", 2)]):
        of.register("w", profile(version, concurrency=concurrency), at_ns)
    assert changes(of) == [
        ("initial", None, "v1"),
        ("change", "v1", "v2"),
        ("rollback", "v2", "v1"),
        ("change", "v1", "v3"),
        ("rollback", "v3", "v2"),
    ]
    history = of.profile_history("w")
    assert [change.at_ns for change in history] == [0, 1, 2, 3, 4]
    assert history[0].digest == history[2].digest
    assert history[1].digest == history[4].digest
    assert len({change.digest for change in history}) == 3


def test_the_current_version_again_leaves_no_record():
    of = AdmissionRegistry()
    for at_ns in range(3):
        of.register("w", profile(), at_ns)
    assert changes(of) == [("initial", None, "v1")]


def test_two_versions_with_equal_limits_are_a_change_without_another_digest():
    of = AdmissionRegistry()
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v2", concurrency=1), 1)
    one, other = of.profile_history("w")
    assert changes(of)[1] == ("change", "v1", "v2")
    assert one.digest == other.digest


@pytest.mark.parametrize(
    "other",
    [
        {"concurrency": 5},
        {"concurrency": 4, "principals": {"ann": NONE}},
        {"concurrency": 4, "principals": {"ann": AdmissionLimits(concurrency=1), "bob": NONE}},
        {"concurrency": 4, "providers": {"llm": OPENS_AT_ONCE}},
    ],
    ids=["workspace", "principal gone", "principal limits", "provider"],
)
def test_a_version_with_other_limits_is_refused_and_nothing_has_changed(other):
    of = AdmissionRegistry()
    seen = []
    first = profile(concurrency=4)
    controller = of.register("w", first, 0)
    of.register("w", profile("v2", concurrency=2), 1)
    of.on_profile_change(seen.append)
    before = (changes(of), controller.profile, of.controller("w"))
    offered = profile(**other)
    with pytest.raises(InvalidDefinition) as caught:
        of.register("w", offered, 2)
    assert (changes(of), controller.profile, of.controller("w")) == before
    assert seen == []
    fault = caught.value
    assert (fault.reason, fault.version) == ("invalid-definition", "v1")
    assert (fault.known_digest, fault.offered_digest) == (first.digest, offered.digest)
    assert isinstance(fault, ConfigError)
    for part in ("profile_version", "'v1'", first.digest, offered.digest, "invalid-definition"):
        assert part in str(fault)
    of.register("w", first, 3)  # and its first meaning stands


def test_a_version_means_something_in_its_workspace_only():
    of = AdmissionRegistry()
    of.register("w1", profile(concurrency=1), 0)
    of.register("w2", profile(concurrency=2), 0)


def test_versions_beyond_the_bound_are_forgotten_the_one_registered_longest_ago_first():
    of = AdmissionRegistry(max_versions=2)
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v2", concurrency=2), 0)
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v3", concurrency=3), 0)  # v2 is forgotten: v1 was registered after it
    with pytest.raises(InvalidDefinition):
        of.register("w", profile("v1", concurrency=9), 0)
    of.register("w", profile("v2", concurrency=9), 0)
    assert changes(of)[-1] == ("change", "v3", "v2")


def test_the_current_version_is_never_forgotten():
    of = AdmissionRegistry(max_versions=1)
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v2", concurrency=2), 0)
    with pytest.raises(InvalidDefinition):
        of.register("w", profile("v2", concurrency=3), 0)


# Digests and records


def test_the_digest_is_the_hash_of_the_canonical_limits_without_the_version():
    of = AdmissionRegistry()
    limits = profile(concurrency=4, principals={"bob": NONE, "ann": AdmissionLimits(reserved_concurrency=1)})
    of.register("w", limits, 0)
    by_hand = {
        "principals": {"ann": {"reserved_concurrency": 1}, "bob": {}},
        "providers": {"llm": {}},
        "scheduling": {"kind": "turns", "protect_large_requests": True, "quantum_tokens": 1000},
        "workspace": {"concurrency": 4},
    }
    text = json.dumps(by_hand, sort_keys=True, separators=(",", ":"))
    [change] = of.profile_history("w")
    assert change.digest == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("concurrency", "expected"),
    [
        (4, "16a5079f2e2505638f8b8c543c35462bdb71dcfb4dc523dc9527059a9938d7ef"),
        (5, "f3966ed54bb74dea4f2ebde2829229c3895197e050927878d9676ca9eb642fc0"),
    ],
)
def test_the_hash_is_the_one_that_the_reference_publishes(concurrency, expected):
    block = {"providers": {"v": {"concurrency": 1}}, "workspace": {"concurrency": concurrency}}
    assert digest(block) == f"sha256:{expected}"


def test_a_record_is_canonical_even_when_the_clock_has_passed_the_largest_integer():
    of = AdmissionRegistry()
    now_ns = 2**53 + 5
    of.register("w", profile(), now_ns)
    of.register("w", profile("v2"), now_ns + 1)
    change = of.profile_history("w")[1]
    assert change.to_mapping() == {
        "schema": "decision-admission-profile-change/v2",
        "workspace": "w",
        "kind": "change",
        "previous_profile_version": "v1",
        "profile_version": "v2",
        "digest": profile("v2").digest,
        "at_ns": "9007199254740998",
    }
    assert json.loads(canonical_bytes(change.to_mapping())) == change.to_mapping()


def test_history_keeps_the_latest_records():
    of = AdmissionRegistry(max_history=3)
    for number in range(5):
        of.register("w", profile(f"v{number}"), number)
    assert [change.version for change in of.profile_history("w")] == ["v2", "v3", "v4"]
    assert AdmissionRegistry().profile_history("w") == ()


# Clocks


def test_another_clock_forgets_nothing():
    """Q16: the reference starts a workspace anew when a registration brings another clock."""
    of = AdmissionRegistry()
    limits = {"requests_per_minute": 1, "providers": {"llm": OPENS_AT_ONCE}}
    controller = of.register("w", profile(**limits), 10**12)
    permit = ask(controller, 10**12).permit
    controller.release(permit, FAILURE, 10**12)
    for now_ns in (0, 10**12 + 1, 5, 10**12 + 2):
        assert of.register("w", profile(**limits), now_ns) is controller
        assert ask(controller, now_ns) is None
    assert controller.breaker_transitions[-1].transition.to_state is BreakerState.OPEN
    assert controller.poll(10**12 + NS_PER_MIN - 1) == []
    [decision] = controller.poll(10**12 + NS_PER_MIN)
    assert decision.is_admitted


# Eviction


def test_the_idle_workspace_registered_longest_ago_makes_room():
    of = AdmissionRegistry(max_workspaces=2)
    of.register("w1", profile(), 0)
    of.register("w2", profile(), 0)
    of.register("w1", profile(), 0)  # as a host does that builds a policy for each request
    of.register("w3", profile(), 0)
    assert of.controller("w2") is None
    assert of.controller("w1") is not None
    assert len(of) == 2


def in_flight(controller):
    ask(controller, 0)
    return 0, None


def waiting_behind_a_pause(controller):
    controller.pause("llm", 7, 0)
    ask(controller, 0)
    return 0, None


def decided_but_not_delivered(controller):
    controller.request(Request("job", "nobody", controller.workspace, "llm"), 0)
    return 0, None


def bucket_short(controller):
    controller.release(ask(controller, 0).permit, SUCCESS, 0)
    return NS_PER_S - 1, NS_PER_S


def paused(controller):
    controller.pause("llm", 7, 0)
    return 6, 7


def breaker_open(controller):
    controller.release(ask(controller, 0).permit, FAILURE, 0)
    return 10 * NS_PER_MIN, None


def failure_counted(controller):
    controller.release(ask(controller, 0).permit, FAILURE, 0)
    return 10 * NS_PER_MIN, None


def budget_open(controller):
    controller.release(ask(controller, 0).permit, SUCCESS, 0)
    return 10 * NS_PER_MIN, None


THRESHOLD_2 = AdmissionLimits(circuit_breaker=BreakerConfig(2, NS_PER_S, 1))
NOT_FRESH = [
    (in_flight, {}),
    (waiting_behind_a_pause, {}),
    (decided_but_not_delivered, {}),
    (bucket_short, {"requests_per_minute": 60}),
    (paused, {}),
    (breaker_open, {"providers": {"llm": OPENS_AT_ONCE}}),
    (failure_counted, {"providers": {"llm": THRESHOLD_2}}),
    (budget_open, {"max_attempts": 1}),
]


@pytest.mark.parametrize(("use", "limits"), NOT_FRESH, ids=[use.__name__ for use, _ in NOT_FRESH])
def test_a_workspace_with_anything_to_lose_is_never_evicted(use, limits):
    of = AdmissionRegistry(max_workspaces=1)
    controller = of.register("w", profile(**limits), 0)
    until_ns, free_ns = use(controller)
    with pytest.raises(RegistryFull) as caught:
        of.register("other", profile(), until_ns)
    assert "workspaces" in str(caught.value)
    assert isinstance(caught.value, ConfigError)
    assert of.controller("w") is controller
    assert of.controller("other") is None
    assert of.profile_history("other") == ()
    assert of.register("w", profile(**limits), until_ns) is controller  # who is in stays in
    if free_ns is not None:
        of.register("other", profile(), free_ns)
        assert of.controller("w") is None


def test_a_later_workspace_goes_when_the_oldest_may_not():
    of = AdmissionRegistry(max_workspaces=2)
    in_flight(of.register("busy", profile(), 0))
    of.register("idle", profile(), 0)
    of.register("new", profile(), 0)
    assert of.controller("busy") is not None
    assert of.controller("idle") is None


def test_a_refused_definition_evicts_nobody():
    of = AdmissionRegistry(max_workspaces=1)
    of.register("w1", profile(concurrency=1), 0)
    of.register("w2", profile(), 0)
    with pytest.raises(InvalidDefinition):
        of.register("w1", profile(concurrency=2), 0)
    assert of.controller("w2") is not None
    assert of.controller("w1") is None


def test_eviction_makes_no_version_mutable_and_keeps_the_history():
    of = AdmissionRegistry(max_workspaces=1)
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v2", concurrency=2), 1)
    of.register("other", profile(), 2)
    assert changes(of) == [("initial", None, "v1"), ("change", "v1", "v2")]
    with pytest.raises(InvalidDefinition):
        of.register("w", profile("v1", concurrency=3), 3)
    of.register("w", profile("v2", concurrency=2), 4)  # as if it had never been away
    of.register("w", profile("v1", concurrency=1), 5)
    assert changes(of)[2:] == [("rollback", "v2", "v1")]


def test_workspaces_evicted_longest_ago_are_forgotten_beyond_the_bound():
    of = AdmissionRegistry(max_workspaces=1, max_retired=2)
    for name in ("w1", "w2", "w3", "w4"):
        of.register(name, profile(concurrency=1), 0)
    assert of.profile_history("w1") == ()
    assert changes(of, "w2") == [("initial", None, "v1")]
    of.register("w1", profile(concurrency=2), 0)


def test_an_evicted_controller_that_somebody_still_holds_is_used_again():
    """Otherwise the holder would admit by one controller and everybody else by another: twice the limits."""
    of = AdmissionRegistry(max_workspaces=1, max_retired=0)
    held = of.register("w", profile(requests_per_minute=1), 0)
    of.register("other", profile(), 0)
    assert of.controller("w") is None
    assert ask(held, 0).is_admitted
    with pytest.raises(InvalidDefinition):  # not forgotten either, though there is no room for the retired
        of.register("w", profile(requests_per_minute=2), 1)
    assert of.register("w", profile(requests_per_minute=1), 1) is held
    assert ask(held, 1) is None


def test_an_evicted_controller_that_nobody_holds_is_gone():
    of = AdmissionRegistry(max_workspaces=1, max_retired=0)
    of.register("w", profile(concurrency=1), 0)
    gc.collect()
    of.register("other", profile(), 0)
    of.register("w", profile(concurrency=2), 0)
    assert changes(of) == [("initial", None, "v1")]


def test_a_controller_made_anew_has_the_profile_it_was_registered_with():
    of = AdmissionRegistry(max_workspaces=1)
    of.register("w", profile("v1", concurrency=1), 0)
    of.register("w", profile("v2", concurrency=2), 0)
    of.register("other", profile(), 0)
    controller = of.register("w", profile("v1", concurrency=1), 0)
    assert controller.profile.profile_version == "v1"
    assert ask(controller, 0).is_admitted
    assert ask(controller, 0) is None


# Listeners


def test_listeners_hear_of_every_change_after_it_took_effect_and_one_that_raises_stops_nothing(caplog):
    of = AdmissionRegistry()
    heard = []

    def deaf(change):
        raise LookupError(change.version)

    of.on_profile_change(deaf)
    of.on_profile_change(lambda change: heard.append((change, of.controller("w").profile.profile_version)))
    with caplog.at_level(logging.ERROR):
        of.register("w", profile("v1"), 0)
        of.register("w", profile("v1"), 1)
        of.register("w", profile("v2"), 2)
    assert [change.version for change, _ in heard] == [current for _, current in heard] == ["v1", "v2"]
    assert [change for change, _ in heard] == list(of.profile_history("w"))
    assert [record.exc_info[0] for record in caplog.records] == [LookupError, LookupError]


def test_listeners_hear_the_breakers_of_all_workspaces_registered_before_and_after(caplog):
    of = AdmissionRegistry()
    heard = []

    def deaf(workspace_id, event):
        raise LookupError

    first = of.register("w1", profile(providers={"llm": OPENS_AT_ONCE}), 0)
    of.on_breaker_transition(deaf)
    of.on_breaker_transition(lambda workspace_id, event: heard.append((workspace_id, event.provider)))
    second = of.register("w2", profile(providers={"llm": OPENS_AT_ONCE}), 0)
    with caplog.at_level(logging.ERROR):
        for controller in (second, first):
            controller.release(ask(controller, 0).permit, FAILURE, 0)
    assert heard == [("w2", "llm"), ("w1", "llm")]
    assert [record.exc_info[0] for record in caplog.records] == [LookupError, LookupError]


# Bad input


@pytest.mark.parametrize("workspace_id", ["", "x" * 129, "a\nb", None, 7])
def test_a_bad_workspace_id_is_refused(workspace_id):
    with pytest.raises(ConfigError, match="workspace"):
        AdmissionRegistry().register(workspace_id, profile(), 0)


def test_a_profile_with_too_many_principals_is_refused_before_anything_is_created():
    of = AdmissionRegistry(max_principals=2)
    with pytest.raises(ConfigError, match="at most 2"):
        of.register("w", profile(principals={"a": NONE, "b": NONE, "c": NONE}), 0)
    assert len(of) == 0


@pytest.mark.parametrize("bound", ["max_workspaces", "max_principals", "max_versions", "max_history", "max_retired"])
@pytest.mark.parametrize("value", [-1, 0, 1.5, "3", True, None])
def test_a_bound_that_is_none_is_refused(bound, value):
    if (bound, value) == ("max_retired", 0) and type(value) is int:
        AdmissionRegistry(max_retired=0)
        return
    with pytest.raises(ConfigError, match=bound):
        AdmissionRegistry(**{bound: value})


def test_the_example_in_the_docstring_holds():
    result = doctest.testmod(registry)
    assert result.attempted > 0
    assert result.failed == 0
