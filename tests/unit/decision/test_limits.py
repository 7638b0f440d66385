"""Limits: ranges, reading, writing."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction

import pytest

from tollgate.core.breaker import BreakerConfig, FailureRateWindow
from tollgate.core.errors import ConfigError
from tollgate.decision import AdmissionLimits
from tollgate.decision.limits import FIELDS


def read(scope="workspace", **block):
    return AdmissionLimits.from_mapping(block, scope=scope, path="profile.x")


def test_every_limit_is_in_the_table_of_fields():
    in_table = {entry.name for entry in FIELDS}
    assert in_table == {field.name for field in fields(AdmissionLimits) if field.init}


@pytest.mark.parametrize(
    "key",
    [
        *("concurrency", "max_attempts", "max_batch_size", "max_request_bytes", "max_items", "max_retained_work"),
        *("max_tokens", "max_queue_wait_ms", "max_cost_usd"),
    ],
)
@pytest.mark.parametrize("value", [0, -1, True, "many", None, 2**53])
def test_a_ceiling_that_is_no_positive_whole_number_in_range_is_refused_by_key(key, value):
    if value == 2**53 and key in {"max_cost_usd", "max_queue_wait_ms"}:
        value = 10**30
    with pytest.raises(ConfigError, match=rf"^profile\.x\.{key}: "):
        read(**{key: value})


@pytest.mark.parametrize("value", [0.5, float("nan"), "1e400", "NaN", -1, "-0.1"])
def test_a_rate_is_exact_and_not_negative(value):
    with pytest.raises(ConfigError, match=r"^profile\.x\.tokens_per_second: "):
        read(tokens_per_second=value)


@pytest.mark.parametrize("value", [0, "0", "1.01", -1, 0.5])
def test_a_share_is_above_0_and_at_most_1(value):
    with pytest.raises(ConfigError, match="max_principal_share"):
        read(max_principal_share=value)


def test_zero_means_something_for_rates_queues_and_reservations():
    assert read(requests_per_minute=0, max_queue_length=0).requests_per_minute == 0
    assert read("principal", reserved_concurrency=0).reserved_concurrency == 0


def test_units_of_the_block_become_ns_and_micros():
    limits = read(max_queue_wait_ms="2.5", max_cost_usd="0.000001", tokens_per_second="0.1")
    assert (limits.max_queue_wait_ns, limits.max_cost_micros) == (2_500_000, 1)
    assert limits.tokens_per_second == Fraction(1, 10)
    with pytest.raises(ConfigError, match="whole steps"):
        read(max_cost_usd="0.0000001")


def test_an_unknown_key_is_refused_with_the_nearest_known_one():
    with pytest.raises(ConfigError, match=r'did you mean "concurrency"'):
        read(concurency=3)


@pytest.mark.parametrize(
    ("scope", "key", "value"),
    [("provider", "reserved_concurrency", 1), ("principal", "max_principal_share", "0.5"), ("workspace", "weight", 2)],
)
def test_a_limit_of_another_scope_is_refused(scope, key, value):
    with pytest.raises(ConfigError, match=key):
        read(scope, **{key: value})


def test_a_burst_needs_its_rate_and_a_reservation_its_room():
    with pytest.raises(ConfigError, match="tokens_burst"):
        read(tokens_burst=5)
    with pytest.raises(ConfigError, match="reserved_concurrency"):
        read("principal", concurrency=2, reserved_concurrency=3)


@pytest.mark.parametrize(("per_minute", "capacity"), [("90", 90), ("0.5", 1), ("1.9", 1), ("60.5", 60)])
def test_a_bucket_holds_a_periods_worth_rounded_down_and_at_least_one(per_minute, capacity):
    rate, burst = read(requests_per_minute=per_minute).request_rate
    assert burst == capacity
    assert Fraction(rate.units, rate.per_ns) == Fraction(per_minute) / (60 * 10**9)


def test_share_is_exact_and_never_nothing():
    """floor(0.29 * 100) is 28 in doubles."""
    limits = read(max_principal_share="0.29")
    assert (limits.share_of(100), limits.share_of(2), limits.share_of(None)) == (29, 1, None)
    assert read().share_of(100) is None


@pytest.mark.parametrize("key", ["failure_threshold", "open_ms", "half_open_max_calls"])
def test_a_breaker_that_can_never_work_is_refused_by_key(key):
    block = {"failure_threshold": 1, "open_ms": 1, "half_open_max_calls": 1, key: 0}
    with pytest.raises(ConfigError, match=rf"^profile\.x\.circuit_breaker\.{key}: "):
        read("provider", circuit_breaker=block)


def test_what_was_read_is_written_so_that_it_reads_back():
    limits = AdmissionLimits(
        concurrency=3,
        requests_per_minute=Fraction("0.25"),
        tokens_per_second=Fraction(7),
        tokens_burst=5,
        max_cost_micros=1_500_000,
        allow_unknown_cost=True,
        max_queue_wait_ns=1_500_000,
        max_principal_share=Fraction(1, 4),
        circuit_breaker=BreakerConfig(2, 10**9, 1, FailureRateWindow(10, 5, Fraction(1, 2))),
    )
    assert AdmissionLimits.from_mapping(limits.to_mapping(), scope="provider", path="p") == limits
    assert AdmissionLimits().to_mapping() == {}
