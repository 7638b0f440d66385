"""Retry pressure: one for each answer that asked for a pause, halved every half-life."""

from __future__ import annotations

import pytest

from tests.unit.decision.desk import Desk, S
from tollgate.core.breaker import RetryAfter
from tollgate.decision.pressure import HALF_LIFE_NS, RetryPressure


@pytest.mark.parametrize(("half_lives", "micros"), [(0, 1_000_000), (1, 500_000), (2, 250_000), (10, 976), (60, 0)])
def test_pressure_halves_every_half_life(half_lives, micros):
    pressure = RetryPressure(half_life_ns=30 * S)
    pressure.add(5)
    assert pressure.level_micros(5 + half_lives * 30 * S) == micros


def test_pressure_never_rises_by_itself():
    pressure = RetryPressure(half_life_ns=8)
    pressure.add(0)
    levels = [pressure.level_micros(now_ns) for now_ns in range(100)]
    assert levels == sorted(levels, reverse=True)


def test_answers_add_up():
    pressure = RetryPressure(half_life_ns=10)
    pressure.add(0)
    pressure.add(10)
    assert pressure.level_micros(10) == 1_500_000


def test_a_clock_that_steps_back_shows_no_more_than_was_added():
    pressure = RetryPressure(half_life_ns=10)
    pressure.add(50)
    assert pressure.level_micros(20) == 1_000_000


def test_evidence_carries_the_pressure_of_the_moment():
    desk = Desk().ask("a", "A").end("a", RetryAfter(0)).ask("b", "A")
    assert desk.decisions["a"].evidence.retry_pressure_micros == 0
    assert desk.decisions["b"].evidence.retry_pressure_micros == 1_000_000
    assert desk.at(HALF_LIFE_NS).ask("c", "A").decisions["c"].evidence.retry_pressure_micros == 500_000
