"""Which limits are accepted: the ranges and pairs of the specification."""

import pytest

from tollgate.core.account_limits import AccountPolicy, RateLimit, RequestLimits
from tollgate.core.errors import ConfigError

TOP = 2**32 - 1


def test_limits_of_an_account_are_taken_out_of_its_snapshot():
    limits = RequestLimits(
        max_items_per_request=9,
        rate_units_per_second=100,
        rate_burst_units=TOP,
        requests_per_second=1,
        request_burst=2,
        account_concurrency=4,
        principal_concurrency=4,
    )
    assert limits.account_policy == AccountPolicy(RateLimit(100, TOP), RateLimit(1, 2), 4)
    assert RequestLimits(max_items_per_request=1).account_policy == AccountPolicy()


def test_weighted_rate_that_is_off_keeps_its_scalars_and_limits_nothing():
    limits = RequestLimits(
        max_items_per_request=9, rate_units_per_second=100, rate_burst_units=50, is_weighted_rate_enabled=False
    )
    assert limits.rate_burst_units == 50
    assert limits.account_policy.weighted_rate is None


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"max_items_per_request": 0}, "max_items_per_request"),
        ({"max_items_per_request": 2**64}, "max_items_per_request"),
        ({"rate_units_per_second": 1}, "rate_burst_units"),
        ({"rate_burst_units": 1}, "rate_units_per_second"),
        ({"requests_per_second": 1}, "request_burst"),
        ({"request_burst": 1}, "requests_per_second"),
        ({"rate_units_per_second": 0, "rate_burst_units": 1}, "rate_units_per_second"),
        ({"rate_units_per_second": 1, "rate_burst_units": TOP + 1}, "rate_burst_units"),
        ({"rate_units_per_second": 1, "rate_burst_units": 0, "is_weighted_rate_enabled": False}, "rate_burst_units"),
        ({"requests_per_second": 1.5, "request_burst": 1}, "requests_per_second"),
        ({"account_concurrency": 0}, "account_concurrency"),
        ({"principal_concurrency": 1}, "account has no concurrency"),
        ({"principal_concurrency": 3, "account_concurrency": 2}, "at most the account's, which is 2"),
        ({"is_weighted_rate_enabled": 1}, "is_weighted_rate_enabled"),
    ],
)
def test_limits_out_of_range_or_half_given_are_refused_with_the_field(fields, path):
    with pytest.raises(ConfigError, match=path):
        RequestLimits(**{"max_items_per_request": 1, **fields})


@pytest.mark.parametrize(
    "make", [lambda: RateLimit(0, 1), lambda: RateLimit(1, TOP + 1), lambda: AccountPolicy(None, None, 0)]
)
def test_pairs_and_policies_check_themselves(make):
    with pytest.raises(ConfigError, match="an integer from 1 to 4294967295"):
        make()
