"""The token bucket: exact, one integer of state, no clock of its own.

**Arithmetic.** Units are counted in *grains* so small that a nanosecond earns a whole number of them: a rate of ``u``
units every ``t`` ns (lowest terms) makes ``q = t`` grains a unit and ``p = u`` grains a nanosecond, and nothing is ever
rounded. (A starting level that is itself a fraction multiplies both by what it takes.) On the scale ``x = now_ns * p``
the bucket earns one grain per step, so all there is to remember is ``full``, the point at which it will be full again:

    deficit = max(full - x, 0)              grains missing now
    n fits  iff  deficit + n*q <= burst*q
    taking  n:   full = max(full, x) + n*q

This is the virtual scheduling form of the generic cell rate algorithm (ITU-T I.371, annex A) with integers for reals.

**Clock.** Time is not clamped. A step back finds ``full`` further away, so it earns nothing and admits nothing it
should not; when the clock passes the old instant again the level is what it would have been. More of this in
docs/reference/mechanisms.md.

A bucket knows nothing of who draws on it or why. It is not safe to share between threads without a lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from tollgate.core.errors import CallerError, ConfigError, InvariantViolation
from tollgate.core.units import Rate

__all__ = ["TokenBucket", "first_short", "try_take_all", "try_take_each"]


class TokenBucket:
    """A budget of units that refills at a constant rate up to a cap.

    In any window of length ``w`` it admits at most ``burst + rate * w`` units, exactly.

    Attributes:
        full: The state: the point, on the scale ``now_ns * gain``, at which the bucket is full again.
        gain: ``p``, grains earned a nanosecond.
        grain: ``q``, grains to a unit.
        cap: ``burst * q``, grains a full bucket holds.

    The four attributes are public so that a hot loop can write the lines of the module docstring in place; only
    ``full`` may be assigned, and only as they say.

    Args:
        rate: Refill. A rate of 0 units is allowed: what was taken never comes back.
        burst: Units it holds when full, at least 1.
        level: Units it holds at ``now_ns``, from 0 to ``burst``; full when left out.
        now_ns: The instant at which ``level`` holds.

    Raises:
        ConfigError: If ``burst`` is below 1 or ``level`` outside its range.

    >>> bucket = TokenBucket(rate=Rate.per_second(10), burst=10)
    >>> bucket.try_take(10, 0), bucket.try_take(1, 0), bucket.wait_ns(1, 0)
    (True, False, 100000000)
    """

    __slots__ = ("cap", "full", "gain", "grain")

    def __init__(self, *, rate: Rate, burst: int, level: int | Fraction | None = None, now_ns: int = 0) -> None:
        _check_burst(burst)
        if level is None:  # the usual case, without a fraction: a controller makes a bucket a principal
            self.grain = rate.per_ns
            self.gain = rate.units
            self.cap = burst * self.grain
            self.full = now_ns * self.gain
            return
        start = Fraction(level)
        if not 0 <= start <= burst:
            raise ConfigError("level", level, f"a number from 0 to the burst of {burst}")
        # A whole number of grains to a unit of the rate and to the starting level as well.
        self.grain = lcm(rate.per_ns, start.denominator)
        self.gain = self.grain // rate.per_ns * rate.units
        self.cap = burst * self.grain
        self.full = now_ns * self.gain + int((burst - start) * self.grain)

    def __repr__(self) -> str:
        return f"TokenBucket(gain={self.gain}, grain={self.grain}, cap={self.cap}, full={self.full})"

    @property
    def burst(self) -> int:
        """Units it holds when full."""
        return self.cap // self.grain

    @property
    def rate(self) -> Rate:
        """The refill rate."""
        return Rate(self.gain, self.grain)

    def try_take(self, n: int, now_ns: int) -> bool:
        """Take ``n`` units if it holds them; otherwise change nothing.

        Args:
            n: Units, 0 or more.
            now_ns: The instant.

        Raises:
            CallerError: If ``n`` is negative: it would mint units.
        """
        if n < 0:
            raise CallerError(f"a bucket cannot be asked for {n} units")
        x = now_ns * self.gain
        full = self.full
        if full < x:  # noqa: PLR1730 - max() costs more than the rest of the function
            full = x
        full += n * self.grain
        if full - x > self.cap:
            return False
        self.full = full
        return True

    def fits(self, n: int, now_ns: int) -> bool:
        """Return whether ``try_take(n, now_ns)`` would succeed; changes nothing."""
        x = now_ns * self.gain
        full = self.full
        if full < x:  # noqa: PLR1730
            full = x
        return full - x + n * self.grain <= self.cap

    def take(self, n: int, now_ns: int) -> None:
        """Take ``n`` units that are known to be there.

        Raises:
            InvariantViolation: If they are not; the bucket is unchanged.
        """
        if not self.try_take(n, now_ns):
            raise _lacking(self, n, now_ns)

    def level(self, now_ns: int) -> Fraction:
        """Return the units it holds, exactly, in ``[0, burst]``.

        While the clock stands before the instant at which the bucket was last empty, the level shows as 0.
        """
        deficit = max(self.full - now_ns * self.gain, 0)
        return Fraction(max(self.cap - deficit, 0), self.grain)

    def wait_ns(self, n: int, now_ns: int) -> int | None:
        """Return how long to wait until ``n`` units are there, if nobody else draws.

        Exact: after this wait they fit, one nanosecond earlier they do not.

        Returns:
            Nanoseconds, 0 if they fit now, rounded up to a whole one; None if they never will, because ``n`` exceeds
            the burst or the bucket is short and does not refill. Never longer than an empty bucket would need: on a
            clock that has stepped back that is a lower bound, :meth:`ready_ns` has the instant itself.
        """
        ready_ns = self.ready_ns(n, now_ns)
        if ready_ns is None:
            return None
        if ready_ns == now_ns:
            return 0
        from_empty_ns = -(-n * self.grain // self.gain)
        return min(ready_ns - now_ns, from_empty_ns)

    def ready_ns(self, n: int, now_ns: int) -> int | None:
        """Return the first instant, not before ``now_ns``, at which ``n`` units are there; None = never."""
        need = n * self.grain
        if need > self.cap:
            return None
        due = self.full + need - self.cap
        if due <= now_ns * self.gain:
            return now_ns
        return -(-due // self.gain) if self.gain else None

    def set_rate(self, rate: Rate, burst: int, now_ns: int) -> None:
        """Change rate and burst from now on; what was earned stays, up to the new burst.

        Where the level is no whole number of the new grains it is rounded down, by less than one grain, so that a
        change never mints anything.

        Raises:
            ConfigError: If ``burst`` is below 1; nothing has changed then.
        """
        _check_burst(burst)
        deficit = max(self.full - now_ns * self.gain, 0)
        if deficit > self.cap:
            # The clock stands before the instant at which the bucket was empty. The new rate begins there: counted
            # from now, it would earn for the way back.
            now_ns = -(-(self.full - self.cap) // self.gain)
            deficit = self.full - now_ns * self.gain
        level = Fraction(self.cap - deficit, self.grain)
        self.grain = rate.per_ns
        self.gain = rate.units
        self.cap = burst * self.grain
        kept = min(int(level * self.grain), self.cap)
        self.full = now_ns * self.gain + self.cap - kept


def first_short(buckets: Sequence[TokenBucket], n: int, now_ns: int) -> int:
    """Return the index of the first bucket that lacks ``n`` units, -1 if none does; changes nothing.

    Args:
        buckets: Distinct buckets.
        n: Units, 0 or more.
        now_ns: The instant.
    """
    for index, bucket in enumerate(buckets):
        need = n * bucket.grain
        # A full bucket's deficit comes out negative here, which only makes the second comparison false.
        if need > bucket.cap or bucket.full - now_ns * bucket.gain + need > bucket.cap:
            return index
    return -1


def try_take_all(buckets: Sequence[TokenBucket], n: int, now_ns: int) -> int:
    """Take ``n`` units from every bucket, or from none.

    Args:
        buckets: Distinct buckets.
        n: Units, 0 or more.
        now_ns: The instant.

    Returns:
        -1 if all were taken; otherwise the index of the first bucket that lacks them, and nothing has changed.

    Raises:
        CallerError: If ``n`` is negative.
        InvariantViolation: If a bucket is listed twice and cannot pay twice.
    """
    short = first_short(buckets, n, now_ns)
    if short < 0:
        for bucket in buckets:
            bucket.take(n, now_ns)
    return short


def _lacking(bucket: TokenBucket, n: int, now_ns: int) -> InvariantViolation:
    return InvariantViolation(f"{n} units were drawn at {now_ns} ns from a bucket that lacks them: {bucket!r}")


def try_take_each(singles: Sequence[TokenBucket], buckets: Sequence[TokenBucket], n: int, now_ns: int) -> int:
    """Take one unit from each of ``singles`` and ``n`` units from each of ``buckets``, or nothing at all.

    What a request costs where some buckets count requests and some count units, in one pass: each bucket pays as soon
    as it is seen to hold what is asked of it, and gets its state back if a later one cannot pay.

    Args:
        singles: Distinct buckets that count requests.
        buckets: Distinct buckets that count units, none of them in ``singles``.
        n: Units, 0 or more.
        now_ns: The instant.

    Returns:
        -1 if all was taken; otherwise the index of the first bucket that cannot pay, ``singles`` counted first, and
        nothing has changed.

    Raises:
        CallerError: If ``n`` is negative.
    """
    if n < 0:
        raise CallerError(f"buckets cannot be asked for {n} units")
    before: list[int] = []
    # Twice the lines of ``try_take``, in place: a call a bucket would cost as much again, and most buckets are full,
    # where one comparison is enough.
    for bucket in singles:
        full = bucket.full
        before.append(full)
        x = now_ns * bucket.gain
        if full <= x:  # it is full, so it holds at least the one
            bucket.full = x + bucket.grain
            continue
        full += bucket.grain
        if full - x > bucket.cap:
            return _undone((*singles, *buckets), before)
        bucket.full = full
    for bucket in buckets:
        full = bucket.full
        before.append(full)
        x = now_ns * bucket.gain
        need = n * bucket.grain
        if full <= x:  # it is full
            if need > bucket.cap:
                return _undone((*singles, *buckets), before)
            bucket.full = x + need
            continue
        full += need
        if full - x > bucket.cap:
            return _undone((*singles, *buckets), before)
        bucket.full = full
    return -1


def _undone(buckets: Sequence[TokenBucket], before: Sequence[int]) -> int:
    """Give the first buckets the states they had, and return the index of the last of those."""
    for bucket, full in zip(buckets, before, strict=False):
        bucket.full = full
    return len(before) - 1


def _check_burst(burst: int) -> None:
    if type(burst) is not int or burst < 1:
        raise ConfigError("burst", burst, "an integer of at least 1")
