"""Every order of commit, cancel, the lease's lapse and dropping the stage, strict and elastic: units are conserved."""

import itertools

import pytest

from tests.unit.admission.house import REQUEST, Instance, lease, snapshot
from tollgate.admission.stages import CANCELLED, AlreadyCommitted, Committed, StageConsumed
from tollgate.core.snapshot import STRICT, Elastic

LAPSE_NS = 100
ORDERS = list(itertools.permutations(["commit", "cancel", "lapse", "drop"]))


@pytest.mark.parametrize("enforcement", [STRICT, Elastic(10)])
@pytest.mark.parametrize("order", ORDERS)
def test_exactly_one_outcome_in_every_order(order, enforcement):
    instance = Instance(snapshot(enforcement=enforcement), granted=0)
    held = lease(10, usable_until_ns=LAPSE_NS)
    instance.account.funding.install(held)
    stage, handle = instance.ready(10).split()
    now_ns, charged = 0, 0
    for event in order:
        if event == "lapse":
            now_ns = LAPSE_NS
        elif event == "drop":
            stage.close()
        elif event == "cancel":
            assert handle.cancel() == (AlreadyCommitted(10) if charged else CANCELLED)
        elif "drop" in order[: order.index("commit")]:
            with pytest.raises(StageConsumed):
                stage.commit(REQUEST, now_ns)
        else:
            outcome = stage.commit(REQUEST, now_ns)
            is_cancelled = "cancel" in order[: order.index("commit")]
            is_funded = not now_ns or enforcement is not STRICT
            assert isinstance(outcome, Committed) == (is_funded and not is_cancelled)
            if isinstance(outcome, Committed):
                stage, charged = outcome, 10
        overage = instance.account.funding.overage
        assert held.remaining_units + held.pending_units + held.spent_units == 10
        assert held.spent_units + overage.committed_units == charged
    counters = instance.counters
    ended = counters.execution_started + counters.canceled_before_start + counters.refused_at_start
    assert (counters.admitted, ended) == (1, 1)
    assert instance.held() == (0, 0, 0, 0)
    assert sum(event.units for event in instance.sink.take()) == charged
    assert instance.sink.free == 100
