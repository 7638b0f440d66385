"""From the seed's manifests to the internal model.

Both versions describe one family of traffic; version 1 leaves most of it open, and a file of assumptions says the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import Final

from sim.manifest.clients import Client, Retry
from sim.manifest.distributions import Uniform
from sim.manifest.model import GateSpec, InputFile, Manifest, Phase, PrincipalInfo, Provenance, SeedFamilyModel
from sim.manifest.providers import ProviderModel
from sim.manifest.scalars import plain_decimal
from sim.manifest.seed_bounds import seed_gates
from sim.manifest.seed_limits import limits_block, seed_profile
from sim.manifest.seed_shape import (
    V1,
    Assumptions,
    BurstyArrivals,
    Durations,
    ManifestV1,
    ManifestV2,
    ProfileV1,
)
from sim.manifest.source import Source, unique, windowed
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS, NS_PER_S
from tollgate.decision.profile import AdmissionProfile

NAME: Final = "decision-load"
"""The seed's manifests carry no name; versions tell them apart."""

LACKS_V1: Final = ("principals", "providers", "token sizes", "service times", "failures", "cancellations")
"""What version 1 leaves open."""

DRAIN_NS: Final = 600 * NS_PER_S
"""Time after the last arrival for what is in flight. The seed waits until everything is settled; with a queue wait of 2
s, calls of 160 ms
and one retry that takes under 5 s, so whatever is open after ten minutes will stay open."""


@dataclass(frozen=True, slots=True)
class _Traffic:
    """What version 2 states and version 1 has to assume."""

    principals: Sequence[tuple[str, str, float]]
    providers: Sequence[str]
    small_tokens: int
    huge_tokens: int
    huge_share: float
    service_ms: tuple[int, int]
    failure_rate: float
    max_retries: int
    backoff_ms: int
    cancellation_rate: float
    cancel_after_ms: int


def build_seed_v2(source: Source) -> Manifest:
    """Return the manifest that a ``decision-load-manifest/v2`` document describes.

    Raises:
        ConfigError: For the first problem in it.
    """
    block = ManifestV2.read(source.document)
    unique([principal.id for principal in block.principals], "principals", "id")
    model = block.arrival_model
    traffic = _Traffic(
        principals=[(principal.id, principal.class_, principal.weight) for principal in block.principals],
        providers=list(block.providers),
        small_tokens=model.small_tokens,
        huge_tokens=model.huge_tokens,
        huge_share=model.huge_token_share,
        service_ms=(model.service_time_ms.minimum, model.service_time_ms.maximum),
        failure_rate=model.retryable_failure_rate,
        max_retries=model.max_retries,
        backoff_ms=model.retry_backoff_ms,
        cancellation_rate=model.cancellation_rate,
        cancel_after_ms=model.cancel_after_ms,
    )
    places = {
        "profile.profile_version": "profileVersion",
        "profile.workspace": "workspace",
        "profile.providers": "providers",
    }
    places |= {f"profile.providers.{name}": f"providers.{name}" for name in block.providers}
    places |= {
        f"profile.principals.{who.id}": f"principals[{place}].limits" for place, who in enumerate(block.principals)
    }
    profile = seed_profile(
        {
            "profile_version": block.profile_version,
            "workspace": limits_block(block.workspace, "workspace", "workspace"),
            "providers": {
                name: limits_block(limits, "provider", f"providers.{name}") for name, limits in block.providers.items()
            },
            "principals": {
                who.id: limits_block(who.limits, "principal", f"principals[{place}].limits")
                for place, who in enumerate(block.principals)
            },
        },
        places,
    )
    return _manifest(source, block, profile, traffic, seed_gates(block.bounds))


def build_seed_v1(source: Source) -> Manifest:
    """Return the manifest that a ``decision-load-manifest/v1`` document and the assumptions describe.

    Without assumptions it can list arrivals, each with a stand-in for principal and provider, and cannot be run.

    Raises:
        ConfigError: For the first problem in it or in the assumptions.
    """
    block = ManifestV1.read(source.document)
    if source.assumptions_path is None:
        traffic = _Traffic([("principal", "principal", 1.0)], ["provider"], 0, 0, 0.0, (0, 0), 0.0, 0, 0, 0.0, 0)
    else:
        try:
            traffic = _assumed(Assumptions.read(source.assumptions))
        except ConfigError as error:
            raise error.within(file=str(source.assumptions_path)) from None
    places = {f"profile.{scope}": "profile" for scope in ("workspace", "providers", "principals")}
    profile = seed_profile(_profile_v1(block.profile, traffic), places)
    return _manifest(source, block, profile, traffic, seed_gates(block.bounds))


def _assumed(block: Assumptions) -> _Traffic:
    unique([principal.id for principal in block.principals], "principals", "id")
    retries, cancellation = block.retries, block.cancellation
    return _Traffic(
        principals=[(principal.id, principal.class_, principal.weight) for principal in block.principals],
        providers=list(unique(block.providers, "providers", "id")),
        small_tokens=block.tokens.small,
        huge_tokens=block.tokens.huge,
        huge_share=block.tokens.huge_share,
        service_ms=(block.service_ms.min, block.service_ms.max),
        failure_rate=block.failure_probability,
        max_retries=retries.max_retries if retries else 0,
        backoff_ms=retries.backoff_ms if retries else 0,
        cancellation_rate=cancellation.probability if cancellation else 0.0,
        cancel_after_ms=cancellation.after_ms if cancellation else 0,
    )


def _profile_v1(block: ProfileV1, traffic: _Traffic) -> dict[str, object]:
    """Return version 1's profile with our keys.

    Its whole load is one evaluation, which is bounded by the smallest ceiling that binding, caller, graph, principal,
    workspace and provider declare; that smallest one is therefore the workspace's. The other limits name no scope and
    hold for the workspace.
    """
    ceilings = (
        block.binding_concurrency,
        block.caller_concurrency,
        block.graph_concurrency,
        block.principal_concurrency,
        block.workspace_concurrency,
        block.provider_concurrency,
    )
    workspace: dict[str, object] = {
        "concurrency": min(ceilings),
        "requests_per_minute": block.requests_per_minute,
        "tokens_per_second": block.tokens_per_second,
        "max_attempts": block.max_attempts_per_invocation,
        "max_batch_size": block.max_batch_size,
        "max_cost_usd": block.max_cost_usd_per_invocation,
        "allow_unknown_cost": block.allow_unknown_cost,
        "max_queue_length": block.max_queue_length,
        "max_queue_wait_ms": block.max_queue_wait_ms,
        "max_request_bytes": block.max_request_bytes,
        "max_items": block.max_items,
    }
    return {
        "profile_version": "decision-load-v1",
        "workspace": {key: value for key, value in workspace.items() if value is not None},
        "providers": {name: {"concurrency": block.provider_concurrency} for name in traffic.providers},
        "principals": {name: {"concurrency": block.principal_concurrency} for name, _, _ in traffic.principals},
    }


def _manifest(
    source: Source,
    block: ManifestV1 | ManifestV2,
    profile: AdmissionProfile,
    traffic: _Traffic,
    gates: tuple[GateSpec, ...],
) -> Manifest:
    phases = _phases(block.arrival_model, block.duration)
    kept = windowed(phases, source.window_ns, 0, DRAIN_NS)
    end_ns = kept[-1].end_ns
    if end_ns % NS_PER_MS:
        raise ConfigError("window", f"{end_ns} ns", "whole milliseconds: the seed's clock has no finer ones")
    family = _family(block.arrival_model, block.duration, traffic, end_ns // NS_PER_MS, source.seed)
    return Manifest(
        schema=block.schema_,
        name=NAME,
        version=block.version,
        mode=block.mode,
        seed=family.seed,
        sha256=source.sha256,
        raw=source.raw,
        path=source.path,
        target_kind="admission-controller",
        discipline="default",
        profile=profile,
        phases=kept,
        warmup_ns=0,
        drain_ns=DRAIN_NS,
        streams=(),
        providers=tuple(_provider(name, traffic) for name in traffic.providers),
        principals=tuple(PrincipalInfo(name, cls) for name, cls, _ in traffic.principals),
        gates=gates,
        provenance=_provenance(source),
        inputs=_inputs(source),
        client=_client(traffic),
        seed_family=family,
        declared_horizon_ns=phases[-1].end_ns,
        format=source.format,
        window_ns=source.window_ns,
        seed_given=source.seed,
        assumptions_path=source.assumptions_path,
        assumptions_raw=source.assumptions_raw,
        overrides=source.overrides,
        lacks=LACKS_V1 if block.schema_ == V1 and source.assumptions_path is None else (),
    )


def _phases(model: BurstyArrivals, duration: Durations) -> tuple[Phase, ...]:
    """Return load, spike and soak.

    The spike is as long as the arrival model says; ``spikeSeconds`` only adds to the total.
    """
    end_s = duration.total_seconds
    if end_s == 0:
        raise ConfigError("duration", 0, "more than 0 seconds in all")
    spike_s = min(duration.load_seconds, end_s)
    soak_s = min(spike_s + model.spike_duration_seconds, end_s)
    edges = (("load", 0, spike_s), ("spike", spike_s, soak_s), ("soak", soak_s, end_s))
    return tuple(Phase(name, start * NS_PER_S, end * NS_PER_S) for name, start, end in edges if start < end)


def _family(
    model: BurstyArrivals, duration: Durations, traffic: _Traffic, end_ms: int, seed: int | None
) -> SeedFamilyModel:
    if seed is not None and not 0 <= seed < 2**32:
        raise ConfigError("seed", seed, "an integer from 0 to 4294967295: the seed's generator has 32 bits of state")
    return SeedFamilyModel(
        seed=model.seed if seed is None else seed,
        rate=model.average_requests_per_second,
        spike_multiplier=model.spike_multiplier,
        spike_start_ms=duration.load_seconds * 1000,
        spike_ms=model.spike_duration_seconds * 1000,
        end_ms=end_ms,
        principals=tuple((index, weight) for index, (_, _, weight) in enumerate(traffic.principals)),
        providers=tuple(sorted(range(len(traffic.providers)), key=lambda index: _code_units(traffic.providers[index]))),
        small_tokens=traffic.small_tokens,
        huge_tokens=traffic.huge_tokens,
        huge_share=traffic.huge_share,
        service_min_ms=traffic.service_ms[0],
        service_max_ms=traffic.service_ms[1],
        failure_rate=traffic.failure_rate,
        max_retries=traffic.max_retries,
        backoff_ms=traffic.backoff_ms,
        cancellation_rate=traffic.cancellation_rate,
        cancel_after_ms=traffic.cancel_after_ms,
    )


def _code_units(name: str) -> bytes:
    """Return what orders names by UTF-16 code unit, as the seed's language does."""
    return name.encode("utf-16-be")


def _exact(number: float) -> Fraction:
    """Return the shortest decimal that reads back as this double: the text it was read from, for up to 15 digits."""
    return Fraction(Decimal(repr(number)))


def _provider(name: str, traffic: _Traffic) -> ProviderModel:
    low, high = (ms * NS_PER_MS for ms in traffic.service_ms)
    return ProviderModel(name, Uniform(low, high), _exact(traffic.failure_rate))


def _client(traffic: _Traffic) -> Client:
    backoff_ns = traffic.backoff_ms * NS_PER_MS
    layers = (Retry("fixed", backoff_ns, backoff_ns, "none", traffic.max_retries + 1),) if traffic.max_retries else ()
    cancels = traffic.cancellation_rate > 0
    return Client(
        cancel_probability=_exact(traffic.cancellation_rate),
        cancel_after_ns=traffic.cancel_after_ms * NS_PER_MS if cancels else None,
        layers=layers,
        abortable_backoff=False,
    )


def _inputs(source: Source) -> tuple[InputFile, ...]:
    if source.assumptions_path is None:
        return ()
    raw = source.assumptions_raw
    return (InputFile(source.assumptions_path.name, sha256(raw).hexdigest(), len(raw)),)


def _provenance(source: Source) -> tuple[Provenance, ...]:
    """Return a line for each assumption, as the file spells it."""
    if not isinstance(source.assumptions, Mapping) or source.assumptions_path is None:
        return ()
    reason = str(source.assumptions.get("source"))
    found: list[Provenance] = []
    _walk(source.assumptions, "", found, f"{source.assumptions_path.name}: {reason}")
    return tuple(found)


def _walk(node: object, path: str, found: list[Provenance], source: str) -> None:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if path or key not in {"schema", "source"}:
                _walk(value, f"{path}.{key}" if path else str(key), found, source)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            _walk(value, f"{path}[{place}]", found, source)
    else:
        value = plain_decimal(Fraction(node)) if isinstance(node, Decimal) else str(node)
        found.append(Provenance(path, value, "assumed", source))
