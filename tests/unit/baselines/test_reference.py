"""The quirks of the reference, each as the smallest scenario that shows it.

What is expected comes from the seed's notes on the reference, and where they give a figure it is that figure.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sim.baselines.reference import Controller, hint
from sim.baselines.state import Ask, Permit
from sim.baselines.timeline import Timeline
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, Outcome, RetryAfter
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold
from tollgate.decision.profile import AdmissionProfile

BREAKER = {"failure_threshold": 2, "open_ms": 1000, "half_open_max_calls": 1}
FAR = 10**9


class Bench:
    """A controller with its clock. Calls last until they are released."""

    def __init__(
        self,
        *,
        workspace: Mapping[str, object] | None = None,
        providers: Mapping[str, Mapping[str, object]] | None = None,
        principals: Mapping[str, Mapping[str, object]] | None = None,
        correct_breaker: bool = False,
    ) -> None:
        many = {"concurrency": 100}
        profile = AdmissionProfile.from_mapping(
            {
                "profile_version": "bench",
                "workspace": many | dict(workspace or {}),
                "providers": {name: many | dict(limits) for name, limits in (providers or {"p": {}}).items()},
                "principals": {name: many | dict((principals or {}).get(name, {})) for name in "ABCDEFXYZ"},
            }
        )
        self.time: Timeline[Ask] = Timeline()
        self.controller = Controller(profile, self.time, correct_breaker=correct_breaker)
        self.log: list[Ask] = []

    def ask(self, principal: str, provider: str = "p", *, deadline: float = FAR, **estimate: int) -> Ask:
        ask = Ask(f"job-{principal}", principal, provider, deadline, **estimate)
        self.controller.ask(ask, self.time.now)
        self.hear()
        return ask

    def call(self, principal: str, provider: str = "p", **estimate: int) -> Permit:
        permit = self.ask(principal, provider, **estimate).permit
        assert permit is not None
        return permit

    def release(self, permit: Permit, outcome: Outcome | None = SUCCESS) -> None:
        assert self.controller.release(permit, outcome, self.time.now)
        self.hear()

    def run(self, until: int) -> None:
        self.time.advance(until, lambda: self.controller.pump(self.time.now), self.hear)

    def hear(self) -> None:
        self.log += self.controller.take_decided()

    @property
    def admitted(self) -> str:
        return "".join(ask.principal for ask in self.log if ask.permit)

    def changes(self) -> list[str]:
        return [f"{change.from_state}->{change.to_state}" for change, _ in self.controller.changes]


# ------------------------------------------------------------------------------------------------------------- turns


@pytest.mark.parametrize(("lanes", "expected"), [("ABCD", "ACBB"), ("ABCDEF", "ACFDCC")])
def test_several_permits_in_one_pump_go_to_some_lanes_twice_and_to_others_never(lanes, expected):
    bench = Bench(providers={"p": {"concurrency": len(lanes)}})
    bench.release(bench.call("A"), RetryAfter(1_000_000_000))
    for lane in lanes:
        for _ in lanes:
            bench.ask(lane)
    bench.log.clear()
    bench.run(1000)
    assert bench.admitted == expected


def test_a_lane_is_passed_over_when_a_lane_before_it_vanishes():
    bench = Bench(workspace={"concurrency": 1})
    first = bench.call("X")
    asks = [bench.ask(principal) for principal in "ABBCD"]
    bench.log.clear()
    bench.release(first)
    while any(ask.is_waiting for ask in asks):
        permit = bench.log[-1].permit
        assert permit is not None
        bench.release(permit)
    assert bench.admitted == "ACBDB"


# ----------------------------------------------------------------------------------------------------- large requests


def test_two_large_requests_block_each_other_for_good():
    bench = Bench(
        workspace={"tokens_per_second": 150},
        providers={"u": {}, "v": {"tokens_per_second": 100}},
        principals={"Z": {"concurrency": 1}},
    )
    bench.call("A", "v", tokens=80)
    busy = bench.call("Z", "u", tokens=0)
    bench.run(100)  # the workspace's bucket holds 85 by now, the provider's 30
    holds_provider = bench.ask("B", "v", tokens=80)
    bench.ask("Z", "u", tokens=80)
    holds_workspace = bench.ask("C", "v", tokens=80)
    bench.release(busy)  # Z draws, and C is the first to find the workspace short
    bench.run(1_200_000)
    assert holds_provider.is_waiting
    assert holds_workspace.is_waiting


def test_three_of_the_five_claims_that_ours_admits_are_left_stuck():
    bench = Bench(
        workspace={"tokens_per_second": 150},
        providers={"u": {"tokens_per_second": 100}, "v": {"tokens_per_second": 100}},
    )
    asks = []
    for at, principal, provider, tokens in (
        (100, "A", "v", 100),
        (200, "A", "v", 70),
        (300, "A", "v", 100),
        (400, "D", "u", 80),
        (400, "C", "v", 70),
    ):
        bench.run(at)
        asks.append(bench.ask(principal, provider, tokens=tokens))
    bench.run(1_200_000)
    assert sum(ask.is_waiting for ask in asks) == 3


def test_a_holder_keeps_tokens_back_while_its_provider_pauses():
    bench = Bench(workspace={"tokens_per_second": 100}, providers={"u": {}, "v": {}})
    first = bench.call("X", "v", tokens=100)
    large = bench.ask("A", "v", tokens=90)
    bench.release(first, RetryAfter(10_000_000_000))
    bench.run(2000)  # the bucket is full again
    small = bench.ask("B", "u", tokens=50)
    assert small.first_hold is Hold.LARGER_REQUEST_FIRST
    bench.run(9999)
    assert small.is_waiting
    bench.run(12_000)
    assert large.permit is not None
    assert small.permit is not None


# ----------------------------------------------------------------------------------------------------------- breakers


def tripped(*, correct_breaker: bool = False) -> tuple[Bench, Permit]:
    """Return a bench whose breaker opened at 0 ms, and a call that was admitted before."""
    bench = Bench(providers={"p": {"circuit_breaker": BREAKER}}, correct_breaker=correct_breaker)
    late = bench.call("A")
    for permit in (bench.call("B"), bench.call("C")):
        bench.release(permit, FAILURE)
    return bench, late


def test_success_of_an_older_call_closes_an_open_breaker():
    bench, late = tripped()
    bench.release(late, SUCCESS)
    assert bench.changes() == ["closed->open", "open->closed"]


def test_with_the_correct_breaker_success_of_an_older_call_changes_nothing():
    bench, late = tripped(correct_breaker=True)
    bench.release(late, SUCCESS)
    assert bench.changes() == ["closed->open"]
    bench.run(1000)
    bench.release(bench.call("D"), SUCCESS)
    assert bench.changes() == ["closed->open", "open->half-open", "half-open->closed"]


def test_late_releases_make_room_for_more_probes_than_allowed():
    bench, late = tripped()
    bench.run(1000)
    bench.call("B")
    assert bench.ask("C").is_waiting
    bench.release(late, None)
    assert bench.admitted[-2:] == "BC"


def test_with_the_correct_breaker_a_late_release_makes_no_room():
    bench, late = tripped(correct_breaker=True)
    bench.run(1000)
    bench.call("B")
    waiting = bench.ask("C")
    bench.release(late, SUCCESS)
    assert waiting.is_waiting


@pytest.mark.parametrize(("correct_breaker", "expected"), [(False, ["closed->open"]), (True, [])])
def test_cancelled_calls_count_as_failures_only_in_the_quirky_breaker(correct_breaker, expected):
    bench = Bench(providers={"p": {"circuit_breaker": BREAKER}}, correct_breaker=correct_breaker)
    for permit in (bench.call("A"), bench.call("B")):
        bench.release(permit, CANCELLED)
    assert bench.changes() == expected


@pytest.mark.parametrize(
    ("correct_breaker", "expected"),
    [(False, "closed->open open->half-open"), (True, "closed->open open->half-open half-open->open")],
)
def test_a_probe_answered_with_retry_after_settles_nothing_in_the_quirky_breaker(correct_breaker, expected):
    bench, _ = tripped(correct_breaker=correct_breaker)
    bench.run(1000)
    bench.release(bench.call("D"), RetryAfter(5_000_000_000))
    assert " ".join(bench.changes()) == expected


def test_turning_half_open_stands_although_the_call_is_then_deferred():
    bench = Bench(providers={"p": {"circuit_breaker": BREAKER, "requests_per_minute": 2}})
    for permit in (bench.call("A"), bench.call("B")):
        bench.release(permit, FAILURE)
    bench.run(1000)
    assert bench.ask("C").first_hold is Hold.PROVIDER_REQUESTS
    assert bench.changes() == ["closed->open", "open->half-open"]


# --------------------------------------------------------------------------------------------- reservations and limits


def test_a_reservation_in_use_at_one_provider_is_kept_back_again_at_the_other():
    bench = Bench(
        workspace={"concurrency": 4},
        providers={"u": {"concurrency": 2}, "v": {"concurrency": 2}},
        principals={"A": {"reserved_concurrency": 1}},
    )
    bench.call("A", "u")
    bench.call("B", "v")
    idle = bench.ask("B", "v")
    assert idle.is_waiting
    assert idle.first_hold is Hold.PROVIDER_RESERVED


def test_an_impossible_request_waits_for_a_permit_before_it_is_refused():
    bench = Bench(workspace={"concurrency": 1, "tokens_per_second": 100})
    busy = bench.call("A")
    impossible = bench.ask("B", tokens=101)
    assert impossible.is_waiting
    bench.release(busy)
    assert impossible.refusal is DenyReason.TOKENS_PER_SECOND


def test_a_limit_of_60_a_minute_admits_119_in_the_first_minute():
    bench = Bench(
        workspace={"concurrency": 200},
        providers={"p": {"requests_per_minute": 60, "concurrency": 200}},
        principals={"A": {"concurrency": 200}},
    )
    for _ in range(200):
        bench.ask("A")
    bench.run(59_999)
    assert len(bench.admitted) == 119


def test_a_limit_below_one_a_minute_neither_admits_nor_refuses():
    bench = Bench(providers={"p": {"requests_per_minute": "0.5"}})
    ask = bench.ask("A")
    bench.run(600_000)
    assert ask.is_waiting


def test_a_full_queue_refuses_although_a_permit_is_free():
    bench = Bench(workspace={"max_queue_length": 0})
    assert bench.ask("A").refusal is DenyReason.QUEUE_FULL


# ------------------------------------------------------------------------------------------------------------ polling


def test_waits_are_looked_at_again_after_seven_eighths_of_them():
    looks, left = [], 1000
    for _ in range(3):
        looks.append(hint(left))
        left -= looks[-1]
    assert looks == [875, 109, 14]
    assert (hint(10), hint(25), hint(100), hint(250), hint(219)) == (9, 22, 88, 219, 192)
    assert (hint(0), hint(10**6)) == (1, 30_000)


def test_a_head_in_want_of_a_permit_wakes_the_pump_every_9_ms():
    bench = Bench(workspace={"concurrency": 1})
    bench.call("A")
    bench.ask("B")
    before = bench.controller.pumps
    bench.run(900)
    assert bench.controller.pumps - before == 100


def test_without_a_deadline_the_pump_wakes_every_25_ms():
    bench = Bench(workspace={"concurrency": 1})
    bench.call("A")
    bench.ask("B", deadline=float("inf"))
    before = bench.controller.pumps
    bench.run(1000)
    assert bench.controller.pumps - before == 40


# ---------------------------------------------------------------------------------------------- budgets and refusals


def test_settling_a_budget_forgets_those_whose_id_continues_it():
    bench = Bench(workspace={"max_attempts": 1})
    bench.controller.ask(Ask("job:1", "A", "p", FAR), 0)
    bench.controller.settle("job")
    again = Ask("job:1", "A", "p", FAR)
    bench.controller.ask(again, 0)
    assert again.permit is not None


def test_a_budget_that_is_spent_refuses_the_next_attempt():
    bench = Bench(workspace={"max_attempts": 1})
    bench.call("A")
    assert bench.ask("A").refusal is DenyReason.ATTEMPTS


def test_a_refusal_after_a_long_wait_tells_no_wait():
    bench = Bench(workspace={"concurrency": 1, "max_queue_wait_ms": 2000})
    bench.call("A")
    ask = bench.ask("B")
    bench.run(1999)
    assert ask.is_waiting
    bench.run(2000)
    assert (ask.refusal, ask.queue_delay) == (DenyReason.QUEUE_TIMEOUT, 0)


def test_retry_pressure_only_grows():
    bench = Bench()
    bench.release(bench.call("A"), RetryAfter(0))
    bench.run(10_000_000)
    assert bench.controller.retry_pressure == 1


def test_a_second_release_of_a_lease_changes_nothing():
    bench = Bench()
    permit = bench.call("A")
    bench.release(permit)
    assert not bench.controller.release(permit, SUCCESS, 0)
    assert bench.controller.in_flight == 0


@pytest.mark.parametrize(
    ("limits", "estimate", "reason"),
    [
        ({"max_batch_size": 2}, {"batch_size": 3}, DenyReason.BATCH_SIZE),
        ({"max_request_bytes": 2}, {"request_bytes": 3}, DenyReason.REQUEST_TOO_LARGE),
        ({"max_items": 2}, {"items": 3}, DenyReason.TOO_MANY_ITEMS),
        ({"max_retained_work": 2}, {}, DenyReason.UNKNOWN_RETAINED_WORK),
        ({"max_retained_work": 2}, {"retained_work": 3}, DenyReason.RETAINED_WORK),
        ({"max_cost_usd": 1}, {}, DenyReason.UNKNOWN_COST),
        ({"max_cost_usd": 1}, {"cost_micros": 1_000_001}, DenyReason.COST),
        ({"max_tokens": 5}, {}, DenyReason.UNKNOWN_TOKENS),
        ({"max_tokens": 5}, {"tokens": 6}, DenyReason.TOKENS),
        ({"requests_per_minute": 0}, {}, DenyReason.REQUESTS_PER_MINUTE),
        ({}, {"tokens": -1}, DenyReason.INVALID_ESTIMATE),
    ],
)
def test_each_limit_refuses_with_its_reason(limits, estimate, reason):
    assert Bench(workspace=limits).ask("A", **estimate).refusal is reason


def test_unknown_names_are_an_unconfigured_provider():
    bench = Bench()
    assert bench.ask("A", "nowhere").refusal is DenyReason.UNCONFIGURED_PROVIDER
    assert bench.ask("nobody").refusal is DenyReason.UNCONFIGURED_PROVIDER


def test_cancelling_a_waiting_request_takes_it_out_of_its_line():
    bench = Bench(workspace={"concurrency": 1})
    bench.call("A")
    ask = bench.ask("B")
    bench.controller.cancel(ask, 0)
    assert (ask.refusal, bench.controller.waiting) == (DenyReason.CANCELLED, 0)
