"""Every pool of one controller, and the lanes between them.

This module owns which pools exist and how all of them follow a profile at once. It must not know who goes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tollgate.decision.limits import AdmissionLimits
from tollgate.decision.pools import Pool, PrincipalPool, ProviderPool, RequestLane, WorkspacePool
from tollgate.decision.profile import AdmissionProfile

_NO_LIMITS: Final = AdmissionLimits()


class Pools:
    """Every pool of one controller, and the lanes between them.

    Attributes:
        lanes: By provider, then by principal; made when a principal first asks.
        reserved: Permits reserved by all principals together.
        workspace: The workspace.
        providers: By name, in the order of the profile that first named them; a provider that a later profile no longer
            names stays while something of it is in flight, waits or was earned.
    """

    __slots__ = ("_principals", "_profile", "lanes", "providers", "reserved", "workspace")

    def __init__(self, workspace: str, profile: AdmissionProfile, now_ns: int) -> None:
        """Make the pools of a profile with nothing in flight; principals get theirs when they first ask."""
        self.workspace = WorkspacePool(workspace, profile.workspace, now_ns)
        self.providers: dict[str, ProviderPool] = {}
        self._principals: dict[str, PrincipalPool] = {}
        self.lanes: dict[str, dict[str, RequestLane]] = {}
        self.configure(profile, now_ns)

    def __iter__(self) -> Iterator[Pool]:
        """Iterate over every pool."""
        yield self.workspace
        yield from self._principals.values()
        yield from self.providers.values()

    def all_lanes(self) -> Iterator[RequestLane]:
        """Iterate over every lane, provider by provider, in the order in which they were made."""
        for lanes in self.lanes.values():
            yield from lanes.values()

    def new_lane(self, principal: str, provider: str, now_ns: int) -> RequestLane:
        """Make the lane of a principal at a provider when it is first needed.

        A name that the profile does not know gets a lane that is not kept: unknown names use no memory.
        """
        to = self.providers.get(provider)
        limits = self._profile.principals.get(principal)
        of = self._principals.get(principal)
        if of is None:
            of = PrincipalPool(principal, limits or _NO_LIMITS, self.workspace, now_ns)
        if to is not None and limits is not None:
            self._principals[principal] = of
            lane = self.lanes[provider][principal] = RequestLane(of, self.workspace, to)
            return lane
        if limits is None:
            of.is_configured = False
        if to is None:
            to = ProviderPool(provider, _NO_LIMITS, now_ns)
            to.is_configured = False
        return RequestLane(of, self.workspace, to)

    def configure(self, profile: AdmissionProfile, now_ns: int) -> None:
        """Follow a profile. Occupancy and levels stay; a pool is forgotten only where a fresh one would be the same."""
        self._profile = profile
        self.workspace.configure(profile.workspace, now_ns)
        for name, limits in profile.providers.items():
            if name in self.providers:
                self.providers[name].configure(limits, now_ns)
            else:
                self.providers[name] = ProviderPool(name, limits, now_ns)
                self.lanes[name] = {}
        for name in [name for name in self.providers if name not in profile.providers]:
            self.providers[name].is_configured = False
            if self.providers[name].is_fresh(now_ns):
                del self.providers[name]
                del self.lanes[name]
        for name, pool in list(self._principals.items()):
            self._configure_principal(name, pool, now_ns)
        self.reserved = sum(limits.reserved_concurrency for limits in profile.principals.values())
        self.workspace.unused_reserved = sum(
            limits.reserved_concurrency - min(limits.reserved_concurrency, self._in_use(name))
            for name, limits in profile.principals.items()
            if limits.reserved_concurrency
        )
        for lane in self.all_lanes():
            lane.follow()

    def _configure_principal(self, name: str, pool: PrincipalPool, now_ns: int) -> None:
        limits = self._profile.principals.get(name)
        if limits is None:
            pool.is_configured = False
            if pool.is_fresh(now_ns):
                del self._principals[name]
                for lanes in self.lanes.values():
                    lanes.pop(name, None)
        else:
            pool.configure(limits, now_ns)
        pool.join(self.workspace)

    def _in_use(self, principal: str) -> int:
        pool = self._principals.get(principal)
        return 0 if pool is None else pool.gauge.in_use
