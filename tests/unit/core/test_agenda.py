"""Items by a key that may change while they stand in the agenda."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tollgate.core.agenda import Agenda


class Item:
    def __init__(self, key):
        self.key = key


def an_agenda():
    return Agenda(lambda item: item.key)


def test_lowest_key_comes_first_and_equal_keys_in_the_order_of_coming():
    agenda, items = an_agenda(), [Item(key) for key in (5, 3, 3, 9)]
    for item in items:
        agenda.add(item)
    order = []
    while (item := agenda.first()) is not None:
        order.append(item)
        item.key = -1
    assert order == [items[1], items[2], items[0], items[3]]


def test_due_gives_nothing_before_its_instant():
    agenda, item = an_agenda(), Item(7)
    agenda.add(item)
    assert agenda.due(6) is None
    assert agenda.due(7) is item
    assert agenda.due(7) is item, "it stays in until its key changes"


def test_an_item_whose_key_changed_is_out_until_it_is_added_again():
    agenda, item = an_agenda(), Item(7)
    agenda.add(item)
    item.key = 9
    assert (agenda.first(), agenda.due(100)) == (None, None)
    agenda.add(item)
    assert agenda.first_key(-1) == 9


def test_first_key_of_an_empty_agenda_is_what_the_caller_says():
    assert an_agenda().first_key(12) == 12
    assert an_agenda().first() is None


def test_stale_entries_never_fill_it():
    """One item moved ten thousand times leaves a bounded number of entries, not ten thousand."""
    agenda, item, other = an_agenda(), Item(0), Item(10**9)
    agenda.add(other)
    for key in range(1, 10_000):
        item.key = key
        agenda.add(item)
    assert len(agenda) <= 64
    assert agenda.first() is item


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["add", "move", "out", "due"]), st.integers(0, 30))))
def test_agrees_with_a_plain_search(steps):
    agenda, items, entered = an_agenda(), [Item(-1) for _ in range(10)], {}
    for count, (which, what, key) in enumerate(steps):
        item = items[which]
        if what in {"add", "move"}:
            if item.key != key:
                item.key = key
                agenda.add(item)
                entered[which] = count
        elif what == "out":
            item.key = -1
            entered.pop(which, None)
        inside = sorted((items[n].key, order, n) for n, order in entered.items())
        found = agenda.due(key) if what == "due" else agenda.first()
        limit = key if what == "due" else 99
        expected = [n for k, _, n in inside if k <= limit]
        assert found is (items[expected[0]] if expected else None)
