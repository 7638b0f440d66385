"""What callers do: cancel, lose patience, try again; and the order of one instant."""

from __future__ import annotations

import pytest

from sim.kernel import Kernel
from sim.targets.controller import build
from sim.trace import AttemptCol, AttemptOutcome, Consumer, RequestOutcome, Trace
from sim.workload.arrivals import arrival_blocks
from sim.world import World
from tests.unit.world.lab import MS, arrivals, manifest, play, run


class Attempts(Consumer):
    """Every attempt: (ordinal, attempt, requested, decided, ended, outcome), times in ms."""

    def __init__(self):
        self.rows = []

    def attempts(self, rows):
        times = (AttemptCol.REQUESTED, AttemptCol.DECIDED, AttemptCol.ENDED)
        for row in rows.tolist():
            at = (row[time] // MS for time in times)
            self.rows.append(
                (row[AttemptCol.ORDINAL], row[AttemptCol.ATTEMPT], *at, AttemptOutcome(row[AttemptCol.OUTCOME]))
            )


def scripted(of, rows):
    """Run given arrivals (at, service, fails, cancel_after or -1; in ms) and return their attempts in order."""
    at, service, fails, cancel = zip(*rows, strict=True)
    seen = Attempts()
    play(of, arrivals(at, service, fails=fails, cancel_after=cancel), seen)
    return sorted(seen.rows, key=lambda row: row[:2])


DONE, FAILED, SHED, LEFT, ABORTED = AttemptOutcome
ONE_PERMIT = {"concurrency": 1}


def test_a_cancellation_at_the_instant_of_a_release_comes_before_the_permit_is_given_on():
    attempts = scripted(manifest(workspace=ONE_PERMIT), [(0, 50, 0, -1), (10, 50, 0, 40), (20, 50, 0, -1)])
    assert attempts == [(0, 1, 0, 0, 50, DONE), (1, 1, 10, 50, 50, LEFT), (2, 1, 20, 50, 100, DONE)]


def test_a_cancellation_at_the_instant_of_an_expiry_is_a_cancellation():
    limits = {"concurrency": 1, "max_queue_wait_ms": 40}
    attempts = scripted(manifest(workspace=limits), [(0, 500, 0, -1), (10, 50, 0, 40), (10, 50, 0, -1)])
    assert attempts[1:] == [(1, 1, 10, 50, 50, LEFT), (2, 1, 10, 50, 50, SHED)]


def test_an_arrival_at_the_instant_of_a_release_comes_after_those_who_waited():
    attempts = scripted(manifest(workspace=ONE_PERMIT), [(0, 50, 0, -1), (10, 50, 0, -1), (50, 50, 0, -1)])
    assert attempts == [(0, 1, 0, 0, 50, DONE), (1, 1, 10, 50, 100, DONE), (2, 1, 50, 100, 150, DONE)]


def test_a_cancellation_in_service_ends_the_call_and_frees_its_permit_at_once():
    attempts = scripted(manifest(workspace=ONE_PERMIT), [(0, 500, 0, 30), (10, 50, 0, -1)])
    assert attempts == [(0, 1, 0, 0, 30, ABORTED), (1, 1, 10, 30, 80, DONE)]


def test_a_failed_attempt_is_tried_again_after_its_backoff_until_the_attempts_are_used_up():
    client = {"retry": {"kind": "fixed", "base_ms": 100, "max_attempts": 3}}
    attempts = scripted(manifest(client=client), [(0, 10, 0b111, -1), (5, 10, 0b001, -1)])
    assert attempts == [
        (0, 1, 0, 0, 10, FAILED),
        (0, 2, 110, 110, 120, FAILED),
        (0, 3, 220, 220, 230, FAILED),
        (1, 1, 5, 5, 15, FAILED),
        (1, 2, 115, 115, 125, DONE),
    ]


def test_a_cancellation_during_the_backoff_ends_the_request_there():
    client = {"retry": {"kind": "fixed", "base_ms": 100, "max_attempts": 3}}
    attempts = scripted(manifest(client=client), [(0, 10, 0b1, 50)])
    assert attempts == [(0, 1, 0, 0, 10, FAILED)]


def test_a_timeout_leaves_a_call_and_is_the_deadline_of_one_that_waits():
    of = manifest(workspace=ONE_PERMIT, client={"timeout_ms": 100})
    attempts = scripted(of, [(0, 150, 0, -1), (20, 10, 0, -1), (21, 500, 0, -1)])
    assert attempts == [(0, 1, 0, 0, 100, ABORTED), (1, 1, 20, 100, 110, DONE), (2, 1, 21, 110, 121, ABORTED)]
    slow = manifest(workspace={"requests_per_minute": 60, "requests_burst": 1}, client={"timeout_ms": 100})
    assert scripted(slow, [(0, 10, 0, -1), (1, 10, 0, -1)])[1] == (1, 1, 1, 101, 101, SHED)


def test_nobody_tries_again_past_the_timeout():
    client = {"timeout_ms": 100, "retry": {"kind": "fixed", "base_ms": 90, "max_attempts": 5}}
    assert scripted(manifest(client=client), [(0, 10, 0b1, -1)]) == [(0, 1, 0, 0, 10, FAILED)]


def test_a_refusal_is_tried_again_no_sooner_than_it_said_where_the_client_honours_that():
    limits = {"concurrency": 1, "max_queue_length": 0}
    retry = {"kind": "fixed", "base_ms": 1, "max_attempts": 2}
    honours = {"on_refusal": "retry", "retry": retry, "retry_after": "honour"}
    ignores = {"on_refusal": "retry", "retry": retry, "retry_after": "ignore"}
    rows = [(0, 300, 0, -1), (10, 20, 0, -1)]
    # queue-full says at least 250 ms.
    assert scripted(manifest(workspace=limits, client=honours), rows)[1:] == [
        (1, 1, 10, 10, 10, SHED),
        (1, 2, 260, 260, 260, SHED),
    ]
    assert scripted(manifest(workspace=limits, client=ignores), rows)[2][2] == 11


def test_what_can_never_be_admitted_is_not_tried_again():
    client = {"on_refusal": "retry", "retry": {"kind": "fixed", "base_ms": 1, "max_attempts": 9}}
    of = manifest(workspace={"requests_per_minute": 0}, client=client)
    assert scripted(of, [(0, 10, 0, -1)]) == [(0, 1, 0, 0, 0, SHED)]


def test_c050_a_quota_that_is_used_up_is_asked_once_and_a_rate_is_asked_again():
    client = {"on_refusal": "retry", "retry": {"kind": "fixed", "base_ms": 1, "max_attempts": 8}}
    spent = manifest(workspace={"max_attempts": 1}, client=client)
    assert scripted(spent, [(0, 10, 0b1, -1)]) == [(0, 1, 0, 0, 10, FAILED), (0, 2, 11, 11, 11, SHED)]
    rate = manifest(workspace={"requests_per_minute": 60, "requests_burst": 1, "max_queue_length": 0}, client=client)
    assert scripted(rate, [(0, 10, 0, -1), (1, 10, 0, -1)])[1:] == [
        (1, 1, 1, 1, 1, SHED),
        (1, 2, 1000, 1000, 1010, DONE),
    ]


def test_layers_make_a_call_an_attempt_each_and_the_run_tells_how_many():
    sdk = {"name": "sdk", "kind": "fixed", "base_ms": 1, "max_attempts": 3}
    service = {"name": "service", "kind": "fixed", "base_ms": 100, "max_attempts": 4}
    gate = {"id": "g", "metric": "retry.amplification", "op": "<=", "bound": "4", "estimand": "path"}
    failing = {"failures": {"kind": "independent", "probability": 1}, "service_ms": 5}
    one = {"kind": "poisson", "per_second": 1}
    of = manifest(client={"layers": [sdk, service]}, provider=failing, arrivals=one, gates=[gate])
    done, arrivals, _ = run(of)
    asked = len(arrivals)
    assert done.value("retry.amplification") == "12.000000"
    (check,) = [check for check in done.checks if check["name"] == "layers-of-retries"]
    assert check["detail"] == f"ann: {asked} requests, service {4 * asked} attempts, sdk {12 * asked} attempts"
    flat = manifest(client={"layers": [sdk | {"max_attempts": 1}, service]}, provider=failing, arrivals=one)
    assert run(flat)[0].value("retry.amplification") == "4.000000"


def test_a_used_up_budget_ends_requests_and_is_counted():
    budget = {"kind": "ratio", "ratio": "0.1", "min_retries_per_second": 0}
    client = {"retry": {"kind": "fixed", "base_ms": 10, "max_attempts": 9, "budget": budget}}
    failing = {"failures": {"kind": "independent", "probability": 1}, "service_ms": 5}
    done, arrivals, outcomes = run(manifest(client=client, provider=failing))
    assert done.value("failed") == len(arrivals)
    assert done.value("retry.stopped.budget") == sum(outcome.attempts < 9 for outcome in outcomes) > 0
    assert done.value("attempts") - len(arrivals) <= len(arrivals) // 10


def test_an_announced_wait_beyond_the_cap_ends_the_request_and_is_counted():
    limits = {"requests_per_minute": 60, "requests_burst": 1, "max_queue_length": 0}
    retry = {"kind": "fixed", "base_ms": 1, "max_attempts": 30}
    waits_any = {"on_refusal": "retry", "retry": retry}
    done, _, _ = run(manifest(workspace=limits, client=waits_any | {"retry_after_cap_ms": 500}))
    assert done.value("retry.stopped.retry-after") == done.value("shed") > 0
    assert [
        row
        for row in run(manifest(workspace=limits, client=waits_any))[0].observations
        if row["metric"].startswith("retry.stopped")
    ] == []


def test_what_has_not_settled_when_the_drain_is_over_is_in_flight_and_ends_with_it():
    of = manifest(workspace=ONE_PERMIT, provider={"service_ms": 15_000}, drain_seconds=1, seconds=20)
    done, _, outcomes = run(of)
    assert done.end_ns == 21_000 * MS
    assert done.value("in_flight.end") == sum(outcome.outcome == "in-flight" for outcome in outcomes) > 0


def test_a_head_that_waits_at_the_end_is_starved_up_to_it():
    of = manifest(workspace=ONE_PERMIT, provider={"service_ms": 30_000}, drain_seconds=1, seconds=20)
    done, arrivals, _ = run(of)
    assert done.value("fairness.starvation.max") == f"{(21_000 * MS - arrivals[1].at_ns) / MS:.6f}"


def test_an_arrival_on_the_very_end_of_the_last_phase_belongs_to_it():
    of = manifest(seconds=1)
    assert scripted(of, [(1000, 10, 0, -1)]) == [(0, 1, 1000, 1000, 1010, DONE)]


@pytest.mark.parametrize("outcome", RequestOutcome)
def test_every_outcome_of_a_request_has_a_word(outcome):
    assert outcome.name.lower().replace("_", "-") in {"completed", "failed", "shed", "cancelled", "in-flight"}


@pytest.mark.parametrize("special", [{}, {"servers": 100}])
def test_successes_fill_a_token_budget_whatever_the_provider(special):
    budget = {"kind": "tokens", "max_tokens": 2, "token_ratio": 1}
    client = {"retry": {"kind": "fixed", "base_ms": 1, "max_attempts": 2, "budget": budget}}
    half = {"failures": {"kind": "independent", "probability": "0.5"}, "service_ms": 1, **special}
    done, _, outcomes = run(manifest(client=client, provider=half))
    kept = done.value("retry.stopped.budget")
    # A failure leaves 1 of 2 tokens, which is not above half: nobody ever retries but right after nothing was taken.
    assert kept == done.value("failed") > 0
    again = manifest(client={"retry": client["retry"] | {"budget": budget | {"max_tokens": 4}}}, provider=half)
    retried = sum(outcome.attempts for outcome in run(again)[2]) - len(outcomes)
    assert retried > 20  # told of no success, the count would fall to half with the second failure and stay there


GOES_ON = {"timeout_ms": 100, "abandon": "provider-continues"}


def test_a_call_left_behind_keeps_its_permit_until_its_provider_is_done():
    rows = [(0, 150, 0, -1), (20, 10, 0, -1), (60, 10, 0, -1)]
    attempts = scripted(manifest(workspace=ONE_PERMIT, client=GOES_ON), rows)
    assert attempts == [(0, 1, 0, 0, 150, ABORTED), (1, 1, 20, 120, 120, SHED), (2, 1, 60, 150, 160, DONE)]


def test_a_call_left_behind_frees_its_permit_where_the_gateway_forgets_it():
    client = GOES_ON | {"abandoned_permit": "freed"}
    rows = [(0, 150, 0, -1), (90, 10, 0, -1)]
    attempts = scripted(manifest(workspace=ONE_PERMIT, client=client), rows)
    assert attempts == [(0, 1, 0, 0, 100, ABORTED), (1, 1, 90, 100, 110, DONE)]


@pytest.mark.parametrize(
    ("client", "first", "second"),
    [
        ({"timeout_ms": 100}, (0, 1, 0, 0, 100, ABORTED), (1, 1, 90, 100, 110, DONE)),
        (GOES_ON, (0, 1, 0, 0, 150, ABORTED), (1, 1, 90, 150, 160, DONE)),
        (GOES_ON | {"abandoned_permit": "freed"}, (0, 1, 0, 0, 100, ABORTED), (1, 1, 90, 100, 160, DONE)),
    ],
)
def test_a_provider_with_one_server_works_on_for_nobody_or_stops(client, first, second):
    of = manifest(workspace=ONE_PERMIT, client=client, provider={"service_ms": 5, "servers": 1})
    assert scripted(of, [(0, 150, 0, -1), (90, 10, 0, -1)]) == [first, second]


def test_an_abandoned_request_settles_when_it_is_left_and_the_run_lasts_until_its_call_is_done():
    of = manifest(
        client=GOES_ON, provider={"service_ms": 30_000}, arrivals={"kind": "poisson", "per_second": 1}, seconds=5
    )
    done, arrivals, outcomes = run(of)
    for row, outcome in zip(arrivals, outcomes, strict=True):
        assert (outcome.outcome, outcome.attempts) == ("cancelled", 1)
        assert float(outcome.settled) == pytest.approx(row.at_ns / MS + 100)
    assert done.value("cancel.latency.max") == "0.000000"
    assert done.end_ns == arrivals[-1].at_ns + 30_000 * MS


def test_a_cancellation_stops_a_call_and_one_after_the_timeout_comes_too_late():
    of = manifest(workspace=ONE_PERMIT, client=GOES_ON)
    assert scripted(of, [(0, 500, 0, 30)]) == [(0, 1, 0, 0, 30, ABORTED)]
    assert scripted(of, [(0, 500, 0, 130)]) == [(0, 1, 0, 0, 500, ABORTED)]


@pytest.mark.parametrize("special", [{}, {"servers": 9}])
def test_the_breaker_learns_how_an_abandoned_call_ended(special):
    breaker = {"failure_threshold": 1, "open_ms": 1000, "half_open_max_calls": 1}
    profile = {
        "profile_version": "b",
        "workspace": {},
        "providers": {"p": {"circuit_breaker": breaker}},
        "principals": {"ann": {}},
    }
    failing = {"service_ms": 300, "failures": {"kind": "independent", "probability": 1}, **special}
    done, _, outcomes = run(manifest(profile=profile, client=GOES_ON, provider=failing))
    assert done.value("breaker.transitions") > 2
    assert {outcome.outcome for outcome in outcomes} == {"cancelled", "shed"}


def test_a_caller_in_a_loop_thinks_while_its_old_call_goes_on():
    of = manifest(
        arrivals={"kind": "closed", "population": 1, "think_ms": 50},
        client=GOES_ON,
        provider={"service_ms": 400},
        seconds=1,
    )
    done, _, outcomes = run(of)
    assert [outcome.settled for outcome in outcomes] == ["150", "300", "450", "600", "750", "900", "1050"]
    assert done.value("active.max") == 3


OUTAGE = {"kind": "error", "name": "bad", "from_seconds": 2, "for_seconds": 3}


def retried_at(within_ms, **more):
    """Instants of further attempts (ms) where everybody would wait for 10 s after failing in an outage to 5 s."""
    herd = {"herd": {"outage": "bad", "within_ms": within_ms}}
    client = {"retry": {"kind": "fixed", "base_ms": 10_000, "max_attempts": 2}, **herd, **more}
    of = manifest(client=client, provider={"service_ms": 5, "outages": [OUTAGE]}, seconds=30)
    seen = Attempts()
    kernel = Kernel()
    world = World(of, arrival_blocks(of), build(of), Trace([seen]), kernel)
    kernel.run(of.horizon_ns)
    world.close(of.horizon_ns)
    failed = {row[0] for row in seen.rows if row[5] == FAILED}
    again = {row[0]: row[2] for row in seen.rows if row[1] == 2}
    assert set(again) == failed
    assert len(failed) > 40
    return sorted(again.values())


def test_callers_who_failed_in_an_outage_come_back_at_its_end():
    assert set(retried_at(0)) == {5000}


def test_a_herd_comes_within_its_time():
    found = retried_at(1000)
    assert 5000 <= found[0] < 5100
    assert 5900 < found[-1] <= 6000
    assert len(set(found)) > 40


def test_a_caller_whose_wait_is_over_in_the_outage_stays_as_it_is():
    found = retried_at(0, retry={"kind": "fixed", "base_ms": 1000, "max_attempts": 2})
    assert sum(at == 5000 for at in found) < len(found)
    assert max(found) == 5000
