"""Retry budgets over all histories: against plain sums over a list, and their promises over the whole run."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sim.manifest.clients import RatioBudget, TokenBudget
from sim.world.budget import SLICES, machine

S = 10**9

STEPS = st.lists(st.tuples(st.sampled_from(["ask", "retry"]), st.integers(0, 3 * S)), max_size=120)
RATIOS = st.fractions(0, 3, max_denominator=12)


@given(RATIOS, RATIOS, st.integers(1, 10 * S), STEPS)
def test_a_ratio_budget_is_a_sum_over_the_last_slices(ratio, floor, ttl_ns, steps):
    budget = machine(RatioBudget(ratio, floor, ttl_ns))
    slice_ns = -(-ttl_ns // SLICES)
    entries: list[tuple[int, Fraction]] = []
    now_ns = asked = retried = 0
    for what, gap_ns in steps:
        now_ns += gap_ns
        if what == "ask":
            budget.requested(now_ns)
            entries.append((now_ns, ratio))
            asked += 1
            continue
        held = sum(units for at_ns, units in entries if at_ns // slice_ns > now_ns // slice_ns - SLICES)
        may = held + floor * ttl_ns / S >= 1
        assert budget.try_retry(now_ns) == may
        if may:
            entries.append((now_ns, Fraction(-1)))
            retried += 1
        assert retried <= ratio * asked + floor * Fraction(now_ns + ttl_ns, S)


@given(st.integers(1, 20), st.fractions("0.001", 3, max_denominator=1000), st.lists(st.booleans(), max_size=200))
def test_a_token_budget_is_a_clamped_walk(tokens, ratio, outcomes):
    budget = machine(TokenBudget(tokens, ratio))
    count = Fraction(tokens)
    failures = successes = retried = 0
    for success in outcomes:
        if success:
            budget.succeeded()
            count = min(Fraction(tokens), count + ratio)
            successes += 1
        else:
            budget.failed()
            count = max(Fraction(0), count - 1)
            failures += 1
            may = count > Fraction(tokens, 2)
            assert budget.try_retry(0) == may
            retried += may
    assert retried <= min(failures, ratio * successes + Fraction(tokens, 2))
