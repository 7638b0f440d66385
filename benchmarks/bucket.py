"""``bucket``: one question to a token bucket, against a hand-written one and against three libraries.

Each library is used as its own documentation shows for one hit in memory, with a token bucket where it has one, and
under a limit so wide that every hit is admitted. Its clock is part of its price, so ours reads one there as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from benchmarks.peers import SlottedBucket
from benchmarks.result import Plan, Result
from benchmarks.timing import STATED, interleaved, median_ns, median_ratio
from tollgate.core.bucket import TokenBucket
from tollgate.core.units import Rate

BOUND: Final = 1.5
LIBRARY_BOUND: Final = 0.25

BURST: Final = 100
STEP_NS: Final = 800_000
"""Between two questions to a bucket that earns a unit a millisecond: four in five are answered yes."""

WIDE: Final = 1_000_000_000
"""Hits a second that nothing here reaches."""

Hit = Callable[[], object]


def handwritten(plan: Plan) -> Result:
    """Compare ``TokenBucket.try_take`` with the same thing written by hand."""
    instants = range(0, plan.calls * STEP_NS, STEP_NS)

    def ours() -> None:
        try_take = TokenBucket(rate=Rate.per_second(1000), burst=BURST).try_take
        for now_ns in instants:
            try_take(1, now_ns)

    def peer() -> None:
        try_take = SlottedBucket(1, 1_000_000, BURST).try_take
        for now_ns in instants:
            try_take(1, now_ns)

    ours()
    peer()
    rounds = interleaved((ours, peer), plan.rounds)
    return _result("a hand-written integer bucket with slots", BOUND, plan, rounds)


def against_limits(plan: Plan) -> Result:
    """Compare with ``limits``: a fixed window, its cheapest strategy; it has no token bucket."""
    from limits import RateLimitItemPerSecond
    from limits.storage import MemoryStorage
    from limits.strategies import FixedWindowRateLimiter

    strategy = FixedWindowRateLimiter(MemoryStorage())
    limit = RateLimitItemPerSecond(WIDE)
    return _against(lambda: strategy.hit(limit, "key"), "limits", plan)


def against_throttled(plan: Plan) -> Result:
    """Compare with ``throttled-py``: its token bucket."""
    from throttled import RateLimiterType, Throttled, rate_limiter, store

    throttle = Throttled(
        using=RateLimiterType.TOKEN_BUCKET.value,
        quota=rate_limiter.per_sec(WIDE, burst=WIDE),
        store=store.MemoryStore(),
    )
    return _against(lambda: throttle.limit("key", cost=1), "throttled-py", plan)


def against_pyrate(plan: Plan) -> Result:
    """Compare with ``pyrate-limiter``: its token bucket, not waiting."""
    from pyrate_limiter import Duration, Limiter, StateBucket
    from pyrate_limiter import Rate as PyrateRate
    from pyrate_limiter import TokenBucket as PyrateBucket

    limiter = Limiter(StateBucket([PyrateRate(WIDE, Duration.SECOND)], algorithm=PyrateBucket()))
    return _against(lambda: limiter.try_acquire("key", blocking=False), "pyrate-limiter", plan)


def _against(hit: Hit, library: str, plan: Plan) -> Result:
    try_take = TokenBucket(rate=Rate.per_second(WIDE), burst=WIDE).try_take
    clock = time.monotonic_ns

    def take() -> object:
        return try_take(1, clock())

    def ours() -> None:
        for _ in range(plan.calls):
            take()

    def peer() -> None:
        for _ in range(plan.calls):
            hit()

    ours()
    peer()
    return _result(library, LIBRARY_BOUND, plan, interleaved((ours, peer), plan.rounds))


def _result(peer: str, bound: float, plan: Plan, rounds: list[tuple[int, ...]]) -> Result:
    ours_us, peer_us = (median_ns(rounds, side) / plan.calls / 1000 for side in (0, 1))
    return Result(
        median_ratio(rounds),
        bound,
        f"TokenBucket.try_take, {ours_us:.3f} us a call, against {peer}, {peer_us:.3f} us; {plan.calls} calls, loop "
        f"included; {STATED.format(rounds=plan.rounds)}",
    )
