"""What a caller does after an attempt that did not succeed: wait or give up, layer by layer."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest

from sim.manifest.clients import Client, Herd, RatioBudget, Retry, TokenBudget
from sim.seeds import derived_word
from sim.trace import NONE, Stop
from sim.world.clients import Callers

S = 10**9


def fixed(base, attempts, **more):
    return Retry("fixed", base, base, "none", attempts, **more)


def call(principal=0, patience_ns=None, jitter=77):
    return SimpleNamespace(
        attempts=1, effort=None, jitter=jitter, patience_ns=patience_ns, principal_index=principal, stopped=NONE
    )


def waits(callers, request, announced_ns=0, now_ns=0, most=100):
    """Let every attempt fail; returns the waits between them."""
    found = []
    callers.requested(request.principal_index, now_ns)
    while len(found) < most and (wait := callers.next_wait_ns(request, now_ns, announced_ns)) is not None:
        found.append(wait)
        callers.retried(request, now_ns)
        request.attempts += 1
    return found


def test_a_flat_policy_is_one_layer():
    assert waits(Callers(Client(layers=(fixed(5, 4),))), call()) == [5, 5, 5]
    assert waits(Callers(Client()), call()) == []


@pytest.mark.parametrize(("inner", "outer"), [(3, 4), (1, 4), (4, 1), (2, 2)])
def test_c049_attempts_of_layers_multiply(inner, outer):
    callers = Callers(Client(layers=(fixed(1, inner, name="sdk"), fixed(100, outer, name="gateway"))))
    found = waits(callers, call())
    assert len(found) + 1 == inner * outer
    assert found == ([1] * (inner - 1) + [100]) * (outer - 1) + [1] * (inner - 1)
    assert callers.calls == [inner * outer, outer]
    assert callers.account("s") == f"s: 1 requests, gateway {outer} attempts, sdk {inner * outer} attempts"
    assert callers.is_consistent


def test_three_layers_count_as_an_odometer_does():
    callers = Callers(Client(layers=(fixed(1, 2, name="a"), fixed(10, 2, name="b"), fixed(100, 3, name="c"))))
    assert waits(callers, call()) == [1, 10, 1, 100, 1, 10, 1, 100, 1, 10, 1]
    assert callers.calls == [12, 6, 3]


def test_an_inner_layer_begins_anew_with_each_attempt_of_the_outer():
    sdk = Retry("exponential", 10, 1000, "none", 3, name="sdk")
    assert waits(Callers(Client(layers=(sdk, fixed(500, 2, name="gateway")))), call()) == [10, 20, 500, 10, 20]
    again = Retry("decorrelated", 10, 10**9, "none", 2, name="sdk")
    jitter = 12345
    words = [derived_word(jitter, k) for k in range(3)]
    found = waits(Callers(Client(layers=(again, fixed(500, 2, name="gateway")))), call(jitter=jitter))
    assert found == [10 + (words[0] * 21 >> 64), 500, 10 + (words[2] * 21 >> 64)]


def test_decorrelated_waits_follow_from_each_other():
    request = call(jitter=99)
    found = waits(Callers(Client(layers=(Retry("decorrelated", 100, 5000, "none", 12),))), request)
    previous, expected = 100, []
    for k in range(11):
        previous = min(5000, 100 + (derived_word(99, k) * (3 * previous - 100 + 1) >> 64))
        expected.append(previous)
    assert found == expected
    assert len(set(found)) > 5


@pytest.mark.parametrize(("announced", "honoured"), [(90, 90), (120, 120), (0, 2)])
def test_c044_an_announced_wait_up_to_the_cap_is_waited_out(announced, honoured):
    callers = Callers(Client(layers=(fixed(2 * S, 2),), retry_after_cap_ns=120 * S))
    assert waits(callers, call(), announced * S) == [honoured * S]


@pytest.mark.parametrize("announced", [121, 9_999_999_999])
def test_c044_an_announced_wait_beyond_the_cap_ends_the_request(announced):
    request = call()
    callers = Callers(Client(layers=(fixed(2 * S, 2, name="a"), fixed(1, 3, name="b")), retry_after_cap_ns=120 * S))
    assert waits(callers, request, announced * S) == []
    assert request.stopped == Stop.RETRY_AFTER


def test_a_client_that_ignores_announced_waits_keeps_to_its_own():
    assert waits(Callers(Client(layers=(fixed(7, 3),), honour_retry_after=False)), call(), 10**12) == [7, 7]


def test_nobody_waits_past_their_patience():
    request = call(patience_ns=10)
    assert waits(Callers(Client(layers=(fixed(10, 3),))), request) == []
    assert waits(Callers(Client(layers=(fixed(9, 3),))), call(patience_ns=10)) == [9, 9]
    assert request.stopped == NONE


def test_a_used_up_budget_ends_the_request_and_says_so():
    callers = Callers(Client(layers=(fixed(1, 9, budget=RatioBudget(Fraction(3), Fraction(0), 10 * S)),)))
    request = call()
    assert len(waits(callers, request)) == 3
    assert request.stopped == Stop.BUDGET


def test_running_out_of_attempts_is_no_stop():
    request = call()
    waits(Callers(Client(layers=(fixed(1, 3, budget=RatioBudget(Fraction(9), Fraction(0), S)),))), request)
    assert request.stopped == NONE


@pytest.mark.parametrize(("per", "second"), [("stream", 0), ("principal", 2)])
def test_a_budget_is_shared_by_the_stream_or_each_principal_has_its_own(per, second):
    budget = RatioBudget(Fraction(0), Fraction(2), S, per)
    callers = Callers(Client(layers=(fixed(1, 9, budget=budget),)))
    assert len(waits(callers, call(0))) == 2
    assert len(waits(callers, call(1))) == second


def test_an_inner_budget_used_up_is_one_failed_attempt_of_the_outer():
    sdk = fixed(1, 5, name="sdk", budget=TokenBudget(4, Fraction(1)))
    callers = Callers(Client(layers=(sdk, fixed(100, 3, name="gateway"))))
    request = call()
    assert waits(callers, request) == [1, 100, 100]  # 3 of 4 tokens are above half, then 2, 1 and 0 are not
    assert request.stopped == Stop.BUDGET


def test_successes_reach_the_budget():
    callers = Callers(Client(layers=(fixed(1, 5, budget=TokenBudget(2, Fraction(1))),)))
    assert waits(callers, call()) == []
    for _ in range(2):
        callers.succeeded(0)
    request = call()
    assert callers.next_wait_ns(request, 0, 0) is None
    callers.succeeded(0)
    assert callers.next_wait_ns(request, 0, 0) is None  # the failure before took what that gave


HERD = Herd("bad", 1, 1000, 5000, 0)


@pytest.mark.parametrize(
    ("now_ns", "provider", "announced_ns", "wait_ns"),
    [
        (999, 1, 0, 4500),  # it failed before
        (1000, 1, 0, 4000),  # at the first instant
        (4999, 1, 0, 1),  # at the last
        (5000, 1, 0, 4500),  # it is over
        (500, 1, 0, 4500),
        (2000, 0, 0, 4500),  # somebody else's outage
        (2000, 1, 3500, 3500),  # who was told to wait for longer waits for longer
        (2000, 1, 2900, 3000),
    ],
)
def test_a_herd_is_of_those_who_failed_in_its_outage(now_ns, provider, announced_ns, wait_ns):
    request = call()
    request.provider_index = provider
    callers = Callers(Client(layers=(fixed(4500, 2),), herd=HERD))
    assert callers.next_wait_ns(request, now_ns, announced_ns) == wait_ns


def test_who_is_back_before_the_end_of_the_outage_is_not_in_its_herd():
    waits_ns = {}
    for now_ns in (3999, 4000, 4001):
        request = call()
        request.provider_index = 1
        waits_ns[now_ns] = Callers(Client(layers=(fixed(1000, 2),), herd=HERD)).next_wait_ns(request, now_ns, 0)
    assert waits_ns == {3999: 1000, 4000: 1000, 4001: 999}
