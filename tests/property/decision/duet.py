"""Controller and model in step: each step goes to both, and whatever either says is compared.

After every poll the instants up to the announced wake-up are searched in the model: none of them may hold a decision,
so that a driver which sleeps until the wake-up never decides late.
"""

from __future__ import annotations

from tests.property.decision.model import Model
from tests.property.decision.profiles import WORKSPACE
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, RetryAfter
from tollgate.decision import AdmissionController, Hold, Request

OUTCOMES = {"success": SUCCESS, "failure": FAILURE, "cancelled": CANCELLED}
BUDGET_WORDS = {"attempts", "cost", "tokens"}
HOLD_WORDS = {
    Hold.PRINCIPAL_CONCURRENCY: "concurrency:principal",
    Hold.WORKSPACE_CONCURRENCY: "concurrency:workspace",
    Hold.PROVIDER_CONCURRENCY: "concurrency:provider",
    Hold.WORKSPACE_SHARE: "share:workspace",
    Hold.PROVIDER_SHARE: "share:provider",
    Hold.WORKSPACE_RESERVED: "reserved:workspace",
    Hold.PROVIDER_RESERVED: "reserved:provider",
    Hold.PROVIDER_PAUSED: "paused",
    Hold.BREAKER_OPEN: "breaker",
    Hold.PRINCIPAL_REQUESTS: "requests:principal",
    Hold.WORKSPACE_REQUESTS: "requests:workspace",
    Hold.PROVIDER_REQUESTS: "requests:provider",
    Hold.PRINCIPAL_TOKENS: "tokens:principal",
    Hold.WORKSPACE_TOKENS: "tokens:workspace",
    Hold.PROVIDER_TOKENS: "tokens:provider",
    Hold.LARGER_REQUEST_FIRST: "larger-first",
}


class Duet:
    """A controller and the model of it.

    The controller takes each step at once. The model follows at the next poll, because only then is it known which
    requests the controller found over their budget while they waited (see ``Model.walk``).
    """

    def __init__(self, profile, controller_type=AdmissionController):
        self.controller = controller_type(WORKSPACE, profile)
        self.model = Model(profile)
        self.now_ns = 0
        self.steps = []
        self.tickets = []
        self.items = []
        self.permits = {}  # of delivered admissions, by number
        self.decided = set()
        self.instants = set()  # at which something could happen, as ever seen: a prolonged pause leaves its old end

    # ------------------------------------------------------------------------------------------------------- steps

    def follow(self, step, *, poll):
        """Let the model take the step when it can; ``poll`` now, or leave the decisions for later."""
        self.steps.append((step, self.controller.next_wakeup_ns()))
        if poll:
            self.poll()

    def request(self, principal, provider, estimate, *, budget="b", patience_ns=None, given_up=False, gap=0, poll=True):
        self.now_ns += gap
        now_ns = self.now_ns
        deadline_ns = None if patience_ns is None else now_ns + patience_ns
        request = Request(budget, principal, WORKSPACE, provider, estimate, deadline_ns, given_up)
        self.tickets.append(self.controller.request(request, now_ns))
        self.follow(lambda over: self.items.append(self.model.request(request, now_ns, over)), poll=poll)

    def release(self, which, outcome, *, pause_ns=0, gap=0, poll=True, keep=False):
        """Release one of the permits; ``keep`` it, to release it again later."""
        if not self.permits:
            return
        self.now_ns += gap
        now_ns = self.now_ns
        number = sorted(self.permits)[which % len(self.permits)]
        permit = self.permits[number] if keep else self.permits.pop(number)
        released = self.controller.release(permit, OUTCOMES.get(outcome) or _retry_after(pause_ns), now_ns)

        def step(_):
            assert self.model.release(self.items[number], outcome, pause_ns, now_ns) == released

        self.follow(step, poll=poll)

    def cancel(self, which, *, gap=0, poll=True, waiting_only=True):
        numbers = [number for number, ticket in enumerate(self.tickets) if ticket.is_waiting or not waiting_only]
        if not numbers:
            return
        self.now_ns += gap
        now_ns = self.now_ns
        number = numbers[which % len(numbers)]
        cancelled = self.controller.cancel(self.tickets[number], now_ns)

        def step(_):
            assert self.model.cancel(self.items[number], now_ns) == cancelled

        self.follow(step, poll=poll)

    def pause(self, provider, pause_ns, *, gap=0, poll=True):
        if provider not in self.controller.profile.providers:
            return
        self.now_ns += gap
        now_ns = self.now_ns
        self.controller.pause(provider, pause_ns, now_ns)
        self.follow(lambda _: self.model.pause(provider, pause_ns, now_ns), poll=poll)

    def settle(self, budget):
        self.controller.settle(budget)
        self.follow(lambda _: self.model.settle_budget(budget), poll=False)

    def set_profile(self, profile, *, gap=0, poll=True):
        self.now_ns += gap
        now_ns = self.now_ns
        self.controller.set_profile(profile, now_ns)
        self.follow(lambda over: self.model.set_profile(profile, now_ns, over), poll=poll)

    def wait(self, gap):
        """Let time pass, or step back with a negative gap, and poll."""
        self.now_ns = max(self.now_ns + gap, 0)
        self.poll()

    def sleep_until_wakeup(self):
        soon_ns = self.now_ns + 5
        early_ns = self.controller.next_wakeup_ns(soon_ns)  # may answer None for what is not before that instant
        wakeup_ns = self.controller.next_wakeup_ns()
        assert early_ns == wakeup_ns or (early_ns is None and (wakeup_ns is None or wakeup_ns >= soon_ns))
        if wakeup_ns is not None:
            self.now_ns = max(self.now_ns, wakeup_ns)
            self.poll()

    # -------------------------------------------------------------------------------------------------- comparison

    def poll(self):
        number_of = {id(ticket): number for number, ticket in enumerate(self.tickets)}
        got = []
        for decision in self.controller.poll(self.now_ns):
            number = number_of[id(decision.ticket)]
            assert number not in self.decided, "a request was decided twice"
            self.decided.add(number)
            if decision.permit is not None:
                self.permits[number] = decision.permit
            word = "admitted" if decision.denial is None else decision.denial.reason.value
            got.append((number, decision.at_ns, word, decision.active, decision.queued))
        over_budget = {entry[0]: (entry[1], place) for place, entry in enumerate(got) if entry[2] in BUDGET_WORDS}
        steps, self.steps = self.steps, []
        for step, wakeup_ns in steps:
            step(over_budget)
            self.instants.update(self.model.instants_after(self.model.now_ns))
            if self.model.would_change_at(self.model.now_ns):
                assert wakeup_ns is not None, "something is due and no wake-up asks for it"
                assert wakeup_ns <= self.model.now_ns, "something is due and the wake-up is late"
        expected = self.model.poll(self.now_ns, over_budget)
        wanted = [(each.number, each.at_ns, each.word, each.active, each.queued) for each in expected]
        assert got == wanted, f"{got} and not {wanted}"
        self.compare_state()

    def compare_state(self):
        model, controller = self.model, self.controller
        assert controller.active == len(model.active)
        assert controller.waiting == model.waiting()
        assert controller.clamped_pauses == model.clamped
        for ticket, item in zip(self.tickets, self.items, strict=True):
            assert ticket.is_waiting == (item.state == "waiting")
            assert not item.first_holds or HOLD_WORDS[ticket.hold] in item.first_holds
        wakeup_ns = controller.next_wakeup_ns()
        assert wakeup_ns is None or wakeup_ns > model.now_ns, "nothing is due any more, and yet a wake-up is"
        instants = model.instants_after(model.now_ns)
        for instant in instants:
            if wakeup_ns is None or instant < wakeup_ns:
                assert not model.would_change_at(instant), f"{instant} comes before the wake-up at {wakeup_ns}"
        self.instants.update(instants)
        assert wakeup_ns is None or wakeup_ns in self.instants, "nothing could ever happen at the announced instant"

    def close(self):
        """Everybody leaves; then nothing may be held: no permit, no place, no wake-up, no undecided request."""
        self.poll()
        while any(ticket.is_waiting for ticket in self.tickets):
            self.cancel(0)
        while self.permits:
            self.release(0, "success")
        assert self.controller.is_idle
        assert self.decided == set(range(len(self.tickets)))
        assert self.controller.next_wakeup_ns() is None


def _retry_after(pause_ns):
    """An answer with whatever pause, also one that the outcome's own check would refuse."""
    outcome = RetryAfter(0)
    object.__setattr__(outcome, "ns", pause_ns)
    return outcome
