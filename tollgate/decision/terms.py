"""Terms: what the limits of a principal, the workspace and a provider say together, worked out once.

Lanes whose principals share one limits object share one set of terms, so that ten thousand alike principals cost one
derivation. This module owns the derivation. It must not know what is in flight, earned or waiting.
"""

from __future__ import annotations

from typing import Final

from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.request import Estimate

UNLIMITED: Final = 2**62
"""A limit that nothing reaches: calls at one a nanosecond, or a wait in nanoseconds, for a century."""


class Terms:
    """The terms of a lane.

    Attributes:
        limits: Of principal, workspace and provider: the order of every check.
        max_active: Calls in flight of the principal at this provider, from the provider's share.
        max_waiting: Its waiting requests at this provider, from the provider's share.
        max_waiting_of_principal: Its waiting requests anywhere, from the workspace's share.
        max_wait_ns: Shortest of the three longest waits, ns; UNLIMITED without one.
        has_counts: Whether any of the three limits the attempts or tokens of an invocation.
        has_costs: Whether any of them limits its cost. What costs nothing breaks no such limit and needs no account.
        cleared: The estimate that last passed the checks which depend on these limits alone.
    """

    __slots__ = (
        "cleared",
        "has_costs",
        "has_counts",
        "limits",
        "max_active",
        "max_wait_ns",
        "max_waiting",
        "max_waiting_of_principal",
    )

    def __init__(self, principal: AdmissionLimits, workspace: AdmissionLimits, provider: AdmissionLimits) -> None:
        """Work the terms out."""
        self.limits = (principal, workspace, provider)
        self.max_active = provider.share_of(provider.concurrency) or UNLIMITED
        self.max_waiting = provider.share_of(provider.max_queue_length) or UNLIMITED
        self.max_waiting_of_principal = workspace.share_of(workspace.max_queue_length) or UNLIMITED
        waits = [each.max_queue_wait_ns for each in self.limits if each.max_queue_wait_ns is not None]
        self.max_wait_ns = min(waits, default=UNLIMITED)
        self.has_counts = any(each.max_attempts is not None or each.max_tokens is not None for each in self.limits)
        self.has_costs = any(each.max_cost_micros is not None for each in self.limits)
        self.cleared: Estimate | None = None
