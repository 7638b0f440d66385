"""What one account may spend a second and have in flight: one current policy, shared by all of its principals.

Which policy is current is decided here, by generation; each request reads it once, when it is admitted, so principals
with snapshots of different age never spend separate budgets. Gauges count what is in flight with or without a ceiling
and outlive every publication: a ceiling that arrives later counts work which began before it, a lowered one throws
nobody out. Knows nothing of snapshots, prices or funding. Not safe to share between threads without a lock.
"""

from __future__ import annotations

from typing import Final

from tollgate.core.account_limits import AccountPolicy, RateLimit
from tollgate.core.bucket import TokenBucket, try_take_each
from tollgate.core.gauge import Gauge, Permit, acquire_all
from tollgate.core.request_denial import RequestDenyReason
from tollgate.core.units import Rate

__all__ = ["UNBOUNDED", "AccountAuthority", "PrincipalGauge"]

UNBOUNDED: Final = 2**63
"""Places of a gauge without a ceiling: it only counts."""


class PrincipalGauge(Gauge):
    """Counts what one principal has in flight; its ceiling is that of each request's own snapshot.

    It can be referred to weakly, so that whoever still has work, or may bring it, keeps the one gauge of a principal
    alive over every publication and nobody else does.
    """

    __slots__ = ("__weakref__",)

    def __init__(self) -> None:
        super().__init__(UNBOUNDED)


class AccountAuthority:
    """The buckets and the gauge of one account under its current policy.

    Attributes:
        policy: The policy in force.
        generation: That of the publication which put it in force.
        gauge: Requests in flight, of all principals.

    Args:
        policy: The first policy; its buckets start full.
        generation: Its place in the order of publications.
        now_ns: The instant.
    """

    __slots__ = ("_requests", "_singles", "_units", "_weighted", "gauge", "generation", "policy")

    policy: AccountPolicy

    def __init__(self, policy: AccountPolicy, generation: int, now_ns: int) -> None:
        self.gauge = Gauge(UNBOUNDED)
        # A bucket outlives the policy that switches it off, or off and on would fill it.
        self._requests: TokenBucket | None = None
        self._weighted: TokenBucket | None = None
        self.generation = generation
        self._put_in_force(policy, now_ns)

    def publish(self, policy: AccountPolicy, generation: int, now_ns: int) -> bool:
        """Put a policy in force if it is newer than the current one.

        What has been taken from a bucket stays taken. One that is not newer changes one thing at most: it may lower the
        ceiling on requests in flight, never raise it.

        Returns:
            Whether the policy is in force now as a whole.
        """
        if generation > self.generation:
            self.generation = generation
            self._put_in_force(policy, now_ns)
            return True
        ceiling, current = policy.concurrency, self.policy.concurrency
        if ceiling is not None and (current is None or ceiling < current):
            self.policy = AccountPolicy(self.policy.weighted_rate, self.policy.request_rate, ceiling)
            self.gauge.set_limit(ceiling)
        return False

    def take_rates(self, units: int, now_ns: int) -> RequestDenyReason | None:
        """Take one request and ``units`` cost units, or neither.

        Args:
            units: The quote, in cost units.
            now_ns: The instant.

        Returns:
            None when both were taken; otherwise why not, and nothing has changed: ``request_rate_limited`` comes before
            ``unpriceable_under_limits`` (more than the burst ever holds) and ``rate_limited``.
        """
        for bucket in self._units:
            if units * bucket.grain > bucket.cap:
                if all(each.fits(1, now_ns) for each in self._singles):
                    return RequestDenyReason.UNPRICEABLE_UNDER_LIMITS
                return RequestDenyReason.REQUEST_RATE_LIMITED
        short = try_take_each(self._singles, self._units, units, now_ns)
        if short < 0:
            return None
        is_requests = short < len(self._singles)
        return RequestDenyReason.REQUEST_RATE_LIMITED if is_requests else RequestDenyReason.RATE_LIMITED

    def enter(self, principal: PrincipalGauge, ceiling: int | None) -> Permit | None:
        """Take a place for a principal and for the account, or in neither.

        Args:
            principal: The principal's gauge.
            ceiling: Requests that the principal may have in flight, by the snapshot of the request; None = no limit.

        Returns:
            The permit, or None when either is full.
        """
        if ceiling is not None and principal.in_use >= ceiling:
            return None
        return acquire_all((principal, self.gauge))

    def _put_in_force(self, policy: AccountPolicy, now_ns: int) -> None:
        self.policy = policy
        self._requests, self._singles = _bucket(self._requests, policy.request_rate, now_ns)
        self._weighted, self._units = _bucket(self._weighted, policy.weighted_rate, now_ns)
        self.gauge.set_limit(UNBOUNDED if policy.concurrency is None else policy.concurrency)


def _bucket(
    bucket: TokenBucket | None, limit: RateLimit | None, now_ns: int
) -> tuple[TokenBucket | None, tuple[TokenBucket, ...]]:
    """Return the bucket to keep, and what of it is in force: itself or nothing."""
    if limit is None:
        return bucket, ()
    rate = Rate.per_second(limit.per_second)
    if bucket is None:
        bucket = TokenBucket(rate=rate, burst=limit.burst, now_ns=now_ns)
    else:
        bucket.set_rate(rate, limit.burst, now_ns)
    return bucket, (bucket,)
