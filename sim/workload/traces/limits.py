"""The limits that a manifest made from a trace starts with: those of a limits file, or assumed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sim.manifest.documents import parse_document
from sim.manifest.inputs import read_bytes
from sim.workload.traces.assume import Load
from tollgate.core.errors import ConfigError, nearest
from tollgate.decision.profile import AdmissionProfile

PROVIDER: Final = "primary"
"""Name of the provider where no limits file names one."""

PRINCIPAL: Final = "p0001"
"""Name of the principal of a trace with one; ids out of a trace never get into a manifest or a record."""

PRINCIPALS: Final = "p"
"""Name of the template for the principals of a trace with several: they become ``p0001``, ``p0002`` and so on."""


@dataclass(frozen=True, slots=True)
class Limits:
    """A profile, and which of its scopes the traffic meets.

    Attributes:
        block: The manifest's ``profile:`` block.
        provider: Who serves the traffic.
        principal: Whom it belongs to: a name, or a template for several.
        queue_wait_ns: Longest wait that these scopes allow, or None.
        file: Name of the limits file; None for an assumed profile.
    """

    block: Mapping[str, object]
    provider: str
    principal: str
    queue_wait_ns: int | None
    file: str | None


def assumed_limits(load: Load, *, principals: int) -> Limits:
    """Return limits under which a trace passes; see :meth:`sim.workload.traces.assume.Load.profile`."""
    principal = PRINCIPAL if principals == 1 else PRINCIPALS
    block = load.profile(provider=PROVIDER, principal=principal)
    return _limits(block, AdmissionProfile.from_mapping(block), PROVIDER, principal, None)


def limits_of_file(path: Path, *, provider: str | None, principal: str | None) -> Limits:
    """Return the limits of a file, which is validated.

    Args:
        path: A YAML or JSON file with a ``profile:`` block.
        provider: Which of its providers serves the traffic; None if it has one.
        principal: Whose limits the principals of the trace get; None if it has one.

    Raises:
        ConfigError: If the file cannot be read or used, or a name is needed or unknown.
    """
    data = read_bytes(path, "a limits file")
    try:
        profile = AdmissionProfile.from_mapping(_profile_block(data, is_json=path.suffix.lower() == ".json"))
    except ConfigError as error:
        raise error.within(file=str(path)) from None
    provider = _one_of(profile.providers, "--provider", provider, path)
    principal = _one_of(profile.principals, "--principal", principal, path)
    return _limits(profile.to_mapping(), profile, provider, principal, path.name)


def _limits(
    block: Mapping[str, object], profile: AdmissionProfile, provider: str, principal: str, file: str | None
) -> Limits:
    scopes = (profile.workspace, profile.providers[provider], profile.principals[principal])
    waits = [scope.max_queue_wait_ns for scope in scopes if scope.max_queue_wait_ns is not None]
    return Limits(block, provider, principal, min(waits, default=None), file)


def _profile_block(data: bytes, *, is_json: bool) -> Mapping[str, object]:
    document = parse_document(data, "json" if is_json else "yaml")
    block = document.get("profile") if isinstance(document, dict) else None
    if not isinstance(block, dict):
        raise ConfigError("profile", block, "a profile: block, as in a manifest")
    return block


def _one_of(known: Mapping[str, object], option: str, named: str | None, path: Path) -> str:
    if named is None and len(known) == 1:
        return next(iter(known))
    if named is None or named not in known:
        allowed = f"one of the names in {path.name}: {', '.join(known)}"
        raise ConfigError(option, named, allowed, hint=nearest(named, known) if named is not None else "")
    return named
