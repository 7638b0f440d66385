"""What has to be run again to check a piece of evidence.

Owns how a record says it. Runs nothing: the run is made by a function that is handed in, so that evidence need not know
how manifests are run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sim.evidence.build import RunLike
from sim.evidence.overrides import given_in
from sim.evidence.schema import Record


@dataclass(frozen=True, slots=True)
class RerunRequest:
    """What to run again.

    Attributes:
        manifest: The manifest's file.
        assumptions: The file of assumptions that completes it, or None where the evidence brings none along.
        discipline: Which discipline decides.
        seed: Root of the random streams, or None for the manifest's own.
        window_ns: Length of the arrivals, ns from the start.
        overrides: Values to replace, by key path.
    """

    manifest: Path
    assumptions: Path | None
    discipline: str
    seed: int | None
    window_ns: int
    overrides: Mapping[str, str]

    @classmethod
    def of(cls, record: Record, *, manifest: Path, assumptions: Path | None) -> RerunRequest:
        """Return what a record asks for.

        Args:
            record: The record.
            manifest: The file of its manifest.
            assumptions: The file of its assumptions, where there is one.
        """
        seed, overrides = given_in(record)
        return cls(
            manifest=manifest,
            assumptions=assumptions,
            discipline=record["target"]["discipline"],
            seed=seed,
            window_ns=record["plan"]["window_ns"],
            overrides=overrides,
        )


Rerun = Callable[[RerunRequest], RunLike]
"""Makes a run again."""
