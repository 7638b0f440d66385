"""How much one instance executes at once, chosen when it starts: no gate, one pool, or a pool with a reserve.

A gate answers at once and has no queue. Whose work is assured comes from the snapshot that a request was begun under,
never from the caller. Knows nothing of accounts, prices or time.
"""

from __future__ import annotations

from typing import Protocol

from tollgate.core.errors import ConfigError
from tollgate.core.gauge import Gauge, Permit
from tollgate.core.snapshot import CapacityClass

__all__ = ["CapacityGate", "NoGate", "Reserved", "Uniform"]

_NOWHERE = Permit(())


class CapacityGate(Protocol):
    """What admits work to execution."""

    def try_enter(self, capacity_class: CapacityClass) -> Permit | None:
        """Take a place for work of a class, or return None and change nothing."""


class NoGate:
    """Executes whatever was admitted."""

    __slots__ = ()

    def try_enter(self, capacity_class: CapacityClass) -> Permit | None:  # noqa: ARG002 - the gates' signature
        """Return a permit over no gauge; all share one, as releasing it does nothing."""
        return _NOWHERE


class Uniform:
    """One pool, whatever the class.

    Args:
        total: Places, at least 1.

    Raises:
        ConfigError: If there is no place.
    """

    __slots__ = ("pool",)

    def __init__(self, total: int) -> None:
        self.pool = _pool(total, "total")

    def try_enter(self, capacity_class: CapacityClass) -> Permit | None:  # noqa: ARG002 - the gates' signature
        """Take a place, or return None and change nothing."""
        return self.pool.try_acquire()


class Reserved:
    """A pool that all share, and a reserve that only assured work may use, after the shared part is full.

    Shared first: without best-effort work the whole instance is open to assured work, and best-effort work never
    reaches the reserve.

    Args:
        total: Places in all, at least 1.
        assured_reserve: How many of them are the reserve, 1 to ``total``; with all of them best-effort work never runs.

    Raises:
        ConfigError: If either is out of range.
    """

    __slots__ = ("reserve", "shared")

    def __init__(self, total: int, assured_reserve: int) -> None:
        _pool(total, "total")
        self.reserve = _pool(assured_reserve, "assured_reserve")
        if assured_reserve > total:
            raise ConfigError("assured_reserve", assured_reserve, f"at most the total, which is {total}")
        self.shared = Gauge(total - assured_reserve) if total > assured_reserve else None

    def try_enter(self, capacity_class: CapacityClass) -> Permit | None:
        """Take a place that the class may use, or return None and change nothing."""
        permit = None if self.shared is None else self.shared.try_acquire()
        if permit is None and capacity_class is CapacityClass.ASSURED:
            return self.reserve.try_acquire()
        return permit


def _pool(places: int, path: str) -> Gauge:
    try:
        return Gauge(places)
    except ConfigError as error:
        raise ConfigError(path, error.got, error.allowed) from error
