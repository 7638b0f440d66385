"""What limits imply, on profiles small enough to read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sim.gates import Guarantees
from tollgate.decision.profile import AdmissionProfile

MS = 1_000_000


def profile(workspace, providers=None, principals=None):
    return AdmissionProfile.from_mapping(
        {
            "profile_version": "p-1",
            "workspace": workspace,
            "providers": providers or {"u": {}, "v": {}},
            "principals": principals or {"noisy": {}, "quiet": {}},
        }
    )


CLASSES = {"noisy": "noisy", "quiet": "quiet"}


def ceiling(limits, metric, classes=CLASSES, max_attempts=None, **where):
    return Guarantees(limits, classes, max_attempts).value(metric, where, "<=")


@pytest.mark.parametrize("metric", ["active.max", "active.mean"])
def test_calls_stay_within_the_concurrency_of_the_workspace(metric):
    assert ceiling(profile({"concurrency": 4}), metric) == 4


def test_waiters_stay_within_the_queue_length():
    assert ceiling(profile({"max_queue_length": 128}), "queue.length.max") == 128


@pytest.mark.parametrize("metric", ["queue.wait.max", "queue.wait.p99", "queue.dwell.max", "lane.eligible_wait.max"])
def test_waits_stay_within_the_queue_dwell_in_milliseconds(metric):
    assert ceiling(profile({"max_queue_wait_ms": 2000}), metric) == 2000


def test_no_limit_guarantees_nothing():
    for metric in ("active.max", "queue.length.max", "queue.wait.max", "retry.amplification"):
        assert ceiling(profile({}), metric) is None


def test_limits_on_every_provider_add_up_and_one_without_a_limit_leaves_none():
    assert ceiling(profile({}, {"u": {"concurrency": 3}, "v": {"concurrency": 2}}), "active.max") == 5
    assert ceiling(profile({}, {"u": {"concurrency": 3}, "v": {}}), "active.max") is None
    assert ceiling(profile({"concurrency": 4}, {"u": {"concurrency": 3}, "v": {"concurrency": 2}}), "active.max") == 4


def test_waits_on_every_provider_are_at_most_the_longest_allowed():
    limits = profile({}, {"u": {"max_queue_wait_ms": 300}, "v": {"max_queue_wait_ms": 700}})
    assert ceiling(limits, "queue.wait.max") == 700
    assert ceiling(limits, "queue.wait.max", provider="u") == 300


def test_selectors_narrow_the_limits_to_their_scope():
    limits = profile(
        {"concurrency": 8},
        {"u": {"concurrency": 3}, "v": {"concurrency": 6}},
        {"noisy": {"concurrency": 5}, "quiet-1": {"concurrency": 2}, "quiet-2": {"concurrency": 2}},
    )
    classes = {"noisy": "noisy", "quiet-1": "quiet", "quiet-2": "quiet"}
    assert ceiling(limits, "active.max", classes, principal="quiet-1") == 2
    assert ceiling(limits, "active.max", classes, **{"class": "quiet"}) == 4
    assert ceiling(limits, "active.max", classes, provider="u") == 3
    assert ceiling(limits, "active.max", classes, **{"class": "noisy"}) == 5
    assert ceiling(limits, "active.max", classes, **{"class": "noisy", "phase": "spike"}) == 5


def test_a_share_of_the_pool_caps_one_principal():
    limits = profile({"concurrency": 8, "max_principal_share": "0.5"})
    assert ceiling(limits, "active.max", principal="noisy") == 4
    assert ceiling(limits, "active.max") == 8


def test_shares_are_exact_decimals():
    # 0.29 * 100 is 28.999... in doubles.
    limits = profile({"concurrency": 100, "max_principal_share": "0.29"})
    assert ceiling(limits, "active.max", principal="noisy") == 29


@pytest.mark.parametrize("metric", ["admission.ratio", "goodput.ratio", "utilisation", "fairness.jain"])
def test_shares_never_exceed_one(metric):
    assert ceiling(profile({}), metric) == 1


@pytest.mark.parametrize("op", [">=", ">"])
def test_every_metric_is_at_least_zero_and_amplification_at_least_one(op):
    limits = Guarantees(profile({}), CLASSES)
    assert limits.value("admission.ratio", {"class": "quiet"}, op) == 0
    assert limits.value("retry.amplification", {}, op) == 1


def test_amplification_stays_within_the_attempts_clients_make():
    assert ceiling(profile({}), "retry.amplification", max_attempts=2) == 2
    assert ceiling(profile({}), "retry.amplification.peak_10s", max_attempts=2) is None


def test_metrics_that_depend_on_the_traffic_are_not_guaranteed():
    limits = profile({"concurrency": 4, "max_queue_length": 8, "max_queue_wait_ms": 10})
    for metric in ("shed", "sojourn.p99", "cancel.latency.max", "host.cpu_ratio"):
        assert ceiling(limits, metric) is None


def test_parts_of_a_millisecond_are_kept():
    limits = profile({"max_queue_wait_ms": "0.5"})
    assert ceiling(limits, "queue.wait.max") == Fraction(1, 2)
