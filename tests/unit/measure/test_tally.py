from __future__ import annotations

import numpy as np
import pytest

from sim.measure.tally import Packing, Tally
from tollgate.core.errors import InvariantViolation


def test_packed_columns_come_back():
    packing = Packing(7, 3, 5)
    columns = [np.array([0, 6, 3]), np.array([2, 0, 1]), np.array([4, 0, 2])]
    assert [column.tolist() for column in packing.unpack(packing.pack(*columns))] == [c.tolist() for c in columns]


def test_an_integer_stands_for_a_column():
    packing = Packing(7, 3, 5)
    first = np.array([1, 2])
    assert packing.pack(first, 2, 4).tolist() == packing.pack(first, np.array([2, 2]), np.array([4, 4])).tolist()


def test_packing_leaves_its_columns_as_they_are():
    first = np.array([1, 2])
    Packing(3, 10).pack(first, np.array([5, 6]))
    assert first.tolist() == [1, 2]


def test_columns_that_do_not_fit_a_key_are_refused():
    with pytest.raises(InvariantViolation):
        Packing(1 << 40, 1 << 30)


def test_counts_add_up_over_blocks():
    tally = Tally(2**60, 4)
    for first, second in (([3, 1, 3], [0, 2, 0]), ([1], [2]), ([2**59, 3], [3, 1])):
        tally.add(np.array(first), np.array(second))
    columns, counts = tally.table()
    assert [column.tolist() for column in columns] == [[1, 3, 3, 2**59], [2, 0, 1, 3]]
    assert counts.tolist() == [2, 2, 1, 1]


def test_a_table_may_be_asked_for_between_blocks():
    tally = Tally(10)
    for times in (1, 2, 3):
        tally.add(np.array([7]))
        assert tally.table()[1].tolist() == [times]


def test_an_empty_tally_has_no_rows():
    columns, counts = Tally(5, 5).table()
    assert ([len(column) for column in columns], len(counts)) == ([0, 0], 0)


def test_memory_follows_the_number_of_combinations():
    tally = Tally(1000)
    for _ in range(300):
        tally.add(np.arange(1000))
    assert tally._pending_keys <= tally._PENDING_KEYS_MIN
    assert tally.table()[1].tolist() == [300] * 1000


def test_halving_the_first_column_counts_together_what_then_agrees():
    tally = Tally(600, 4)
    tally.add(np.array([0, 1, 1, 2, 9, 8]), np.array([3, 3, 0, 3, 1, 1]))
    tally.halve(1)
    tally.add(np.array([4]), np.array([1]))
    columns, counts = tally.table()
    assert [column.tolist() for column in columns] == [[0, 0, 1, 4], [0, 3, 3, 1]]
    assert counts.tolist() == [1, 2, 1, 3]
    tally.halve(2)
    assert [column.tolist() for column in tally.table()[0]] == [[0, 0, 1], [0, 3, 1]]
    assert tally.table()[1].tolist() == [1, 3, 3]
