"""``v2``: a whole run of the v2 manifest against a textbook queue with as many customers.

Ours starts from the parsed manifest and ends with the observations: arrivals drawn, every request decided by the
production controller, calls, retries and cancellations simulated, everything measured and checked. The peer only
queues and serves.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.peers import heap_pairs, textbook_queue
from benchmarks.result import Plan, Result
from benchmarks.timing import STATED, interleaved, median_ns, median_ratio
from sim.experiment import run
from sim.manifest import Manifest, load

MANIFEST: Final = Path(__file__).parents[1] / "manifests" / "load-manifest.v2.json"

BOUND: Final = 2.0
STRETCH: Final = 1.2
"""What a prototype without trace and typed evidence came close to (1.15 to 1.31)."""

# The manifest's load, without its spike: 20 a second on average, calls of 40 to 160 ms, four at a time.
ARRIVALS_PER_S: Final = 20.0
SERVICES_PER_S: Final = 10.0
SERVERS: Final = 4

PAIRS_MAX: Final = 40
"""Heap pairs a customer that a textbook queue may cost. Its six events are six pairs; a clean one comes to about 30."""

HEAP_SIZE: Final = 16
"""The next power of two above the events that stand in the queue at most: 10 in our run, 6 in the peer's."""

PAIRS: Final = 500_000
"""About as long as the peer takes, so that a disturbance hits both alike."""


def measure(plan: Plan) -> Result:
    """Measure both sides and the heap."""
    manifest = load(MANIFEST)
    customers = _arrivals(manifest)  # which is the warm-up of ours

    def ours() -> None:
        run(manifest, observations_only=True)

    def peer() -> None:
        textbook_queue(
            customers, arrivals_per_s=ARRIVALS_PER_S, services_per_s=SERVICES_PER_S, servers=SERVERS, seed=2601
        )

    def heap() -> None:
        heap_pairs(PAIRS, size=HEAP_SIZE, seed=2601)

    peer()
    heap()
    return verdict(interleaved((ours, peer, heap), plan.rounds), customers)


def verdict(rounds: Sequence[tuple[int, ...]], customers: int) -> Result:
    """Return what the measurements say; they are refused if the peer is a straw man.

    Args:
        rounds: Times of ours, of the peer and of :data:`PAIRS` heap pairs, a tuple a round, ns.
        customers: Arrivals of ours, and customers of the peer.
    """
    pairs = median_ratio(rounds, 1, 2) * PAIRS / customers
    if pairs > PAIRS_MAX:
        return Result(
            None,
            BOUND,
            f"refused: the textbook peer is a straw man, {pairs:.1f} heap pairs a customer where "
            f"{PAIRS_MAX} are the most",
        )
    ratio = median_ratio(rounds)
    ours_us, peer_us = (median_ns(rounds, side) / customers / 1000 for side in (0, 1))
    return Result(
        ratio,
        BOUND,
        f"v2 from parsed manifest to observations, {ours_us:.1f} us an arrival, against a textbook SimPy M/M/{SERVERS}"
        f", {peer_us:.1f} us a customer or {pairs:.1f} heap pairs (at most {PAIRS_MAX}); {customers} of each; "
        f"stretch {STRETCH} {'reached' if ratio <= STRETCH else 'not reached'}; {STATED.format(rounds=len(rounds))}",
    )


def _arrivals(manifest: Manifest) -> int:
    """Return how many requests the manifest makes: observed, not assumed."""
    observed = run(manifest, observations_only=True).observations
    return next(int(each["value"]) for each in observed if each["metric"] == "arrivals" and not each["labels"])
