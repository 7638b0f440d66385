"""A profile: all limits of one workspace as one immutable value.

Workspace, providers and every principal change together or not at all, so that no request is ever judged by half of one
profile and half of another. This module owns what makes a profile whole (reservations that fit their pools) and its
digest. It must not know who runs under it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal, cast, get_args

from tollgate.core.canonical import digest
from tollgate.core.errors import ConfigError
from tollgate.core.ids import lane_name
from tollgate.core.units import MAX_SAFE_INTEGER
from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.reading import block

SchedulingKind = Literal["turns", "deficit"]

_VERSION_ALLOWED: Final = "a text of 1 to 128 printable characters"

DEFAULT_QUANTUM_TOKENS: Final = 1_000
"""Credit a lane gains a visit in the weighted discipline. Deficit round robin costs constant time a decision only where
the quantum is not far below a usual request (Shreedhar and Varghese, SIGCOMM 1995, section 4); a thousand tokens is a
usual prompt."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How waiting lanes are put in order.

    Attributes:
        kind: ``turns`` serves the lane served longest ago; ``deficit`` is deficit round robin over estimated tokens by
            weight.
        quantum_tokens: Credit a lane of weight 1 gains a visit (``deficit`` only).
        protect_large_requests: Whether a request deferred by token buckets alone is kept from being overtaken for ever.
    """

    kind: SchedulingKind = "turns"
    quantum_tokens: int = DEFAULT_QUANTUM_TOKENS
    protect_large_requests: bool = True

    def __post_init__(self) -> None:
        """Refuse values outside their range.

        Raises:
            ConfigError: Naming the field.
        """
        if self.kind not in get_args(SchedulingKind):
            raise ConfigError("kind", self.kind, f"one of {', '.join(get_args(SchedulingKind))}")
        if type(self.quantum_tokens) is not int or not 1 <= self.quantum_tokens <= MAX_SAFE_INTEGER:
            raise ConfigError("quantum_tokens", self.quantum_tokens, "an integer from 1 to 2^53-1")
        if not isinstance(self.protect_large_requests, bool):
            raise ConfigError("protect_large_requests", self.protect_large_requests, "true or false")

    def to_mapping(self) -> dict[str, object]:
        """Return the block that reads back as this value."""
        return {
            "kind": self.kind,
            "protect_large_requests": self.protect_large_requests,
            "quantum_tokens": self.quantum_tokens,
        }


@dataclass(frozen=True)
class AdmissionProfile:
    """The limits of a workspace, its providers and its principals, under a version that never changes its meaning.

    Attributes:
        profile_version: Name of this set of limits; the registry refuses other limits under the same name.
        workspace: Limits of the whole workspace.
        providers: Limits by provider; a provider that is not listed is refused as ``unconfigured-provider``.
        principals: Limits by principal; a principal that is not listed is refused as ``unconfigured-principal``.
        scheduling: How waiting lanes are put in order.
    """

    profile_version: str
    workspace: AdmissionLimits
    providers: Mapping[str, AdmissionLimits]
    principals: Mapping[str, AdmissionLimits]
    scheduling: Scheduling = field(default_factory=Scheduling)

    def __post_init__(self) -> None:
        """Freeze the maps and refuse a profile that could not be kept.

        Raises:
            ConfigError: For a bad name, no provider or principal, or reservations above the concurrency of a pool.
        """
        version: object = self.profile_version  # typed code can only pass a text; other code can pass anything
        if not isinstance(version, str) or not 1 <= len(version) <= 128 or not version.isprintable():
            raise ConfigError("profile_version", self.profile_version, _VERSION_ALLOWED)
        for kind, limits in (("providers", self.providers), ("principals", self.principals)):
            if not limits:
                raise ConfigError(kind, {}, f"at least one of the {kind}")
            for name in limits:
                _checked_name(kind, name)
            object.__setattr__(self, kind, MappingProxyType(dict(limits)))
        reserved = sum(limits.reserved_concurrency for limits in self.principals.values())
        pools = {"workspace": self.workspace} | {f"providers.{name}": limits for name, limits in self.providers.items()}
        for path, pool in pools.items():
            if pool.concurrency is not None and reserved > pool.concurrency:
                raise ConfigError(
                    f"{path}.concurrency",
                    pool.concurrency,
                    f"at least the principals' reservations together, {reserved}",
                )

    @cached_property
    def digest(self) -> str:
        """``sha256:`` and the hex digest of the canonical limits, principals included, the version left out."""
        block = self.to_mapping()
        del block["profile_version"]
        return digest(block)

    @classmethod
    def from_mapping(cls, mapping: object, *, path: str = "profile") -> AdmissionProfile:
        """Read the ``profile:`` block of a manifest or a limits file.

        Args:
            mapping: ``profile_version``, ``workspace``, ``providers``, ``principals`` and, if wanted, ``scheduling``.
            path: Key path of the block, for messages.

        Raises:
            ConfigError: Naming the key path, the value and what is allowed.
        """
        required = ("profile_version", "workspace", "providers", "principals")
        got = block(mapping, path, "a profile", required=required, optional=("scheduling",))
        version = got["profile_version"]
        if not isinstance(version, str):
            raise ConfigError(f"{path}.profile_version", version, _VERSION_ALLOWED)
        workspace = AdmissionLimits.from_mapping(got["workspace"], scope="workspace", path=f"{path}.workspace")
        providers = _by_name(got["providers"], "provider", f"{path}.providers")
        principals = _by_name(got["principals"], "principal", f"{path}.principals")
        scheduling = _scheduling(got.get("scheduling"), f"{path}.scheduling")
        try:
            return cls(version, workspace, providers, principals, scheduling)
        except ConfigError as error:
            raise error.within(path) from None

    def to_mapping(self) -> dict[str, object]:
        """Return the block that reads back as this profile."""
        return {
            "principals": {name: limits.to_mapping() for name, limits in sorted(self.principals.items())},
            "profile_version": self.profile_version,
            "providers": {name: limits.to_mapping() for name, limits in sorted(self.providers.items())},
            "scheduling": self.scheduling.to_mapping(),
            "workspace": self.workspace.to_mapping(),
        }


def _checked_name(kind: str, name: object) -> None:
    try:
        lane_name(cast("str", name))
    except ConfigError as error:
        raise ConfigError(f"{kind}.{name!r}", name, error.allowed) from None


def _by_name(raw: object, scope: Literal["principal", "provider"], path: str) -> dict[str, AdmissionLimits]:
    if not isinstance(raw, Mapping):
        raise ConfigError(path, raw, f"a mapping from {scope} to its limits")
    # Principals made from one template share its block, and so one limits object: 10^5 of them cost one reading.
    read: dict[int, AdmissionLimits] = {}
    found: dict[str, AdmissionLimits] = {}
    for name, limits in raw.items():
        if id(limits) not in read:
            read[id(limits)] = AdmissionLimits.from_mapping(limits, scope=scope, path=f"{path}.{name}")
        found[name] = read[id(limits)]
    return found


def _scheduling(raw: object, path: str) -> Scheduling:
    if raw is None:
        return Scheduling()
    got = block(raw, path, "a scheduling", optional=("kind", "quantum_tokens", "protect_large_requests"))
    try:
        return Scheduling(**cast("dict[str, Any]", dict(got)))
    except ConfigError as error:
        raise error.within(path) from None
