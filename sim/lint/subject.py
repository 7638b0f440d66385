"""A manifest as the rules look at it: who calls whom under which limits, and where each of them is written.

Owns what several rules ask for: flows, scopes, key paths in either family of manifests, the extremes of a distribution.
It must not know any rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Final

from sim.evidence.build import guarantees_of, plan_of
from sim.gates import Gate, Guarantees
from sim.manifest.clients import Client
from sim.manifest.distributions import BoundedPareto, Constant, Distribution, Empirical, Mixture, Uniform
from sim.manifest.model import SEED_SCHEMAS, Manifest, Stream
from sim.manifest.work import PLAIN, Drawn, Exact, MaxTokens, OutputEstimate, Scaled, Unknown
from tollgate.decision.limits import FIELDS, AdmissionLimits

_KEYS: Final = {entry.name: entry.key for entry in FIELDS}
_INT64_BYTES: Final = 8

BUCKETS: Final = (("requests_per_minute", "request_rate"), ("tokens_per_second", "token_rate"))
"""Each limit that is a bucket: its name, and the attribute that holds rate and burst."""

Extent = tuple[int | None, int | None]
"""The least and the most of something; None where there is no such bound."""

_PLAIN: Final[Mapping[str, Extent | None]] = {
    name: (figure, figure) for name, figure in PLAIN.items() if figure is not None
}


@dataclass(frozen=True, slots=True)
class Flow:
    """The requests of one stream; those of the seed's arrival model are one flow.

    Attributes:
        path: Key path of the stream.
        tokens_path: Key path of the sizes.
        client_path: Key path of its callers' behaviour.
        principals: Names of those who ask.
        providers: Names of those who are asked.
        client: How its callers behave.
        tokens: Fewest and most tokens that a request is estimated at; no bounds where a trace brings them.
        knows_tokens: Whether the tokens are estimated at all.
        stated: Least and most of each other figure that a request states, None for one that is said to be unknown.
        stream: The stream; None for the seed's.
    """

    path: str
    tokens_path: str
    client_path: str
    principals: Sequence[str]
    providers: Sequence[str]
    client: Client
    tokens: Extent
    knows_tokens: bool = True
    stated: Mapping[str, Extent | None] = field(default_factory=lambda: _PLAIN)
    stream: Stream | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose limits: the workspace's, a provider's, or those of principals who share one block.

    Attributes:
        kind: ``workspace``, ``provider`` or ``principal``.
        name: Of the provider, or of one of the principals; empty for the workspace.
        limits: The limits.
        path: Key path of the block.
    """

    kind: str
    name: str
    limits: AdmissionLimits
    path: str

    @property
    def where(self) -> dict[str, str]:
        """The selectors of a metric that mean this scope."""
        return {} if self.kind == "workspace" else {self.kind: self.name}


@dataclass(frozen=True)
class Subject:
    """The manifest under scrutiny."""

    manifest: Manifest

    @property
    def is_seed(self) -> bool:
        """Whether it is one of the seed's manifests, which spell and place their keys in their own way."""
        return self.manifest.schema in SEED_SCHEMAS

    @cached_property
    def guarantees(self) -> Guarantees:
        """What its configuration guarantees."""
        return guarantees_of(self.manifest)

    @cached_property
    def gates(self) -> list[Gate]:
        """Its gates, each with what the configuration guarantees, as a run would judge them."""
        return [Gate.from_row(row) for row in plan_of(self.manifest, seed=self.manifest.seed)["gates"]]

    def gate_path(self, at: int) -> str:
        """Return the key path of a gate."""
        return f"bounds.{self.gates[at].id}" if self.is_seed else f"gates[{at}]"

    @cached_property
    def flows(self) -> list[Flow]:
        """Who asks whom, by stream."""
        names = [info.name for info in self.manifest.principals]
        providers = [provider.id for provider in self.manifest.providers]
        model, client = self.manifest.seed_family, self.manifest.client
        if model is not None and client is not None:
            sizes = [model.small_tokens, *([model.huge_tokens] if model.huge_share else [])]
            extent = min(sizes), max(sizes)
            path = "arrivalModel"
            largest = "hugeTokens" if model.huge_share and model.huge_tokens == extent[1] else "smallTokens"
            return [Flow(path, f"{path}.{largest}", path, names, providers, client, extent)]
        return [
            Flow(
                path=f"streams[{stream.index}]",
                tokens_path=f"streams[{stream.index}].work",
                client_path=f"streams[{stream.index}].client",
                principals=[names[at] for at in stream.principals],
                providers=[providers[at] for at, _ in stream.providers],
                client=stream.client,
                tokens=_estimated(stream),
                knows_tokens=stream.work is None or not isinstance(stream.work.output_estimate, Unknown),
                stated=_stated(stream),
                stream=stream,
            )
            for stream in self.manifest.streams
        ]

    @cached_property
    def busy(self) -> dict[str, None]:
        """Names of the principals that some stream has, in order."""
        return {name: None for flow in self.flows for name in flow.principals}

    @cached_property
    def scopes(self) -> list[Scope]:
        """Workspace, providers, and each block of a principal's limits once, of those that some stream reaches."""
        profile = self.manifest.profile
        prefix = "" if self.is_seed else "profile."
        called = {name: None for flow in self.flows for name in flow.providers}
        found = [Scope("workspace", "", profile.workspace, f"{prefix}workspace")]
        found += [
            Scope("provider", name, profile.providers[name], f"{prefix}providers.{name}")
            for name in called
            if name in profile.providers
        ]
        seen: set[int] = set()
        for name in self.busy:
            limits = profile.principals.get(name)
            if limits is not None and id(limits) not in seen:
                seen.add(id(limits))
                found.append(Scope("principal", name, limits, self.principal_path(name)))
        return found

    def principal_path(self, name: str) -> str:
        """Return the key path of a principal's limits: its own block, or the template's that ``count`` made it from."""
        if self.is_seed:
            return f"principals.{name}.limits"
        return f"profile.principals.{self._templates.get(name, name)}"

    @cached_property
    def _templates(self) -> dict[str, str]:
        """The template of each principal that ``count`` made, as far as its siblings show that it did."""
        return {
            name: re.sub("-?[0-9]+$", "", name)
            for flow in self.flows
            if len(flow.principals) > 1
            for name in flow.principals
        }

    def key(self, limit: str) -> str:
        """Return how the manifest spells a limit."""
        key = _KEYS[limit]
        return re.sub("_(.)", lambda match: match[1].upper(), key) if self.is_seed else key

    def lanes(self) -> Iterator[tuple[Flow, Scope, Scope, Scope]]:
        """Yield each flow with the principal, the workspace and the provider that its requests are held to."""
        profile = self.manifest.profile
        workspace = self.scopes[0]
        providers = {scope.name: scope for scope in self.scopes if scope.kind == "provider"}
        by_limits = {id(scope.limits): scope for scope in self.scopes if scope.kind == "principal"}
        for flow in self.flows:
            blocks = {id(profile.principals[name]): None for name in flow.principals if name in profile.principals}
            for block in blocks:
                for name in flow.providers:
                    if name in providers:
                        yield flow, by_limits[block], workspace, providers[name]


def text(limits: AdmissionLimits, limit: str) -> str:
    """Return a limit as a manifest writes it."""
    entry = next(entry for entry in FIELDS if entry.name == limit)
    return str(entry.write(getattr(limits, limit)))


def extent(law: Distribution) -> Extent:
    """Return the least and the most that a distribution gives; None where it comes near 0 or goes on for ever."""
    match law:
        case Constant():
            return law.value, law.value
        case Uniform() | BoundedPareto():
            return law.low, law.high
        case Empirical():
            first, last = law.values[:_INT64_BYTES], law.values[-_INT64_BYTES:]
            return int.from_bytes(first, "little", signed=True), int.from_bytes(last, "little", signed=True)
        case Mixture():
            lows, highs = zip(*(extent(part) for _, part in law.parts), strict=True)
            return None if None in lows else min(lows), None if None in highs else max(highs)
    return None, None


def _estimated(stream: Stream) -> Extent:
    """Return the fewest and most tokens that a request of a stream is estimated at."""
    if getattr(stream.arrivals, "options", {}).get("tokens_columns"):
        return None, None
    work = stream.work
    if work is None or work.prompt_tokens is None:
        return extent(stream.tokens)
    prompt, output = extent(work.prompt_tokens), _output(work.output_estimate, extent(work.output_tokens))
    low, high = (None if a is None or b is None else a + b for a, b in zip(prompt, output, strict=True))
    return low, high


def _output(estimate: OutputEstimate, actual: Extent) -> Extent:
    """Return what the output is estimated at, from what it is."""
    match estimate:
        case Exact():
            return actual
        case MaxTokens():
            return estimate.cap, estimate.cap
        case Scaled():
            low, high = (None if end is None else ceil(estimate.factor * end) for end in actual)
            return low, high
        case Drawn():
            return extent(estimate.tokens)
    return None, None


def _stated(stream: Stream) -> Mapping[str, Extent | None]:
    if stream.work is None:
        return _PLAIN
    stated: dict[str, Extent | None] = dict(_PLAIN)
    for name, law in stream.work.stated.items():
        stated[name] = None if law is None else extent(law)
    return stated
