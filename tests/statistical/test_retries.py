"""Retries against their closed forms, on fixed seeds.

With failure probability p and r retries a request makes (1 - p^(r+1)) / (1 - p) attempts on average and fails for good
with p^(r+1) (spec 07): 1.417 and 0.0081 at p = 0.3, r = 3.
"""

from __future__ import annotations

from math import sqrt

import pytest

from tests.unit.world.lab import manifest, run

P, RETRIES = 0.3, 3
Z = 3.29  # two-sided, 99.9 %

CLIENTS = {
    "fixed": {"retry": {"kind": "fixed", "base_ms": 5, "max_attempts": 4}},
    "decorrelated": {"retry": {"kind": "decorrelated", "base_ms": 5, "cap_ms": 500, "max_attempts": 4}},
    "layers": {
        "layers": [
            {"name": "sdk", "kind": "fixed", "base_ms": 1, "max_attempts": 2},
            {
                "name": "service",
                "kind": "exponential",
                "base_ms": 5,
                "cap_ms": 50,
                "jitter": "equal",
                "max_attempts": 2,
            },
        ]
    },
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_attempts_and_final_failures_have_their_closed_form(client, seed):
    provider = {"failures": {"kind": "independent", "probability": "0.3"}, "service_ms": 10}
    arrivals = {"kind": "poisson", "per_second": 300}
    done, _, outcomes = run(manifest(client=CLIENTS[client], provider=provider, arrivals=arrivals, seed=seed))
    n = len(outcomes)
    weights = [(1 - P) * P**k for k in range(RETRIES)] + [P**RETRIES]  # of 1, 2, ... attempts
    mean = (1 - P ** (RETRIES + 1)) / (1 - P)
    assert mean == pytest.approx(1.417)
    variance = sum(weight * (k + 1 - mean) ** 2 for k, weight in enumerate(weights))
    assert abs(float(done.value("retry.amplification")) - mean) <= Z * sqrt(variance / n)
    lost = P ** (RETRIES + 1)
    assert lost == pytest.approx(0.0081)
    assert abs(done.value("failed") / n - lost) <= Z * sqrt(lost * (1 - lost) / n)
