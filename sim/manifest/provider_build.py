"""From the shape of a provider in ``capacity-manifest/v1`` to its model.

This module owns the rules that span several of its keys, and several outages. It must not know what a provider does at
an instant: that is ``sim.world.provider``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import Final

from sim.manifest import provider_blocks as shape
from sim.manifest.distribution_build import lengths
from sim.manifest.distributions import Distribution
from sim.manifest.inputs import Inputs
from sim.manifest.providers import Bursts, Outage, ProviderModel, RateLimit, Slowdown, TokenService
from sim.manifest.source import seconds_text
from sim.manifest.wording import NOTHING, Said
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS, NS_PER_S, Rate

ANSWER_NS: Final = NS_PER_MS
"""How long an answer takes that is no service, ns, unless the manifest says: 1 ms, below any service time that is
worth limiting."""

RETRY_AFTER_NS: Final = NS_PER_S
"""The wait a provider announces where its concurrency binds, ns: the header counts in seconds (RFC 9110, 10.2.3), so
1 s is the shortest that asks for anything."""


def provider_models(
    blocks: Sequence[shape.ProviderBlock], outages: Sequence[Sequence[Outage]], cut_ns: int, inputs: Inputs
) -> tuple[ProviderModel, ...]:
    """Return the providers.

    Args:
        blocks: Their blocks; ids are known to differ.
        outages: Those of each, as :func:`outages_of` returns them.
        cut_ns: Where the arrivals end, ns; outages that begin there or later are left out.
        inputs: Where files of values are read and noted.

    Raises:
        ConfigError: For a provider without a service time or with two, or a limit without its rate.
    """
    return tuple(
        _provider(place, block, [outage for outage in own if outage.start_ns < cut_ns], inputs)
        for place, (block, own) in enumerate(zip(blocks, outages, strict=True))
    )


def _provider(place: int, block: shape.ProviderBlock, outages: Sequence[Outage], inputs: Inputs) -> ProviderModel:
    path = f"providers[{place}]"
    failures = block.failures
    slowdown = block.slowdown
    bursts = None
    if isinstance(failures, shape.BurstyFailures):
        bursts = Bursts(
            failures.good_mean_seconds,
            failures.bad_mean_seconds,
            failures.good_probability,
            failures.bad_probability,
        )
    return ProviderModel(
        id=block.id,
        service=_work(path, block, inputs),
        failure_probability=(failures.probability if isinstance(failures, shape.IndependentFailures) else Fraction(0)),
        failure_ns=failures.answer_ms if failures else None,
        bursts=bursts,
        servers=block.servers,
        sharing=block.sharing,
        slowdown=Slowdown(slowdown.above, slowdown.per_call) if slowdown else None,
        rate_limit=_rate_limit(f"{path}.rate_limit", block.rate_limit) if block.rate_limit else None,
        outages=tuple(outages),
    )


def _work(path: str, block: shape.ProviderBlock, inputs: Inputs) -> Distribution | TokenService:
    tokens = block.service
    if tokens is None:
        if block.service_ms is None:
            raise ConfigError(f"{path}.service_ms", NOTHING, "the length of a call: service_ms, or service")
        return lengths(block.service_ms, f"{path}.service_ms", inputs)
    if block.service_ms is not None:
        raise ConfigError(f"{path}.service_ms", Said("a second length of a call"), "absent beside service")
    per_prompt, per_output = tokens.ms_per_prompt_token * NS_PER_MS, tokens.ms_per_output_token * NS_PER_MS
    if not tokens.base_ms + per_prompt + per_output:
        raise ConfigError(f"{path}.service", Said("no work at all"), "base_ms or a time a token above 0")
    return TokenService(tokens.base_ms, per_prompt, per_output)


def _rate_limit(path: str, block: shape.RateLimitBlock) -> RateLimit:
    if block.requests_per_minute is None and block.tokens_per_minute is None and block.concurrency is None:
        raise ConfigError(path, NOTHING, "requests_per_minute, tokens_per_minute or concurrency")
    if block.retry_after_ms is not None and block.concurrency is None:
        raise ConfigError(
            f"{path}.retry_after_ms", Said("a wait"), "absent without concurrency: buckets announce theirs"
        )
    return RateLimit(
        requests=_bucket(path, "requests", block.requests_per_minute, block.requests_burst),
        tokens=_bucket(path, "tokens", block.tokens_per_minute, block.tokens_burst),
        concurrency=block.concurrency,
        answer_ns=block.answer_ms or ANSWER_NS,
        retry_after_ns=RETRY_AFTER_NS if block.retry_after_ms is None else block.retry_after_ms,
    )


def _bucket(path: str, units: str, per_minute: Fraction | None, burst: int | None) -> tuple[Rate, int] | None:
    if per_minute is None:
        if burst is not None:
            raise ConfigError(f"{path}.{units}_burst", burst, f"absent unless {units}_per_minute is set")
        return None
    return Rate.per_minute(per_minute), burst or max(1, floor(per_minute))


# --- outages


def outages_of(blocks: Sequence[shape.ProviderBlock], horizon_ns: int, end_ns: int) -> list[list[Outage]]:
    """Return the outages of each provider, by their start; those beyond a window too.

    Args:
        blocks: The providers' blocks.
        horizon_ns: End of the last phase before any window, ns.
        end_ns: End of the drain after it, ns.

    Raises:
        ConfigError: For an outage outside the run, two of one name, or two of one kind and provider that overlap.
    """
    names: dict[str, str] = {}
    found = []
    for index, block in enumerate(blocks):
        mine: list[tuple[str, Outage]] = []
        for place, one in enumerate(block.outages):
            path = f"providers[{index}].outages[{place}]"
            outage = _outage(index, one.name or f"{block.id}-outage-{place + 1}", one)
            if outage.name in names:
                raise ConfigError(
                    f"{path}.name", outage.name, f"names that differ: {names[outage.name]} has it already"
                )
            names[outage.name] = path
            _refuse_outside(path, outage, horizon_ns, end_ns)
            for other_path, other in mine:
                _refuse_overlap(path, outage, other_path, other)
            mine.append((path, outage))
        found.append(sorted((outage for _, outage in mine), key=lambda outage: outage.start_ns))
    return found


def _outage(index: int, name: str, block: shape.OutageBlock) -> Outage:
    end_ns = block.from_seconds + block.for_seconds
    outage = Outage(name, index, block.kind, block.from_seconds, end_ns, end_ns + block.ramp_seconds, block.ramp_steps)
    if isinstance(block, shape.ErrorOutage):
        return dataclasses.replace(outage, probability=block.probability, answer_ns=block.answer_ms or ANSWER_NS)
    if isinstance(block, shape.ThrottleOutage):
        return dataclasses.replace(
            outage,
            probability=block.probability,
            answer_ns=block.answer_ms or ANSWER_NS,
            retry_after_ns=block.retry_after_ms,
        )
    return dataclasses.replace(outage, factor=block.factor) if isinstance(block, shape.SlowOutage) else outage


def _refuse_outside(path: str, outage: Outage, horizon_ns: int, end_ns: int) -> None:
    if outage.start_ns >= horizon_ns:
        raise ConfigError(
            f"{path}.from_seconds",
            Said(seconds_text(outage.start_ns)),
            f"an instant of the phases, before {seconds_text(horizon_ns)} s: {outage.name} lies outside the run",
        )
    if outage.end_ns > end_ns:
        raise ConfigError(
            f"{path}.for_seconds",
            Said(f"an end at {seconds_text(outage.end_ns)} s"),
            f"an end at or before {seconds_text(end_ns)} s, where the drain ends: {outage.name} reaches out of the run",
        )


def _refuse_overlap(path: str, outage: Outage, other_path: str, other: Outage) -> None:
    if outage.kind != other.kind or outage.start_ns >= other.ramp_end_ns or other.start_ns >= outage.ramp_end_ns:
        return
    span = f"from {seconds_text(other.start_ns)} s to {seconds_text(other.ramp_end_ns)} s, ramp included"
    raise ConfigError(
        f"{path}.from_seconds",
        Said(f"{outage.name} at {seconds_text(outage.start_ns)} s"),
        f"an instant at which no other {outage.kind} of this provider lasts: {other.name} ({other_path}) does, {span}",
    )
