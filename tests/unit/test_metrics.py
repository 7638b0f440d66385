from __future__ import annotations

import pytest

from sim.metrics import BY_NAME, METRICS, SELECTORS, STOPS, metric_named
from tollgate.core.deny import DenyReason
from tollgate.core.errors import ConfigError

# The contract's list (spec 00), written out, and behind it what issue 3 adds to it: errors of estimates.
CONTRACT = """
arrivals attempts completed failed shed cancelled in_flight.end admission.ratio goodput.ratio goodput.per_second
utilisation active.max active.mean queue.length.max queue.length.mean queue.wait.mean queue.wait.p50 queue.wait.p95
queue.wait.p99 queue.wait.max queue.dwell.p99 queue.dwell.max lane.eligible_wait.max sojourn.p50 sojourn.p95 sojourn.p99
cancel.latency.max retry.amplification retry.amplification.peak_10s breaker.transitions breaker.open_time pause.time
fairness.jain fairness.service_lag.max fairness.starvation.max recovery.time recovery.metastable host.rss_peak
host.cpu_ratio
tokens.overestimate.ratio tokens.underestimate.ratio
"""


def test_the_registry_is_the_contracts_list():
    by_reason = {f"{kind}.{reason}" for kind in ("shed", "deferrals") for reason in DenyReason}
    ours = {f"retry.stopped.{stop}" for stop in STOPS}  # beyond the contract (decision 0029)
    assert set(BY_NAME) == {*CONTRACT.split(), *by_reason, *ours}
    assert len(BY_NAME) == len(METRICS)


def test_an_unknown_metric_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"x: got 'queue\.wait\.p90'.*did you mean \"queue\.wait\.p9"):
        metric_named("queue.wait.p90", "x")


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_units_follow_from_names(metric):
    timed = ("queue.wait", "queue.dwell", "lane.", "sojourn", "cancel.latency", "breaker.open_time", "pause.time")
    timed += ("fairness.starvation", "recovery.time")
    if metric.name.startswith(timed):
        assert metric.unit == "ms"
    elif metric.name.startswith(("retry.stopped.", "fairness.service_lag", "recovery.metastable")):
        assert metric.unit == "count"
    elif "ratio" in metric.name or metric.name.startswith(("retry.", "fairness.", "utilisation")):
        assert metric.unit == "ratio"


def test_selectors_are_known_and_a_metric_of_the_host_has_none():
    for metric in METRICS:
        assert set(metric.selectors) <= set(SELECTORS)
        assert not (metric.host and metric.selectors)
