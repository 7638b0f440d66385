"""One request's story: the run made again, with one request watched.

What happened is told from the trace of that run, in either discipline. What the controller that ships saw at each
instant is asked of the controller itself: a watch stands between it and the world, passes everything on unchanged, and
asks for a diagnosis whenever the watched request is held to a limit. So no ordinary run pays for stories.

Owns which instants make a story. Its words as a whole belong to ``sim.report.explain``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

from sim.baselines.harness import run_reference
from sim.kernel import Kernel
from sim.manifest import Manifest
from sim.report.explain import ExplainCheck, ExplainStep
from sim.report.text import ms_text, plural
from sim.targets.controller import build
from sim.trace import NONE, REASONS, AttemptCol, AttemptOutcome, Consumer, RequestCol, RequestOutcome, Rows, Trace
from sim.workload.arrivals import arrival_blocks
from sim.world import World
from tollgate.core.breaker import Outcome
from tollgate.core.deny import REASONS as FACTS
from tollgate.core.deny import Denial
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_S
from tollgate.decision import AdmissionController, BreakerEvent, Check, Decision, Hold, Permit, Request, Ticket

SLICE_NS: Final = 10 * NS_PER_S
"""Simulated time between two looks at whether the watched request is over: what comes after it need not be run."""

PLACE: Final = "place in line"
SHARE: Final = "max_principal_share of the queue"


@dataclass(frozen=True, slots=True)
class Story:
    """What is told of a request.

    Attributes:
        heading: Which request it is, in one line.
        steps: Its steps, in order of time.
    """

    heading: str
    steps: tuple[ExplainStep, ...]


def explain(manifest: Manifest, ordinal: int) -> Story:
    """Return the story of one request.

    Args:
        manifest: What to run: overrides, seed, window and discipline applied.
        ordinal: The request's place among the arrivals, from 0.

    Raises:
        ConfigError: If the manifest lacks what a run needs, or has no such request.
    """
    if manifest.lacks:
        allowed = f"a manifest that states {', '.join(manifest.lacks)}; give them with --assume FILE"
        raise ConfigError("", manifest.name, allowed, file=str(manifest.path))
    heading = _heading(manifest, ordinal)
    rows = _RowsOf(ordinal)
    watch = None
    if manifest.discipline == "reference":
        run_reference(manifest, Trace((rows,)))
    else:
        watch = _rerun(manifest, ordinal, rows)
    return Story(heading, tuple(_steps(rows, watch)))


# --- the run, made again


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


def _rerun(manifest: Manifest, ordinal: int, rows: _RowsOf) -> Watch:
    """Run the production controller, no further than until the request is over."""
    kernel = Kernel()
    trace = Trace((rows,))
    watch = Watch(build(manifest), str(ordinal))
    world = World(manifest, arrival_blocks(manifest), watch, trace, kernel)
    end_ns = manifest.horizon_ns + manifest.drain_ns
    now_ns = 0
    while now_ns < end_ns and not watch.is_over:
        now_ns = min(now_ns + SLICE_NS, end_ns)
        kernel.run(now_ns)
    world.close(now_ns)
    return watch


class _RowsOf(Consumer):
    """A consumer that keeps the rows of one request."""

    def __init__(self, ordinal: int) -> None:
        self._ordinal = ordinal
        self.attempt_rows: list[list[int]] = []
        self.request_row: list[int] = []

    def attempts(self, rows: Rows) -> None:
        self.attempt_rows += rows[rows[:, AttemptCol.ORDINAL] == self._ordinal].tolist()

    def requests(self, rows: Rows) -> None:
        for row in rows[rows[:, RequestCol.ORDINAL] == self._ordinal].tolist():
            self.request_row = row


class Watch:
    """A target that passes everything on to the controller and looks at one request on the way.

    Attributes:
        looks: What held the request, whenever that changed.
        denials: Its refusals, by attempt.
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
        self.denials: dict[int, Denial] = {}
        self.is_over = False

    @property
    def active(self) -> int:
        """Calls in flight."""
        return self._controller.active

    @property
    def waiting(self) -> int:
        """Requests that wait."""
        return self._controller.waiting

    @property
    def breaker_transitions(self) -> tuple[BreakerEvent, ...]:
        """The latest breaker transitions."""
        return self._controller.breaker_transitions

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
        ticket = self._ticket
        if ticket is not None and ticket.is_waiting:
            self._look(ticket, now_ns)
        for decision in decisions:
            if decision.ticket is ticket and decision.denial is not None:
                self.denials[self._attempt] = decision.denial
        return decisions

    def next_wakeup_ns(self) -> int | None:
        """Return when to poll next."""
        return self._controller.next_wakeup_ns()

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

        Behind others of its lane that is its place in line: only a head is held to the limits.
        """
        checks = tuple(_place_in_line(ticket)) or self._limits(ticket, now_ns)
        if not all(check.ok for check in checks):
            checks += tuple(_room_in_queue(ticket))
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


def _room_in_queue(ticket: Ticket) -> Iterator[ExplainCheck]:
    """Yield the limits on how many may wait, which matter to a request that cannot go at once."""
    lane = ticket.lane
    principal, workspace, provider = lane.pools
    name = f"provider {lane.provider.name}"
    limits = (
        ("principal", "max_queue_length", principal.waiting, principal.limits.max_queue_length),
        ("workspace", "max_queue_length", workspace.waiting, workspace.limits.max_queue_length),
        (name, "max_queue_length", provider.waiting, provider.limits.max_queue_length),
        ("workspace", SHARE, principal.waiting, workspace.limits.share_of(workspace.limits.max_queue_length)),
        (name, SHARE, lane.size, provider.limits.share_of(provider.limits.max_queue_length)),
    )
    for scope, limit, waiting, most in limits:
        if most is not None:
            yield ExplainCheck(scope, limit, f"{waiting} waiting", str(most), waiting < most)


# --- the story


def _heading(manifest: Manifest, ordinal: int) -> str:
    """Return who the request is, from the arrivals.

    Raises:
        ConfigError: If there are not so many.
    """
    passed = 0
    for block in arrival_blocks(manifest):
        row = ordinal - passed
        if 0 <= row < len(block):
            principal = manifest.principals[block.principal[row]].name
            provider = manifest.providers[block.provider[row]].id
            size, served = plural(block.tokens[row], "token"), ms_text(block.service_ns[row])
            return f"request {ordinal}: {principal} to {provider}, {size}, {served} of service an attempt"
        passed += len(block)
    allowed = f"0 to {passed - 1}, the places of the arrivals" if passed else "none: nothing arrives in this run"
    raise ConfigError("--request", ordinal, allowed, file=str(manifest.path))


def _steps(rows: _RowsOf, watch: Watch | None) -> Iterator[ExplainStep]:
    """Yield what happened, attempt by attempt, and what ended it between two."""
    looks = [] if watch is None else watch.looks
    ended_ns = -1
    for row in rows.attempt_rows:
        attempt = row[AttemptCol.ATTEMPT]
        own = [look for look in looks if look.attempt == attempt]
        yield from _asked(row, own)
        yield from _decided(row, None if watch is None else watch.denials.get(attempt))
        ended_ns = row[AttemptCol.ENDED]
    outcome, settled_ns = rows.request_row[RequestCol.OUTCOME], rows.request_row[RequestCol.SETTLED]
    if outcome == RequestOutcome.IN_FLIGHT:
        open_attempt = [look for look in looks if look.attempt > len(rows.attempt_rows)]
        yield from (ExplainStep(look.at_ns, "asked, and has no answer yet", look.checks) for look in open_attempt)
        yield ExplainStep(settled_ns, "had not settled when the run ended")
    elif settled_ns > ended_ns:
        yield ExplainStep(settled_ns, "was given up by its caller between two attempts")


def _asked(row: list[int], looks: list[Look]) -> Iterator[ExplainStep]:
    """Yield the request for admission, and each change of what held it while it waited."""
    attempt, requested_ns = row[AttemptCol.ATTEMPT], row[AttemptCol.REQUESTED]
    what = "arrived and asked for admission" if attempt == 1 else f"asked again, attempt {attempt}"
    hold = row[AttemptCol.HOLD]
    if hold != NONE:
        what += f", and had to wait because {Hold(hold).text}"
    yield ExplainStep(requested_ns, what, looks[0].checks if looks else ())
    for before, look in pairwise(looks):
        if any(check.limit == PLACE for check in before.checks):
            yield ExplainStep(look.at_ns, "came to the head of its line, and was held", look.checks)
        else:
            holding = tuple(check for check in look.checks if not check.ok)
            yield ExplainStep(look.at_ns, "waited on, held by something else", holding)


def _decided(row: list[int], denial: Denial | None) -> Iterator[ExplainStep]:
    """Yield the decision, and the end of the call if there was one."""
    outcome = AttemptOutcome(row[AttemptCol.OUTCOME])
    decided_ns, ended_ns = row[AttemptCol.DECIDED], row[AttemptCol.ENDED]
    if outcome in {AttemptOutcome.SHED, AttemptOutcome.CANCELLED}:
        reason = REASONS[row[AttemptCol.REASON]]
        what = f"was refused, {reason}: {FACTS[reason].meaning.rstrip('.').lower()}"
        if denial is not None and denial.retry_after_ns is not None:
            what += f"; after {ms_text(denial.retry_after_ns)} it would be admitted, alone"
        yield ExplainStep(decided_ns, what)
        return
    yield ExplainStep(decided_ns, "was admitted")
    served = ms_text(ended_ns - decided_ns)
    ends = {
        AttemptOutcome.COMPLETED: f"completed, after {served} of service",
        AttemptOutcome.FAILED: f"failed, after {served} of service",
        AttemptOutcome.ABORTED: f"was left by its caller, after {served} of service",
    }
    yield ExplainStep(ended_ns, ends[outcome])
