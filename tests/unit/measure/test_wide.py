from __future__ import annotations

import numpy as np
import pytest

from sim.measure import wide
from sim.measure.wide import WideSums, halves

LARGEST = (1 << 63) - 1
SMALLEST = -(1 << 63)


def ints(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("value", [0, 1, -1, (1 << 32) - 1, 1 << 32, -(1 << 32), LARGEST, SMALLEST])
def test_halves_give_the_value_back_and_the_lower_one_is_below_2_to_the_32(value):
    high, low = halves(ints(value))
    assert (int(high[0]) << 32) + int(low[0]) == value
    assert 0 <= low[0] < 1 << 32
    assert halves(value) == (high[0], low[0])


def test_sums_beyond_64_bits_are_exact_and_stay_in_their_cell():
    sums = WideSums.zeros(2, 2)
    sums.add_at(ints(0, 3, 0, 3, 0), ints(LARGEST, SMALLEST, LARGEST, SMALLEST, LARGEST))
    assert sums.integers() == [3 * LARGEST, 0, 0, 2 * SMALLEST]
    assert (sums.at(0, 0), sums.at(1, 1)) == (3 * LARGEST, 2 * SMALLEST)
    assert sums.total(np.array([[True, True], [False, True]])) == 3 * LARGEST + 2 * SMALLEST


def test_a_product_that_does_not_fit_64_bits_is_added_exactly():
    sums = WideSums.zeros(2, 3)
    sums.add_product(1, ints(1_000_000, -7), LARGEST)
    assert sums.integers() == [0, 1_000_000 * LARGEST, 0, 0, -7 * LARGEST, 0]


def test_more_terms_than_the_lower_half_could_hold_are_carried_over(monkeypatch):
    monkeypatch.setattr(wide, "_TERMS_MAX", 4)
    sums = WideSums.zeros(1)
    for _ in range(10):
        sums.add_at(ints(0, 0, 0), ints(LARGEST, LARGEST, -1))
        assert sums.low[0] < 7 << 32
    assert sums.integers() == [20 * LARGEST - 10]
