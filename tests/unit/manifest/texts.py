"""A small manifest as text, with pieces of it replaced."""

from __future__ import annotations

from pathlib import Path

from sim.manifest import parse

SMALL = """\
schema: capacity-manifest/v1
name: small
version: 1.0.0
seed: 7
profile:
  profile_version: small-1
  workspace: {concurrency: 8, max_queue_length: 20, max_principal_share: "0.5"}
  providers: {primary: {concurrency: 6, circuit_breaker: {failure_threshold: 5, open_ms: 1000, half_open_max_calls: 1}}}
  principals: {noisy: {concurrency: 8}, quiet: {concurrency: 2, reserved_concurrency: 1}}
phases:
- {name: load, seconds: 60}
- {name: spike, seconds: 10, rate_multiplier: {noisy: 4}}
streams:
- name: noisy
  principal: noisy
  arrivals: {kind: poisson, per_second: 12}
  work: {tokens: {kind: mixture, of: [[0.98, 200], [0.02, 6000]]}}
  providers: {primary: 1}
  client: {retry: {kind: exponential, base_ms: 250, cap_ms: 5000, jitter: full, max_attempts: 2}}
- name: quiet
  count: 4
  principal: quiet
  arrivals: {kind: poisson, per_second: 2}
  work: {tokens: 200}
  providers: {primary: 1}
providers:
- {id: primary, service_ms: {kind: uniform, min: 40, max: 160}, failures: {kind: independent, probability: 0.05}}
gates:
- {id: quiet-admitted, metric: admission.ratio, where: {class: quiet}, op: ">=", bound: "0.95", estimand: path}
- {id: quiet-wait, metric: queue.wait.p99, where: {class: quiet}, op: "<=", bound: 1500, unit: ms, estimand: path}
"""


def changed(*replacements):
    """Return the small manifest's text with pieces of it replaced."""
    text = SMALL
    for old, new in replacements:
        assert text.count(old) >= 1, old
        text = text.replace(old, new, 1)
    return text


def read(text, name="small.yaml", **options):
    return parse(text.encode(), path=Path(name), **options)
