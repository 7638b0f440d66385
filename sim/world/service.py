"""Calls at providers that are more than a service time: what the kernel has to do for them.

A call whose end is known becomes one event; the visits of a provider's station share one event at a time, at the
instant at which the next of them ends. This module owns those events. What happens to a call belongs to
:mod:`sim.world.provider`, what follows from its end to :mod:`sim.world.world`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from sim import seeds
from sim.kernel import Event, Kernel, Order
from sim.manifest.model import Manifest
from sim.world.call import Call
from sim.world.provider import Provider, Reply
from sim.world.provider_station import Visit

Ended = Callable[[Call, int, int, int], None]
"""Is told of a call that has ended: the call, its ``Cause`` or ``NONE``, the announced wait, the instant (ns)."""

_RELEASE: Final = int(Order.RELEASE)


class _Answer(Event):
    """The end of a call that was known when it began."""

    __slots__ = ("attempt", "call", "reply")

    def __init__(self, call: Call, reply: Reply) -> None:
        super().__init__()
        self.call = call
        self.attempt = call.attempts
        self.reply = reply


class _Look(Event):
    """The instant at which a provider is to be asked what is finished."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index


class Service:
    """Every provider of a run that is not plain.

    Attributes:
        takes: For each provider of the manifest whether its calls belong here.
    """

    def __init__(
        self, manifest: Manifest, kernel: Kernel, ended: Ended, after_all: Callable[[int], None], replication: int
    ) -> None:
        """Stand ready at instant 0.

        Args:
            manifest: Whose providers.
            kernel: The clock.
            ended: What follows from the end of a call.
            after_all: Called with the instant, ns, when all calls that ended together have been reported.
            replication: Number of the run.
        """
        self.takes = [not model.is_plain for model in manifest.providers]
        self._kernel = kernel
        self._ended = ended
        self._after_all = after_all
        self._providers = [
            Provider(model, seeds.words(manifest.seed, f"provider/{model.id}/bursts", replication=replication))
            for model in manifest.providers
        ]
        self._looks_ns: list[int | None] = [None] * len(self._providers)
        self._open = [0] * len(self._providers)  # visits that are not over
        self._visits: dict[int, Visit] = {}  # of callers who have not left
        self._on_answer = (self._answer,)
        self._on_look = (self._look,)

    def begin(self, call: Call, now_ns: int) -> None:
        """A call goes out to its provider."""
        index = call.provider_index
        found = self._providers[index].begin(call, now_ns)
        if isinstance(found, Reply):
            answer = _Answer(call, found)
            answer.callbacks = self._on_answer
            self._kernel.schedule(answer, _RELEASE, found.at_ns - now_ns)
            return
        self._open[index] += 1
        self._visits[call.ordinal] = found
        self._see_to_look(index)

    def leave(self, call: Call, now_ns: int) -> None:
        """Its caller takes a call back: the provider stops working on it."""
        visit = self._visits.pop(call.ordinal, None)
        if visit is not None:
            self._open[call.provider_index] -= 1
            self._providers[call.provider_index].leave(visit, now_ns)
            self._see_to_look(call.provider_index)

    def audit(self) -> list[str]:
        """Compare the calls that are not over with what providers count; returns each difference as a sentence."""
        return [
            f"at {self._kernel.now_ns} ns {open_} calls are at provider {index}, which counts {provider.in_progress}"
            for index, (provider, open_) in enumerate(zip(self._providers, self._open, strict=True))
            if provider.in_progress != open_
        ]

    def _answer(self, answer: _Answer) -> None:
        call = answer.call
        if call.permit is None or call.attempts != answer.attempt:
            return  # its caller has left it before
        reply = answer.reply
        self._ended(call, reply.cause, reply.announced_ns, reply.at_ns)
        self._after_all(reply.at_ns)

    def _look(self, look: _Look) -> None:
        now_ns = self._kernel.now_ns
        index = look.index
        if self._looks_ns[index] != now_ns:  # an earlier look has taken this one's place
            return
        self._looks_ns[index] = None
        over = self._providers[index].finished(now_ns)
        self._open[index] -= len(over)
        for visit in over:
            call = cast("Call", visit.call)
            if self._visits.get(call.ordinal) is visit:
                del self._visits[call.ordinal]
            if call.permit is not None and call.attempts == visit.attempt:  # else its caller is gone and it went on
                self._ended(call, visit.cause, 0, now_ns)
        self._see_to_look(index)
        if over:
            self._after_all(now_ns)

    def _see_to_look(self, index: int) -> None:
        """See to it that a provider is asked again when something of it falls due."""
        next_ns, look_ns = self._providers[index].next_ns(), self._looks_ns[index]
        if next_ns is not None and (look_ns is None or next_ns < look_ns):
            self._looks_ns[index] = next_ns
            self._kernel.at(next_ns, Order.RELEASE, _Look(index), self._on_look)
