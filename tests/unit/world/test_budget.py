"""Retry budgets against what their sources say, step by step."""

from __future__ import annotations

from fractions import Fraction

from sim.manifest.clients import RatioBudget, TokenBudget
from sim.world.budget import machine

S = 10**9


def retries(budget, now_ns, most=1000):
    """Retry until refused; returns how often it was allowed."""
    made = 0
    while made < most and budget.try_retry(now_ns):
        made += 1
    return made


def test_each_request_pays_in_its_ratio_and_a_retry_takes_one():
    budget = machine(RatioBudget(Fraction(1, 5), Fraction(0), 10 * S))
    for paid in range(4):
        assert not budget.try_retry(paid)
        budget.requested(paid)
    budget.requested(4)
    assert retries(budget, 4) == 1
    for _ in range(9):
        budget.requested(5)
    assert retries(budget, 5) == 1  # 9/5 were paid in: the four fifths stay
    budget.requested(6)
    assert retries(budget, 6) == 1


def test_a_ratio_that_no_double_holds_is_exact():
    budget = machine(RatioBudget(Fraction("0.1"), Fraction(0), 10 * S))
    for _ in range(30):
        budget.requested(0)
    assert retries(budget, 0) == 3


def test_the_floor_is_there_without_a_request_and_comes_back():
    budget = machine(RatioBudget(Fraction(0), Fraction(5, 2), 2 * S))
    assert retries(budget, 0) == 5
    assert retries(budget, 2 * S - 1) == 0
    assert retries(budget, 2 * S) == 5


def test_payments_are_forgotten_after_ttl():
    budget = machine(RatioBudget(Fraction(1), Fraction(0), 10 * S))
    for second in range(10):
        budget.requested(second * S)
    assert retries(budget, 12 * S) == 7  # those of seconds 0, 1 and 2 are gone
    assert retries(budget, 100 * S) == 0


def test_success_and_failure_do_not_move_a_ratio():
    budget = machine(RatioBudget(Fraction(1), Fraction(0), 10 * S))
    budget.succeeded()
    budget.failed()
    assert not budget.try_retry(0)


def test_tokens_fall_by_one_with_each_failure_and_stop_retries_at_half():
    budget = machine(TokenBudget(10, Fraction("0.1")))
    allowed = []
    for _ in range(7):
        budget.failed()
        allowed.append(budget.try_retry(0))
    assert allowed == [True] * 4 + [False] * 3  # 9, 8, 7, 6 are above 5; 5, 4, 3 are not


def test_successes_give_tokens_back_until_there_are_retries_again():
    budget = machine(TokenBudget(10, Fraction("0.1")))
    for _ in range(5):
        budget.failed()
    assert not budget.try_retry(0)
    budget.succeeded()
    assert budget.try_retry(0)  # 5.1
    budget.failed()
    for _ in range(9):
        budget.succeeded()
    assert not budget.try_retry(0)  # 5.0 exactly
    budget.succeeded()
    assert budget.try_retry(0)


def test_tokens_stay_between_nothing_and_their_maximum():
    budget = machine(TokenBudget(2, Fraction("0.5")))
    for _ in range(100):
        budget.succeeded()
    budget.failed()
    assert not budget.try_retry(0)  # 1, which is half of 2
    for _ in range(100):
        budget.failed()
    budget.succeeded()
    budget.succeeded()
    assert not budget.try_retry(0)  # 1 again: it never went below nothing
    budget.succeeded()
    assert budget.try_retry(0)
