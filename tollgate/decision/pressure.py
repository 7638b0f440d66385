"""Retry pressure: how much a workspace's providers have been asking for patience of late.

This module owns the decay. It must not know who raises the pressure, and nothing is admitted or refused by it: it is
evidence.
"""

from __future__ import annotations

from typing import Final

ONE: Final = 1_000_000
"""One answer that asked for a pause, in millionths."""

HALF_LIFE_NS: Final = 30_000_000_000
"""Half-life of the pressure. Thirty seconds is the reference's default breaker window: a pressure older than two of
them says little."""


class RetryPressure:
    """A gauge that gains one with each Retry-After answer and halves every half-life.

    Exact halving at whole half-lives, a straight line between them, in integers, so that every machine shows the same
    figure.
    """

    __slots__ = ("_at_ns", "_half_life_ns", "_level", "is_raised")

    def __init__(self, half_life_ns: int = HALF_LIFE_NS) -> None:
        """Start at zero.

        Args:
            half_life_ns: Time in which the pressure halves, ns.
        """
        self._half_life_ns = half_life_ns
        self.is_raised = False
        self._level = 0
        self._at_ns = 0

    def add(self, now_ns: int) -> None:
        """Count one answer that asked for a pause."""
        self.is_raised = True
        self._level = self.level_micros(now_ns) + ONE
        self._at_ns = now_ns

    def level_micros(self, now_ns: int) -> int:
        """Return the pressure in millionths, rounded down."""
        halvings, rest_ns = divmod(max(now_ns - self._at_ns, 0), self._half_life_ns)
        level = self._level >> halvings
        return level - level * rest_ns // (2 * self._half_life_ns)
