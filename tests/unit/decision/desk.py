"""A desk in front of one controller: requests by name, time in ns, and woken whenever the controller asks for it."""

from __future__ import annotations

from fractions import Fraction

from tollgate.core.breaker import SUCCESS
from tollgate.decision import (
    AdmissionController,
    AdmissionLimits,
    AdmissionProfile,
    Estimate,
    Request,
    Scheduling,
)

MS = 1_000_000
S = 1_000_000_000
NOTHING = AdmissionLimits()


def per_ns(units, ns=1):
    """A rate of ``units`` every ``ns`` nanoseconds, as the limit ``tokens_per_second`` takes it."""
    return Fraction(units * S, ns)


def a_profile(workspace=NOTHING, providers=None, principals=None, *, version="v1", **scheduling):
    """A profile; by default of one provider ``u`` and the principals A to F without limits."""
    return AdmissionProfile(
        version,
        workspace,
        providers or {"u": NOTHING},
        principals or dict.fromkeys("ABCDEF", NOTHING),
        Scheduling(**scheduling),
    )


class Desk:
    """Asks, ends and cancels by name; polls at every wake-up on the way, and keeps a log of the decisions.

    Attributes:
        log: ``(instant in ns, name, word)`` of each decision as delivered; the word is ``admitted`` or the reason.
    """

    def __init__(self, profile=None, **limits):
        self.controller = AdmissionController("w", profile or a_profile(**limits))
        self.now_ns = 0
        self.log = []
        self.tickets = {}
        self.decisions = {}
        self._named = {}

    def at(self, now_ns):
        """Go to an instant, deciding on the way at exactly the announced instants."""
        while (wakeup_ns := self._next_wakeup_ns(now_ns)) is not None and wakeup_ns < now_ns:
            self.now_ns = max(self.now_ns, wakeup_ns)
            self.poll()
            again_ns = self.controller.next_wakeup_ns()
            assert again_ns is None or again_ns > self.now_ns, "a wake-up that time does not pass"
        self.now_ns = now_ns
        return self

    def _next_wakeup_ns(self, before_ns):
        """Ask for a wake-up before an instant first, then for any: the answers may differ from that instant on only."""
        early_ns = self.controller.next_wakeup_ns(before_ns)
        wakeup_ns = self.controller.next_wakeup_ns()
        if wakeup_ns is not None and wakeup_ns < before_ns:
            assert early_ns == wakeup_ns
        else:
            assert early_ns is None or early_ns == wakeup_ns
        return wakeup_ns

    def poll(self):
        for decision in self.controller.poll(self.now_ns):
            name = self._named[id(decision.ticket)]
            word = "admitted" if decision.is_admitted else decision.denial.reason.value
            self.log.append((decision.at_ns, name, word))
            assert name not in self.decisions, "decided twice"
            self.decisions[name] = decision
        return self

    def ask(self, name, principal, provider="u", tokens=None, *, deadline_ns=None, budget=None, poll=True, **estimate):
        request = Request(
            budget or name, principal, "w", provider, Estimate(tokens=tokens, **estimate), deadline_ns=deadline_ns
        )
        ticket = self.tickets[name] = self.controller.request(request, self.now_ns)
        self._named[id(ticket)] = name
        return self.poll() if poll else self

    def end(self, name, outcome=SUCCESS, *, poll=True):
        self.controller.release(self.decisions[name].permit, outcome, self.now_ns)
        return self.poll() if poll else self

    def cancel(self, name, *, poll=True):
        self.controller.cancel(self.tickets[name], self.now_ns)
        return self.poll() if poll else self

    def pause(self, provider, pause_ns):
        self.controller.pause(provider, pause_ns, self.now_ns)
        return self.poll()

    def follow(self, profile):
        self.controller.set_profile(profile, self.now_ns)
        return self.poll()

    def word(self, name):
        """What was said to a request, or that it waits."""
        if name not in self.decisions:
            return "waits"
        denial = self.decisions[name].denial
        return "admitted" if denial is None else denial.reason.value

    def admitted(self):
        """Names in the order of admission."""
        return [name for _, name, word in self.log if word == "admitted"]

    def holds(self, name):
        """What a diagnosis says holds it now."""
        return [check.hold for check in self.controller.diagnose(self.tickets[name], self.now_ns) if not check.ok]
