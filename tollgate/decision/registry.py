"""The registry: one controller for each workspace, and what every version of its limits has stood for.

Policies are told apart by their limits, never by the object that carries them: a host that builds a profile for each
request shares one controller all the same. A version is immutable: it is refused with other limits than those it was
first registered with, before anything is created or changed. An earlier version, registered again, is a rollback.

A workspace makes room for another only while a new controller in its place would decide the same (nothing in flight or
waiting, buckets full, breakers closed, no pause), and what its versions stood for is kept beyond that: eviction hands
out no fresh allowance and makes no version mutable.

This module owns who has a controller, the meaning of versions and the audit of their changes. It must not decide on a
request, read a clock or wait: instants are arguments, and all of them belong to the one clock of the host.
"""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, ParamSpec

from tollgate.core.errors import ConfigError
from tollgate.core.ids import lane_name
from tollgate.decision.controller import AdmissionController
from tollgate.decision.decisions import BreakerEvent
from tollgate.decision.profile import AdmissionProfile

SCHEMA: Final = "decision-admission-profile-change/v2"
"""Schema of an audit record. The seed's v1 leaves the principals out of the digest; v2 has them in."""

MAX_WORKSPACES: Final = 1_024
"""Workspaces with a controller at once: the reference's bound."""

MAX_PRINCIPALS: Final = 100_000
"""Principals of one profile: what the lab shows to cost no more a decision than a hundred do (issue 2, ``scale``)."""

MAX_VERSIONS: Final = 4_096
"""Versions remembered for a workspace: the reference's bound."""

MAX_HISTORY: Final = 64
"""Audit records kept for a workspace: the reference's bound."""

MAX_RETIRED: Final = 4 * MAX_WORKSPACES
"""Workspaces whose versions and history outlive their controller. Ours: the set of live workspaces can change four
times over before the first is forgotten."""

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")


class ChangeKind(StrEnum):
    """What kind of change a workspace's limits saw."""

    INITIAL = "initial"
    CHANGE = "change"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """One audit record: a workspace's limits became others.

    It names the workspace, for the host's own audit log; it is no evidence of a run and goes into none.

    Attributes:
        workspace: Id of the workspace.
        kind: ``initial`` for its first profile, ``rollback`` to a version it has had, otherwise ``change``.
        previous_version: The version before, None if there was none.
        version: The version from now on.
        digest: ``sha256:`` and the hex digest of the canonical limits of ``version``, principals included.
        at_ns: Instant of the registration, ns.
    """

    workspace: str
    kind: ChangeKind
    previous_version: str | None
    version: str
    digest: str
    at_ns: int

    def to_mapping(self) -> dict[str, object]:
        """Return the record as canonical JSON carries it.

        The instant is a decimal text: a monotonic clock passes 2^53 ns, the largest integer there, in 104 days.
        """
        return {
            "at_ns": str(self.at_ns),
            "digest": self.digest,
            "kind": self.kind.value,
            "previous_profile_version": self.previous_version,
            "profile_version": self.version,
            "schema": SCHEMA,
            "workspace": self.workspace,
        }


class InvalidDefinition(ConfigError):  # noqa: N818 - the seed's name for it
    """A version came back with other limits; nothing was created or changed.

    Attributes:
        reason: The seed's word for it.
        version: The version.
        known_digest: Digest of the limits it stands for.
        offered_digest: Digest of the limits it came with.
    """

    reason: Final = "invalid-definition"

    def __init__(self, version: str, known_digest: str, offered_digest: str) -> None:
        """Complain about one version."""
        self.version = version
        self.known_digest = known_digest
        self.offered_digest = offered_digest
        super().__init__(
            "profile_version",
            version,
            f"the limits this version stands for, {known_digest}, or a new version for {offered_digest}",
            hint=self.reason,
        )


class RegistryFull(ConfigError):  # noqa: N818 - named for what is so
    """There is no room for another workspace, and none that could be evicted; nothing was created or changed."""

    def __init__(self, max_workspaces: int) -> None:
        """Complain that every place is taken."""
        super().__init__(
            "workspaces",
            max_workspaces + 1,
            f"{max_workspaces} at once; one makes room while idle with full buckets, closed breakers and no pause",
        )


class _Workspace:
    """What the registry knows of one workspace.

    Attributes:
        controller: Its controller while it has a place, else None.
        evicted: The controller it had, for as long as somebody else holds it. It is then used again: two controllers
            for one workspace would be twice its limits.
        version: Its current version, None before the first.
        versions: Digest by version, the one registered longest ago first.
        history: Audit records, oldest first.
    """

    __slots__ = ("controller", "evicted", "history", "version", "versions")

    def __init__(self, max_history: int) -> None:
        self.controller: AdmissionController | None = None
        self.evicted: Callable[[], AdmissionController | None] = _nobody
        self.version: str | None = None
        self.versions: dict[str, str] = {}
        self.history: deque[ProfileChange] = deque(maxlen=max_history)

    def check(self, profile: AdmissionProfile) -> None:
        """Refuse a version that stands for other limits."""
        known = self.versions.get(profile.profile_version)
        if known is not None and known != profile.digest:
            raise InvalidDefinition(profile.profile_version, known, profile.digest)

    def retire(self) -> None:
        """Give up its place."""
        if self.controller is not None:
            self.evicted = weakref.ref(self.controller)
            self.controller = None

    def adopt(
        self, workspace_id: str, profile: AdmissionProfile, now_ns: int, max_versions: int
    ) -> ProfileChange | None:
        """Make a profile that passed :meth:`check` the current one; returns the record, None if it already was."""
        version, digest = profile.profile_version, profile.digest
        is_known = self.versions.pop(version, None) is not None
        self.versions[version] = digest  # at the end: the one registered last is the last to be forgotten
        if len(self.versions) > max_versions:
            del self.versions[next(iter(self.versions))]
        previous, self.version = self.version, version
        if version == previous:
            return None
        kind = ChangeKind.INITIAL if previous is None else ChangeKind.ROLLBACK if is_known else ChangeKind.CHANGE
        change = ProfileChange(workspace_id, kind, previous, version, digest, now_ns)
        self.history.append(change)
        return change


class AdmissionRegistry:
    """The controllers of all workspaces of one process.

    Every bound is stated, and every one fails closed but two: a workspace's oldest audit record and its oldest version
    are dropped for a new one, so that a service which changes its limits every day is never locked out by its past. A
    version dropped in that way could be defined anew.

    Not safe to share between threads; drivers serialise.

    >>> from tollgate.decision import AdmissionLimits
    >>> registry = AdmissionRegistry()
    >>> def profile(version, concurrency):
    ...     limits = AdmissionLimits(concurrency=concurrency)
    ...     return AdmissionProfile(version, limits, {"llm": AdmissionLimits()}, {"ann": AdmissionLimits()})
    >>> controller = registry.register("w", profile("v1", 4), now_ns=0)
    >>> registry.register("w", profile("v1", 4), now_ns=1) is controller
    True
    >>> _ = registry.register("w", profile("v2", 2), now_ns=2)
    >>> _ = registry.register("w", profile("v1", 4), now_ns=3)
    >>> [(change.kind.value, change.version) for change in registry.profile_history("w")]
    [('initial', 'v1'), ('change', 'v2'), ('rollback', 'v1')]
    """

    def __init__(
        self,
        *,
        max_workspaces: int = MAX_WORKSPACES,
        max_principals: int = MAX_PRINCIPALS,
        max_versions: int = MAX_VERSIONS,
        max_history: int = MAX_HISTORY,
        max_retired: int = MAX_RETIRED,
    ) -> None:
        """Start without workspaces.

        Args:
            max_workspaces: Workspaces with a controller at once, at least 1.
            max_principals: Principals that one profile may name, at least 1.
            max_versions: Versions remembered for a workspace, at least 1; beyond it the one registered longest ago
                goes.
            max_history: Audit records kept for a workspace, at least 1; beyond it the oldest goes.
            max_retired: Workspaces whose versions and history are kept after they were evicted, at least 0; beyond it
                the one evicted longest ago goes, unless somebody still holds its controller.

        Raises:
            ConfigError: Naming the bound.
        """
        self._max_workspaces = _bound("max_workspaces", max_workspaces, 1)
        self._max_principals = _bound("max_principals", max_principals, 1)
        self._max_versions = _bound("max_versions", max_versions, 1)
        self._max_history = _bound("max_history", max_history, 1)
        self._max_retired = _bound("max_retired", max_retired, 0)
        self._live: dict[str, _Workspace] = {}  # the one registered longest ago first
        self._retired: dict[str, _Workspace] = {}  # the one evicted longest ago first
        self._change_listeners: list[Callable[[ProfileChange], None]] = []
        self._breaker_listeners: list[Callable[[str, BreakerEvent], None]] = []

    def __len__(self) -> int:
        """Return how many workspaces have a controller."""
        return len(self._live)

    def register(self, workspace_id: str, profile: AdmissionProfile, now_ns: int) -> AdmissionController:
        """Make a profile the current one of a workspace and return the workspace's controller.

        The current version again changes nothing. Any other version changes all limits at once, keeping what is in
        flight, waits or was spent; what waits is judged again, and its decisions come from the controller's next poll.

        Args:
            workspace_id: Whose limits, as the trusted host says.
            profile: The limits.
            now_ns: The instant, ns.

        Raises:
            InvalidDefinition: If the version stands for other limits.
            RegistryFull: If the workspace is new, every place is taken and no workspace could be evicted.
            ConfigError: For a bad workspace id, or a profile with too many principals.
        """
        lane_name(workspace_id, "workspace")
        if len(profile.principals) > self._max_principals:
            allowed = f"at most {self._max_principals} of them"
            raise ConfigError("profile.principals", len(profile.principals), allowed)
        workspace = self._known(workspace_id) or _Workspace(self._max_history)
        workspace.check(profile)
        if workspace_id not in self._live and len(self._live) >= self._max_workspaces:
            self._evict_one(now_ns)
        controller = workspace.controller or workspace.evicted()
        if controller is None:
            controller = AdmissionController(workspace_id, profile)
            controller.on_breaker_transition(partial(self._breaker_moved, workspace_id))
        elif workspace.version != profile.profile_version:
            controller.set_profile(profile, now_ns)
        workspace.controller = controller
        self._retired.pop(workspace_id, None)
        self._live.pop(workspace_id, None)
        self._live[workspace_id] = workspace
        change = workspace.adopt(workspace_id, profile, now_ns, self._max_versions)
        if change is not None:
            _tell(self._change_listeners, change)
        return controller

    def controller(self, workspace_id: str) -> AdmissionController | None:
        """Return a workspace's controller; None if it was never registered or has been evicted."""
        workspace = self._live.get(workspace_id)
        return None if workspace is None else workspace.controller

    def profile_history(self, workspace_id: str) -> tuple[ProfileChange, ...]:
        """Return the audit records kept for a workspace, oldest first; those of an evicted one are kept as well."""
        workspace = self._known(workspace_id)
        return () if workspace is None else tuple(workspace.history)

    def on_profile_change(self, listener: Callable[[ProfileChange], None]) -> None:
        """Call ``listener`` with each change of any workspace from now on, after it has taken effect.

        What it raises is logged and stops nothing.
        """
        self._change_listeners.append(listener)

    def on_breaker_transition(self, listener: Callable[[str, BreakerEvent], None]) -> None:
        """Call ``listener`` with the workspace's id and each breaker transition of any workspace from now on.

        It is called amid a decision: it must not call a controller. What it raises is logged and stops nothing.
        """
        self._breaker_listeners.append(listener)

    def _known(self, workspace_id: str) -> _Workspace | None:
        return self._live.get(workspace_id) or self._retired.get(workspace_id)

    def _evict_one(self, now_ns: int) -> None:
        """Free a place: of the workspaces that may go, the one registered longest ago goes."""
        for workspace_id, workspace in self._live.items():
            if workspace.controller is not None and workspace.controller.is_fresh(now_ns):
                workspace.retire()
                del self._live[workspace_id]
                self._retired[workspace_id] = workspace
                self._forget_beyond_bound()
                return
        raise RegistryFull(self._max_workspaces)

    def _forget_beyond_bound(self) -> None:
        """Forget evicted workspaces beyond the bound, but none whose controller could still be asked."""
        while len(self._retired) > self._max_retired:
            gone = (name for name, workspace in self._retired.items() if workspace.evicted() is None)
            oldest = next(gone, None)
            if oldest is None:
                return
            del self._retired[oldest]

    def _breaker_moved(self, workspace_id: str, event: BreakerEvent) -> None:
        _tell(self._breaker_listeners, workspace_id, event)


def _tell(listeners: Iterable[Callable[_P, None]], *args: _P.args, **kwargs: _P.kwargs) -> None:
    """Call every listener; one that raises does not keep the others from hearing."""
    for listener in tuple(listeners):
        try:
            listener(*args, **kwargs)
        except Exception:  # noqa: BLE001 - a listener's fault must not undo a change that stands
            _log.exception("a registry listener raised")


def _nobody() -> None:
    """Stand for a controller that nobody holds."""


def _bound(name: str, value: int, least: int) -> int:
    if type(value) is not int or value < least:
        raise ConfigError(name, value, f"an integer of at least {least}")
    return value
