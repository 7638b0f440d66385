"""From the shape of a client to its value."""

from __future__ import annotations

from fractions import Fraction

from sim.manifest import client_blocks as shape
from sim.manifest.model import Client, RatioBudget, Retry, TokenBudget


def client(block: shape.ClientBlock) -> Client:
    """Return the client that a block describes."""
    cancellation = block.cancellation
    return Client(
        timeout_ns=block.timeout_ms,
        cancel_probability=cancellation.probability if cancellation else Fraction(0),
        cancel_after_ns=cancellation.after_ms if cancellation else None,
        on_refusal=block.on_refusal,
        layers=tuple(map(_layer, block.layers if isinstance(block.retry, shape.NoRetry) else [block.retry])),
        honour_retry_after=block.retry_after == "honour",
        retry_after_cap_ns=block.retry_after_cap_ms,
    )


def _layer(block: shape.Layer) -> Retry:
    return Retry(
        kind=block.kind,
        base_ns=block.base_ms,
        cap_ns=block.base_ms if isinstance(block, shape.FixedRetry) else block.cap_ms,
        jitter="none" if isinstance(block, shape.DecorrelatedRetry) else block.jitter,
        max_attempts=block.max_attempts,
        budget=_budget(block.budget),
        name=block.name or "",
    )


def _budget(block: shape.RatioBudget | shape.TokenBudget | None) -> RatioBudget | TokenBudget | None:
    if isinstance(block, shape.RatioBudget):
        return RatioBudget(block.ratio, block.min_retries_per_second, block.ttl_seconds, block.per)
    return None if block is None else TokenBudget(block.max_tokens, block.token_ratio, block.per)
