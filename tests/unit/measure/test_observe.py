from __future__ import annotations

from fractions import Fraction

import pytest

from sim.measure.observe import Measure
from sim.metrics import METRICS
from sim.trace import NONE, AttemptCol, AttemptOutcome, LevelCol, LevelKind, RequestOutcome
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.core.errors import CallerError
from tollgate.decision.evidence import Hold
from tollgate.decision.limits import AdmissionLimits

# Worked out by hand. Phases: load [0, 10 s), spike [10 s, 30 s). Principal a is of class x, b and c of class y.
LIMITS = {"workspace": AdmissionLimits(concurrency=2), "provider_limits": AdmissionLimits(concurrency=1)}
ASKS = [
    # a at u: served at once for 4 s
    Ask((Try(1 * S, service=4 * S),), principal=0, provider=0),
    # b at v: waits 1 s, fails after 2 s; again at 7 s, served for 1 s
    Ask(
        (
            Try(
                2 * S,
                wait=S,
                service=2 * S,
                outcome=AttemptOutcome.FAILED,
                hold=Hold.PROVIDER_CONCURRENCY,
                eligible=S // 2,
            ),
            Try(7 * S, service=S),
        ),
        principal=1,
        provider=1,
    ),
    # c at u: the queue is full
    Ask((Try(3 * S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),), principal=2, provider=0),
    # c at u in the spike: waits 3 s and times out
    Ask(
        (
            Try(
                12 * S,
                wait=3 * S,
                outcome=AttemptOutcome.SHED,
                reason=DenyReason.QUEUE_TIMEOUT,
                hold=Hold.PROVIDER_TOKENS,
            ),
        ),
        principal=2,
        provider=0,
    ),
    # a at v in the spike: waits 2 s, cancelled in service, 5 ms after the signal
    Ask(
        (Try(20 * S, wait=2 * S, service=S, outcome=AttemptOutcome.ABORTED, hold=Hold.WORKSPACE_CONCURRENCY),),
        principal=0,
        provider=1,
        signal=23 * S - 5 * MS,
    ),
]


def measured(of, written, asked=()):
    measure = Measure(of, asked)
    written.read(measure.consumers)
    return measure


@pytest.fixture(scope="module")
def measure():
    of = shape(**LIMITS)
    written = write(of, ASKS)
    written.transitions = [
        (0, "closed", "open", 4 * S, 3, 0),
        (1, "closed", "open", 5 * S, 3, 1),
        (0, "open", "half-open", 6 * S, 3, 2),
        (0, "half-open", "open", 7 * S, 4, 2),
        (0, "open", "half-open", 9 * S, 4, 3),
        (0, "half-open", "closed", 10 * S, 0, 3),
    ]
    written.pauses = [(0, 2 * S, 5 * S), (0, 3 * S, 4 * S), (0, 4 * S, 6 * S), (1, 29 * S, 99 * S)]
    return measured(of, written)


WHOLE_RUN = {
    "arrivals": 5,
    "attempts": 6,
    "completed": 2,
    "failed": 0,
    "shed": 2,
    "shed.queue-full": 1,
    "shed.queue-timeout": 1,
    "shed.concurrency": 0,
    "cancelled": 1,
    "in_flight.end": 0,
    "deferrals.concurrency": 2,
    "deferrals.tokens-per-second": 1,
    "admission.ratio": "0.600000",
    "goodput.ratio": "0.400000",
    "goodput.per_second": "0.066667",  # 2 in 30 s
    "utilisation": "0.133333",  # 4 + 2 + 1 + 1 s of calls in 30 s of 2 permits
    "active.max": 2,
    "active.mean": "0.266667",
    "queue.length.max": 1,
    "queue.length.mean": "0.200000",  # 1 + 3 + 2 s
    "queue.wait.mean": "750.000000",  # 0, 1, 0, 2 s
    "queue.wait.p50": "0.000000",
    "queue.wait.p95": "2000.000000",
    "queue.wait.p99": "2000.000000",
    "queue.wait.max": "2000.000000",
    "queue.dwell.p99": "3000.000000",
    "queue.dwell.max": "3000.000000",
    "lane.eligible_wait.max": "500.000000",
    "sojourn.p50": "4000.000000",
    "sojourn.p95": "6000.000000",
    "sojourn.p99": "6000.000000",
    "cancel.latency.max": "5.000000",
    "retry.amplification": "1.200000",
    "retry.amplification.peak_10s": "1.333333",  # 4 attempts of 3 arrivals in the first 10 s
    "breaker.transitions": 6,
    "breaker.open_time": "29000.000000",  # u: 4-6 and 7-9 s; v: 5-30 s
    "pause.time": "5000.000000",  # u: 2-6 s, overlaps counted once; v: 29-30 s
    "fairness.jain": "0.666667",  # shares 1, 1, 0
    "fairness.service_lag.max": 0,
    "fairness.starvation.max": "500.000000",
    "recovery.time": None,  # there is no outage
    "recovery.metastable": None,
    "tokens.overestimate.ratio": "0.000000",
    "tokens.underestimate.ratio": "0.000000",
}

SELECTED = [
    ("arrivals", {"class": "y"}, 3),
    ("arrivals", {"principal": "b"}, 1),
    ("attempts", {"provider": "v", "phase": "load"}, 2),
    ("shed.queue-timeout", {"class": "y", "phase": "spike"}, 1),
    ("shed.queue-timeout", {"class": "y", "phase": "load"}, 0),
    ("admission.ratio", {"class": "y"}, "0.333333"),
    ("admission.ratio", {"class": "y", "phase": "spike"}, "0.000000"),
    ("goodput.per_second", {"phase": "load"}, "0.200000"),
    ("goodput.per_second", {"phase": "spike"}, "0.000000"),
    ("utilisation", {"provider": "u"}, "0.133333"),
    ("utilisation", {"provider": "v"}, "0.133333"),
    ("active.max", {"class": "y"}, 1),
    ("queue.length.max", {"principal": "b"}, 1),
    ("active.mean", {"phase": "load"}, "0.700000"),  # 4 + 2 + 1 s in 10 s
    ("active.mean", {"phase": "spike"}, "0.050000"),  # 1 s in 20 s
    ("active.max", {"phase": "load"}, 2),
    ("active.max", {"phase": "spike"}, 1),
    ("queue.length.mean", {"phase": "spike"}, "0.250000"),  # 3 + 2 s in 20 s
    ("queue.length.max", {"phase": "spike"}, 1),
    ("utilisation", {"phase": "load"}, "0.350000"),  # of 2 permits
    ("queue.wait.max", {"class": "y"}, "1000.000000"),
    ("queue.wait.mean", {"phase": "spike"}, "2000.000000"),
    ("queue.wait.p50", {"principal": "c"}, None),  # it was never admitted
    ("queue.dwell.max", {"principal": "c"}, "3000.000000"),
    ("sojourn.p50", {"provider": "v"}, "6000.000000"),
    ("sojourn.p50", {"phase": "spike"}, None),
    ("cancel.latency.max", {"class": "y"}, None),
    ("retry.amplification", {"phase": "spike"}, "1.000000"),
    ("retry.amplification.peak_10s", {"class": "y"}, "1.500000"),
    ("fairness.jain", {"class": "x"}, "1.000000"),
    ("fairness.jain", {"class": "y"}, "0.500000"),
    ("fairness.jain", {"provider": "u"}, "0.500000"),  # a 1, c 0; b asked for nothing there
    ("fairness.jain", {"phase": "spike"}, "0.500000"),  # a 1, c 0
    ("fairness.starvation.max", {"principal": "a"}, "0.000000"),
    ("fairness.starvation.max", {"class": "y", "provider": "v"}, "500.000000"),
    ("fairness.service_lag.max", {"class": "x"}, 0),
    ("breaker.transitions", {"provider": "v"}, 1),
    ("breaker.open_time", {"provider": "u"}, "4000.000000"),
    ("pause.time", {"provider": "v"}, "1000.000000"),
]


@pytest.mark.parametrize(("metric", "expected"), WHOLE_RUN.items())
def test_metrics_of_the_whole_run_worked_out_by_hand(measure, metric, expected):
    assert measure.value(metric, {}) == expected


@pytest.mark.parametrize(("metric", "where", "expected"), SELECTED)
def test_metrics_of_selections_worked_out_by_hand(measure, metric, where, expected):
    assert measure.value(metric, where) == expected


def test_every_metric_of_a_run_has_a_value_worked_out_here():
    plain = {metric.name for metric in METRICS if not metric.host}
    by_reason = {name for name in plain if name.startswith(("shed.", "deferrals.", "retry.stopped."))}
    assert plain - by_reason <= set(WHOLE_RUN)


def test_observations_are_registered_metrics_in_order_with_their_own_selectors(measure):
    registry = {metric.name: metric for metric in METRICS}
    observations = measure.observations()
    places = [list(registry).index(row["metric"]) for row in observations]
    assert places == sorted(places)
    for row in observations:
        assert set(row["labels"]) <= set(registry[row["metric"]].selectors)
        assert (row["unit"], row["n"], row["half_width"]) == (registry[row["metric"]].unit, 1, None)
    keys = [(row["metric"], tuple(row["labels"].items())) for row in observations]
    assert len(set(keys)) == len(keys)


def test_observations_agree_with_single_values(measure):
    for row in measure.observations():
        assert measure.value(row["metric"], row["labels"]) == row["value"]


def test_reasons_are_listed_where_they_occurred_and_by_class_and_phase(measure):
    observations = measure.observations()
    shed = [row for row in observations if row["metric"] == "shed.queue-full"]
    assert {tuple(row["labels"].items()): row["value"] for row in shed} == {
        (): 1,
        (("class", "y"),): 1,
        (("principal", "c"),): 1,
        (("provider", "u"),): 1,
        (("phase", "load"),): 1,
        (("class", "y"), ("phase", "load")): 1,
    }
    assert not [row for row in observations if row["metric"] == "shed.circuit-open"]


def test_what_a_gate_asks_for_is_listed_even_at_zero():
    of = shape()
    asked = [
        ("shed.circuit-open", {}),
        ("queue.wait.p99", {"provider": "v", "class": "x"}),
        ("queue.length.max", {"provider": "v", "class": "y"}),
        ("arrivals", {"class": "x"}),
        ("host.rss_peak", {}),
    ]
    measure = measured(of, write(of, ASKS), asked)
    rows = {(row["metric"], tuple(row["labels"].items())): row["value"] for row in measure.observations()}
    assert rows["shed.circuit-open", ()] == 0
    assert rows["queue.wait.p99", (("class", "x"), ("provider", "v"))] == "2000.000000"
    assert rows["queue.length.max", (("class", "y"), ("provider", "v"))] == 1


def test_a_metric_without_a_value_is_not_listed():
    of = shape()
    measure = measured(of, write(of, []), [("queue.wait.p99", {})])
    listed = {row["metric"] for row in measure.observations()}
    assert not listed & {"queue.wait.p99", "admission.ratio", "utilisation", "fairness.jain", "sojourn.p50"}
    assert {"arrivals", "active.max", "queue.length.mean"} <= listed


@pytest.mark.parametrize(
    ("metric", "where", "message"),
    [
        ("no.such", {}, "no metric of a run"),
        ("host.rss_peak", {}, "no metric of a run"),
        ("utilisation", {"class": "x"}, "allowed: provider"),
        ("fairness.jain", {"principal": "a"}, "allowed: class, provider, phase"),
        ("arrivals", {"class": "z"}, "no 'z'"),
        ("active.max", {"class": "x", "phase": "load"}, "by class and phase was not asked for"),
        ("queue.length.mean", {"class": "x", "provider": "u"}, "by class and provider was not asked for"),
    ],
)
def test_what_is_not_measured_is_refused_by_name(measure, metric, where, message):
    with pytest.raises(CallerError, match=message):
        measure.value(metric, where)


def test_warm_up_is_left_out_with_its_retries_but_stays_in_the_levels():
    # b was meant to ask at 2 s, so both its attempts are warm-up; the call of a that began at 1 s is still there.
    of = shape(warmup=2 * S + 1, **LIMITS)
    measure = measured(of, write(of, ASKS))
    assert (measure.value("arrivals", {}), measure.value("attempts", {})) == (3, 3)
    assert measure.value("goodput.ratio", {}) == "0.000000"
    assert measure.value("active.max", {}) == 2
    # u is busy from the end of warm-up to 5 s
    area = Fraction(5 * S - (2 * S + 1), 28 * S - 1)
    assert measure.value("utilisation", {"provider": "u"}) == f"{float(area):.6f}"


def test_the_drain_counts_for_outcomes_and_not_for_means():
    of = shape(phases=[("load", 0, 10 * S)], workspace=AdmissionLimits(concurrency=1))
    measure = measured(of, write(of, [Ask((Try(9 * S, service=5 * S),))]))
    assert measure.value("completed", {}) == 1
    assert measure.value("utilisation", {}) == "0.100000"
    assert measure.value("active.mean", {}) == "0.100000"


def test_a_peak_in_the_drain_is_a_peak():
    of = shape(phases=[("load", 0, 10 * S)])
    retried = Ask((Try(9 * S, outcome=AttemptOutcome.SHED), Try(12 * S, wait=S, service=S)))
    assert measured(of, write(of, [retried])).value("queue.length.max", {}) == 1


def test_in_flight_at_the_end_is_told():
    of = shape()
    written = write(of, ASKS)
    written.arrivals += 1
    written.requests.append([5, 0, 1, 0, 1, 29 * S, 30 * S, RequestOutcome.IN_FLIGHT, NONE, 1, 0, NONE, 1, 1, NONE])
    measure = measured(of, written)
    assert measure.value("in_flight.end", {}) == 1
    assert measure.value("in_flight.end", {"class": "y"}) == 1


def test_times_of_one_among_many_principals_are_kept_if_a_gate_asks():
    of = shape({f"p{number}": "x" if number < 50 else "y" for number in range(100)})
    asks = [Ask((Try(number * MS, wait=(number + 1) * MS, service=MS),), principal=number) for number in range(100)]
    measure = measured(of, write(of, asks), [("queue.wait.max", {"principal": "p7"})])
    assert measure.value("queue.wait.max", {"principal": "p7"}) == "8.000000"
    assert measure.value("queue.wait.max", {"class": "x"}) == "50.000000"
    assert measure.value("queue.wait.p50", {"class": "y"}) == "75.000000"
    assert measure.value("queue.wait.max", {}) == "100.000000"
    assert measure.value("arrivals", {"principal": "p8"}) == 1
    with pytest.raises(CallerError, match="'p8' were not asked for"):
        measure.value("queue.wait.max", {"principal": "p8"})


def test_the_twenty_principals_with_most_arrivals_are_listed_and_all_are_compared():
    of = shape({f"p{number:02}": "x" for number in range(30)})
    asks = [
        Ask((Try(number * MS, service=MS),), principal=number)
        for number in range(30)
        for _ in range(3 if 5 <= number < 25 else 1)
    ]
    # One that is not listed is never admitted: 29 shares of 1 and one of 0 make 29/30.
    asks[0] = Ask((Try(0, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),))
    measure = measured(of, write(of, asks))
    arrivals = [row["labels"] for row in measure.observations() if row["metric"] == "arrivals"]
    assert [labels["principal"] for labels in arrivals if "principal" in labels] == [
        f"p{number:02}" for number in range(5, 25)
    ]
    assert measure.value("fairness.jain", {}) == "0.966667"
    assert measure.notes() == ("of 30 principals the 20 with the most arrivals are listed",)


def test_binned_quantiles_are_said_to_be_so():
    of = shape()
    measure = Measure(of, exact_values_max=1)
    write(of, ASKS).read(measure.consumers)
    assert len(measure.notes()) == 2
    assert all("less than 0.8 % above" in note for note in measure.notes())
    assert measure.value("queue.wait.max", {}) == "2000.000000"
    assert measure.value("queue.wait.mean", {}) == "750.000000"
    assert 4000 <= float(measure.value("sojourn.p50", {})) <= 4000 * (1 + 2**-7)


# C124: arrivals each 0.1 s from 0 to 9.9 s, the server stopped until 5 s and instant from then on.
STALLED = [Ask((Try(at, wait=max(5 * S - at, 0)),)) for at in range(0, 10 * S, 100 * MS)]


def test_c124_a_stall_is_in_the_waits_of_all_who_were_due_in_it():
    of = shape()
    measure = measured(of, write(of, STALLED))
    assert measure.value("queue.wait.max", {}) == "5000.000000"
    assert measure.value("queue.wait.mean", {}) == "1275.000000"


def test_c124_latency_counts_from_the_intended_arrival_though_the_request_left_late():
    # The sender was stopped too: no attempt is made before 5 s, so no queue ever sees a wait.
    of = shape()
    written = write(of, STALLED)
    for row in written.attempts:
        row[AttemptCol.REQUESTED] = row[AttemptCol.DECIDED]
    written.levels = [row for row in written.levels if row[LevelCol.KIND] == LevelKind.ACTIVE]
    measure = measured(of, written)
    assert measure.value("queue.wait.max", {}) == "0.000000"
    quantiles = [measure.value(f"sojourn.{name}", {}) for name in ("p50", "p95", "p99")]
    assert quantiles == ["0.000000", "4500.000000", "4900.000000"]
    sojourn = measure.histograms()["sojourn"]
    assert (sojourn.count, sojourn.maximum, Fraction(sojourn.total, sojourn.count)) == (100, 5 * S, Fraction(1275 * MS))
    latencies = measure._run.sojourn_samples({})
    assert [latencies.at_rank(place) > S for place in (60, 61)] == [False, True]  # 40 of 100 above 1 s
