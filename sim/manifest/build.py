"""From the shape of ``capacity-manifest/v1`` to the internal model.

Names are resolved, principals expanded and the rules checked that span several blocks. This module must not know how a
document was spelt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from sim.manifest import capacity, traffic
from sim.manifest.arrival_build import arrivals
from sim.manifest.client_build import client
from sim.manifest.gates import gate_specs
from sim.manifest.inputs import Inputs
from sim.manifest.model import Manifest, Phase, PrincipalInfo, Provenance, Stream
from sim.manifest.provider_build import outages_of, provider_models
from sim.manifest.providers import Outage
from sim.manifest.scalars import plain_decimal
from sim.manifest.source import Source, known, unique, windowed
from sim.manifest.wording import NOTHING, Said, shown_value
from sim.manifest.work_build import tokens_and_work
from tollgate.core.errors import ConfigError
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.profile import AdmissionProfile


def build_capacity(source: Source) -> Manifest:
    """Return the manifest that a ``capacity-manifest/v1`` document describes.

    Raises:
        ConfigError: For the first problem in it.
    """
    block = capacity.CapacityManifest.read(source.document)
    template = _profile(source.document["profile"])
    streams_by_name = unique([stream.name for stream in block.streams], "streams", "name")
    providers = unique([provider.id for provider in block.providers], "providers", "id")
    for place, provider in enumerate(block.providers):
        known(provider.id, _index(template.providers), f"providers[{place}].id", "a provider of profile.providers")
    people = _People(block.streams, template)
    phases = _phases(block, streams_by_name)
    inputs = Inputs(source.path.parent)
    horizon_ns = phases[-1].end_ns
    outages = outages_of(block.providers, horizon_ns, horizon_ns + block.drain_seconds)
    outages_by_name = {outage.name: outage for own in outages for outage in own}
    streams = tuple(
        _stream(place, stream, people, providers, inputs, horizon_ns, outages_by_name)
        for place, stream in enumerate(block.streams)
    )
    labels = {
        "class": _index([stream.cls for stream in streams]),
        "principal": people.index,
        "provider": providers,
        "phase": _index([phase.name for phase in phases]),
    }
    return Manifest(
        schema=capacity.SCHEMA,
        name=block.name,
        version=block.version,
        mode=block.mode,
        seed=block.seed if source.seed is None else source.seed,
        sha256=source.sha256,
        raw=source.raw,
        path=source.path,
        target_kind=block.target.kind,
        discipline=block.target.discipline,
        profile=people.profile,
        phases=windowed(phases, source.window_ns, block.warmup_seconds, block.drain_seconds),
        warmup_ns=block.warmup_seconds,
        drain_ns=block.drain_seconds,
        streams=streams,
        providers=provider_models(
            block.providers, outages, horizon_ns if source.window_ns is None else source.window_ns, inputs
        ),
        principals=people.infos,
        gates=gate_specs(block.gates, labels),
        replications_n=block.replications.n,
        provenance=tuple(Provenance(entry.path, entry.value, entry.kind, entry.source) for entry in block.provenance),
        inputs=tuple(inputs.files.values()),
        declared_horizon_ns=horizon_ns,
        format=source.format,
        window_ns=source.window_ns,
        seed_given=source.seed,
        overrides=source.overrides,
    )


def _profile(block: object) -> AdmissionProfile:
    try:
        return AdmissionProfile.from_mapping(cast("Mapping[str, object]", block))
    except ConfigError as error:
        raise ConfigError(error.path, shown_value(error.got), error.allowed, hint=error.hint) from None


def _index(names: Sequence[str] | Mapping[str, object]) -> dict[str, int]:
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


class _People:
    """Everyone who asks, and the profile with a row for each.

    A template with ``count: N`` becomes N principals who share one object of limits.
    """

    def __init__(self, streams: Sequence[traffic.StreamBlock], template: AdmissionProfile) -> None:
        """Expand the templates.

        Raises:
            ConfigError: For a stream of an unknown principal, two principals of one name, one principal in two classes,
                or reservations that no longer fit.
        """
        counts: dict[str, list[int | None]] = {}
        self._replayed = {stream.principal for stream in streams if stream.arrivals.kind == "trace"}
        classes: dict[str, str] = {}
        for place, stream in enumerate(streams):
            path = f"streams[{place}]"
            known(
                stream.principal, _index(template.principals), f"{path}.principal", "a principal of profile.principals"
            )
            counts.setdefault(stream.principal, []).append(stream.count)
            cls = stream.cls or stream.name
            if classes.setdefault(stream.principal, cls) != cls:
                allowed = f"{classes[stream.principal]!r}, the class that {stream.principal!r} has in another stream"
                raise ConfigError(f"{path}.class", cls, allowed)
        limits: dict[str, AdmissionLimits] = {}
        infos: list[PrincipalInfo] = []
        for name, its_limits in template.principals.items():
            for expanded in self._expanded(name, counts.get(name, [None])):
                if expanded in limits:
                    raise ConfigError(
                        f"profile.principals.{name}",
                        Said(f"a second {expanded!r}"),
                        "names that stay apart under count",
                    )
                limits[expanded] = its_limits
                infos.append(PrincipalInfo(expanded, classes.get(name, name)))
        self.infos = tuple(infos)
        self.index = _index(limits)
        try:
            self.profile = dataclasses.replace(template, principals=limits)
        except ConfigError as error:
            raise error.within("profile") from None

    def of(self, stream: traffic.StreamBlock) -> tuple[int, ...]:
        """Return the indices of a stream's principals."""
        if stream.count is None:
            return (self.index[stream.principal],)
        first = self.index[self._member(stream.principal, 1)]
        return tuple(range(first, first + stream.count))

    def _expanded(self, name: str, counts: Sequence[int | None]) -> list[str]:
        """Return the principals that a template stands for, given the counts of the streams that use it."""
        most = max((count for count in counts if count is not None), default=0)
        plain = [name] if None in counts else []
        return plain + [self._member(name, k) for k in range(1, most + 1)]

    def _member(self, name: str, k: int) -> str:
        """Return the name of a template's k-th principal: ``quiet-1``, or ``p0001`` for ids out of a trace."""
        return f"{name}{k:04d}" if name in self._replayed else f"{name}-{k}"


def _phases(block: capacity.CapacityManifest, streams: Mapping[str, int]) -> tuple[Phase, ...]:
    unique([phase.name for phase in block.phases], "phases", "name")
    phases = []
    start_ns = 0
    for place, phase in enumerate(block.phases):
        for name, factor in phase.rate_multiplier.items():
            path = f"phases[{place}].rate_multiplier.{name}"
            index = known(name, streams, path, "a stream of this manifest")
            if isinstance(block.streams[index].arrivals, traffic.TraceArrivals):
                raise ConfigError(
                    path, Said(plain_decimal(factor)), "a stream with a rate: a trace is replayed as it is"
                )
        end_ns = start_ns + phase.seconds
        phases.append(Phase(phase.name, start_ns, end_ns, MappingProxyType(dict(phase.rate_multiplier))))
        start_ns = end_ns
    return tuple(phases)


def _stream(
    place: int,
    block: traffic.StreamBlock,
    people: _People,
    providers: Mapping[str, int],
    inputs: Inputs,
    horizon_ns: int,
    outages: Mapping[str, Outage],
) -> Stream:
    path = f"streams[{place}]"
    targets = [
        (known(name, providers, f"{path}.providers.{name}", "a provider of this manifest"), weight)
        for name, weight in block.providers.items()
    ]
    total = sum(weight for _, weight in targets)
    sized = isinstance(block.arrivals, traffic.TraceArrivals) and block.arrivals.tokens_columns
    tokens, work = tokens_and_work(block.work, f"{path}.work", inputs)
    if not sized and (block.work is None or (block.work.tokens is None and block.work.prompt_tokens is None)):
        key = f"{path}.work" if block.work is None else f"{path}.work.tokens"
        raise ConfigError(key, NOTHING, "tokens of a request: these arrivals bring no sizes")
    return Stream(
        index=place,
        name=block.name,
        cls=block.cls or block.name,
        principals=people.of(block),
        arrivals=arrivals(block.arrivals, f"{path}.arrivals", inputs, horizon_ns),
        tokens=tokens,
        providers=tuple((index, weight / total) for index, weight in targets),
        client=client(block.client, f"{path}.client", outages, [index for index, _ in targets]),
        work=work,
    )
