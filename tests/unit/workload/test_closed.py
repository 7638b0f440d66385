"""Callers in closed loops: whose draws are whose, and when thinking ends."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from sim import seeds
from sim.workload import closed as module
from sim.workload.closed import populations
from tests.unit.world.lab import manifest

S = 10**9
THINK = {"kind": "exponential", "mean": 1000}


def closed(population=3, think=THINK, **more):
    more = {"seconds": 10_000, "provider": {"service_ms": {"kind": "uniform", "min": 1, "max": 1000}}, **more}
    return manifest(arrivals={"kind": "closed", "population": population, "think_ms": think}, **more)


def only(of, **more):
    (population,) = populations(of, **more)
    return population


def test_a_request_is_the_same_whenever_it_is_asked_for():
    in_turn = only(closed(5))
    told = {(caller, number): in_turn.request(caller, number, 0) for number in range(900) for caller in range(5)}
    backwards = only(closed(5))
    for caller, number in sorted(told, reverse=True):
        assert backwards.request(caller, number, 0) == told[caller, number]


def test_pieces_that_were_forgotten_are_drawn_again_alike(monkeypatch):
    monkeypatch.setattr(module, "PIECE_ROWS", 16)
    monkeypatch.setattr(module, "KEPT_ROWS", 96)
    population = only(closed(8))  # two groups of four callers, four requests each in a piece
    first = [population.request(caller, 0, 0) for caller in (0, 4)]
    for turn in range(12):
        population.request(0, 4 * turn, 0)
    assert len(population._pieces) == 6
    assert [population.request(caller, 0, 0) for caller in (0, 4)] == first
    monkeypatch.undo()
    assert [only(closed(8)).request(caller, 0, 0) for caller in (0, 4)] == first


def test_more_callers_shift_nobody():
    few, many = only(closed(3)), only(closed(5000))
    for caller, number in ((0, 0), (2, 0), (2, 1), (1, 37)):
        assert few.request(caller, number, 0) == many.request(caller, number, 0)


def test_every_caller_and_request_has_draws_of_its_own_and_so_has_every_run():
    population = only(closed(40))
    lengths = {population.request(caller, number, 0)[5] for caller in range(40) for number in range(40)}
    assert len(lengths) == 1600
    again = only(closed(40), replication=1)
    assert again.request(0, 0, 0)[5] != population.request(0, 0, 0)[5]


def test_a_think_time_is_drawn_from_the_callers_word_and_the_number():
    population = only(closed(3, {"kind": "uniform", "min": 1, "max": 1000}))
    base = seeds.words(7, "ann/think")(3)
    for caller in range(3):
        for number in (0, 1, 5):
            word = seeds.derived_word(int(base[caller]), number)
            think_ns = 10**6 + (word * (999 * 10**6 + 1) >> 64)
            assert population.request(caller, number, 0)[0] == think_ns
            assert population.request(caller, number, 7 * S)[0] == 7 * S + think_ns


def test_a_draw_of_several_words_takes_them_in_a_row():
    mixture = {"kind": "mixture", "of": [["0.5", {"kind": "uniform", "min": 1, "max": 1000}], ["0.5", 2000]]}
    population = only(closed(2, mixture))
    base = seeds.words(7, "ann/think")(2)
    for caller in range(2):
        for number in range(8):
            which, word = (seeds.derived_word(int(base[caller]), 2 * number + k) for k in (0, 1))
            think_ns = 2 * S if which >= 2**63 else 10**6 + (word * (999 * 10**6 + 1) >> 64)
            assert population.request(caller, number, 0)[0] == think_ns


def test_callers_are_dealt_out_to_the_principals_in_turn():
    of = manifest(
        streams=[
            {
                "name": "many",
                "principal": "ann",
                "count": 3,
                "arrivals": {"kind": "closed", "population": 7, "think_ms": 5},
                "work": {"tokens": 1},
                "providers": {"p": 1},
            }
        ]
    )
    population = only(of)
    assert [population.request(caller, 0, 0)[2] for caller in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_requests_that_are_not_plain_bring_their_figures():
    stream = {"name": "ann", "principal": "ann", "providers": {"p": 1}}
    stream["arrivals"] = {"kind": "closed", "population": 2, "think_ms": 5}
    stream["work"] = {"prompt_tokens": 10, "output_tokens": {"kind": "uniform", "min": 1, "max": 10**6}}
    population = only(manifest(streams=[stream]))
    found = {population.request(caller, number, 0)[9] for caller in range(2) for number in range(9)}
    assert len(found) == 18
    assert {figures.prompt_tokens for figures in found} == {10}


def phased(*factors):
    phases = [
        {"name": f"p{k}", "seconds": 10} | ({} if factor is None else {"rate_multiplier": {"ann": factor}})
        for k, factor in enumerate(factors)
    ]
    return only(closed(1, 3000, phases=phases))


@pytest.mark.parametrize(
    ("factors", "now_s", "at_s"),
    [
        ((None,), 0, 3),
        ((2,), 1, Fraction(5, 2)),
        (("0.25",), 0, None),  # twelve seconds of thinking, and ten of a run
        (("0.25", None), 0, Fraction(21, 2)),  # 2.5 of 3 s are done when the second phase begins
        ((None, 0, 2), 8, Fraction(41, 2)),  # nobody gets on while the factor is 0
        ((None, 0), 8, None),
        ((None,), 7, None),  # at the very end of the last phase nothing comes
        ((None, None), 7, 10),  # the end of a phase is the start of the next
        ((7,), 0, Fraction(3, 7)),
    ],
)
def test_a_factor_on_the_rate_is_one_on_the_speed_of_thinking(factors, now_s, at_s):
    row = phased(*factors).request(0, 0, now_s * S)
    assert (row and row[0]) == (None if at_s is None else ceil(at_s * S))
