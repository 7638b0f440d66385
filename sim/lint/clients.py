"""Rules about callers: attempts that multiply, and behaviour that can never show.

Owns these rules. It must not know limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.lint.finding import Found
from sim.lint.subject import Subject
from tollgate.core.units import ms_text


def layers_that_multiply(subject: Subject) -> Iterator[Found]:
    """Find several layers that each try again."""
    for flow in subject.flows:
        layers = [layer for layer in flow.client.layers if layer.max_attempts > 1]
        if len(layers) > 1:
            product = " x ".join(str(layer.max_attempts) for layer in layers)
            yield Found(
                f"{flow.client_path}.layers",
                f"{len(layers)} layers try again, so one request becomes up to {product} = {flow.client.max_attempts} "
                "attempts while a provider is down",
                (("attempts", product), ("product", str(flow.client.max_attempts))),
            )


def refusals_retried(subject: Subject) -> Iterator[Found]:
    """Find refusals that come back with nothing to hold them back but a count."""
    for flow in subject.flows:
        client = flow.client
        if client.on_refusal == "retry" and client.max_attempts > 1 and not any(it.budget for it in client.layers):
            yield Found(
                f"{flow.client_path}.on_refusal",
                f"a refusal is tried again without a budget of retries: overload offers up to {client.max_attempts} "
                "times the demand",
                (("on_refusal", "retry"), ("attempts", str(client.max_attempts))),
            )


def waits_beyond_patience(subject: Subject) -> Iterator[Found]:
    """Find retries whose first wait is longer than the request may take."""
    for flow in subject.flows:
        timeout_ns = flow.client.timeout_ns
        retrying = [layer for layer in flow.client.layers if layer.max_attempts > 1]
        if timeout_ns is None or not retrying:
            continue
        shortest_ns = min(_shortest_wait_ns(layer.kind, layer.jitter, layer.base_ns) for layer in retrying)
        if shortest_ns >= timeout_ns:
            shortest = ms_text(shortest_ns)
            yield Found(
                f"{flow.client_path}.timeout_ms",
                f"no retry is ever made: patience is over when the shortest wait before one is, after {shortest} ms",
                (("timeout_ms", ms_text(timeout_ns)), ("wait_ms", shortest)),
            )


def cancellations_too_late(subject: Subject) -> Iterator[Found]:
    """Find cancellations that come when the request has been given up."""
    for flow in subject.flows:
        client = flow.client
        if client.cancel_after_ns is None or client.timeout_ns is None or not client.cancel_probability:
            continue
        if client.cancel_after_ns > client.timeout_ns:
            yield Found(
                f"{flow.client_path}.cancellation.after_ms",
                f"no request is left to cancel: it is given up after {ms_text(client.timeout_ns)} ms",
                (("after_ms", ms_text(client.cancel_after_ns)), ("timeout_ms", ms_text(client.timeout_ns))),
            )


def _shortest_wait_ns(kind: str, jitter: str, base_ns: int) -> int:
    """Return the shortest wait that a layer can draw before a retry, ns."""
    if kind == "decorrelated" or jitter == "none":
        return base_ns
    return base_ns // 2 if jitter == "equal" else 0
