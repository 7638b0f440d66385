"""The fake clock: integer instants, and the order of what happens in one."""

from __future__ import annotations

import itertools

import pytest

from sim.kernel import Event, Kernel, Order, _Clock
from tollgate.core.errors import InvariantViolation

ORDERS = (Order.RELEASE, Order.CANCEL, Order.WAKE, Order.ARRIVAL)


def happens(kernel, log, at_ns, order, word):
    kernel.at(at_ns, order, Event(), (lambda _event: log.append((kernel.now_ns, word)),))


@pytest.mark.parametrize("scheduled", list(itertools.permutations(ORDERS)))
def test_one_instant_goes_by_order_whatever_was_scheduled_first(scheduled):
    kernel, log = Kernel(), []
    for order in scheduled:
        happens(kernel, log, 7, order, order)
    kernel.run(7)
    assert [word for _, word in log] == list(ORDERS)


def test_c115_events_of_one_order_keep_the_order_in_which_they_were_scheduled():
    words = ["A", "B", "C"]
    for extra in (False, True):
        kernel, log = Kernel(), []
        for word in words:
            happens(kernel, log, 3, Order.ARRIVAL, word)
            if extra:
                kernel.at(3, Order.ARRIVAL, Event(), (lambda _event: None,))
        kernel.run(5)
        assert [word for _, word in log] == words


def test_the_last_instant_belongs_to_the_run_and_the_next_one_does_not():
    kernel, log = Kernel(), []
    happens(kernel, log, 10, Order.ARRIVAL, "at the end")
    happens(kernel, log, 11, Order.RELEASE, "after it")
    kernel.run(10)
    assert log == [(10, "at the end")]


def test_time_stays_an_integer():
    kernel, log = Kernel(), []
    happens(kernel, log, 2**60 + 1, Order.WAKE, "far")
    kernel.run(2**61)
    assert log == [(2**60 + 1, "far")]
    assert type(kernel.now_ns) is int


def test_an_event_can_be_scheduled_again_from_its_own_callback():
    kernel, log = Kernel(), []

    def tick(event):
        log.append(kernel.now_ns)
        if len(log) < 3:
            kernel.at(kernel.now_ns + 4, Order.WAKE, event, (tick,))

    kernel.at(1, Order.WAKE, Event(), (tick,))
    kernel.run(100)
    assert log == [1, 5, 9]


def test_the_past_is_refused():
    kernel = Kernel()
    kernel.at(5, Order.WAKE, Event(), (lambda _event: kernel.at(4, Order.WAKE, Event(), ()),))
    with pytest.raises(InvariantViolation, match="1 ns into the past"):
        kernel.run(10)


def test_the_next_instant_is_that_of_the_next_event_the_end_of_the_run_included():
    kernel, seen = Kernel(), []
    for at_ns, order in ((3, Order.RELEASE), (3, Order.CANCEL), (4, Order.RELEASE)):
        kernel.at(at_ns, order, Event(), (lambda _event: seen.append(kernel.next_ns()),))
    kernel.run(9)
    assert seen == [3, 4, 9]


def test_draining_the_queue_does_what_simpys_own_run_does():
    logs = []
    for run in (_Clock.drain, _Clock.run):
        clock, log = _Clock(), []

        def happened(event, clock=clock, log=log):
            log.append((clock.now, event.name))
            if event.name % 3 == 0 and len(log) < 60:  # again, at this instant or a little later
                event.callbacks = (happened,)
                clock.schedule(event, event.name % 4, event.name % 2)

        for name in range(20):
            event = Named()
            event.name = name
            event.callbacks = (happened,)
            clock.schedule(event, name % 4, name * 7 % 5)
        run(clock)
        logs.append(log)
    assert logs[0] == logs[1]
    assert len(logs[0]) >= 60


class Named(Event):
    __slots__ = ("name",)
