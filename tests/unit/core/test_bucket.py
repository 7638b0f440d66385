"""Cases by hand; any history against exact fractions is in tests/property/core/test_bucket.py."""

from fractions import Fraction

import pytest

from tollgate.core.bucket import TokenBucket, first_short, try_take_all, try_take_each
from tollgate.core.errors import CallerError, ConfigError, InvariantViolation
from tollgate.core.units import NS_PER_S, Rate


def ten_per_second(**options):
    return TokenBucket(rate=Rate.per_second(10), burst=10, **options)


@pytest.mark.parametrize("burst", [0, -1, 1.5, True, None])
def test_burst_below_one_is_refused_when_made_and_when_changed(burst):
    with pytest.raises(ConfigError, match="burst"):
        TokenBucket(rate=Rate.per_second(1), burst=burst)
    bucket = ten_per_second()
    with pytest.raises(ConfigError, match="burst"):
        bucket.set_rate(Rate.per_second(1), burst, 0)
    assert (bucket.burst, bucket.rate) == (10, Rate.per_second(10))


@pytest.mark.parametrize("level", [-1, 11, Fraction(-1, 10**12), Fraction(21, 2)])
def test_starting_level_outside_the_bucket_is_refused(level):
    with pytest.raises(ConfigError, match="level"):
        ten_per_second(level=level)


def test_starting_level_holds_at_the_instant_it_is_given_for():
    bucket = ten_per_second(level=Fraction(1, 3), now_ns=10**18)
    assert bucket.level(10**18) == Fraction(1, 3)
    assert bucket.level(10**18 + NS_PER_S // 10) == Fraction(4, 3)


def test_first_instant_at_which_a_unit_is_back_is_inclusive():
    bucket = ten_per_second(level=0)
    assert not bucket.fits(1, NS_PER_S // 10 - 1)
    assert bucket.fits(1, NS_PER_S // 10)


def test_bucket_without_refill_gives_what_it_has_and_never_more():
    bucket = TokenBucket(rate=Rate(0, 1), burst=2)
    assert bucket.try_take(2, 0)
    assert bucket.wait_ns(1, 10**20) is None
    assert bucket.ready_ns(1, 10**20) is None
    assert bucket.wait_ns(0, 10**20) == 0
    assert bucket.level(10**20) == 0


def test_taking_nothing_changes_no_level():
    bucket = ten_per_second(level=3)
    assert bucket.try_take(0, 5)
    assert bucket.level(5) == 3 + Fraction(5, 10**8)


def test_negative_amounts_would_mint_and_are_refused():
    bucket = ten_per_second(level=3)
    with pytest.raises(CallerError):
        bucket.try_take(-1, 0)
    with pytest.raises(CallerError):
        try_take_all([bucket], -1, 0)
    with pytest.raises(CallerError):
        try_take_each([], [bucket], -1, 0)
    assert bucket.level(0) == 3


def test_take_of_what_is_not_there_raises_and_changes_nothing():
    bucket = ten_per_second(level=3)
    bucket.take(2, 0)
    with pytest.raises(InvariantViolation, match="2 units"):
        bucket.take(2, 0)
    assert bucket.level(0) == 1


def test_bucket_listed_twice_cannot_pay_twice():
    bucket = ten_per_second(level=3)
    with pytest.raises(InvariantViolation, match="2 units"):
        try_take_all([bucket, bucket], 2, 0)


def test_first_short_names_the_first_that_lacks_them_and_changes_nothing():
    buckets = [ten_per_second(level=level) for level in (5, 2, 1)]
    assert [first_short(buckets, n, 0) for n in (1, 2, 3, 6)] == [-1, 2, 1, 0]
    assert [bucket.level(0) for bucket in buckets] == [5, 2, 1]


def test_no_buckets_always_pay():
    assert try_take_all([], 5, 0) == -1


def test_raised_burst_adds_room_but_no_units():
    bucket = ten_per_second()
    bucket.set_rate(Rate.per_second(10), 20, 0)
    assert bucket.level(0) == 10
    assert bucket.level(NS_PER_S) == 20


def test_lowered_burst_takes_what_no_longer_fits():
    bucket = ten_per_second()
    bucket.set_rate(Rate.per_second(1), 4, 0)
    assert bucket.level(0) == 4
    assert bucket.rate == Rate.per_second(1)


def test_new_rate_acts_from_now_on_only():
    bucket = ten_per_second(level=0)
    bucket.set_rate(Rate.per_second(1), 10, NS_PER_S // 2)
    assert bucket.level(NS_PER_S // 2) == 5
    assert bucket.level(NS_PER_S // 2 + 2 * NS_PER_S) == 7


def test_ready_instant_is_the_true_one_after_a_step_back():
    bucket = ten_per_second()
    bucket.take(10, 50 * NS_PER_S)
    assert bucket.ready_ns(1, 20 * NS_PER_S) == 50 * NS_PER_S + NS_PER_S // 10
    assert bucket.wait_ns(1, 20 * NS_PER_S) == NS_PER_S // 10


def test_lines_of_the_module_docstring_are_the_mechanism():
    # What a hot loop may write in place, as promised.
    inlined, called = ten_per_second(), ten_per_second()
    for n, now_ns in [(4, 0), (5, 3), (3, 10**8), (2, 10**8 + 1), (9, 4 * 10**9), (2, 10**9)]:
        x = now_ns * inlined.gain
        after = max(inlined.full, x) + n * inlined.grain
        fits = after <= x + inlined.cap
        if fits:
            inlined.full = after
        assert called.try_take(n, now_ns) == fits
        assert inlined.full == called.full
