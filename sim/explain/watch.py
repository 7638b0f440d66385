"""A target that looks at one request: what it meets as it asks, and what holds it while it waits.

The watch stands between the world and the controller that ships, passes everything on unchanged, and asks the
controller itself for a diagnosis. Owns at which instants it looks. It must not know what becomes of the request beyond
its decisions, nor how a story is worded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from sim.report.explain import ExplainCheck
from tollgate.core.breaker import Outcome
from tollgate.decision import AdmissionController, Check, Decision, Permit, Request, Ticket

PLACE: Final = "place in line"


class Look(NamedTuple):
    """What held the watched request at one instant.

    Attributes:
        attempt: Its attempt, from 1.
        at_ns: The instant, ns.
        checks: Every limit it was held to.
    """

    attempt: int
    at_ns: int
    checks: tuple[ExplainCheck, ...]


class Watch:
    """A target that passes everything on to the controller and looks at one request on the way.

    Attributes:
        looks: What held the request, whenever that changed.
        decisions: What was decided, by attempt.
        is_over: Whether it has settled.
    """

    def __init__(self, controller: AdmissionController, budget_id: str) -> None:
        """Watch the invocation of the given budget."""
        self._controller = controller
        self._budget_id = budget_id
        self._probe: Ticket | None = None
        self._ticket: Ticket | None = None
        self._attempt = 0
        self._asked = 0  # looks up to and including the one as the present attempt asked
        self.looks: list[Look] = []
        self.decisions: dict[int, Decision] = {}
        self.is_over = False

    @property
    def active(self) -> int:
        """Calls in flight."""
        return self._controller.active

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._controller.waiting

    def request(self, request: Request, now_ns: int) -> Ticket:
        """Take in a request; before the watched one, ask what it is about to meet."""
        if request.budget_id != self._budget_id:
            return self._controller.request(request, now_ns)
        self._attempt += 1
        self._probe = self._probe_for(request, now_ns)
        self._meets(self._probe, now_ns)
        self._ticket = self._controller.request(request, now_ns)
        return self._ticket

    def release(self, permit: Permit, outcome: Outcome, now_ns: int) -> bool:
        """Give a permit back."""
        return self._controller.release(permit, outcome, now_ns)

    def cancel(self, ticket: Ticket, now_ns: int) -> bool:
        """Give a waiting request up."""
        return self._controller.cancel(ticket, now_ns)

    def settle(self, budget_id: str) -> None:
        """Forget an invocation."""
        self._controller.settle(budget_id)
        self.is_over = self.is_over or budget_id == self._budget_id

    def poll(self, now_ns: int) -> list[Decision]:
        """Return the decisions not yet delivered; look again at the watched request if it still waits."""
        decisions = [each for each in self._controller.poll(now_ns) if each.ticket is not self._probe]
        if self._ticket is not None and self._ticket.is_waiting:
            self._look(self._ticket, now_ns)
        for decision in decisions:
            if decision.ticket is self._ticket:
                self.decisions[self._attempt] = decision
        return decisions

    def eligible_since_ns(self, ticket: Ticket, now_ns: int) -> int | None:
        """Return since when a request has been its lane's head and lacked shared permits only; None if it is not."""
        return self._controller.eligible_since_ns(ticket, now_ns)

    def next_wakeup_ns(self, before_ns: int) -> int | None:
        """Return when to poll next, if that is before an instant at which it is polled in any case."""
        return self._controller.next_wakeup_ns(before_ns)

    def _probe_for(self, request: Request, now_ns: int) -> Ticket:
        """Return a ticket of a twin of the request that its caller has given up.

        Such a request is refused before any limit is looked at, so it changes nothing; its ticket serves for a
        diagnosis before the request itself has taken what it takes. Its decision is kept from the world.
        """
        twin = Request(
            request.budget_id,
            request.principal,
            request.workspace,
            request.provider,
            request.estimate,
            is_cancelled=True,
        )
        return self._controller.request(twin, now_ns)

    def _meets(self, ticket: Ticket, now_ns: int) -> None:
        """Note what the request meets as it asks.

        Behind others of its lane that is its place in line: only a head is held to the limits. One that never fits is
        refused wherever it would stand, and for that.
        """
        never_fits = ticket.lane.never_fits(ticket.tokens)
        checks = () if never_fits else tuple(_place_in_line(ticket))
        checks = checks or self._limits(ticket, now_ns)
        if not all(check.ok for check in checks):
            checks += tuple(_spelt(check, ticket) for check in self._controller.diagnose_queue(ticket))
        self.looks.append(Look(self._attempt, now_ns, checks))
        self._asked = len(self.looks)

    def _look(self, ticket: Ticket, now_ns: int) -> None:
        """Note what holds the request while it waits, when that is another limit than at the last look."""
        if ticket.lane.head is not ticket:
            return
        checks = self._limits(ticket, now_ns)
        held = _binding(checks)
        if self.looks[-1].at_ns == now_ns and len(self.looks) > self._asked:
            self.looks.pop()  # of one instant the last state counts: it is the one in which time went by
        if held is not None and held != _binding(self.looks[-1].checks):
            self.looks.append(Look(self._attempt, now_ns, checks))

    def _limits(self, ticket: Ticket, now_ns: int) -> tuple[ExplainCheck, ...]:
        return tuple(_spelt(check, ticket) for check in self._controller.diagnose(ticket, now_ns))


def _binding(checks: tuple[ExplainCheck, ...]) -> tuple[str, str] | None:
    """Return the first limit that holds a request, which is the one the controller names; None if none does."""
    return next(((check.scope, check.limit) for check in checks if not check.ok), None)


def _spelt(check: Check, ticket: Ticket) -> ExplainCheck:
    scope = f"provider {ticket.lane.provider.name}" if check.scope == "provider" else check.scope
    return ExplainCheck(scope, check.limit, check.observed, check.bound, check.ok)


def _place_in_line(ticket: Ticket) -> Iterator[ExplainCheck]:
    """Yield how many of the same principal and provider, who go in order, are ahead of one that is about to wait."""
    if ahead := ticket.lane.size:
        yield ExplainCheck("principal", PLACE, f"{ahead} ahead of it", "none ahead", ok=False)
