"""One manifest gives one run, in this process and in fresh ones with other hash seeds, whatever its provider does."""

from __future__ import annotations

import sim
from tests.determinism.fresh import printed
from tests.unit.world.lab import manifest

OUTAGES = [
    {"kind": "error", "from_seconds": 2, "for_seconds": 2, "ramp_seconds": 2, "probability": "0.8"},
    {"kind": "stall", "from_seconds": 6, "for_seconds": 1, "ramp_seconds": 2},
    {"kind": "throttle", "from_seconds": 10, "for_seconds": 2, "retry_after_ms": 300, "probability": "0.5"},
    {"kind": "slow", "from_seconds": 3, "for_seconds": 9, "factor": 3, "ramp_seconds": 3},
]
PROVIDER = {
    "servers": 3,
    "sharing": "processor",
    "rate_limit": {"requests_per_minute": 1500, "requests_burst": 20},
    "failures": {"kind": "bursty", "good_mean_seconds": 2, "bad_mean_seconds": 1, "bad_probability": "0.5"},
    "outages": OUTAGES,
}
RETRY = {"kind": "exponential", "base_ms": 50, "cap_ms": 800, "jitter": "full", "max_attempts": 3}
PROGRAM = "from tests.determinism.test_providers import digest; print(digest())"


def digest():
    of = manifest(
        provider=PROVIDER,
        workspace={"concurrency": 30},
        arrivals={"kind": "poisson", "per_second": 25},
        client={"timeout_ms": 3000, "retry": RETRY},
        seconds=15,
    )
    done = sim.run(of)
    assert int(done.value("failed")) > 20
    return done.outcomes_sha256


def test_c116_two_runs_here_and_two_in_fresh_processes_with_other_hash_seeds_are_one(repository):
    assert printed(PROGRAM, repository, "0", "4242") == {digest()} == {digest()}
