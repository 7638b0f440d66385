from __future__ import annotations

from fractions import Fraction
from itertools import chain

from sim.manifest.model import Phase
from sim.manifest.processes import BurstyPoisson, Poisson
from sim.workload.rates import ONE, Piece, instants, pieces

S = 10**9


def gaps_of(values):
    """Return a source that hands out these gaps, in means, and then gaps that end any run."""
    waiting = iter(values)

    def take(count):
        return [int(next(waiting, Fraction(10**9)) * ONE) for _ in range(count)]

    return take


def all_instants(gaps, rate, rows=3):
    return list(chain.from_iterable(instants(gaps_of(gaps), iter(rate), rows)))


def test_at_a_constant_rate_instants_are_sums_of_gaps():
    # 2 a second: a gap of one mean is half a second.
    found = all_instants([Fraction(1), Fraction(1, 2), Fraction(3)], [Piece(0, 10 * S, Fraction(2, S))])
    assert found == [S // 2, 3 * S // 4, 9 * S // 4]


def test_a_gap_that_crosses_an_edge_is_stretched_by_the_rates_on_both_sides():
    # One second at 1 a second uses up one mean; the other two take half a second at 4 a second.
    rate = [Piece(0, S, Fraction(1, S)), Piece(S, 5 * S, Fraction(4, S))]
    assert all_instants([Fraction(3), Fraction(4)], rate) == [3 * S // 2, 5 * S // 2]


def test_nothing_arrives_while_the_rate_is_zero():
    rate = [Piece(0, S, Fraction(1, S)), Piece(S, 9 * S, Fraction(0)), Piece(9 * S, 12 * S, Fraction(1, S))]
    assert all_instants([Fraction(1, 2), Fraction(1), Fraction(1)], rate) == [S // 2, 9 * S + S // 2, 10 * S + S // 2]


def test_an_arrival_at_an_edge_belongs_to_the_piece_that_begins_there():
    rate = [Piece(0, S, Fraction(1, S)), Piece(S, 2 * S, Fraction(2, S))]
    assert all_instants([Fraction(1)], rate) == [S]
    assert all_instants([Fraction(1)], rate[:1]) == []


def test_instants_are_rounded_down_once():
    # A third of a second is 333,333,333.3 ns; rounding at every gap would lose a nanosecond each time.
    third = Fraction(1, 3)
    found = all_instants([third] * 3, [Piece(0, 2 * S, Fraction(1, S))])
    in_steps = int(third * ONE)
    assert found == [k * in_steps * S // ONE for k in (1, 2, 3)]


def test_instants_do_not_depend_on_how_many_gaps_are_drawn_at_a_time():
    gaps = [Fraction(k % 7 + 1, 5) for k in range(100)]
    rate = [Piece(0, S, Fraction(3, S)), Piece(S, 4 * S, Fraction(7, 3 * S)), Piece(4 * S, 9 * S, Fraction(5, S))]
    assert len({tuple(all_instants(gaps, rate, rows)) for rows in (1, 2, 7, 1000)}) == 1


def test_a_phases_factor_and_the_number_of_principals_multiply_the_rate():
    phases = (Phase("a", 0, 5 * S), Phase("b", 5 * S, 6 * S, {"x": Fraction(4), "y": Fraction(9)}))
    assert list(pieces(Poisson(Fraction(3, 2)), phases, "x", 10)) == [
        Piece(0, 5 * S, Fraction(15, S)),
        Piece(5 * S, 6 * S, Fraction(60, S)),
    ]


def test_bursts_cut_phases():
    arrivals = BurstyPoisson(Fraction(2), Fraction(5), 3 * S, S, 4 * S)
    phases = (Phase("a", 0, 8 * S), Phase("b", 8 * S, 10 * S, {"x": Fraction(3)}))
    found = [(p.start_ns // S, p.end_ns // S, p.per_ns * S) for p in pieces(arrivals, phases, "x", 1)]
    assert found == [(0, 3, 2), (3, 4, 10), (4, 7, 2), (7, 8, 10), (8, 10, 6)]


def test_a_single_burst_and_one_from_the_start():
    phases = (Phase("a", 0, 5 * S),)
    once = pieces(BurstyPoisson(Fraction(1), Fraction(0), 0, 2 * S, None), phases, "x", 1)
    assert [(p.start_ns // S, p.end_ns // S, p.per_ns * S) for p in once] == [(0, 2, 0), (2, 5, 1)]


def test_bursts_back_to_back_are_one():
    phases = (Phase("a", 0, 5 * S),)
    found = pieces(BurstyPoisson(Fraction(1), Fraction(2), 0, S, S), phases, "x", 1)
    assert {p.per_ns * S for p in found} == {2}


def test_pieces_are_made_as_they_are_needed():
    # A burst every millisecond for a year is 3 * 10^10 pieces; only the first few are asked for.
    arrivals = BurstyPoisson(Fraction(1), Fraction(2), 0, 10**5, 10**6)
    made = pieces(arrivals, (Phase("a", 0, 366 * 86_400 * S),), "x", 1)
    assert [next(made).start_ns for _ in range(3)] == [0, 10**5, 10**6]


def test_a_straight_rate_is_inverted_to_the_nanosecond_on_both_sides_of_it():
    # From 0 to 10 a nanosecond in 10 ns the integral is t^2 / 2, and 8 at 4 ns; from 10 to 0 it is 10 t - t^2 / 2, and
    # 32 at 4 ns. A step of 2^-40 below, the nanosecond before is still running.
    for rates, at_four in (((0, 10), 8), ((10, 0), 32)):
        piece = Piece(0, 10, Fraction(rates[0]), Fraction(rates[1]))
        for steps, expected in ((-1, 3), (0, 4), (1, 4)):
            assert all_instants([at_four + Fraction(steps, ONE)], [piece]) == [expected]


def test_a_straight_rate_that_is_cut_is_the_same_rate():
    whole = Piece(0, 9 * S, Fraction(1, S), Fraction(7, S))
    parts = [
        whole.cut(0, 2 * S, Fraction(1)),
        whole.cut(2 * S, 3 * S, Fraction(1)),
        whole.cut(3 * S, 9 * S, Fraction(1)),
    ]
    assert [part.per_ns * S for part in parts] == [1, Fraction(7, 3), 3]
    assert sum(part.total for part in parts) == whole.total == 36
    gaps = [Fraction(k % 5 + 1, 3) for k in range(60)]
    assert all_instants(gaps, parts) == all_instants(gaps, [whole])


def test_a_rate_that_falls_to_zero_ends_before_it_and_goes_on_behind_it():
    rate = [Piece(0, 4 * S, Fraction(2, S), Fraction(0)), Piece(4 * S, 8 * S, Fraction(0), Fraction(2, S))]
    # Each half has an integral of 4, so the second gap crosses into the second, at the start of which nothing comes.
    assert all_instants([Fraction(3), Fraction(2), Fraction(1)], rate) == [2 * S, 6 * S, 6 * S + 828_427_124]
