"""The formula worked by hand, and every edge of the range; any table against brute force is in tests/property/core."""

import pytest

from tollgate.core.cost import CLASSES_MAX, COST_UNITS_MAX, CostTable, cost_units, permissions
from tollgate.core.errors import CallerError, ConfigError
from tollgate.core.request_denial import RequestDenyReason as Why

TABLE = CostTable(weights=(5, None, 2, 0), permissions=(1, 2, 4), fixed_request=10, minimum_charge=14)


@pytest.mark.parametrize(
    ("workload", "units"),
    [
        ([(0, 1)], 15),
        ([(2, 1)], 14),  # 10 + 2, raised to the minimum
        ([(2, 2)], 14),
        ([(2, 3)], 16),
        ([(0, 3), (2, 4)], 33),
        ([(0, 1), (0, 2)], 25),  # a class twice adds up as one: the fixed term is paid once
        ([(3, 7)], 14),  # priced at nothing is priced
        ([(0, 1), (1, 0), (99, 0)], 15),  # none of a class costs nothing, priced or not
    ],
)
def test_quote_is_fixed_term_plus_weights_or_the_minimum(workload, units):
    assert TABLE.quote(workload) == units


@pytest.mark.parametrize(
    ("workload", "why"),
    [
        ([], Why.EMPTY_WORKLOAD),
        ([(0, 0), (1, 0)], Why.EMPTY_WORKLOAD),
        ([(1, 1)], Why.UNPRICED_OPERATION),
        ([(4, 1)], Why.UNPRICED_OPERATION),
        ([(0, COST_UNITS_MAX), (1, 1)], Why.UNPRICED_OPERATION),
        ([(0, COST_UNITS_MAX)], Why.COST_OVERFLOW),
    ],
)
def test_what_has_no_price_has_a_reason(workload, why):
    assert TABLE.quote(workload) is why


def test_range_of_a_quote_ends_at_its_last_unit():
    table = CostTable(weights=(1,), fixed_request=1)
    assert table.quote([(0, COST_UNITS_MAX - 1)]) == COST_UNITS_MAX
    assert table.quote([(0, COST_UNITS_MAX)]) is Why.COST_OVERFLOW


def test_classes_asked_for_demand_their_permissions_and_others_none():
    assert TABLE.read([(0, 1), (2, 1), (1, 0)]).permissions == 5
    assert TABLE.read([(3, 1), (50, 1)]).permissions == 0


@pytest.mark.parametrize("pair", [(-1, 1), (0, -1), (0, COST_UNITS_MAX + 1), (0, 1.0), ("0", 1), (True, 1), (0, True)])
def test_a_pair_that_could_read_the_table_backwards_or_pay_back_is_a_bug_of_the_caller(pair):
    with pytest.raises(CallerError, match="class index"):
        TABLE.quote([pair])


def test_permissions_that_end_in_empty_sets_make_the_same_table():
    older = CostTable(weights=(1, 2))
    same = CostTable(weights=(1, 2), permissions=(0, 0, 0))
    assert (older, older.canonical(), older.digest()) == (same, same.canonical(), same.digest())
    assert b"permissions" not in older.canonical()
    other = CostTable(weights=(1, 2), permissions=(0, 8, 0))
    assert other.permissions == (0, 8)
    assert other.digest() != older.digest()


def test_canonical_form_keeps_every_digit():
    table = CostTable(weights=(COST_UNITS_MAX, None), permissions=(2**63,), minimum_charge=1)
    assert table.canonical() == (
        b'{"fixed_request":"0","minimum_charge":"1","permissions":["9223372036854775808"],'
        b'"weights":["18446744073709551615",null]}'
    )


def test_worst_case_is_every_item_in_the_dearest_class():
    assert TABLE.worst_case(3) == 25
    assert CostTable(weights=(1,), minimum_charge=9).worst_case(3) == 9
    assert CostTable(weights=(None,), fixed_request=9).worst_case(3) == 0
    assert CostTable(weights=(2**40,)).worst_case(2**40) is Why.COST_OVERFLOW


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"weights": (1, -1)}, r"weights\[1\]"),
        ({"weights": (1.0,)}, r"weights\[0\]"),
        ({"weights": (COST_UNITS_MAX + 1,)}, r"weights\[0\]"),
        ({"weights": (1,) * (CLASSES_MAX + 1)}, "4097 classes"),
        ({"weights": (1,), "permissions": (2**64,)}, r"permissions\[0\]"),
        ({"weights": (1,), "permissions": (0, 1)}, r"permissions\[1\]"),
        ({"weights": (), "fixed_request": -1}, "fixed_request"),
        ({"weights": (), "minimum_charge": True}, "minimum_charge"),
    ],
)
def test_a_table_out_of_range_is_refused_with_the_place(fields, path):
    with pytest.raises(ConfigError, match=path):
        CostTable(**fields)


@pytest.mark.parametrize("check", [cost_units, permissions])
@pytest.mark.parametrize("value", [-1, 2**64, 1.0, "1", True, None])
def test_amounts_and_sets_are_integers_of_64_bits(check, value):
    assert check(0, "there") == 0
    assert check(2**64 - 1, "there") == 2**64 - 1
    with pytest.raises(ConfigError, match="there"):
        check(value, "there")
