"""Limits in the seed's spelling: camel case into ours, and complaints back into the seed's."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic.alias_generators import to_camel, to_snake

from sim.manifest.wording import Said, shown_value
from tollgate.core.errors import ConfigError, nearest
from tollgate.decision.limits import FIELDS, Scope
from tollgate.decision.profile import AdmissionProfile

_NOT_THE_SEEDS = ("requests_burst", "tokens_burst", "weight")
"""Limits of ours that the seed's manifests do not have."""

_BREAKER_KEYS = ("failureThreshold", "openMs", "halfOpenMaxCalls")


def limits_block(block: Mapping[str, object], scope: Scope, path: str) -> dict[str, object]:
    """Return one scope's limits with our keys.

    Args:
        block: As the seed spells it.
        scope: Whose limits they are.
        path: Key path of the block, for complaints.

    Raises:
        ConfigError: For a key that the seed does not have.
    """
    known = [to_camel(entry.key) for entry in FIELDS if scope in entry.scopes and entry.key not in _NOT_THE_SEEDS]
    ours = _renamed(block, known, path)
    breaker = ours.get("circuit_breaker")
    if isinstance(breaker, Mapping):
        ours["circuit_breaker"] = _renamed(breaker, _BREAKER_KEYS, f"{path}.circuitBreaker")
    return ours


def _renamed(block: Mapping[str, object], known: list[str] | tuple[str, ...], path: str) -> dict[str, object]:
    for key in block:
        if key not in known:
            raise ConfigError(
                f"{path}.{key}",
                Said(f"the unknown key {key!r}"),
                f"the keys {', '.join(known)}",
                hint=nearest(key, known),
            )
    return {to_snake(key): value for key, value in block.items()}


def seed_profile(block: Mapping[str, object], places: Mapping[str, str]) -> AdmissionProfile:
    """Return the profile that a renamed block describes.

    Args:
        block: A profile block with our keys.
        places: Where each part of it stands in the seed's file, by its path in ours; longer paths count first.

    Raises:
        ConfigError: In the seed's words.
    """
    try:
        return AdmissionProfile.from_mapping(block)
    except ConfigError as error:
        path = error.path
        for ours in sorted(places, key=len, reverse=True):
            if path == ours or path.startswith(f"{ours}."):
                rest = path[len(ours) :].lstrip(".").split(".")
                path = ".".join(filter(None, [places[ours], *map(to_camel, rest)]))
                break
        raise ConfigError(path, shown_value(error.got), error.allowed, hint=error.hint) from None
