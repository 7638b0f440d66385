"""Whose limits a profile holds, as reports name them and observations label them.

Owns the walk over a ``profile:`` block and the sizes of buckets it leaves unsaid. Must not know loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Scope:
    """The workspace, a provider or a principal.

    Attributes:
        label: How observations and series label it; empty for the workspace.
        name: How sentences name it.
        path: Where the profile holds it.
        limits: Its limits.
    """

    label: Mapping[str, str]
    name: str
    path: str
    limits: Mapping[str, object]

    def bound(self, limit: str) -> Fraction | None:
        """Return a positive limit; none where it is absent or zero (a ratio to zero says nothing)."""
        value = self.limits.get(limit)
        if not isinstance(value, int | str) or isinstance(value, bool):
            return None
        return Fraction(value) or None

    def burst(self, limit: str, burst: str) -> Fraction | None:
        """Return the size of a bucket of which ``limit`` is the rate; None where it has no such bucket.

        By default a bucket holds one minute's worth of requests, one second's worth of tokens, and at least 1.
        """
        rate = self.bound(limit)
        return None if rate is None else self.bound(burst) or Fraction(max(1, rate // 1))


def scopes(profile: Mapping[str, object]) -> tuple[Scope, list[Scope], list[Scope]]:
    """Return the workspace, the providers and the principals of a profile."""

    def named(kind: str, word: str) -> list[Scope]:
        items = _limits(profile.get(kind)).items()
        return [
            Scope({word: name}, f"{word} {name}", f"profile.{kind}.{name}", _limits(limits)) for name, limits in items
        ]

    workspace = Scope({}, "workspace", "profile.workspace", _limits(profile.get("workspace")))
    return workspace, named("providers", "provider"), named("principals", "principal")


def _limits(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
