"""One policy for an account: which is current, what its buckets and gauges remember."""

import pytest

from tollgate.admission.account import AccountAuthority, PrincipalGauge
from tollgate.core.account_limits import AccountPolicy, RateLimit
from tollgate.core.request_denial import RequestDenyReason as Why

S = 10**9


def authority(weighted=None, requests=None, concurrency=None, generation=1):
    return AccountAuthority(AccountPolicy(weighted, requests, concurrency), generation, 0)


def test_account_without_rates_takes_anything():
    assert authority().take_rates(10**18, 0) is None


def test_both_buckets_pay_or_neither():
    account = authority(RateLimit(1, 5), RateLimit(1, 2))
    assert account.take_rates(5, 0) is None
    assert account.take_rates(1, 0) is Why.RATE_LIMITED
    # The refusal has left the request's token: one is still there, and the units of one second pay for it.
    assert account.take_rates(1, S) is None
    assert account.take_rates(1, 2 * S) is None


def test_request_bucket_is_named_first():
    account = authority(RateLimit(1, 1), RateLimit(1, 1))
    assert account.take_rates(1, 0) is None
    assert account.take_rates(1, 0) is Why.REQUEST_RATE_LIMITED
    assert account.take_rates(2, 0) is Why.REQUEST_RATE_LIMITED


def test_more_than_the_burst_is_never_priceable_and_takes_nothing():
    account = authority(RateLimit(1, 5), RateLimit(1, 1))
    assert account.take_rates(6, 0) is Why.UNPRICEABLE_UNDER_LIMITS
    assert account.take_rates(5, 0) is None


def test_newer_policy_keeps_what_was_spent():
    account = authority(RateLimit(1, 10))
    account.take_rates(10, 0)
    assert account.publish(AccountPolicy(RateLimit(1, 20)), 2, 0)
    assert account.take_rates(1, 0) is Why.RATE_LIMITED
    assert account.take_rates(1, S) is None


def test_switching_a_rate_off_and_on_fills_no_bucket():
    account = authority(RateLimit(1, 10))
    account.take_rates(10, 0)
    account.publish(AccountPolicy(), 2, 0)
    assert account.take_rates(10**9, 0) is None
    account.publish(AccountPolicy(RateLimit(1, 10)), 3, 0)
    assert account.take_rates(1, 0) is Why.RATE_LIMITED


def test_older_and_equal_policies_may_lower_the_ceiling_and_nothing_else():
    account = authority(RateLimit(1, 10), concurrency=5, generation=7)
    for generation, ceiling, expected in [(6, 4, 4), (7, 9, 4), (7, None, 4), (1, 2, 2)]:
        assert not account.publish(AccountPolicy(RateLimit(9, 9), RateLimit(1, 1), ceiling), generation, 0)
        assert account.policy == AccountPolicy(RateLimit(1, 10), None, expected)
        assert account.gauge.limit == expected
    assert account.publish(AccountPolicy(concurrency=9), 8, 0)
    assert account.gauge.limit == 9


def test_ceiling_that_comes_later_counts_what_began_before_it():
    account, ann = authority(), PrincipalGauge()
    permits = [account.enter(ann, None) for _ in range(3)]
    account.publish(AccountPolicy(concurrency=3), 2, 0)
    assert account.enter(ann, None) is None
    permits.pop().release()
    assert account.enter(ann, None) is not None


def test_lowered_ceiling_throws_nobody_out():
    account, ann = authority(concurrency=3), PrincipalGauge()
    permits = [account.enter(ann, None) for _ in range(3)]
    account.publish(AccountPolicy(concurrency=1), 2, 0)
    assert account.gauge.in_use == 3
    for permit in permits[:2]:
        permit.release()
    assert account.enter(ann, None) is None
    permits[2].release()
    assert account.enter(ann, None) is not None


@pytest.mark.parametrize("ceiling", [1, None])
def test_principal_and_account_are_entered_together_or_not_at_all(ceiling):
    account, ann, bob = authority(concurrency=2), PrincipalGauge(), PrincipalGauge()
    assert account.enter(ann, 1) is not None
    assert account.enter(ann, 1) is None
    assert account.enter(bob, ceiling) is not None
    assert account.enter(bob, None) is None
    assert (ann.in_use, bob.in_use, account.gauge.in_use) == (1, 1, 2)
