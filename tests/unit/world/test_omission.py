"""A stalled provider is in the figures of everybody who was due, wherever they spent the time (case C124).

Arrivals each 0.1 s from 0 to 9.9 s, a provider that is stopped until 5 s and answers at once from then on: the latency
from the intended arrival is at most 5 s, 1.275 s in the mean, and above 1 s for 40 of 100. A tool that notes when a
request was finally sent sees one slow request.
"""

from __future__ import annotations

import pytest

from tests.unit.world.lab import MS, arrivals, manifest, play

TICKS = 100  # ns: what the instants of the calls and answers may add to a latency

RETRIES = {"kind": "fixed", "base_ms": 90, "max_attempts": 62}
PLACES = {
    "at the provider": ({}, "stall", {}),
    "at the provider and, behind one permit, in the queue": ({"concurrency": 1}, "stall", {}),
    "between attempts": ({}, "error", {"retry": RETRIES}),
    "between attempts that a pause holds": ({}, "throttle", {"retry": RETRIES, "retry_after": "ignore"}),
}


def stalled(place):
    """Return what is measured of the hundred arrivals."""
    workspace, kind, client = PLACES[place]
    outage = {"kind": kind, "from_seconds": 0, "for_seconds": 5}
    if kind != "stall":
        outage["answer_ms"] = 10  # with the client's 90 ms, a look each 0.1 s
    if kind == "throttle":
        outage["retry_after_ms"] = 1
    of = manifest(workspace=workspace, provider={"outages": [outage]}, client={"on_refusal": "give-up", **client})
    each_tenth = [number * 100 for number in range(100)]
    return play(of, arrivals(each_tenth, [1 / MS] * 100)).measure


@pytest.mark.parametrize("place", PLACES)
def test_c124_latency_counts_from_the_intended_arrival_wherever_the_stall_was_spent(place):
    measure = stalled(place)
    sojourn = measure.histograms()["sojourn"]
    assert sojourn.count == 100
    assert 0 <= sojourn.maximum - 5000 * MS <= TICKS
    assert 0 <= sojourn.total / 100 - 1275 * MS <= TICKS
    assert [float(measure.value(f"sojourn.{name}", {})) for name in ("p50", "p95", "p99")] == pytest.approx(
        [0, 4500, 4900], abs=TICKS / MS
    )
    latencies = measure._run.sojourn_samples({})
    assert latencies.at_rank(60) <= 1000 * MS + TICKS < latencies.at_rank(61)
