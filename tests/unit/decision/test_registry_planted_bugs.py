"""Each defence of the registry taken away on purpose, and the test that must notice."""

from __future__ import annotations

import pytest

from tests.unit.decision import test_registry as witness
from tollgate.decision import AdmissionController, AdmissionRegistry, registry


def versions_mutable(patch):
    patch.setattr(registry._Workspace, "check", lambda *_: None)


def busy_workspaces_evicted(patch):
    patch.setattr(AdmissionController, "is_fresh", lambda *_: True)


def idle_workspaces_evicted_whatever_their_buckets_hold(patch):
    patch.setattr(AdmissionController, "is_fresh", lambda self, _: self.is_idle)


def meaning_forgotten_with_the_controller(patch):
    patch.setattr(AdmissionRegistry, "_forget_beyond_bound", lambda self: self._retired.clear())


def held_controllers_not_found_again(patch):
    patch.setattr(registry.weakref, "ref", lambda _: registry._nobody)


def listeners_end_at_the_first_fault(patch):
    def tell(listeners, *args):
        try:
            for listener in listeners:
                listener(*args)
        except LookupError:
            registry._log.exception("a registry listener raised")

    patch.setattr(registry, "_tell", tell)


def listeners_faults_swallowed(patch):
    patch.setattr(registry._log, "exception", lambda _: None)


def principals_left_out_of_the_digest(patch):
    kept = witness.AdmissionProfile.to_mapping

    def without_principals(self):
        return {key: value for key, value in kept(self).items() if key != "principals"}

    patch.setattr(witness.AdmissionProfile, "to_mapping", without_principals)


def controller_of_each_policy_object(patch):
    kept = AdmissionRegistry.register

    def anew(self, workspace_id, profile, now_ns):
        self._live.pop(workspace_id, None)
        return kept(self, workspace_id, profile, now_ns)

    patch.setattr(AdmissionRegistry, "register", anew)


def in_use(use, limits):
    return lambda _: witness.test_a_workspace_with_anything_to_lose_is_never_evicted(use, limits)


BUGS = [
    (versions_mutable, lambda _: witness.test_a_version_with_other_limits_is_refused_and_nothing_has_changed({})),
    (versions_mutable, lambda _: witness.test_eviction_makes_no_version_mutable_and_keeps_the_history()),
    (busy_workspaces_evicted, in_use(witness.in_flight, {})),
    (idle_workspaces_evicted_whatever_their_buckets_hold, in_use(witness.bucket_short, {"requests_per_minute": 60})),
    (
        meaning_forgotten_with_the_controller,
        lambda _: witness.test_eviction_makes_no_version_mutable_and_keeps_the_history(),
    ),
    (
        held_controllers_not_found_again,
        lambda _: witness.test_an_evicted_controller_that_somebody_still_holds_is_used_again(),
    ),
    (
        listeners_end_at_the_first_fault,
        witness.test_listeners_hear_the_breakers_of_all_workspaces_registered_before_and_after,
    ),
    (
        listeners_faults_swallowed,
        witness.test_listeners_hear_the_breakers_of_all_workspaces_registered_before_and_after,
    ),
    (
        principals_left_out_of_the_digest,
        lambda _: witness.test_the_digest_is_the_hash_of_the_canonical_limits_without_the_version(),
    ),
    (
        controller_of_each_policy_object,
        lambda _: witness.test_policies_built_for_each_request_share_one_controller_and_its_ceilings(),
    ),
]


@pytest.mark.parametrize(
    ("plant", "test"), BUGS, ids=[f"{index} {plant.__name__}" for index, (plant, _) in enumerate(BUGS)]
)
def test_the_planted_bug_is_seen(plant, test, caplog):
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            test(caplog)
