"""The response-time law of closed systems: R = N / X - Z, whatever the laws of service and thinking.

Source: Denning and Buzen, "The Operational Analysis of Queueing Network Models", Computing Surveys 10(3), 1978.
"""

from __future__ import annotations

from math import sqrt
from statistics import fmean, stdev

import pytest

from tests.unit.world.lab import manifest
from tests.unit.world.test_loops import recursion, run

S = 10**9
Z = 3.29  # two-sided, 99.9 %
BATCHES = 20
T_BATCHES = 3.88  # Student, 19 degrees of freedom, likewise


def exact_mva(callers, service_s, think_s):
    """Mean response time of N exponential callers at one exponential server, by mean value analysis, s."""
    queue = 0.0
    response = service_s
    for n in range(1, callers + 1):
        response = service_s * (1 + queue)
        queue = n / (think_s + response) * response
    return response


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_response_time_law_holds_and_so_does_mean_value_analysis(seed):
    callers, think_s, service_s, seconds = 8, 0.4, 0.06, 400
    arrivals = {"kind": "closed", "population": callers, "think_ms": {"kind": "exponential", "mean": 400}}
    of = manifest(workspace={"concurrency": 1}, arrivals=arrivals, seed=seed, seconds=seconds)
    done, _, outcomes = run(of)
    served = recursion(of, 1)
    assert done.value("completed") == len(outcomes) == len(served)
    responses_s = [(ends - at) / S for at, _, ends in served]
    throughput = len(served) / seconds
    # Thinking and being answered fill the callers' time; an exponential mean over n draws is known to 1 / sqrt(n).
    margin_s = Z * think_s / sqrt(len(served)) + 2 * callers * think_s / len(served)
    assert abs(fmean(responses_s) - (callers / throughput - think_s)) <= margin_s
    size = len(responses_s) // BATCHES
    means = [fmean(responses_s[k * size : (k + 1) * size]) for k in range(BATCHES)]
    half_width_s = T_BATCHES * stdev(means) / sqrt(BATCHES)
    assert abs(fmean(means) - exact_mva(callers, service_s, think_s)) <= half_width_s
