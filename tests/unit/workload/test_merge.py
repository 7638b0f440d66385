from __future__ import annotations

import numpy as np

from sim.workload.merge import merged


def source(*parts):
    """Return a source of rows (instant, source, number) given as lists of parts."""
    return iter([np.array(part, dtype=np.int64).T.reshape(3, -1) for part in parts])


def rows_of(blocks):
    return [tuple(row) for block in blocks for row in block.T.tolist()]


def test_rows_are_sorted_by_instant_then_source_then_order():
    first = source([(1, 0, 0), (5, 0, 1)], [(5, 0, 2), (9, 0, 3)])
    second = source([(5, 1, 0)], [(5, 1, 1), (6, 1, 2)])
    assert rows_of(merged([first, second], 100)) == [
        (1, 0, 0),
        (5, 0, 1),
        (5, 0, 2),
        (5, 1, 0),
        (5, 1, 1),
        (6, 1, 2),
        (9, 0, 3),
    ]


def test_many_pieces_at_one_instant_keep_their_order():
    first = source(*([(3, 0, k)] for k in range(5)))
    second = source(*([(3, 1, k)] for k in range(5)))
    assert rows_of(merged([first, second], 100)) == [(3, s, k) for s in range(2) for k in range(5)]


def test_sources_may_be_empty_or_none():
    assert rows_of(merged([], 10)) == []
    assert rows_of(merged([iter([]), iter([])], 10)) == []
    assert rows_of(merged([iter([]), source([(1, 1, 0)])], 10)) == [(1, 1, 0)]


def test_a_block_is_handed_out_once_it_is_full():
    first = source(*([(10 * k, 0, k)] for k in range(100)))
    sizes = [block.shape[1] for block in merged([first], 10)]
    assert sum(sizes) == 100
    assert max(sizes) <= 20


def test_memory_is_a_piece_of_each_source():
    taken = []

    def endless():
        for k in range(10**6):
            taken.append(k)
            yield np.array([[k], [0], [k]], dtype=np.int64)

    blocks = merged([endless(), source([(10**7, 1, 0)])], 50)
    next(blocks)
    assert len(taken) < 200
