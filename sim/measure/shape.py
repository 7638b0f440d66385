"""What measurement has to know of a run before it starts: names, spans and limits, by index.

Owns the numbering that rows of ``sim.trace`` use and its way back to names. It must not know arrivals, clients or the
world; tests make one by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim.manifest.model import Manifest, Phase
from sim.manifest.processes import Closed
from sim.manifest.providers import Outage
from sim.metrics import SELECTORS, Selector
from tollgate.core.errors import CallerError, nearest
from tollgate.decision.profile import AdmissionProfile

Where = Mapping[str, str]
"""Selector values, such as ``{"class": "quiet", "phase": "spike"}``; empty for the whole run."""


@dataclass(frozen=True, slots=True)
class RunShape:
    """Names by index, spans of time and the limits under test.

    Attributes:
        principals: Names, in the manifest's order.
        classes: Class names, in order of first appearance.
        class_of: Index of each principal's class, shape ``(len(principals),)``.
        providers: Names, in the manifest's order.
        phases: Back to back from 0.
        warmup_ns: Arrivals before this instant are not measured.
        profile: The limits under test.
        outages: The providers' outages, by their start.
        loops: Streams that are closed loops, and how many callers each has.
    """

    principals: tuple[str, ...]
    classes: tuple[str, ...]
    class_of: tuple[int, ...]
    providers: tuple[str, ...]
    phases: tuple[Phase, ...]
    warmup_ns: int
    profile: AdmissionProfile
    outages: tuple[Outage, ...] = ()
    loops: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, manifest: Manifest) -> RunShape:
        """Return the shape of a run of ``manifest``."""
        classes = tuple(dict.fromkeys(principal.cls for principal in manifest.principals))
        position = {name: index for index, name in enumerate(classes)}
        return cls(
            principals=tuple(principal.name for principal in manifest.principals),
            classes=classes,
            class_of=tuple(position[principal.cls] for principal in manifest.principals),
            providers=tuple(provider.id for provider in manifest.providers),
            phases=manifest.phases,
            warmup_ns=manifest.warmup_ns,
            profile=manifest.profile,
            outages=manifest.outages,
            loops=tuple(
                (stream.name, stream.arrivals.population)
                for stream in manifest.streams
                if isinstance(stream.arrivals, Closed)
            ),
        )

    @property
    def horizon_ns(self) -> int:
        """End of the arrivals, ns from the start."""
        return self.phases[-1].end_ns

    def names(self, selector: Selector) -> tuple[str, ...]:
        """Return the values ``selector`` can take, by index."""
        if selector == "class":
            return self.classes
        if selector == "principal":
            return self.principals
        if selector == "provider":
            return self.providers
        return tuple(phase.name for phase in self.phases)

    def resolve(self, where: Where) -> dict[Selector, int]:
        """Return the index of each selected value, in the order of ``SELECTORS``.

        Raises:
            CallerError: For an unknown selector or value; manifests are checked before they get here.
        """
        unknown = [key for key in where if key not in SELECTORS]
        if unknown:
            raise CallerError(f"where.{unknown[0]}: no selector; allowed: {', '.join(SELECTORS)}")
        found: dict[Selector, int] = {}
        for selector in SELECTORS:
            if selector in where:
                names = self.names(selector)
                if where[selector] not in names:
                    hint = nearest(where[selector], names) or f"it has {len(names)}"
                    raise CallerError(f"where.{selector}: this run has no {where[selector]!r}; {hint}")
                found[selector] = names.index(where[selector])
        return found
