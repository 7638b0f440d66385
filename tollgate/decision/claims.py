"""Claims: how a large request gets its tokens although small ones keep coming.

A lane's head that only token buckets defer takes the next claim number, once and for life. A claim is *live* while
nothing but tokens, or something of its principal's own, keeps it. Its *due instant* is the earliest at which all its
buckets would hold its tokens if nobody else drew. The *holder* of a bucket is the lowest live claim that draws on it,
and a request with a higher number, or none, may draw only if the holder's due instant stays where it is.

So claims yield only to lower numbers and cannot block each other for ever, and the lowest live claim's due instant
never moves. This module owns that rule. It must not know queues or permits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tollgate.core.bucket import TokenBucket
from tollgate.decision.pools import Ticket


class Holder(NamedTuple):
    """A live claim that holds at least one bucket.

    Attributes:
        claim: Its number.
        tokens: Its tokens.
        due_ns: The instant at which it is due, ns.
        buckets: Every token bucket it draws on, held by it or by a lower claim.
    """

    claim: int
    tokens: int
    due_ns: int
    buckets: tuple[TokenBucket, ...]


class Claims:
    """The open claims of one controller.

    Attributes:
        by_number: Tickets that hold a claim, lowest number first.
    """

    __slots__ = ("_next", "by_number")

    def __init__(self) -> None:
        """Start without claims; numbers begin at 1."""
        self._next = 1
        self.by_number: dict[int, Ticket] = {}

    def take(self, ticket: Ticket) -> None:
        """Give a ticket that has none its number."""
        ticket.claim = self._next
        self._next += 1
        self.by_number[ticket.claim] = ticket

    def drop(self, ticket: Ticket) -> None:
        """Close the claim of a ticket that was decided."""
        self.by_number.pop(ticket.claim, None)

    def holders(self, now_ns: int, is_live: Callable[[Ticket, int], bool]) -> list[Holder]:
        """Return the holders, lowest claim first.

        Args:
            now_ns: The instant, ns.
            is_live: Whether a claim counts, given its ticket and the instant.
        """
        found: list[Holder] = []
        held: list[TokenBucket] = []
        for number, ticket in self.by_number.items():
            buckets = ticket.lane.token_buckets
            free = [bucket for bucket in buckets if bucket not in held]
            if not free or not is_live(ticket, now_ns):
                continue
            held += free
            due = [bucket.ready_ns(ticket.tokens, now_ns) for bucket in buckets]
            due_ns = max((instant for instant in due if instant is not None), default=now_ns)
            found.append(Holder(number, ticket.tokens, due_ns, buckets))
        return found


def would_delay(bucket: TokenBucket, tokens: int, now_ns: int, holder: Holder) -> bool:
    """Return whether drawing ``tokens`` from a bucket now makes a holder that draws on it miss its due instant.

    With the bucket's own figures: after the draw it is full at ``max(full, now * gain) + tokens * grain``, and the
    holder fits at ``due`` if what is then missing, and its own tokens, are within the capacity.
    """
    full = max(bucket.full, now_ns * bucket.gain) + tokens * bucket.grain
    missing_at_due = max(full - holder.due_ns * bucket.gain, 0)
    return missing_at_due + holder.tokens * bucket.grain > bucket.cap
