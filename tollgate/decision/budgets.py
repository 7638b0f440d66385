"""Invocation budgets: what all attempts of one invocation may use together.

Budgets are kept under the exact budget id, in each scope apart, and forgotten when the invocation settles. An
invocation's use is counted from the first profile that limits it: without budgets there is nothing to keep. This module
owns that arithmetic. It must not know queues, permits or time.
"""

from __future__ import annotations

from dataclasses import dataclass

from tollgate.core.deny import DenyReason
from tollgate.decision.pools import Pool
from tollgate.decision.request import Estimate


@dataclass(slots=True)
class _Used:
    """What an invocation has used in one scope: attempts, micro-units, tokens."""

    attempts: int = 0
    cost_micros: int = 0
    tokens: int = 0


class InvocationBudgets:
    """Attempts, cost and tokens used by each open invocation, scope by scope.

    Attributes:
        used: By budget id and scope, what has been used. Only this class writes it.
    """

    __slots__ = ("used",)

    def __init__(self) -> None:
        """Start with no open invocation."""
        self.used: dict[str, dict[str, _Used]] = {}

    def __len__(self) -> int:
        """Return the number of invocations that have used anything."""
        return len(self.used)

    def refusal(self, budget_id: str, estimate: Estimate, pools: tuple[Pool, ...]) -> DenyReason | None:
        """Return why one more attempt would break a budget, or None.

        Args:
            budget_id: The invocation.
            estimate: What the attempt would use.
            pools: Its scopes, in the order in which they are checked.
        """
        attempts, cost_micros, tokens = _asked(estimate)
        used_by_scope = self.used.get(budget_id, {})
        for pool in pools:
            used, limits = used_by_scope.get(pool.key) or _Used(), pool.limits
            if _breaks(used.attempts, attempts, limits.max_attempts):
                return DenyReason.ATTEMPTS
            if _breaks(used.cost_micros, cost_micros, limits.max_cost_micros):
                return DenyReason.COST
            if _breaks(used.tokens, tokens, limits.max_tokens):
                return DenyReason.TOKENS
        return None

    def charge(self, budget_id: str, estimate: Estimate, pools: tuple[Pool, ...]) -> None:
        """Count one dispatched attempt in every scope."""
        attempts, cost_micros, tokens = _asked(estimate)
        used_by_scope = self.used.setdefault(budget_id, {})
        for pool in pools:
            used = used_by_scope.setdefault(pool.key, _Used())
            used.attempts += attempts
            used.cost_micros += cost_micros
            used.tokens += tokens

    def settle(self, budget_id: str) -> None:
        """Forget an invocation that has ended."""
        self.used.pop(budget_id, None)


def _asked(estimate: Estimate) -> tuple[int, int, int]:
    """Return the attempts, micro-units and tokens that an attempt asks for; what is not known counts as none of it."""
    attempts = 1 if estimate.attempts is None else estimate.attempts
    return attempts, estimate.cost_micros or 0, estimate.tokens or 0


def _breaks(used: int, asked: int, limit: int | None) -> bool:
    """Return whether a budget cannot give what is asked. Who asks for nothing meets it, even where it is overspent."""
    return limit is not None and asked > 0 and used + asked > limit
