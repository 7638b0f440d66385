"""May this request go now? Every check of a request against the state of the moment, in one place.

The last of the checks is whether the buckets can pay, and it is paying: a request that nothing holds has been paid for.
This module owns the order of these checks and the names of what holds a request. It must not take permits, admit or
queue anything.
"""

from __future__ import annotations

from tollgate.core.breaker import BreakerState
from tollgate.core.bucket import TokenBucket, first_short, try_take_each
from tollgate.decision.claims import Claims, Holder, would_delay
from tollgate.decision.evidence import Hold
from tollgate.decision.pools import RequestLane, Ticket, WorkspacePool

# Module names for what the hot path returns: reading a member off an enum class costs a descriptor call each time.
_NONE = Hold.NONE
_PRINCIPAL = Hold.PRINCIPAL_CONCURRENCY
_WORKSPACE = Hold.WORKSPACE_CONCURRENCY
_PROVIDER = Hold.PROVIDER_CONCURRENCY
_CLOSED = BreakerState.CLOSED


class Eligibility:
    """The checks of one controller.

    Attributes:
        protects_large: Whether requests deferred by token buckets alone take claims.
        holders_at_ns: The instant for which the holders are known, ns. Whoever changes what a holder depends on (a
            draw, a permit, a head, a pause, a breaker) sets it to -1; an attribute, since every call does.
    """

    __slots__ = ("_claims", "_holders", "_workspace", "holders_at_ns", "protects_large")

    def __init__(self, workspace: WorkspacePool, *, protects_large: bool) -> None:
        """Start without claims."""
        self._workspace = workspace
        self._claims = Claims()
        self.protects_large = protects_large
        self._holders: list[Holder] = []
        self.holders_at_ns = -1

    def pay(self, ticket: Ticket, lane: RequestLane, now_ns: int) -> Hold:
        """Draw what a request costs from its buckets, unless something holds it.

        Nothing in its lane may be ahead of it.

        Args:
            ticket: The request.
            lane: Its lane.
            now_ns: The instant, ns.

        Returns:
            What holds it, and nothing has changed; ``Hold.NONE`` if it is paid for and may go.
        """
        principal = lane.principal
        provider = lane.provider
        mine, all_of_workspace, all_of_provider, share = lane.gauges
        in_use = mine.in_use
        if in_use >= mine.limit:
            return _PRINCIPAL
        if all_of_workspace.in_use >= all_of_workspace.limit:
            return _WORKSPACE
        if all_of_provider.in_use >= all_of_provider.limit:
            return _PROVIDER
        if in_use >= principal.share:
            return Hold.WORKSPACE_SHARE
        if share.in_use >= share.limit:
            return Hold.PROVIDER_SHARE
        unused = self._workspace.unused_reserved
        if unused and in_use >= principal.reserved:
            # Beyond its own reservation it uses all of that, so every permit that is reserved and unused belongs to
            # others.
            if all_of_workspace.in_use + unused >= all_of_workspace.limit:
                return Hold.WORKSPACE_RESERVED
            if all_of_provider.in_use + unused >= all_of_provider.limit:
                return Hold.PROVIDER_RESERVED
        if now_ns < provider.paused_until_ns:
            return Hold.PROVIDER_PAUSED
        breaker = provider.breaker
        if breaker is not None and breaker.state is not _CLOSED and not breaker.may_acquire(now_ns):
            return Hold.BREAKER_OPEN
        if self._claims.by_number and self.kept_for(ticket, now_ns) is not None:
            # A bucket that lacks its own tokens, or a request, is the plainer reason.
            short = lane.first_short(ticket.tokens, now_ns)
            return Hold.LARGER_REQUEST_FIRST if short < 0 else lane.hold_of_bucket(short)
        short = try_take_each(lane.request_buckets, lane.token_buckets, ticket.tokens, now_ns)
        return _NONE if short < 0 else lane.hold_of_bucket(short)

    def own_hold(self, lane: RequestLane) -> Hold:
        """Return what of its principal's own holds a lane until a call of its ends; ``Hold.NONE`` if nothing does."""
        mine, _, _, share = lane.gauges
        if mine.in_use >= mine.limit:
            return _PRINCIPAL
        if mine.in_use >= lane.principal.share:
            return Hold.WORKSPACE_SHARE
        return Hold.PROVIDER_SHARE if share.in_use >= share.limit else _NONE

    def kept_for(self, ticket: Ticket, now_ns: int) -> tuple[TokenBucket, Holder] | None:
        """Return a bucket kept from the request for a claim with a lower number, and that claim; None if none is."""
        if not self._claims.by_number or not self.protects_large:
            return None
        if self.holders_at_ns != now_ns:
            self._holders = self._claims.holders(now_ns, self._is_live)
            self.holders_at_ns = now_ns
        for holder in self._holders:
            if ticket.claim and ticket.claim <= holder.claim:
                break  # the others' numbers are higher still
            for bucket in ticket.lane.token_buckets:
                if bucket in holder.buckets and would_delay(bucket, ticket.tokens, now_ns, holder):
                    return bucket, holder
        return None

    def claim(self, ticket: Ticket) -> None:
        """Give a head that only token buckets defer its claim number, unless it has one or the profile wants none."""
        if self.protects_large and not ticket.claim:
            self._claims.take(ticket)
            self.holders_at_ns = -1

    def forget(self, ticket: Ticket) -> None:
        """Close the claim of a request that was decided."""
        self._claims.drop(ticket)
        self.holders_at_ns = -1

    def may_free_others(self, lane: RequestLane) -> bool:
        """Return whether a decision in this lane can let others go at once.

        It can where it uses up a reservation of its own, and where it changes which claims are live or when they are
        due.
        """
        return lane.principal.reserved > 0 or bool(self._claims.by_number)

    def _is_live(self, ticket: Ticket, now_ns: int) -> bool:
        """Return whether a claim counts: a head that no pause, breaker, request bucket or shared pool holds."""
        lane = ticket.lane
        provider = lane.provider
        _, all_of_workspace, all_of_provider, _ = lane.gauges
        return (
            lane.head is ticket
            and all_of_workspace.in_use < all_of_workspace.limit
            and all_of_provider.in_use < all_of_provider.limit
            and now_ns >= provider.paused_until_ns
            and (provider.breaker is None or provider.breaker.may_acquire(now_ns))
            and first_short(lane.request_buckets, 1, now_ns) < 0
        )
