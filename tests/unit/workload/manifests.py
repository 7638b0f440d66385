"""Capacity manifests for tests of traffic, and a digest of the arrivals they give."""

from __future__ import annotations

import hashlib
from pathlib import Path

from sim.manifest import parse
from sim.workload.arrivals import arrival_blocks

TWO_STREAMS = """\
schema: capacity-manifest/v1
name: two
version: 1.0.0
seed: 2601
profile:
  profile_version: two-1
  workspace: {concurrency: 8}
  providers: {a: {concurrency: 6}, b: {concurrency: 6}}
  principals: {noisy: {concurrency: 8}, quiet: {concurrency: 2}}
phases:
- {name: load, seconds: 30}
- {name: spike, seconds: 5, rate_multiplier: {noisy: 4, quiet: "0.5"}}
- {name: rest, seconds: 15}
streams:
- name: noisy
  principal: noisy
  arrivals: {kind: bursty-poisson, per_second: 12, multiplier: 3, first_seconds: 4, burst_seconds: 1, every_seconds: 7}
  work: {tokens: {kind: mixture, of: [[0.9, 200], [0.1, {kind: uniform, min: 5000, max: 7000}]]}}
  providers: {a: 3, b: 1}
  client:
    retry: {kind: exponential, base_ms: 250, cap_ms: 5000, jitter: full, max_attempts: 3}
    cancellation: {probability: 0.1, after_ms: 50}
- name: quiet
  count: 4
  principal: quiet
  arrivals: {kind: poisson, per_second: 2}
  work: {tokens: {kind: uniform, min: 100, max: 300}}
  providers: {b: 1}
providers:
- {id: a, service_ms: {kind: uniform, min: 40, max: 160}, failures: {kind: independent, probability: 0.2}}
- {id: b, service_ms: {kind: exponential, mean: 80}, failures: {kind: independent, probability: 0.05}}
"""


KINDS = {
    "poisson": "{kind: poisson, per_second: 20}",
    "bursty": (
        "{kind: bursty-poisson, per_second: 15, multiplier: 2, first_seconds: 5, burst_seconds: 10, every_seconds: 30}"
    ),
    "nhpp": "{kind: nhpp, curve: [[0, 0], [30, 40], [60, 10], [61, 10], [1000, 35.5]]}",
    "nhpp step": "{kind: nhpp, curve: [[0, 0], [30, 40], [60, 10], [1000, 0]], between: step}",
    "mmpp": "{kind: mmpp, per_second: [2, 60], mean_seconds: [7, 3]}",
    "mmpp of three": (
        "{kind: mmpp, per_second: [0, 10, 80], generator: [[-0.5, 0.5, 0], [0.1, -0.3, 0.2], [1, 0, -1]], initial: 2}"
    ),
    "gamma": "{kind: renewal, per_second: 20, gaps: gamma, cv: 0.5}",
    "weibull": "{kind: renewal, per_second: 20, gaps: weibull, cv: 2}",
    "batch": "{kind: batch, per_second: 4, size: {kind: uniform, min: 0, max: 9}}",
    "spread": "{kind: batch, per_second: 4, size: {kind: exponential, mean: 5}, within_ms: 3000}",
}
"""Arrivals of every kind that is generated."""

DIGESTED = """\
schema: capacity-manifest/v1
name: many
version: 1.0.0
seed: 5
profile: {profile_version: o, workspace: {}, providers: {v: {}}, principals: {p: {}}}
phases: [{name: all, seconds: 100}]
streams:
STREAMS
providers: [{id: v, service_ms: {kind: lognormal, mean: 5, cv: 2}}]
"""


def many_streams(kinds):
    """Return a manifest with a stream for each kind of arrivals, by its name."""
    streams = "\n".join(
        f"- {{name: '{name}', principal: p, class: c, arrivals: {arrivals},"
        " work: {tokens: {kind: gamma, mean: 90, cv: 2}}, providers: {v: 1}}"
        for name, arrivals in kinds.items()
    )
    return DIGESTED.replace("STREAMS", streams)


def manifest_of(text, path="two.yaml"):
    return parse(text.encode(), path=Path(path))


def changed(*replacements):
    text = TWO_STREAMS
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return manifest_of(text)


def rows_of(manifest, **options):
    """Return every arrival as a tuple, in order."""
    return [row for block in arrival_blocks(manifest, **options) for row in block.rows()]


def digest_of(rows):
    return hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest()
