"""What a configuration guarantees by itself, so that a gate that only repeats it can be told apart.

Owns the value that each metric can never cross under the limits of a profile: calls in flight stay within the
concurrency, waiters within the queue length, waits within the queue dwell, whatever the traffic. A gate whose bound
lies beyond that value guards the code, not the limits. It must not know runs or observations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tollgate.core.units import NS_PER_MS
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile

FRACTIONS: Final = frozenset({"admission.ratio", "goodput.ratio", "utilisation", "fairness.jain"})
"""Metrics that are at most 1 by definition."""

CALLS: Final = frozenset({"active.max", "active.mean"})
WAITERS: Final = frozenset({"queue.length.max", "queue.length.mean"})
WAITS: Final = ("queue.wait.", "queue.dwell.", "lane.eligible_wait.")

AMPLIFICATION: Final = "retry.amplification"
"""Attempts over arrivals: from 1 (each arrival makes an attempt) to the most attempts any client makes."""


@dataclass(frozen=True)
class Guarantees:
    """The limits under test, and who they apply to.

    Attributes:
        profile: The limits.
        classes: Class of each principal of the traffic.
        max_attempts: Most attempts any client makes for one request, at least 1, or None when nothing bounds them.
    """

    profile: AdmissionProfile
    classes: Mapping[str, str]
    max_attempts: int | None = None

    def value(self, metric: str, where: Mapping[str, str], op: str) -> Fraction | None:
        """Return the value that the configuration keeps ``metric`` from crossing.

        Args:
            metric: Dotted name.
            where: Selectors of the gate; they narrow the limits to those of that scope.
            op: The gate's operator; ``<=`` and ``<`` ask for the ceiling of the metric, ``>=`` and ``>`` for its floor.

        Returns:
            The ceiling or floor in the metric's unit (counts, ms, ratios), or None when the configuration sets none.
        """
        if not op.startswith("<"):
            return Fraction(1 if metric == AMPLIFICATION else 0)  # every other metric is a count, a time or a share
        if metric in FRACTIONS:
            return Fraction(1)
        if metric == AMPLIFICATION:
            return None if self.max_attempts is None else Fraction(self.max_attempts)
        if metric in CALLS:
            return self._ceiling(where, lambda limits: limits.concurrency, sum, shared=True)
        if metric in WAITERS:
            return self._ceiling(where, lambda limits: limits.max_queue_length, sum, shared=True)
        if metric.startswith(WAITS):
            wait_ns = self._ceiling(where, lambda limits: limits.max_queue_wait_ns, max, shared=False)
            return None if wait_ns is None else wait_ns / NS_PER_MS
        return None

    def _ceiling(
        self,
        where: Mapping[str, str],
        limit: Callable[[AdmissionLimits], int | None],
        combine: Callable[[Iterable[int]], int],
        *,
        shared: bool,
    ) -> Fraction | None:
        """Return the tightest of three limits: the workspace's, the providers' in scope, the principals' in scope.

        Calls and waiters of several scopes add up (``sum``); a wait over several scopes is at most the longest allowed
        (``max``). Where a pool is ``shared``, one principal holds no more than its share of it.
        """
        workspace = self.profile.workspace
        providers = [limits for name, limits in self.profile.providers.items() if where.get("provider", name) == name]
        principals = [
            self.profile.principals.get(name)
            for name, cls in self.classes.items()
            if where.get("principal", name) == name and where.get("class", cls) == cls
        ]
        pools = [workspace, *providers] if "provider" in where else [workspace]
        caps = [pool.share_of(limit(pool)) for pool in pools] if shared else []

        ceilings = [limit(workspace), _combined([limit(provider) for provider in providers], combine)]
        each = [_least([None if limits is None else limit(limits), *caps]) for limits in principals]
        ceilings.append(_combined(each, combine))
        least = _least(ceilings)
        return None if least is None else Fraction(least)


def _combined(limits: list[int | None], combine: Callable[[Iterable[int]], int]) -> int | None:
    """Return the limits of several scopes together; one scope without a limit leaves all without."""
    known = [limit for limit in limits if limit is not None]
    return combine(known) if known and len(known) == len(limits) else None


def _least(limits: list[int | None]) -> int | None:
    return min((limit for limit in limits if limit is not None), default=None)
