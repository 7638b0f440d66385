"""What limits imply, on profiles small enough to read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sim.gates import Callers, Guarantees
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


def guarantees(limits, classes=CLASSES, span_ns=None, **client):
    """Everybody behaves alike and calls every provider."""
    return Guarantees(limits, classes, [Callers(list(classes), list(limits.providers), **client)], span_ns)


def ceiling(limits, metric, classes=CLASSES, max_attempts=None, **where):
    return guarantees(limits, classes, max_attempts=max_attempts).value(metric, where, "<=")


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
    limits = guarantees(profile({}))
    assert limits.value("admission.ratio", {"class": "quiet"}, op) == 0
    assert limits.value("retry.amplification", {}, op) == 1


def test_amplification_stays_within_the_attempts_clients_make():
    assert ceiling(profile({}), "retry.amplification", max_attempts=2) == 2
    assert ceiling(profile({}), "retry.amplification.peak_10s", max_attempts=2) == 2


def test_metrics_that_depend_on_the_traffic_are_not_guaranteed():
    limits = profile({"concurrency": 4, "max_queue_length": 8, "max_queue_wait_ms": 10})
    for metric in ("shed", "sojourn.p99", "cancel.latency.max", "host.cpu_ratio"):
        assert ceiling(limits, metric) is None


def test_parts_of_a_millisecond_are_kept():
    limits = profile({"max_queue_wait_ms": "0.5"})
    assert ceiling(limits, "queue.wait.max") == Fraction(1, 2)


def test_amplification_of_a_class_is_that_of_its_own_clients():
    streams = [Callers(["noisy"], ["u"], max_attempts=4), Callers(["quiet"], ["v"], max_attempts=2)]
    of = Guarantees(profile({}), CLASSES, streams)
    assert of.value("retry.amplification", {}, "<=") == 4
    assert of.value("retry.amplification", {"class": "quiet"}, "<=") == 2
    assert of.value("retry.amplification", {"provider": "v"}, "<=") == 2


def test_a_provider_without_traffic_takes_no_bound_away():
    of = Guarantees(profile({}, {"u": {"concurrency": 3}, "v": {}}), CLASSES, [Callers(["noisy"], ["u"])])
    assert of.value("active.max", {}, "<=") == 3


def test_the_shares_of_every_provider_cap_one_principal_together():
    pools = {
        "u": {"concurrency": 4, "max_principal_share": "0.5"},
        "v": {"concurrency": 6, "max_principal_share": "0.5"},
    }
    assert ceiling(profile({}, pools), "active.max", principal="noisy") == 5
    assert ceiling(profile({}, pools), "active.max", principal="noisy", provider="u") == 2


def test_the_reservations_of_others_are_kept_from_a_principal():
    limits = profile({"concurrency": 8}, principals={"noisy": {}, "quiet": {"reserved_concurrency": 3}})
    assert ceiling(limits, "active.max", principal="noisy") == 5
    assert ceiling(limits, "active.max", principal="quiet") == 8
    assert ceiling(limits, "active.max") == 8


def test_another_discipline_is_not_taken_to_keep_reservations():
    limits = profile({"concurrency": 8}, principals={"noisy": {}, "quiet": {"reserved_concurrency": 3}})
    of = Guarantees(limits, CLASSES, [Callers(list(CLASSES), ["u"])], is_shipped=False)
    assert of.value("active.max", {"principal": "noisy"}, "<=") == 8
    assert of.value("shed.queue-full", {}, "<=") is None


def test_a_pool_is_used_no_more_than_what_stands_above_it_lets_through():
    limits = profile({"concurrency": 4}, {"u": {"concurrency": 6}, "v": {"concurrency": 2}})
    assert ceiling(limits, "utilisation", provider="u") == Fraction(4, 6)
    assert ceiling(limits, "utilisation", provider="v") == 1
    assert ceiling(limits, "utilisation") == 1


def test_a_time_out_bounds_waits_and_the_sojourn_of_those_who_completed():
    of = guarantees(profile({}), timeout_ns=400 * MS)
    for metric in ("queue.wait.max", "queue.dwell.p99", "sojourn.p50", "sojourn.p99"):
        assert of.value(metric, {}, "<=") == 400


def test_one_stream_without_a_time_out_leaves_the_sojourn_without_a_bound():
    streams = [Callers(["noisy"], ["u"], timeout_ns=400 * MS), Callers(["quiet"], ["u"])]
    of = Guarantees(profile({}), CLASSES, streams)
    assert of.value("sojourn.p99", {}, "<=") is None
    assert of.value("sojourn.p99", {"class": "noisy"}, "<=") == 400


def test_a_wait_is_bounded_lane_by_lane():
    """The principal that may wait long calls the provider where nobody may."""
    limits = profile({}, {"u": {"max_queue_wait_ms": 300}, "v": {}}, {"noisy": {}, "quiet": {"max_queue_wait_ms": 50}})
    of = Guarantees(limits, CLASSES, [Callers(["noisy"], ["u"]), Callers(["quiet"], ["v"])])
    assert of.value("queue.wait.max", {}, "<=") == 300


def test_the_index_of_jain_is_at_least_one_over_the_number_of_principals():
    assert guarantees(profile({})).value("fairness.jain", {}, ">=") == Fraction(1, 2)


def test_without_a_breaker_nothing_opens_and_with_one_no_longer_than_the_run():
    breaker = {"circuit_breaker": {"failure_threshold": 2, "open_ms": 100, "half_open_max_calls": 1}}
    assert ceiling(profile({}), "breaker.transitions") == 0
    assert ceiling(profile({}), "breaker.open_time") == 0
    of = guarantees(profile({}, {"u": breaker, "v": {}}), span_ns=5000 * MS)
    assert of.value("breaker.open_time", {}, "<=") == 5000
    assert of.value("breaker.open_time", {"provider": "v"}, "<=") == 0
    assert of.value("breaker.transitions", {}, "<=") is None
    assert of.value("pause.time", {}, "<=") == 10000


def test_a_reason_that_needs_a_limit_which_no_scope_sets_never_occurs():
    assert ceiling(profile({}), "shed.queue-full") == 0
    assert ceiling(profile({"max_queue_length": 4}), "shed.queue-full") is None
    assert ceiling(profile({}), "shed.tokens-per-second") is None


def test_a_cancellation_that_is_heeded_at_once_takes_no_time():
    assert guarantees(profile({}), heeds_cancellation=True).value("cancel.latency.max", {}, "<=") == 0


def test_nothing_is_left_in_flight_by_a_run_that_is_judged():
    assert ceiling(profile({}), "in_flight.end", **{"class": "quiet"}) == 0


def test_the_shipped_controller_lets_nobody_go_twice_before_another():
    assert ceiling(profile({"concurrency": 4}), "fairness.service_lag.max") == 1
    other = Guarantees(profile({}), CLASSES, [Callers(list(CLASSES), ["u"])], is_shipped=False)
    assert other.value("fairness.service_lag.max", {}, "<=") is None


def test_callers_in_a_closed_loop_are_never_more_than_they_are():
    streams = [Callers(["noisy"], ["u"], population=3), Callers(["quiet"], ["v"], population=2)]
    of = Guarantees(profile({}), CLASSES, streams)
    assert of.value("active.max", {}, "<=") == 5
    assert of.value("queue.length.max", {"class": "noisy"}, "<=") == 3
    assert of.value("active.max", {"provider": "v"}, "<=") == 2


def test_one_open_stream_leaves_the_number_of_callers_without_a_bound():
    streams = [Callers(["noisy"], ["u"], population=3), Callers(["quiet"], ["u"])]
    assert Guarantees(profile({}), CLASSES, streams).value("active.max", {}, "<=") is None


def test_callers_who_leave_calls_behind_may_have_more_of_them_than_they_are():
    streams = [Callers(["noisy"], ["u"], population=3, leaves_calls=True)]
    of = Guarantees(profile({}), CLASSES, streams)
    assert of.value("active.max", {}, "<=") is None
    assert of.value("queue.length.max", {}, "<=") == 3
