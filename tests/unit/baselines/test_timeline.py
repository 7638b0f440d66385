from __future__ import annotations

from sim.baselines.timeline import Timeline


def run(time: Timeline[str], to: int, log: list[str]) -> None:
    time.advance(to, lambda: log.append(f"wake@{time.now}"), lambda: log.append("-"))


def test_timers_fire_by_due_time_and_then_by_age():
    time: Timeline[str] = Timeline()
    log: list[str] = []
    for wait, name in ((20, "late"), (10, "older"), (10, "younger")):
        time.after(wait, log.append, name)
    run(time, 20, log)
    assert log == ["-", "older", "-", "younger", "-", "late", "-"]
    assert time.now == 20


def test_timers_due_at_the_stop_fire_and_later_ones_wait():
    time: Timeline[str] = Timeline()
    log: list[str] = []
    time.after(5, log.append, "at the stop")
    time.after(6, log.append, "after it")
    run(time, 5, log)
    assert log == ["-", "at the stop", "-"]


def test_a_restarted_wake_timer_is_the_youngest():
    time: Timeline[str] = Timeline()
    log: list[str] = []
    time.start(10)
    time.after(10, log.append, "call")
    time.drop()
    time.start(10)
    run(time, 10, log)
    assert log == ["-", "call", "-", "wake@10", "-"]


def test_a_dropped_wake_timer_does_not_fire():
    time: Timeline[str] = Timeline()
    log: list[str] = []
    time.start(1)
    time.drop()
    run(time, 10, log)
    assert log == ["-"]


def test_a_timer_of_no_length_takes_1_ms_while_the_clock_advances():
    time: Timeline[str] = Timeline()
    log: list[str] = []
    time.after(0, lambda _: time.after(0, lambda _: log.append(f"second@{time.now}"), ""), "")
    run(time, 5, [])
    assert log == ["second@1"]
