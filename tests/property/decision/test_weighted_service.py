"""Deficit round robin: how far the service of two lanes may drift apart, each by its weight.

Bound: quantum + 2 * largest cost over any interval in which both lanes wait and may go (Shreedhar and Varghese,
"Efficient fair queueing using deficit round robin", SIGCOMM 1995, with the quantum of weight 1).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.decision.desk import Desk, a_profile
from tollgate.decision import AdmissionLimits

costs = st.integers(1, 12)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    weights=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    quantum=st.integers(1, 20),
    data=st.data(),
    permits=st.integers(1, 3),
)
def test_service_gap_of_two_waiting_lanes_keeps_its_bound(weights, quantum, data, permits):
    names = "ABCD"[: len(weights)]
    principals = {name: AdmissionLimits(weight=weight) for name, weight in zip(names, weights, strict=True)}
    profile = a_profile(AdmissionLimits(concurrency=permits), None, principals, kind="deficit", quantum_tokens=quantum)
    desk = Desk(profile)
    for number in range(permits):
        desk.ask(f"x{number}", "A", tokens=1)
    cost_of = {}
    for name in names:
        for number, cost in enumerate(data.draw(st.lists(costs, min_size=12, max_size=12), label=name)):
            cost_of[f"{name}{number}"] = cost
            desk.ask(f"{name}{number}", name, tokens=cost)
    for now_ns in range(1, len(cost_of) + 1):
        desk.at(now_ns).end(desk.admitted()[now_ns - 1])
    order = desk.admitted()[permits:]
    assert len(order) >= len(cost_of) - permits
    bound = quantum + 2 * max(cost_of.values())
    for (one, its_weight), (other, others_weight) in combinations(zip(names, weights, strict=True), 2):
        both = order[: min(order.index(f"{lane}11") for lane in (one, other) if f"{lane}11" in order)]
        steps = [
            Fraction(cost_of[name], its_weight) * (name[0] == one)
            - Fraction(cost_of[name], others_weight) * (name[0] == other)
            for name in both
        ]
        path = list(accumulate(steps, initial=Fraction(0)))
        assert max(path) - min(path) <= bound, "the widest interval lies between the extremes of the difference"
