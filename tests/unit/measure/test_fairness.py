from __future__ import annotations

from fractions import Fraction

import numpy as np

from sim.measure.fairness import jain_index, jain_of_admission


def test_equal_shares_give_one():
    assert jain_index([7, 7, 7]) == 1


def test_one_that_has_everything_gives_one_over_n():
    assert jain_index([5, 0, 0, 0]) == Fraction(1, 4)


def test_max_min_shares_of_spec_07():
    # Capacity 10, demands 1, 2, 4, 8: water filling gives 1, 2, 3.5, 3.5; doubled to be integers.
    assert round(jain_index([2, 4, 7, 7]), 7) == Fraction("0.8474576")


def test_no_share_has_no_index():
    assert jain_index([]) is None
    assert jain_index([0, 0]) is None


def test_admission_is_measured_against_each_principals_own_demand():
    assert jain_of_admission(np.array([1000, 10]), np.array([500, 5])) == 1


def test_a_principal_without_demand_is_left_out():
    assert jain_of_admission(np.array([4, 0]), np.array([2, 0])) == 1


def test_a_starved_principal_counts_as_zero():
    assert jain_of_admission(np.array([4, 4]), np.array([4, 0])) == Fraction(1, 2)
