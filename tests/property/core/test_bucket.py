"""The token bucket against a model in exact fractions, and the bugs that the comparison catches.

The model keeps a level and the instant it was brought up to date, and earns by the clock: another form of the same
mechanism than the one shipped, which keeps neither. Each witness is a property that takes the class under test, so that
the planted bugs below can be put through the very same check.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tollgate.core import bucket as bucket_module
from tollgate.core.bucket import TokenBucket
from tollgate.core.units import NS_PER_S, Rate

TryTakeAll = Callable[[Sequence[TokenBucket], int, int], int]
TryTakeEach = Callable[[Sequence[TokenBucket], int, int, int], int]


class FractionBucket:
    """The level form of a token bucket, for a clock that never steps back."""

    def __init__(self, rate: Rate, burst: int, level: Fraction) -> None:
        self.rate = Fraction(rate.units, rate.per_ns)
        self.burst = burst
        self.level = level
        self.at_ns = 0

    def advance(self, now_ns: int) -> None:
        self.level = min(Fraction(self.burst), self.level + (now_ns - self.at_ns) * self.rate)
        self.at_ns = now_ns

    def try_take(self, n: int, now_ns: int) -> bool:
        self.advance(now_ns)
        if n > self.level:
            return False
        self.level -= n
        return True

    def wait_ns(self, n: int, now_ns: int) -> int | None:
        self.advance(now_ns)
        if n <= self.level:
            return 0
        if n > self.burst or self.rate == 0:
            return None
        return math.ceil((n - self.level) / self.rate)

    def set_rate(self, rate: Rate, burst: int, now_ns: int) -> None:
        # The stated rule: rounded down to what the new rate's grain, 1/per_ns of a unit, can express.
        self.advance(now_ns)
        self.rate = Fraction(rate.units, rate.per_ns)
        self.burst = burst
        grain = rate.per_ns
        self.level = min(Fraction(math.floor(self.level * grain), grain), Fraction(burst))


# ------------------------------------------------------------------------------------------------ strategies

rates = st.one_of(
    st.builds(Rate, st.integers(0, 50), st.integers(1, 50)),
    st.sampled_from(
        [
            Rate.per_second(Fraction(10, 13)),
            Rate.per_minute(2400),
            Rate.per_second("333.7"),
            Rate.per_second(Fraction(1, 3600)),
            Rate(98_000_000, NS_PER_S),
            Rate.per_second(1_000_000_001),
        ]
    ),
)
bursts = st.integers(1, 12)
amounts = st.integers(0, 15)
# Small gaps reach the edges of small rates; large ones are seconds and hours of a real clock.
gaps = st.one_of(st.integers(0, 40), st.integers(0, 4 * NS_PER_S), st.integers(0, 3600 * NS_PER_S))


@st.composite
def starts(draw: st.DrawFn) -> tuple[Rate, int, Fraction]:
    rate, burst = draw(rates), draw(bursts)
    level = draw(st.one_of(st.just(Fraction(burst)), st.fractions(0, burst, max_denominator=1000)))
    return rate, burst, level


takes = st.tuples(st.just("take"), gaps, amounts, st.none())
changes = st.tuples(st.just("set_rate"), gaps, bursts, rates)
scripts = st.lists(st.one_of(takes, takes, takes, changes), max_size=30)

checked = settings()  # the profile of tests/conftest.py decides how hard to search
# Planted bugs only need to be found, not to be made small.
hunted = settings(derandomize=True, max_examples=400, phases=[Phase.generate])


def state(bucket: TokenBucket) -> tuple[int, ...]:
    """Every slot; each must be an integer, because a float that slips in decides later."""
    slots = (bucket.full, bucket.gain, bucket.grain, bucket.cap)
    assert all(type(slot) is int for slot in slots), slots
    return slots


def fresh(make: type[TokenBucket], start: tuple[Rate, int, Fraction]) -> tuple[TokenBucket, FractionBucket]:
    rate, burst, level = start
    return make(rate=rate, burst=burst, level=level), FractionBucket(rate, burst, level)


def assert_envelope(admitted: Sequence[tuple[int, int]], rate: Rate, burst: int) -> None:
    """In every window between two admitted stamps: units admitted <= burst + rate * length."""
    in_order = sorted(admitted)
    for first, (from_ns, _) in enumerate(in_order):
        units = 0
        for until_ns, n in in_order[first:]:
            units += n
            assert units <= burst + Fraction(rate.units, rate.per_ns) * (until_ns - from_ns), (from_ns, until_ns)


# ------------------------------------------------------------------------------------------------ witnesses


def levels_equal_the_model(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(starts(), scripts)
    def check(start, script):
        bucket, model = fresh(make, start)
        now_ns = 0
        for op, gap, n, rate in script:
            now_ns += gap
            if op == "take":
                assert bucket.fits(n, now_ns) == (n <= bucket.level(now_ns))
                assert bucket.try_take(n, now_ns) == model.try_take(n, now_ns)
            else:
                bucket.set_rate(rate, n, now_ns)
                model.set_rate(rate, n, now_ns)
            state(bucket)
            assert bucket.level(now_ns) == model.level

    check()


def refusals_and_questions_change_nothing(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(starts(), st.lists(st.tuples(gaps, amounts), max_size=20))
    def check(start, asks):
        bucket, _ = fresh(make, start)
        now_ns = 0
        for gap, n in asks:
            now_ns += gap
            before = state(bucket)
            bucket.fits(n, now_ns)
            bucket.level(now_ns)
            bucket.wait_ns(n, now_ns)
            bucket.ready_ns(n, now_ns)
            assert state(bucket) == before
            if not bucket.try_take(n, now_ns):
                assert state(bucket) == before

    check()


def waits_are_never_early_and_never_late(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(starts(), st.lists(st.tuples(gaps, amounts), max_size=12), amounts, gaps)
    def check(start, earlier, n, gap):
        bucket, model = fresh(make, start)
        now_ns = 0
        for earlier_gap, taken in earlier:
            now_ns += earlier_gap
            bucket.try_take(taken, now_ns)
            model.try_take(taken, now_ns)
        now_ns += gap
        wait_ns = bucket.wait_ns(n, now_ns)
        assert wait_ns == model.wait_ns(n, now_ns)
        assert bucket.ready_ns(n, now_ns) == (None if wait_ns is None else now_ns + wait_ns)
        if wait_ns is None:
            assert not bucket.try_take(n, now_ns + 10**30)
            return
        if wait_ns > 0:
            assert not bucket.fits(n, now_ns + wait_ns - 1)
        assert bucket.try_take(n, now_ns + wait_ns)

    check()


stamps = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 8)), max_size=25)


def no_window_holds_more_than_its_envelope(make: type[TokenBucket], how: settings) -> None:
    """In whatever order the stamps come: a clock that steps about must not open the gate."""

    @how
    @given(st.builds(Rate, st.integers(0, 9), st.integers(1, 9)), bursts, stamps)
    def check(rate, burst, asks):
        bucket = make(rate=rate, burst=burst)
        assert_envelope([(at_ns, n) for at_ns, n in asks if bucket.try_take(n, at_ns)], rate, burst)

    check()


def a_full_bucket_never_exceeds_its_burst(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(rates, bursts, gaps, gaps)
    def check(rate, burst, idle, later):
        bucket = make(rate=rate, burst=burst)
        for now_ns in (idle, idle + later):
            assert 0 <= bucket.level(now_ns) <= burst
            admitted = sum(bucket.try_take(1, now_ns) for _ in range(burst + 2))
            assert admitted <= burst
        assert bucket.level(idle + later) >= 0

    check()


def shuffled_stamps_admit_no_more_than_sorted_ones(make: type[TokenBucket], how: settings) -> None:
    """For equal requests. (For unequal ones even the order at one instant matters; the envelope holds for those.)"""

    @how
    @given(
        st.builds(Rate, st.integers(1, 9), st.integers(1, 9)),
        bursts,
        st.integers(1, 3),
        st.lists(st.integers(0, 60), max_size=25),
    )
    def check(rate, burst, n, at):
        shuffled, in_order = make(rate=rate, burst=burst), make(rate=rate, burst=burst)
        admitted = sum(shuffled.try_take(n, now_ns) for now_ns in at)
        assert admitted <= sum(in_order.try_take(n, now_ns) for now_ns in sorted(at))

    check()


def a_step_back_earns_nothing(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(
        st.builds(Rate, st.integers(1, 9), st.integers(1, 9)),
        bursts,
        st.integers(0, 100),
        st.integers(1, 100),
        st.integers(0, 100),
        st.lists(st.tuples(st.integers(0, 100), amounts), max_size=6),
    )
    def check(rate, burst, drained_ns, back_ns, on_ns, asks):
        bucket, stayed = make(rate=rate, burst=burst), make(rate=rate, burst=burst)
        assert bucket.try_take(burst, drained_ns)
        assert stayed.try_take(burst, drained_ns)
        from_empty_ns = math.ceil(burst / Fraction(rate.units, rate.per_ns))
        for up_ns, n in asks:
            # Somewhere before the instant at which it was drained: nothing to be had, and no frightening wait.
            now_ns = drained_ns - back_ns + min(up_ns, back_ns - 1)
            assert n == 0 or not bucket.try_take(n, now_ns)
            assert bucket.level(now_ns) == 0
            wait_ns = bucket.wait_ns(n, now_ns)
            assert (wait_ns is None) == (n > burst)
            assert wait_ns is None or 0 <= wait_ns <= from_empty_ns
        assert bucket.level(drained_ns + on_ns) == stayed.level(drained_ns + on_ns)

    check()


def a_new_rate_does_not_pay_for_a_step_back(make: type[TokenBucket], how: settings) -> None:
    @how
    @given(
        st.builds(Rate, st.integers(1, 9), st.integers(1, 9)),
        rates,
        bursts,
        bursts,
        st.integers(1, 1000),
        st.integers(0, 1000),
    )
    def check(old, new, burst, new_burst, drained_ns, back_ns):
        bucket = make(rate=old, burst=burst)
        assert bucket.try_take(burst, drained_ns)
        bucket.set_rate(new, new_burst, max(drained_ns - back_ns, 0))
        state(bucket)
        assert bucket.level(drained_ns) == 0
        later_ns = drained_ns + 50
        assert bucket.level(later_ns) == min(new_burst, 50 * Fraction(new.units, new.per_ns))

    check()


def charging_is_all_or_nothing(try_take_all: TryTakeAll, how: settings) -> None:
    @how
    @given(
        st.lists(st.tuples(st.builds(Rate, st.integers(0, 9), st.integers(1, 9)), bursts), max_size=4),
        st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=15),
    )
    def check(shapes, asks):
        buckets = [TokenBucket(rate=rate, burst=burst) for rate, burst in shapes]
        models = [FractionBucket(rate, burst, Fraction(burst)) for rate, burst in shapes]
        now_ns = 0
        for gap, n in asks:
            now_ns += gap
            short = [index for index, model in enumerate(models) if model.wait_ns(n, now_ns) != 0]
            assert try_take_all(buckets, n, now_ns) == (short[0] if short else -1)
            if not short:
                assert all(model.try_take(n, now_ns) for model in models)
            assert [bucket.level(now_ns) for bucket in buckets] == [model.level for model in models]

    check()


def a_request_pays_one_here_and_its_units_there_or_nothing(try_take_each: TryTakeEach, how: settings) -> None:
    @how
    @given(
        st.lists(st.tuples(st.builds(Rate, st.integers(0, 9), st.integers(1, 9)), bursts), max_size=5),
        st.integers(0, 5),
        st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8)), max_size=15),
    )
    def check(shapes, ones, asks):
        buckets = [TokenBucket(rate=rate, burst=burst) for rate, burst in shapes]
        models = [FractionBucket(rate, burst, Fraction(burst)) for rate, burst in shapes]
        now_ns = 0
        for gap, n in asks:
            now_ns += gap
            before = [bucket.full for bucket in buckets]
            costs = [1 if index < ones else n for index in range(len(models))]
            short = [index for index, model in enumerate(models) if model.wait_ns(costs[index], now_ns) != 0]
            assert try_take_each(buckets[:ones], buckets[ones:], n, now_ns) == (short[0] if short else -1)
            if not short:
                assert all(model.try_take(cost, now_ns) for model, cost in zip(models, costs, strict=True))
            else:
                assert [bucket.full for bucket in buckets] == before
            assert [bucket.level(now_ns) for bucket in buckets] == [model.level for model in models]

    check()


WITNESSES = (
    levels_equal_the_model,
    refusals_and_questions_change_nothing,
    waits_are_never_early_and_never_late,
    no_window_holds_more_than_its_envelope,
    a_full_bucket_never_exceeds_its_burst,
    shuffled_stamps_admit_no_more_than_sorted_ones,
    a_step_back_earns_nothing,
    a_new_rate_does_not_pay_for_a_step_back,
)


@pytest.mark.parametrize("witness", WITNESSES, ids=lambda witness: witness.__name__)
def test_bucket(witness):
    witness(TokenBucket, checked)


def test_charging_several_buckets_is_all_or_nothing():
    charging_is_all_or_nothing(bucket_module.try_take_all, checked)


def test_paying_for_a_request_is_all_or_nothing():
    a_request_pays_one_here_and_its_units_there_or_nothing(bucket_module.try_take_each, checked)


# ------------------------------------------------------------------------------------------------ planted bugs


class ChargesRefusals(TokenBucket):
    def try_take(self, n, now_ns):
        if self.fits(n, now_ns):
            return super().try_take(n, now_ns)
        self.full = max(self.full, now_ns * self.gain) + n * self.grain
        return False


class MovesTheMarkOnRefusal(TokenBucket):
    def try_take(self, n, now_ns):
        self.full = max(self.full, now_ns * self.gain)
        return super().try_take(n, now_ns)


class AdmitsOneTooMany(TokenBucket):
    def try_take(self, n, now_ns):
        after = max(self.full, now_ns * self.gain) + n * self.grain
        if after - now_ns * self.gain > self.cap + self.grain:
            return False
        self.full = after
        return True


class EarnsBeyondTheBurst(TokenBucket):
    def try_take(self, n, now_ns):
        if self.full + n * self.grain - now_ns * self.gain > self.cap:
            return False
        self.full += n * self.grain
        return True


class LosesFractions(TokenBucket):
    def try_take(self, n, now_ns):
        whole = int(self.level(now_ns))
        self.full = now_ns * self.gain + self.cap - whole * self.grain
        return super().try_take(n, now_ns)


class CountsInFloats(TokenBucket):
    def try_take(self, n, now_ns):
        level = float(self.level(now_ns))
        if n > level:
            return False
        self.full = now_ns * self.gain + self.cap - int((level - n) * self.grain)
        return True


class RefillsOnAStepBack(TokenBucket):
    def try_take(self, n, now_ns):
        # "The stored instant lies in the future, so it must be stale."
        if self.full > now_ns * self.gain + self.cap:
            self.full = now_ns * self.gain
        return super().try_take(n, now_ns)


class ForgetsWhatAStepBackOwes(TokenBucket):
    def try_take(self, n, now_ns):
        self.full = min(self.full, now_ns * self.gain + self.cap)
        return super().try_take(n, now_ns)


class ShowsTheStepBackAsAWait(TokenBucket):
    def wait_ns(self, n, now_ns):
        ready_ns = self.ready_ns(n, now_ns)
        return None if ready_ns is None else ready_ns - now_ns


class WaitsForTheWholeCost(TokenBucket):
    def wait_ns(self, n, now_ns):
        wait_ns = super().wait_ns(n, now_ns)
        return wait_ns and -(-n * self.grain // self.gain)


class RoundsWaitsDown(TokenBucket):
    def ready_ns(self, n, now_ns):
        exact = super().ready_ns(n, now_ns)
        return exact if exact in {None, now_ns} else (self.full + n * self.grain - self.cap) // self.gain


class WaitsForTheImpossible(TokenBucket):
    def ready_ns(self, n, now_ns):
        return super().ready_ns(min(n, self.burst), now_ns)


class RefillsOnANewRate(TokenBucket):
    def set_rate(self, rate, burst, now_ns):
        super().set_rate(rate, burst, now_ns)
        self.full = now_ns * self.gain


class RoundsANewRateUp(TokenBucket):
    def set_rate(self, rate, burst, now_ns):
        exact = self.level(now_ns)
        super().set_rate(rate, burst, now_ns)
        self.full = now_ns * self.gain + self.cap - min(math.ceil(exact * self.grain), self.cap)


class KeepsTheDeficitNotTheLevel(TokenBucket):
    def set_rate(self, rate, burst, now_ns):
        missing = self.burst - self.level(now_ns)
        super().set_rate(rate, burst, now_ns)
        self.full = now_ns * self.gain + min(math.ceil(missing * self.grain), self.cap)


class EarnsForTheWayBack(TokenBucket):
    def set_rate(self, rate, burst, now_ns):
        deficit = self.full - now_ns * self.gain
        units = Fraction(deficit, self.grain) + burst - self.burst
        super().set_rate(rate, burst, now_ns)
        self.full = now_ns * self.gain + max(math.ceil(units * self.grain), 0)


def charges_as_it_goes(buckets, n, now_ns):
    for index, bucket in enumerate(buckets):
        if not bucket.try_take(n, now_ns):
            return index
    return -1


def names_the_last_that_refuses(buckets, n, now_ns):
    index = bucket_module.try_take_all(buckets, n, now_ns)
    return index if index < 0 else max(i for i, bucket in enumerate(buckets) if not bucket.fits(n, now_ns))


def pays_as_it_goes(singles, buckets, n, now_ns):
    for index, bucket in enumerate((*singles, *buckets)):
        if not bucket.try_take(1 if index < len(singles) else n, now_ns):
            return index
    return -1


def counts_one_request_bucket_too_few(singles, buckets, n, now_ns):
    return bucket_module.try_take_each(singles[:-1], (*singles[-1:], *buckets), n, now_ns)


@dataclass(frozen=True)
class Planted:
    bug: object
    witness: Callable[..., None]


PLANTED = (
    Planted(ChargesRefusals, refusals_and_questions_change_nothing),
    Planted(MovesTheMarkOnRefusal, refusals_and_questions_change_nothing),
    Planted(AdmitsOneTooMany, no_window_holds_more_than_its_envelope),
    Planted(EarnsBeyondTheBurst, a_full_bucket_never_exceeds_its_burst),
    Planted(LosesFractions, levels_equal_the_model),
    Planted(CountsInFloats, levels_equal_the_model),
    Planted(RefillsOnAStepBack, shuffled_stamps_admit_no_more_than_sorted_ones),
    Planted(RefillsOnAStepBack, no_window_holds_more_than_its_envelope),
    Planted(ForgetsWhatAStepBackOwes, a_step_back_earns_nothing),
    Planted(ShowsTheStepBackAsAWait, a_step_back_earns_nothing),
    Planted(WaitsForTheWholeCost, waits_are_never_early_and_never_late),
    Planted(RoundsWaitsDown, waits_are_never_early_and_never_late),
    Planted(WaitsForTheImpossible, waits_are_never_early_and_never_late),
    Planted(RefillsOnANewRate, levels_equal_the_model),
    Planted(RoundsANewRateUp, levels_equal_the_model),
    Planted(KeepsTheDeficitNotTheLevel, levels_equal_the_model),
    Planted(EarnsForTheWayBack, a_new_rate_does_not_pay_for_a_step_back),
    Planted(charges_as_it_goes, charging_is_all_or_nothing),
    Planted(names_the_last_that_refuses, charging_is_all_or_nothing),
    Planted(pays_as_it_goes, a_request_pays_one_here_and_its_units_there_or_nothing),
    Planted(counts_one_request_bucket_too_few, a_request_pays_one_here_and_its_units_there_or_nothing),
)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: f"{planted.bug.__name__}-{planted.witness.__name__}")
def test_planted_bug_turns_its_witness_red(planted):
    with pytest.raises(AssertionError):
        planted.witness(planted.bug, hunted)
