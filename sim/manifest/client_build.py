"""From the shape of a client to its value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from sim.manifest import client_blocks as shape
from sim.manifest.clients import Client, Herd, RatioBudget, Retry, TokenBudget
from sim.manifest.providers import Outage
from sim.manifest.source import known
from tollgate.core.errors import ConfigError


def client(block: shape.ClientBlock, path: str, outages: Mapping[str, Outage], providers: Collection[int]) -> Client:
    """Return the client that a block describes.

    Args:
        block: Its block.
        path: Its key path, for complaints.
        outages: Every outage of the manifest, by name.
        providers: Whom it calls, by index.

    Raises:
        ConfigError: For a herd without an outage.
    """
    cancellation = block.cancellation
    return Client(
        timeout_ns=block.timeout_ms,
        cancel_probability=cancellation.probability if cancellation else Fraction(0),
        cancel_after_ns=cancellation.after_ms if cancellation else None,
        abandon=block.abandon,
        frees_abandoned=block.abandoned_permit == "freed",
        on_refusal=block.on_refusal,
        layers=tuple(map(_layer, block.layers if isinstance(block.retry, shape.NoRetry) else [block.retry])),
        honour_retry_after=block.retry_after == "honour",
        retry_after_cap_ns=block.retry_after_cap_ms,
        herd=None if block.herd is None else _herd(block.herd, f"{path}.herd.outage", outages, providers),
    )


def _herd(block: shape.HerdBlock, path: str, outages: Mapping[str, Outage], providers: Collection[int]) -> Herd:
    if not outages:
        raise ConfigError(path, block.outage, "an outage under providers: this manifest has none to come back from")
    known(block.outage, {name: place for place, name in enumerate(outages)}, path, "an outage of a provider")
    outage = outages[block.outage]
    if outage.provider not in providers:
        raise ConfigError(path, block.outage, "an outage of a provider that this stream calls")
    return Herd(outage.name, outage.provider, outage.start_ns, outage.end_ns, block.within_ms)


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
