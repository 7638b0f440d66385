"""Any table and any workload against the formula of the specification, every step of it checked literally."""

from hypothesis import given
from hypothesis import strategies as st

from tollgate.core.cost import COST_UNITS_MAX, CostTable
from tollgate.core.request_denial import RequestDenyReason as Why

amounts = st.one_of(st.integers(0, 20), st.integers(0, COST_UNITS_MAX))
tables = st.builds(
    CostTable,
    weights=st.lists(st.one_of(st.none(), amounts), max_size=5).map(tuple),
    fixed_request=amounts,
    minimum_charge=amounts,
)
workloads = st.lists(st.tuples(st.integers(0, 6), st.one_of(st.integers(0, 3), amounts)), max_size=6)


def expected(table, workload):
    """The seed's wording: one aggregate a class, then the formula, every step in range or refused."""
    counts = {}
    for index, count in workload:
        if count:
            counts[index] = counts.get(index, 0) + count
    if not counts:
        return Why.EMPTY_WORKLOAD
    if any(index >= len(table.weights) or table.weights[index] is None for index in counts):
        return Why.UNPRICED_OPERATION
    total = table.fixed_request
    for index, count in counts.items():
        product = table.weights[index] * count
        total += product
        if product > COST_UNITS_MAX or total > COST_UNITS_MAX:
            return Why.COST_OVERFLOW
    return max(total, table.minimum_charge)


@given(tables, workloads)
def test_quote_is_the_formula_with_every_step_checked(table, workload):
    assert table.quote(workload) == expected(table, workload)


@given(tables, workloads, st.randoms(use_true_random=False))
def test_order_and_splitting_of_a_workload_change_nothing(table, workload, shuffler):
    pieces = [piece for index, count in workload for piece in ((index, count // 2), (index, count - count // 2))]
    shuffler.shuffle(pieces)
    assert table.quote(pieces) == table.quote(workload)


@given(tables, workloads)
def test_no_request_within_its_item_cap_costs_more_than_the_worst_case(table, workload):
    quote = table.quote(workload)
    items = sum(count for _, count in workload)
    worst = table.worst_case(max(items, 1))
    if isinstance(quote, int) and isinstance(worst, int):
        assert quote <= worst
    if quote is Why.COST_OVERFLOW:
        assert worst is Why.COST_OVERFLOW


@given(tables, st.lists(st.integers(0, 3), max_size=5))
def test_equal_digests_are_equal_tables(table, required):
    other = CostTable(table.weights, tuple(required[: len(table.weights)]), table.fixed_request, table.minimum_charge)
    assert (table == other) == (table.digest() == other.digest())
