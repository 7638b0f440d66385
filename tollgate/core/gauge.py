"""How many are in flight: a counter with a limit, and the permit that gives its place back exactly once.

A gauge knows nothing of time, queues or who asks. It is not safe to share between threads without a lock.
"""

from __future__ import annotations

from tollgate.core.errors import ConfigError, InvariantViolation

__all__ = ["Gauge", "Permit", "acquire_all"]


class Gauge:
    """A limit on how many hold a place at once.

    The limit may change at any time and never touches those in flight: after it was lowered, ``in_use`` can stand above
    it until enough of them have left.

    Attributes:
        limit: Places there are, at least 1. Change it with :meth:`set_limit`.
        in_use: Places taken. Only :class:`Permit` writes it.

    Raises:
        ConfigError: If the limit is below 1. A limit that can never admit is refused, not obeyed.

    >>> gauge = Gauge(1)
    >>> permit = gauge.try_acquire()
    >>> gauge.try_acquire() is None
    True
    >>> permit.release(), permit.release(), gauge.free
    (True, False, 1)
    """

    __slots__ = ("in_use", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = _checked(limit)
        self.in_use = 0

    def __repr__(self) -> str:
        return f"Gauge(limit={self.limit}, in_use={self.in_use})"

    @property
    def free(self) -> int:
        """Places that can be taken now; 0 while more are in flight than the limit."""
        return max(self.limit - self.in_use, 0)

    def try_acquire(self) -> Permit | None:
        """Take a place, or return None and change nothing."""
        if self.in_use >= self.limit:
            return None
        return Permit((self,))

    def set_limit(self, limit: int) -> None:
        """Change the limit; those in flight keep their places.

        Raises:
            ConfigError: If the limit is below 1; the old one stays.
        """
        self.limit = _checked(limit)


class Permit:
    """One place in each of several gauges.

    Constructing it *takes* the places. It is meant to follow a check made by the caller (:func:`acquire_all`, or code
    that has looked at ``in_use`` and ``limit`` for reasons of its own), and checks again what it writes: a permit
    that would lift any gauge above its limit puts everything back and raises. Subclasses may add slots.

    Attributes:
        gauges: The gauges it holds a place in, or None once released.

    Args:
        gauges: Where to take a place; may be empty.

    Raises:
        InvariantViolation: If a gauge is full; no gauge is changed.
    """

    __slots__ = ("gauges",)

    gauges: tuple[Gauge, ...] | None

    def __init__(self, gauges: tuple[Gauge, ...]) -> None:
        is_beyond = False
        for gauge in gauges:
            gauge.in_use = in_use = gauge.in_use + 1
            if in_use > gauge.limit:
                is_beyond = True
        if is_beyond:
            raise _put_back(gauges)
        self.gauges = gauges

    def release(self) -> bool:
        """Give the places back.

        Returns:
            True the first time; False afterwards, with no effect.

        Raises:
            InvariantViolation: If a gauge had no place taken.
        """
        gauges = self.gauges
        if gauges is None:
            return False
        self.gauges = None
        for gauge in gauges:
            in_use = gauge.in_use
            if not in_use:
                raise InvariantViolation(f"a permit was released into an empty gauge: {gauge!r}")
            gauge.in_use = in_use - 1
        return True


def acquire_all(gauges: tuple[Gauge, ...]) -> Permit | None:
    """Take a place in every gauge, or in none.

    Args:
        gauges: Distinct gauges.

    Returns:
        One permit over all of them, or None if any is full; then nothing has changed.
    """
    for gauge in gauges:
        if gauge.in_use >= gauge.limit:
            return None
    return Permit(gauges)


def _put_back(gauges: tuple[Gauge, ...]) -> InvariantViolation:
    """Give back what a permit that must not be has taken; returns what to raise."""
    beyond = next(index for index, gauge in enumerate(gauges) if gauge.in_use > gauge.limit)
    for gauge in gauges:
        gauge.in_use -= 1
    return InvariantViolation(f"a permit was taken beyond the limit of {gauges[beyond]!r}")


def _checked(limit: int) -> int:
    if type(limit) is not int or limit < 1:
        raise ConfigError("limit", limit, "an integer of at least 1")
    return limit
