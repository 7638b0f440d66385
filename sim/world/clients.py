"""What the callers of a stream do after an attempt that did not succeed: wait, and for how long, or give up.

A client tries again in layers, each around the one below it: the innermost makes the calls, and what it cannot make
succeed is one failed attempt of the layer around it, whose next attempt begins with all of the inner one's anew. A
flat policy is one layer, no retries are none. This module owns that decision, and the budgets that callers share. It
must not know the controller, the clock or the trace.
"""

from __future__ import annotations

from sim.manifest.clients import Client, Herd
from sim.seeds import derived_word
from sim.trace import NONE, Stop
from sim.world.backoff import backoff_ns
from sim.world.budget import Budget, machine
from sim.world.call import Call, Effort


class Callers:
    """The callers of one stream.

    Attributes:
        client: How they behave.
        is_told: Whether they must be told of requests, successes and further attempts: they have a budget, or layers
            whose attempts are counted.
        requests: Requests they were told of.
        calls: Attempts that each layer has made, from the innermost.
    """

    __slots__ = ("_budgets", "_layers", "calls", "client", "is_told", "requests")

    def __init__(self, client: Client) -> None:
        """Stand at the beginning, nobody having asked."""
        self.client = client
        self.is_told = len(client.layers) > 1 or any(layer.budget is not None for layer in client.layers)
        self.requests = 0
        self.calls = [0] * len(client.layers)
        self._layers = tuple(enumerate(client.layers))
        self._budgets: dict[tuple[int, int], Budget] = {}

    def requested(self, principal: int, now_ns: int) -> None:
        """Take a request's first attempt, which is the first of each layer.

        Args:
            principal: Whose it is.
            now_ns: The instant, ns.
        """
        self.requests += 1
        for level, _ in self._layers:
            self.calls[level] += 1
            self._pay(level, principal, now_ns)

    def retried(self, call: Call, now_ns: int) -> None:
        """Take a further attempt; layers inside the one that makes it begin anew.

        Args:
            call: The request.
            now_ns: The instant, ns.
        """
        level = 0 if call.effort is None else call.effort.level
        for inner in range(level):
            self._pay(inner, call.principal_index, now_ns)
        for made in range(level + 1):
            self.calls[made] += 1

    def succeeded(self, principal: int) -> None:
        """Take an attempt that succeeded; so did the attempt of every layer around it."""
        for level, _ in self._layers:
            budget = self._budget(level, principal)
            if budget is not None:
                budget.succeeded()

    def next_wait_ns(self, call: Call, now_ns: int, announced_ns: int) -> int | None:
        """Return the wait before the next attempt, ns, or None where there is none.

        Args:
            call: The request, whose latest attempt did not succeed and could be tried again; its progress is noted in
                it, and so is what ended it, where that was its budget or an announced wait beyond its cap.
            now_ns: The instant, ns.
            announced_ns: The wait that the service asked for, ns; 0 for none.
        """
        client = self.client
        call.stopped = NONE
        if client.retry_after_cap_ns is not None and announced_ns > client.retry_after_cap_ns:
            call.stopped = Stop.RETRY_AFTER
            return None
        effort = call.effort = call.effort or Effort(client)
        for level, layer in self._layers:
            budget = self._budget(level, call.principal_index)
            if budget is not None:
                budget.failed()
            tries = effort.tries[level]
            if tries >= layer.max_attempts:
                continue  # this layer has failed, and with it an attempt of the layer around it
            own_ns = backoff_ns(layer, tries, derived_word(call.jitter, call.attempts - 1), effort.waits[level])
            wait_ns = own_ns if client.herd is None else self._with_herd(client.herd, call, now_ns, own_ns)
            if client.honour_retry_after:
                wait_ns = max(wait_ns, announced_ns)
            if call.patience_ns is not None and now_ns + wait_ns >= call.patience_ns:
                return None
            if budget is not None and not budget.try_retry(now_ns):
                call.stopped = Stop.BUDGET
                continue
            call.stopped = NONE
            effort.tries[level] = tries + 1
            effort.waits[level] = own_ns
            for inner in range(level):
                effort.tries[inner] = 1
                effort.waits[inner] = client.layers[inner].base_ns
            effort.level = level
            return wait_ns
        return None

    @staticmethod
    def _with_herd(herd: Herd, call: Call, now_ns: int, own_ns: int) -> int:
        """Return the wait, ns, of a caller who would come back when the outage it failed in is over, or later."""
        is_in_it = call.provider_index == herd.provider and herd.start_ns <= now_ns < herd.end_ns
        if not is_in_it or now_ns + own_ns < herd.end_ns:
            return own_ns
        word = derived_word(call.jitter, call.attempts - 1)
        return herd.end_ns - now_ns + (word * (herd.within_ns + 1) >> 64)

    def account(self, stream: str) -> str:
        """Return what each layer has made of the requests of its stream, from the outermost, as a sentence."""
        made = reversed(list(zip(self.client.layers, self.calls, strict=True)))
        return f"{stream}: {self.requests} requests, " + ", ".join(
            f"{layer.name} {calls} attempts" for layer, calls in made
        )

    @property
    def is_consistent(self) -> bool:
        """Whether no layer has made fewer attempts than it had requests, or more than it may."""
        asked = [*self.calls[1:], self.requests]
        return all(
            of <= calls <= of * layer.max_attempts
            for layer, calls, of in zip(self.client.layers, self.calls, asked, strict=True)
        )

    def _pay(self, level: int, principal: int, now_ns: int) -> None:
        budget = self._budget(level, principal)
        if budget is not None:
            budget.requested(now_ns)

    def _budget(self, level: int, principal: int) -> Budget | None:
        """Return the budget of a layer for a principal, None where it has none."""
        budget = self.client.layers[level].budget
        if budget is None:
            return None
        key = (level, principal if budget.per == "principal" else NONE)
        found = self._budgets.get(key)
        if found is None:
            found = self._budgets[key] = machine(budget)
        return found
