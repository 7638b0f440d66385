"""A steady load of any length by any number of principals, for the benchmarks of scale.

Waits are common: 200 arrivals a second, calls of 100 ms on average, 24 at a time. Only the number under test changes;
with more principals each asks less often, so that all together ask as much.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from sim.manifest import Manifest, parse
from tollgate.core.units import decimal_text, fraction

ARRIVALS_PER_S: Final = 200


def steady(arrivals: int, principals: int) -> Manifest:
    """Return a manifest.

    Args:
        arrivals: How many to expect, a multiple of :data:`ARRIVALS_PER_S`.
        principals: By how many, all alike.
    """
    document = {
        "schema": "capacity-manifest/v1",
        "name": "scale",
        "version": "1.0.0",
        "seed": 2601,
        "profile": {
            "profile_version": "scale-1",
            "workspace": {
                "concurrency": 24,
                "requests_per_minute": 15000,
                "tokens_per_second": 100000,
                "max_queue_length": 256,
                "max_queue_wait_ms": 2000,
            },
            "providers": {
                "primary": {
                    "concurrency": 24,
                    "circuit_breaker": {"failure_threshold": 5, "open_ms": 1000, "half_open_max_calls": 1},
                }
            },
            "principals": {"one-of-many": {"concurrency": 8}},
        },
        "phases": [{"name": "steady", "seconds": arrivals // ARRIVALS_PER_S}],
        "drain_seconds": 30,
        "streams": [
            {
                "name": "crowd",
                "count": principals,
                "principal": "one-of-many",
                "class": "crowd",
                "arrivals": {
                    "kind": "poisson",
                    "per_second": decimal_text(fraction(ARRIVALS_PER_S) / principals),
                },
                "work": {"tokens": {"kind": "mixture", "of": [["0.98", 200], ["0.02", 6000]]}},
                "providers": {"primary": 1},
                "client": {
                    "timeout_ms": 10000,
                    "retry": {
                        "kind": "exponential",
                        "base_ms": 250,
                        "cap_ms": 5000,
                        "jitter": "full",
                        "max_attempts": 2,
                    },
                },
            }
        ],
        "providers": [
            {
                "id": "primary",
                "service_ms": {"kind": "uniform", "min": 40, "max": 160},
                "failures": {"kind": "independent", "probability": "0.05"},
            }
        ],
    }
    return parse(json.dumps(document).encode(), path=Path("scale.json"), format="json")
