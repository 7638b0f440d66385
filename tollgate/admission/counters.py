"""How many requests ended how: one count for each outcome, every label exported, no identifier in any of them.

Once nothing is under way, ``admitted`` is the sum of ``execution_started``, ``canceled_before_start``,
``capacity_shed`` and ``refused_at_start``; ``denied`` are those before admission. Nothing is decided by a counter.
"""

from __future__ import annotations

from tollgate.core.request_denial import RequestDenial, RequestDenyReason
from tollgate.core.snapshot import CapacityClass

__all__ = ["Counters"]


class Counters:
    """The tally of one instance since it started.

    Attributes:
        admitted: Requests whose quote was debited as pending.
        units_admitted: Their quotes added up, in cost units: demand, not what was charged.
        admitted_overage: Those of them that credit pays for.
        contexts_abandoned: Begun and neither admitted nor denied.
        canceled_before_start: Admitted and given up before they were charged.
        capacity_shed: Admitted and refused by the capacity gate.
        commit_overage: Charged to credit because their lease was not usable any more.
    """

    __slots__ = (
        "_denied",
        "_refused",
        "_started",
        "admitted",
        "admitted_overage",
        "canceled_before_start",
        "capacity_shed",
        "commit_overage",
        "contexts_abandoned",
        "units_admitted",
    )

    def __init__(self) -> None:
        self._denied = dict.fromkeys(RequestDenyReason, 0)
        self._refused = dict.fromkeys(RequestDenyReason, 0)
        self._started = dict.fromkeys(CapacityClass, 0)
        self.admitted = 0
        self.units_admitted = 0
        self.admitted_overage = 0
        self.contexts_abandoned = 0
        self.canceled_before_start = 0
        self.capacity_shed = 0
        self.commit_overage = 0

    @property
    def denied(self) -> int:
        """Requests that were refused before they were admitted."""
        return sum(self._denied.values())

    @property
    def refused_at_start(self) -> int:
        """Requests that were admitted and not funded any more when they were to start."""
        return sum(self._refused.values())

    @property
    def execution_started(self) -> int:
        """Requests that were charged."""
        return sum(self._started.values())

    def deny(self, denial: RequestDenial) -> RequestDenial:
        """Count a refusal before admission, and return it."""
        self._denied[denial.reason] += 1
        return denial

    def refuse(self, denial: RequestDenial) -> RequestDenial:
        """Count a refusal when execution was to start, and return it."""
        self._refused[denial.reason] += 1
        return denial

    def start(self, capacity_class: CapacityClass) -> None:
        """Count a request that was charged."""
        self._started[capacity_class] += 1

    def rows(self) -> list[tuple[str, str, int]]:
        """Return name, label and count of everything, zeros included, always in the same order."""
        return [
            ("admitted", "", self.admitted),
            ("units_admitted", "", self.units_admitted),
            ("admitted_overage", "", self.admitted_overage),
            ("contexts_abandoned", "", self.contexts_abandoned),
            ("canceled_before_start", "", self.canceled_before_start),
            ("capacity_shed", "", self.capacity_shed),
            ("commit_overage", "", self.commit_overage),
            *(("denied", reason.value, count) for reason, count in self._denied.items()),
            *(("refused_at_start", reason.value, count) for reason, count in self._refused.items()),
            *(("execution_started", each.value, count) for each, count in self._started.items()),
        ]
