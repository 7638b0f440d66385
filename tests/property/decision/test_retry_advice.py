"""Alone, a client that waits exactly as long as a refusal advised is admitted."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property.decision.profiles import PRINCIPALS, PROVIDERS, make_estimate, make_profile, make_shape
from tests.unit.decision.desk import Desk
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, RetryAfter

OUTCOMES = (SUCCESS, FAILURE, CANCELLED, RetryAfter(9))


def everybody_else_leaves(desk):
    for name in desk.tickets:
        desk.cancel(name, poll=False)
    for name in desk.admitted():
        desk.end(name, CANCELLED, poll=False)
    desk.poll()


def is_starved_by_reservations(profile, request):
    """Whether others' reservations fill a pool, so that this principal never gets a permit of it (decision 0009)."""
    if profile.principals[request.principal].reserved_concurrency:
        return False
    reserved = sum(limits.reserved_concurrency for limits in profile.principals.values())
    pools = (profile.workspace, profile.providers[request.provider])
    return any(pool.concurrency is not None and pool.concurrency <= reserved for pool in pools)


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 2**32))
def test_who_waits_exactly_as_advised_and_alone_is_admitted(seed):
    choose = random.Random(seed)
    desk = Desk(make_profile(choose.choice, make_shape(choose.choice)))
    for number in range(40):
        desk.at(desk.now_ns + choose.choice([0, 0, 1, 4])).poll()
        estimate = make_estimate(choose.choice)
        figures = {name: getattr(estimate, name) for name in ("cost_micros", "attempts", "batch_size")}
        asked = (choose.choice(PRINCIPALS), choose.choice(PROVIDERS), estimate.tokens)
        desk.ask(f"r{number}", *asked, deadline_ns=choose.choice([None, None, desk.now_ns + 3]), **figures)
        live = [name for name in desk.admitted() if desk.decisions[name].permit.gauges is not None]
        if live and choose.random() < 0.5:
            desk.end(choose.choice(live), choose.choice(OUTCOMES))
        refused = [name for name, decision in desk.decisions.items() if decision.denial is not None]
        advised = [name for name in refused if desk.decisions[name].denial.retry_after_ns is not None]
        if advised and advised[-1] == desk.log[-1][1] and desk.log[-1][0] == desk.now_ns:
            everybody_else_leaves(desk)
            request, decision = desk.tickets[advised[-1]].request, desk.decisions[advised[-1]]
            if is_starved_by_reservations(desk.controller.profile, request):
                return
            desk.at(decision.at_ns + decision.denial.retry_after_ns).poll()
            estimate = request.estimate
            figures = {name: getattr(estimate, name) for name in ("cost_micros", "attempts", "batch_size")}
            desk.ask("again", request.principal, request.provider, estimate.tokens, **figures)
            assert desk.word("again") == "admitted"
            return
