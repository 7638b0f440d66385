"""Retry budgets: what keeps a crowd of callers from retrying more than a share of what it asks.

Each is a machine in exact integers that is told of requests, successes and failures, and asked before a retry. This
module owns that arithmetic. It must not know who shares a budget, nor how long anybody waits.
"""

from __future__ import annotations

from math import ceil, lcm
from typing import Final, Protocol

from sim.manifest.clients import RatioBudget, TokenBudget
from tollgate.core.units import NS_PER_S

SLICES: Final = 10
"""Slices of a ratio budget's memory, as in Finagle's ``RetryBudget``: the oldest is forgotten as a whole, so that what
is remembered spans between nine and ten of them."""


class Budget(Protocol):
    """What a layer of retries asks of its budget."""

    def requested(self, now_ns: int) -> None:
        """Take a request's first attempt."""

    def succeeded(self) -> None:
        """Take an attempt that succeeded."""

    def failed(self) -> None:
        """Take an attempt that failed and could be tried again."""

    def try_retry(self, now_ns: int) -> bool:
        """Take a retry, unless there are too many already; then nothing changes and the answer is False."""


class RatioMachine:
    """Payments less withdrawals of the last ``ttl``, on top of a reserve of ``min_retries_per_second * ttl``.

    A retry is made where that sum is at least 1 before it. So in the first T of a run there are at most
    ``ratio * requests + min_retries_per_second * (T + ttl)`` retries. A stretch that begins later may have what was
    paid in within the ttl before it besides, and the reserve of another tenth of a ttl: slices are forgotten whole.

    Source:
        Finagle, ``com.twitter.finagle.service.RetryBudget`` (a windowed sum of deposits and withdrawals over a
        reserve).
    """

    __slots__ = ("_balance", "_newest", "_paid", "_reserve", "_slice_ns", "_taken", "_windows")

    def __init__(self, budget: RatioBudget) -> None:
        """Start with nothing paid in and nothing taken."""
        reserve = budget.min_retries_per_second * budget.ttl_ns / NS_PER_S
        self._taken = lcm(budget.ratio.denominator, reserve.denominator)  # a retry in the units that are counted
        self._paid = int(budget.ratio * self._taken)
        self._reserve = int(reserve * self._taken)
        self._slice_ns = ceil(budget.ttl_ns / SLICES)
        self._windows = [0] * SLICES
        self._newest = 0
        self._balance = 0  # sum of the windows

    def requested(self, now_ns: int) -> None:
        """Pay in."""
        self._forget(now_ns)
        self._add(self._paid)

    def succeeded(self) -> None:
        """Nothing changes."""

    def failed(self) -> None:
        """Nothing changes."""

    def try_retry(self, now_ns: int) -> bool:
        """Withdraw 1 if it is there."""
        self._forget(now_ns)
        if self._balance + self._reserve < self._taken:
            return False
        self._add(-self._taken)
        return True

    def _add(self, units: int) -> None:
        self._windows[self._newest % SLICES] += units
        self._balance += units

    def _forget(self, now_ns: int) -> None:
        """Empty the slices that are too old."""
        current = now_ns // self._slice_ns
        for index in range(max(self._newest + 1, current - SLICES + 1), current + 1):
            self._balance -= self._windows[index % SLICES]
            self._windows[index % SLICES] = 0
        self._newest = current


class TokenMachine:
    """A count from 0 to ``max_tokens``: minus 1 for a failure, plus ``token_ratio`` for a success.

    Source:
        gRPC proposal A6, "gRPC Retry Design", section "Throttling Retry Attempts and Hedged RPCs".
    """

    __slots__ = ("_count", "_max", "_raise", "_unit")

    def __init__(self, budget: TokenBudget) -> None:
        """Start full."""
        self._unit = budget.token_ratio.denominator
        self._raise = budget.token_ratio.numerator
        self._max = budget.max_tokens * self._unit
        self._count = self._max

    def requested(self, now_ns: int) -> None:
        """Nothing changes."""

    def succeeded(self) -> None:
        """Give back."""
        self._count = min(self._max, self._count + self._raise)

    def failed(self) -> None:
        """Take 1."""
        self._count = max(0, self._count - self._unit)

    def try_retry(self, now_ns: int) -> bool:  # noqa: ARG002 - its count does not depend on time
        """Answer whether the count is above half; a retry itself takes nothing."""
        return 2 * self._count > self._max


def machine(budget: RatioBudget | TokenBudget) -> Budget:
    """Return a budget at its beginning."""
    return RatioMachine(budget) if isinstance(budget, RatioBudget) else TokenMachine(budget)
