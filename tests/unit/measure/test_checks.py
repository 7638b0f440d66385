"""Each check on a trace with one breach: that check goes red, and no other."""

from __future__ import annotations

import numpy as np
import pytest

from sim.measure.checks import Checks, OrdinalLedger, exact_sum
from sim.measure.levels import LevelTracker
from sim.trace import AttemptCol, AttemptOutcome, LevelCol, LevelKind, RequestCol, RequestOutcome, Trace
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.decision.limits import AdmissionLimits

NAMES = [
    "requests-conserved",
    "attempts-conserved",
    "little-queue",
    "little-pool",
    "bucket-envelope",
    "within-limits",
    "levels-never-negative",
    "nothing-leaked",
    "times-in-order",
]
ASKS = [
    Ask((Try(1 * S, service=S),), principal=0),
    Ask((Try(2 * S, wait=S, service=2 * S, outcome=AttemptOutcome.FAILED), Try(6 * S, service=S)), 1, 1),
    Ask((Try(3 * S, outcome=AttemptOutcome.SHED, reason=DenyReason.QUEUE_FULL),), principal=2),
    Ask((Try(8 * S, wait=2 * S, service=20 * S),), principal=2),
]


def run(written, of=None):
    of = of or shape()
    tracker = LevelTracker(of)
    checks = Checks(of, tracker)
    written.read([tracker, checks])
    return checks.results()


def red(written, of=None):
    return [result["name"] for result in run(written, of) if not result["ok"]]


@pytest.fixture
def written():
    return write(shape(), ASKS)


def level_row(written, at_ns, delta, kind):
    (row,) = (r for r in written.levels if r[:3] == [at_ns, delta, kind])
    return row


def test_a_whole_trace_passes_all_checks_in_a_fixed_order(written):
    results = run(written)
    assert [result["name"] for result in results] == NAMES
    assert all(result["ok"] for result in results)
    assert results[0]["detail"] == "4 arrivals = 3 completed + 0 failed + 1 shed + 0 cancelled + 0 in flight"
    assert results[2]["detail"] == "level x time = sum of stays = 3000 ms"


def test_a_trace_without_rows_passes(written):
    assert red(write(shape(), [])) == []


@pytest.mark.parametrize(("told", "is_red"), [(0, False), (S, True), (-1, False)])
def test_the_queue_and_the_attempts_tell_the_same_eligible_time_unless_it_is_not_known(written, told, is_red):
    level_row(written, 3 * S, -1, LevelKind.QUEUE)[LevelCol.AMOUNT] = told
    assert red(written) == ["attempts-conserved"] * is_red


def test_an_arrival_that_never_settled_is_missed(written):
    written.arrivals += 1
    assert red(written) == ["requests-conserved"]


def test_a_request_that_settled_twice_under_one_ordinal_is_seen(written):
    written.requests[1][RequestCol.ORDINAL] = 0
    (result,) = (result for result in run(written) if not result["ok"])
    assert result["name"] == "requests-conserved"
    assert "1 requests settled more than once" in result["detail"]


def test_a_gap_in_the_ordinals_is_seen_though_the_counts_agree(written):
    written.requests[3][RequestCol.ORDINAL] = 9
    assert red(written) == ["requests-conserved"]


def test_an_attempt_that_no_request_tells_of_is_seen(written):
    written.requests[0][RequestCol.ATTEMPTS] += 1
    assert red(written) == ["attempts-conserved"]


def test_an_admission_that_no_request_tells_of_is_seen(written):
    written.requests[1][RequestCol.ADMISSIONS] -= 1
    assert red(written) == ["attempts-conserved"]


def test_an_attempt_without_a_row_is_seen(written):
    written.attempts = [row for row in written.attempts if row[AttemptCol.OUTCOME] != AttemptOutcome.SHED]
    assert red(written) == ["attempts-conserved"]


def test_a_waiter_that_left_the_queue_a_nanosecond_late_breaks_littles_law(written):
    level_row(written, 10 * S, -1, LevelKind.QUEUE)[LevelCol.AT] += 1
    written.levels.sort(key=lambda row: row[0])
    (result,) = (result for result in run(written) if not result["ok"])
    assert result["name"] == "little-queue"
    assert "all: level x time 3000.000001 ms, stays 3000 ms" in result["detail"]


def test_a_call_that_ended_a_nanosecond_late_breaks_littles_law_of_the_pool(written):
    level_row(written, 2 * S, -1, LevelKind.ACTIVE)[LevelCol.AT] += 1
    assert red(written) == ["little-pool"]


def test_a_call_counted_at_another_provider_breaks_littles_law_though_the_sum_agrees(written):
    for row in (level_row(written, 1 * S, 1, LevelKind.ACTIVE), level_row(written, 2 * S, -1, LevelKind.ACTIVE)):
        row[LevelCol.PROVIDER] = 1
    assert red(written) == ["little-pool"]


@pytest.mark.parametrize("scope", ["workspace", "provider_limits", "principal_limits"])
@pytest.mark.parametrize(
    ("limits", "tokens"),
    [
        (AdmissionLimits(requests_per_minute=60, requests_burst=2), 0),
        (AdmissionLimits(tokens_per_second=10, tokens_burst=25), 10),
    ],
)
def test_a_third_draw_within_the_refill_time_breaks_the_envelope(scope, limits, tokens):
    of = shape(**{scope: limits})
    # Burst 2, refill 1 a second: a third draw fits after one second and not a nanosecond sooner. The token bucket,
    # of 25 with 10 a second, holds half a draw more, so its third draw fits after half a second.
    refill = S if not tokens else S // 2
    for early, expected in ((0, []), (1, ["bucket-envelope"])):
        at = [1 * S, 1 * S, 1 * S + refill - early]
        asks = [Ask((Try(instant, service=MS, tokens=tokens),)) for instant in at]
        assert red(write(of, asks), of) == expected


def test_the_detail_of_a_breached_envelope_says_who_when_and_how_much():
    of = shape(principal_limits=AdmissionLimits(tokens_per_second=10, tokens_burst=25))
    asks = [Ask((Try(instant, service=MS, tokens=20),), principal=1) for instant in (S, 2 * S)]
    (result,) = (result for result in run(write(of, asks), of) if not result["ok"])
    assert result["detail"] == "b: 5 tokens too many at 2000 ms"


@pytest.mark.parametrize("scope", ["workspace", "provider_limits", "principal_limits"])
@pytest.mark.parametrize("limits", [AdmissionLimits(concurrency=2), AdmissionLimits(max_queue_length=2)])
def test_a_level_above_its_limit_is_seen(scope, limits):
    of = shape(**{scope: limits})
    stay = {"service": S} if limits.concurrency else {"wait": S}
    asks = [Ask((Try(instant * MS, **stay),)) for instant in (1, 2)]
    assert red(write(of, asks), of) == []
    assert red(write(of, [*asks, Ask((Try(3 * MS, **stay),))]), of) == ["within-limits"]


def test_a_level_below_zero_is_seen_though_it_comes_back(written):
    row = level_row(written, 2 * S, -1, LevelKind.ACTIVE)
    again = [[2 * S, delta, LevelKind.ACTIVE, 0, 0, 0] for delta in (-1, 1)]
    place = written.levels.index(row)
    written.levels[place + 1 : place + 1] = again
    written.attempts.append([4, 1, 0, 0, 0, 0, 2 * S, 2 * S, 2 * S, AttemptOutcome.COMPLETED, -1, 0, 0, 0, -1])
    written.requests.append([4, 0, 0, 0, 0, 2 * S, 2 * S, RequestOutcome.COMPLETED, -1, 1, 1, -1, 1, 1, -1])
    written.arrivals += 1
    assert red(written) == ["levels-never-negative"]


def test_a_permit_that_was_not_given_back_is_seen(written):
    # The last call ends with the run, so its missing end changes no integral: only the leak is left to see.
    assert written.end == 30 * S
    written.levels.remove(level_row(written, 30 * S, -1, LevelKind.ACTIVE))
    (result,) = (result for result in run(written) if not result["ok"])
    assert result["name"] == "nothing-leaked"
    assert (
        result["detail"]
        == "1 places still taken at the end; workspace: 1 in flight at the end; u: 1 in flight at the end; and 1 more"
    )


def test_a_permit_given_back_by_another_principal_is_seen(written):
    level_row(written, 2 * S, -1, LevelKind.ACTIVE)[LevelCol.PRINCIPAL] = 1
    assert "nothing-leaked" in red(written)


@pytest.mark.parametrize(
    ("kind", "row", "column", "change"),
    [
        ("attempts", 0, AttemptCol.ELIGIBLE_WAIT, 1),
        ("attempts", 3, AttemptCol.ENDED, 1),  # the refused one
        ("requests", 0, RequestCol.INTENDED, 2 * S),
    ],
)
def test_times_that_cannot_be_are_seen(written, kind, row, column, change):
    getattr(written, kind)[row][column] += change
    assert "times-in-order" in red(written)


def test_levels_written_out_of_order_are_seen(written):
    written.levels[0], written.levels[1] = written.levels[1], written.levels[0]
    of = shape()
    tracker = LevelTracker(of)
    checks = Checks(of, tracker)
    trace = Trace([tracker, checks])
    for row in written.levels:
        trace.levels.extend(row)
    trace.close(written.end, 0)
    assert not {result["name"]: result["ok"] for result in checks.results()}["times-in-order"]


def test_a_row_after_the_end_is_seen(written):
    written.end = 30 * S - 1
    assert red(written) == ["times-in-order"]


def test_what_is_in_flight_at_the_end_is_conserved_and_no_leak(written):
    written.arrivals += 1
    written.levels.append([29 * S, 1, LevelKind.ACTIVE, 0, 0, 0])
    written.levels.sort(key=lambda row: row[0])
    written.requests.append([4, 0, 0, 0, 1, 29 * S, 30 * S, RequestOutcome.IN_FLIGHT, -1, 1, 1, -1, 1, 1, -1])
    results = {result["name"]: result for result in run(written)}
    assert all(result["ok"] for result in results.values())
    assert results["nothing-leaked"]["detail"].endswith("1 held by what is in flight")
    assert results["little-pool"]["detail"] == "level x time 25000 ms, stays that ended 24000 ms"


def test_more_permits_out_than_requests_in_flight_is_a_leak(written):
    written.arrivals += 1
    written.levels.append([29 * S, 1, LevelKind.ACTIVE, 0, 0, 0])
    written.levels.append([30 * S, 1, LevelKind.ACTIVE, 0, 0, 0])
    written.levels.sort(key=lambda row: row[0])
    written.requests.append([4, 0, 0, 0, 1, 29 * S, 30 * S, RequestOutcome.IN_FLIGHT, -1, 1, 1, -1, 1, 1, -1])
    assert "nothing-leaked" in red(written)


def test_a_long_list_of_breaches_is_cut_and_counted():
    one = AdmissionLimits(concurrency=1)
    of = shape(workspace=one, provider_limits=one, principal_limits=one)
    asks = [Ask((Try(MS, service=S),), principal, provider) for principal in range(3) for provider in range(2)]
    (result,) = (result for result in run(write(of, asks), of) if not result["ok"])
    shown = [f"{name}: {calls} in flight, limit 1" for name, calls in (("workspace", 6), ("u", 3), ("v", 3))]
    assert result["detail"] == "; ".join([*shown, "and 3 more"])


def test_the_ledger_of_ordinals_holds_only_what_is_ahead():
    ledger = OrdinalLedger()
    ledger.add(np.array([5, 1, 0]))
    assert (ledger.front, ledger.gaps, len(ledger._ahead)) == (2, 3, 1)
    ledger.add(np.array([4, 2, 3]))
    assert (ledger.front, ledger.gaps, ledger.repeated, len(ledger._ahead)) == (6, 0, 0, 0)
    ledger.add(np.array([3, 6, 6, 8, 8]))
    assert (ledger.front, ledger.gaps, ledger.repeated) == (7, 1, 3)


def test_a_sum_beyond_64_bits_is_exact():
    values = np.array([2**62, 2**62, 2**62, -1])
    assert exact_sum(values) == 3 * 2**62 - 1
