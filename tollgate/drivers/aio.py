"""The asyncio driver: ``async with admission.admitted(request) as permit`` on a real clock.

A driver asks its controller, waits until the decision is there, and gives the permit back however the block ends. All
of that happens in the event loop's thread, between two awaits, so that the controller never sees half of a step. One
timer of the loop is set for the exact instant at which the controller wants to be asked again; there is no background
task, no polling, and nothing left to close.

This module owns who waits for which decision, when the timer goes off, and that no permit is lost when a caller is
cancelled, at whichever await. It must not decide, and must be the only one who polls its controller.
"""

from __future__ import annotations

import asyncio
import math
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, Outcome, RetryAfter
from tollgate.core.deny import Denial
from tollgate.core.errors import CallerError, InvariantViolation
from tollgate.core.units import NS_PER_S
from tollgate.decision import (
    AdmissionController,
    AdmissionProfile,
    AdmissionRegistry,
    Decision,
    Permit,
    ProfileChange,
    Request,
    Ticket,
)

__all__ = ["AsyncAdmission", "AsyncPermit", "AsyncRegistry", "Clock"]

Clock = Callable[[], int]
"""The time in whole nanoseconds, such as :func:`time.monotonic_ns`."""

EARLY_RETRY_NS: Final = 1_000_000
"""Least wait, ns, after the timer went off before its instant by the driver's clock: a millisecond, the step in which
epoll counts its timeouts. A clock that stands still thus costs a thousand wake-ups a second and no busy loop."""


class _Waiter(asyncio.Future[Decision]):
    """Where one task waits for its decision.

    Attributes:
        ticket: What it waits for.
    """

    def __init__(self, ticket: Ticket, given_up: list[Ticket], loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the decision on a ticket; the ticket goes to ``given_up`` when the task is cancelled before it."""
        super().__init__(loop=loop)
        self.ticket = ticket
        self._given_up = given_up

    def cancel(self, msg: object = None) -> bool:
        """Note at once that nobody waits any more, before the task itself gets to run.

        Whatever comes in between, such as a release, then goes to a request that is still wanted.
        """
        was_waiting = super().cancel(msg)
        if was_waiting:
            self._given_up.append(self.ticket)
        return was_waiting


class AsyncPermit:
    """A place among the calls in flight, to be given back once the call has ended.

    Used as an asynchronous context manager it gives itself back at the end of the block: as a success after a normal
    end, as a failure of the provider after an :class:`Exception`, as cancelled after anything else (a cancelled task, a
    closed coroutine, an interrupt), which says nothing about the provider. :meth:`succeeded`, :meth:`failed` and
    :meth:`retry_after` say otherwise, whatever happens afterwards.

    Attributes:
        decision: The decision that granted it, with its evidence.
    """

    __slots__ = ("_give_back", "_outcome", "_permit", "decision")

    def __init__(self, decision: Decision, permit: Permit, give_back: Callable[[Permit, Outcome], bool]) -> None:
        """Hold the permit of an admitted request; ``give_back`` takes it with the outcome of the call."""
        self.decision = decision
        self._permit = permit
        self._give_back = give_back
        self._outcome: Outcome | None = None

    def succeeded(self) -> None:
        """Say that the provider did its part, even if the block ends in an exception."""
        self._outcome = SUCCESS

    def failed(self) -> None:
        """Say that the provider failed, even if the block ends normally."""
        self._outcome = FAILURE

    def retry_after(self, pause_ns: int) -> None:
        """Say that the provider asked for a pause.

        Args:
            pause_ns: How long, ns, from the moment at which the permit is given back. What is malformed, negative or
                absurd is clamped and counted by the controller.
        """
        self._outcome = RetryAfter(pause_ns)

    def release(self, outcome: Outcome | None = None) -> bool:
        """Give the permit back.

        Args:
            outcome: How the call ended; by default what was said before, and a success if nothing was.

        Returns:
            True the first time; False afterwards, with no effect.
        """
        return self._give_back(self._permit, outcome or self._outcome or SUCCESS)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        outcome: Outcome = SUCCESS
        if kind is not None:
            outcome = FAILURE if issubclass(kind, Exception) else CANCELLED
        self.release(self._outcome or outcome)


class _Admitted:
    """The context manager behind :meth:`AsyncAdmission.admitted`."""

    __slots__ = ("_admission", "_permit", "_request")

    def __init__(self, admission: AsyncAdmission, request: Request) -> None:
        self._admission = admission
        self._request = request
        self._permit: AsyncPermit | None = None

    async def __aenter__(self) -> AsyncPermit:
        if self._permit is not None:
            raise CallerError("admitted(...) asks once: call it again for another request")
        self._permit = await self._admission.acquire(self._request)
        return self._permit

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._permit is None:
            raise InvariantViolation("a block ended that was never entered")
        await self._permit.__aexit__(kind, error, traceback)


class AsyncAdmission:
    """One controller on one event loop.

    It belongs to the loop in which it is first asked, and may move to another one when nobody waits. Not safe to share
    between threads. Nobody else may poll its controller; who changes the controller directly calls :meth:`wake`.

    Attributes:
        controller: The controller it drives.
    """

    def __init__(self, controller: AdmissionController, *, clock: Clock = time.monotonic_ns) -> None:
        """Drive a controller.

        Args:
            controller: The controller; one driver each.
            clock: What tells it the time, ns. It should pass as fast as the loop's own clock; a step back earns
                nothing, and a wait is then as much longer.
        """
        self.controller = controller
        self._clock = clock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiters: dict[Ticket, _Waiter | None] = {}  # None: its task is gone
        self._given_up: list[Ticket] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ns: int | None = None

    async def acquire(self, request: Request) -> AsyncPermit:
        """Wait until the request may go.

        Args:
            request: Who asks for what. Its deadline is an instant of this driver's clock (:meth:`deadline_after`).

        Raises:
            Refused: If it is denied, at once or after a wait.
            CallerError: If it is for another workspace.
        """
        granted = await self.try_acquire(request)
        if isinstance(granted, Denial):
            granted.or_raise()
        return granted

    async def try_acquire(self, request: Request) -> AsyncPermit | Denial:
        """Wait until the request is decided, and return the denial where :meth:`acquire` raises it.

        It does not give way to other tasks when the decision is there at once.

        Args:
            request: Who asks for what.

        Raises:
            CallerError: If it is for another workspace.
        """
        decision = await self._decision(request)
        if decision.permit is not None:
            return AsyncPermit(decision, decision.permit, self._release)
        if decision.denial is None:
            raise InvariantViolation("a decision neither admits nor denies")
        return decision.denial

    def admitted(self, request: Request) -> _Admitted:
        """Return a context manager that waits until the request may go and gives its permit back at the end.

        Args:
            request: Who asks for what.

        Raises:
            Refused: On entry, if it is denied.
            CallerError: On entry, if it is for another workspace.
        """
        return _Admitted(self, request)

    def deadline_after(self, wait_ns: int) -> int:
        """Return the instant a time from now, for a request's ``deadline_ns``.

        Args:
            wait_ns: How long, ns.
        """
        return self._clock() + wait_ns

    def settle(self, budget_id: str) -> None:
        """Forget what an invocation has used, once its last attempt has ended."""
        self.controller.settle(budget_id)

    def set_profile(self, profile: AdmissionProfile) -> None:
        """Change all limits at once; what waits is judged again now."""
        now_ns = self._clock()
        self._withdraw(now_ns)
        self.controller.set_profile(profile, now_ns)
        self._deliver(now_ns)

    def wake(self) -> None:
        """Deliver what is decided and set the timer anew: to be called after the controller was changed directly."""
        now_ns = self._clock()
        self._withdraw(now_ns)
        self._deliver(now_ns)

    # Waiting

    async def _decision(self, request: Request) -> Decision:
        """Ask, and wait for the answer; whatever ends the wait early leaves nothing behind."""
        loop = self._enter_loop()
        now_ns = self._clock()
        self._withdraw(now_ns)
        ticket = self.controller.request(request, now_ns)
        waiter = self._waiters[ticket] = _Waiter(ticket, self._given_up, loop)
        self._deliver(now_ns)
        try:
            return await waiter
        except BaseException:
            self._abandon(waiter)
            raise

    def _abandon(self, waiter: _Waiter) -> None:
        """Leave nothing behind of a wait that was ended from outside."""
        if waiter.done() and not waiter.cancelled():
            # Decided in the tick in which its task was cancelled: nobody will ever see that permit.
            permit = waiter.result().permit
            if permit is not None:
                self._release(permit, CANCELLED)
            return
        if not waiter.cancelled():
            # The coroutine was closed, not cancelled: there is no task to be told.
            self._waiters[waiter.ticket] = None
            self._given_up.append(waiter.ticket)
        self.wake()

    def _release(self, permit: Permit, outcome: Outcome) -> bool:
        """Give a permit back, and deliver to whoever can go now."""
        now_ns = self._clock()
        is_first = self.controller.release(permit, outcome, now_ns)
        if is_first:
            self._withdraw(now_ns)
            self._deliver(now_ns)
        return is_first

    def _withdraw(self, now_ns: int) -> None:
        """Cancel what nobody waits for any more, before anything is decided at this instant."""
        for ticket in self._given_up:
            self.controller.cancel(ticket, now_ns)
        self._given_up.clear()

    def _deliver(self, now_ns: int, *, least_wait_ns: int = 0) -> None:
        """Hand out every decision that is due, then set the timer for the next one."""
        while decisions := self.controller.poll(now_ns):
            for decision in decisions:
                if decision.ticket not in self._waiters:
                    raise CallerError("a decision on somebody else's request: a controller has one driver")
                waiter = self._waiters.pop(decision.ticket)
                if waiter is not None and not waiter.done() and not waiter.get_loop().is_closed():
                    waiter.set_result(decision)
                elif decision.permit is not None:
                    self.controller.release(decision.permit, CANCELLED, now_ns)
        self._set_timer(now_ns, least_wait_ns)

    # Time

    def _set_timer(self, now_ns: int, least_wait_ns: int) -> None:
        """Have the loop call back at the controller's next instant, and at no other."""
        at_ns = self.controller.next_wakeup_ns()
        if at_ns == self._timer_ns:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_ns = at_ns
        if at_ns is not None and self._loop is not None and not self._loop.is_closed():
            wait_ns = max(at_ns - now_ns, least_wait_ns)
            self._timer = self._loop.call_at(_loop_time(self._loop.time(), wait_ns), self._timer_went_off)

    def _timer_went_off(self) -> None:
        """Decide what is due; if the loop's clock ran ahead of the driver's, nothing is, and the timer is set again."""
        now_ns = self._clock()
        is_early = self._timer_ns is not None and now_ns < self._timer_ns
        self._timer = self._timer_ns = None
        self._withdraw(now_ns)
        self._deliver(now_ns, least_wait_ns=EARLY_RETRY_NS if is_early else 0)

    def _enter_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, having moved to it if need be."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None and self._loop.is_closed():
                # Its tasks will never run again.
                self._given_up.extend(self._waiters)
                self._waiters = dict.fromkeys(self._waiters)
                self.wake()
            if self._waiters:
                raise CallerError("requests wait in another event loop: a driver belongs to one at a time")
            self._loop = loop
        return loop


class AsyncRegistry:
    """The workspaces of a registry, each with its one driver on this process's event loop.

    A driver lives as long as somebody holds it, waits in it, or holds a permit of it; the workspace's controller, with
    everything in it, lives on in the registry. One of these for a registry.
    """

    def __init__(self, registry: AdmissionRegistry, *, clock: Clock = time.monotonic_ns) -> None:
        """Drive the controllers of a registry.

        Args:
            registry: The registry. Profiles may be registered there directly too, with instants of the same clock.
            clock: What tells all of them the time, ns.
        """
        self._registry = registry
        self._clock = clock
        self._drivers: weakref.WeakValueDictionary[str, AsyncAdmission] = weakref.WeakValueDictionary()
        registry.on_profile_change(self._changed)

    def register(self, workspace_id: str, profile: AdmissionProfile) -> AsyncAdmission:
        """Make a profile the current one of a workspace and return the workspace's driver.

        Args:
            workspace_id: Whose limits, as the trusted host says.
            profile: The limits.

        Raises:
            InvalidDefinition: If the version stands for other limits.
            RegistryFull: If the workspace is new and there is no room for it.
            ConfigError: For a bad workspace id, or a profile with too many principals.
        """
        return self._driver(workspace_id, self._registry.register(workspace_id, profile, self._clock()))

    def admission(self, workspace_id: str) -> AsyncAdmission | None:
        """Return the driver of a workspace; None if it is not registered, or has been evicted."""
        controller = self._registry.controller(workspace_id)
        return None if controller is None else self._driver(workspace_id, controller)

    def _driver(self, workspace_id: str, controller: AdmissionController) -> AsyncAdmission:
        driver = self._drivers.get(workspace_id)
        if driver is None:
            driver = self._drivers[workspace_id] = AsyncAdmission(controller, clock=self._clock)
        elif driver.controller is not controller:
            raise InvariantViolation("a workspace has a second controller while the first is in use")
        return driver

    def _changed(self, change: ProfileChange) -> None:
        """Deliver what a new profile decides about those who wait."""
        driver = self._drivers.get(change.workspace)
        if driver is not None:
            driver.wake()


def _loop_time(loop_s: float, wait_ns: int) -> float:
    """Return an instant of the loop's clock that is not before ``wait_ns`` from ``loop_s``, s.

    Division and addition are each off by at most half a unit in the last place of the sum, so that the next float up is
    never early, and late by less than two such units (2 ns after 50 days).
    """
    return math.nextafter(loop_s + wait_ns / NS_PER_S, math.inf)
