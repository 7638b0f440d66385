"""One simulated request, from its arrival until it settles.

It is the production :class:`~tollgate.decision.Request` itself, with what only the lab knows beside it, and it stands
in the kernel's queue as the event that ends its present attempt or its wait before the next. This module owns that
state. It must not decide what happens next.
"""

from __future__ import annotations

from sim.kernel import Callbacks, Event
from sim.manifest.clients import Client
from sim.trace import NONE
from sim.workload.blocks import Figures
from tollgate.decision import Estimate, Permit, Request, Ticket


class Effort:
    """How far the layers of one request have come.

    Attributes:
        tries: Attempts of each layer for the request it has at present.
        waits: The wait before the latest of them, ns; the layer's base before its second.
        level: The layer whose next attempt is due.
    """

    __slots__ = ("level", "tries", "waits")

    def __init__(self, client: Client) -> None:
        """Stand after the first attempt."""
        self.tries = [1] * len(client.layers)
        self.waits = [layer.base_ns for layer in client.layers]
        self.level = 0


class Call(Request):
    """A request in the lab.

    Attributes:
        callbacks: What happens when its scheduled instant comes.
        who: The columns that open each of its trace rows: ordinal, stream, principal, provider, phase.
        ordinal: Number of the arrival, from 0.
        stream: Index of its stream.
        principal_index: Index of its principal.
        provider_index: Index of its provider.
        intended_ns: When it arrived, ns.
        service_ns: How long a call takes, ns.
        fails: Bit k set: attempt k + 1 fails.
        jitter: Word from which the jitter of its retries is derived.
        figures: What it uses beside its estimate; None for a plain request.
        patience_ns: From when on its caller will not wait longer, ns; None for never.
        attempts: Attempts asked for.
        admissions: Attempts admitted.
        requested_ns: When the present attempt asked, ns.
        decided_ns: When it was decided, ns.
        ends_ns: When its service ends, ns.
        signal_ns: When its caller gave up, ns; -1 as long as it has not.
        ticket: Of the present attempt.
        permit: While it is in service.
        is_settled: Whether it is over.
        effort: How far its client's layers of retries have come; None before the first failed attempt.
        stopped: Why there was no further attempt (``sim.trace.Stop``), or ``NONE``.
    """

    __slots__ = (
        "admissions",
        "attempts",
        "callbacks",
        "decided_ns",
        "effort",
        "ends_ns",
        "fails",
        "figures",
        "intended_ns",
        "is_settled",
        "jitter",
        "ordinal",
        "patience_ns",
        "permit",
        "principal_index",
        "provider_index",
        "requested_ns",
        "service_ns",
        "signal_ns",
        "stopped",
        "stream",
        "ticket",
        "who",
    )

    _ok = True  # what SimPy asks of an event that has happened

    callbacks: Callbacks | None
    decided_ns: int
    ends_ns: int
    permit: Permit | None
    requested_ns: int
    ticket: Ticket

    def __init__(  # one positional argument a column of the arrival; a builder would cost every arrival
        self,
        budget_id: str,
        principal: str,
        workspace: str,
        provider: str,
        estimate: Estimate,
        who: tuple[int, int, int, int, int],
        at_ns: int,
        service_ns: int,
        fails: int,
        jitter: int,
        figures: Figures | None,
    ) -> None:
        """Make a request that has just arrived and not yet asked."""
        self.budget_id = budget_id
        self.principal = principal
        self.workspace = workspace
        self.provider = provider
        self.estimate = estimate
        self.deadline_ns = None
        self.is_cancelled = False
        self.who = who
        self.ordinal, self.stream, self.principal_index, self.provider_index, _ = who
        self.intended_ns = at_ns
        self.service_ns = service_ns
        self.fails = fails
        self.jitter = jitter
        self.figures = figures
        self.patience_ns: int | None = None
        self.attempts = 0
        self.admissions = 0
        self.signal_ns = -1
        self.permit = None
        self.is_settled = False
        self.effort: Effort | None = None
        self.stopped = NONE


class GiveUp(Event):
    """The instant at which a caller gives a request up, if it is not over by then.

    Attributes:
        call: The request.
    """

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        """Make the event, not yet scheduled."""
        super().__init__()
        self.call = call
