"""What a report is made of, and what follows from that alone.

Owns the list of a report's inputs. Reads no file: a bundle comes read and checked. A report needs no run, so whoever
holds a bundle sees what whoever ran it saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol, cast

from sim.evidence.schema import Record
from sim.manifest.chance import is_drawn
from sim.manifest.model import Manifest
from sim.measure.series import SeriesView
from sim.measure.slowest import SlowRequest
from sim.report import interruptions
from sim.report.headroom import Headroom, binding, first_sentence, headroom
from sim.report.peaks import Peaks
from sim.report.result import Result
from sim.report.series import measured_tokens
from tollgate.core.canonical import JSON

_FOR_WANT_OF_ROOM: Final = ("queue-full", "queue-timeout", "concurrency", "requests-per-minute", "tokens-per-second")
"""Reasons of refusals that a higher limit would have spared."""

_IS_CLOSED_LOOP: Final = " is a closed loop of "
"""What a record says of such a stream where it tells how its observations are to be read."""


class Bundle(Protocol):
    """What a report takes from a bundle, as ``sim.evidence.Bundle`` has it."""

    @property
    def record(self) -> Record:
        """The record."""

    def series(self) -> JSON:
        """Return the run's series as JSON values, None where it kept none."""

    def slowest(self) -> JSON:
        """Return the worst requests as JSON values."""


@dataclass(frozen=True)
class Report:
    """A bundle as a report takes it.

    Attributes:
        record: The record.
        path: Path of the bundle as a reader types it, relative.
        manifest_path: Path of the manifest as a reader types it, relative.
        assume_path: Path of the assumptions that completed it, likewise; None where there were none.
        series: The run's series; None where the bundle has none.
        slowest: The worst requests, worst first.
        profile: The ``profile:`` block the run was made under, overrides included; None leaves headroom out.
        phases: (name, start_ns, end_ns) of each phase; empty where they are not known.
        window_ns: Where the phases have to be cut for the same run; None for nowhere.
        discipline: The discipline that the manifest itself asks for; None where it is not known.
        is_drawn: Whether another seed can give another run; taken for granted where it is not known.
    """

    record: Record
    path: str
    manifest_path: str
    assume_path: str | None = None
    series: SeriesView | None = None
    slowest: Sequence[SlowRequest] = ()
    profile: Mapping[str, object] | None = None
    phases: Sequence[tuple[str, int, int]] = ()
    window_ns: int | None = None
    discipline: str | None = None
    is_drawn: bool = True

    @classmethod
    def of(
        cls,
        bundle: Bundle,
        manifest: Manifest | None = None,
        *,
        path: Path | str,
        manifest_path: Path | str,
        assume_path: Path | str | None = None,
    ) -> Report:
        """Return the report of a bundle.

        Args:
            bundle: The bundle, read and checked.
            manifest: Its manifest with the record's seed, overrides and window applied, and with a discipline of its
                own, for headroom and the exact command; None where it cannot be read any more, such as when a trace it
                names is gone.
            path: Path of the bundle as a reader types it, relative.
            manifest_path: Path of the manifest as a reader types it, relative.
            assume_path: Path of the assumptions that completed it, likewise.

        Raises:
            EvidenceError: If the series cannot be read.
        """
        series = bundle.series()
        return cls(
            record=bundle.record,
            path=str(path),
            manifest_path=str(manifest_path),
            assume_path=None if assume_path is None else str(assume_path),
            series=None if series is None else SeriesView.from_json(series),
            slowest=cast("Sequence[SlowRequest]", bundle.slowest()),
            profile=None if manifest is None else manifest.profile.to_mapping(),
            phases=()
            if manifest is None
            else [(phase.name, phase.start_ns, phase.end_ns) for phase in manifest.phases],
            window_ns=bundle.record["plan"]["window_ns"] if manifest is None else manifest.window_ns,
            discipline=None if manifest is None else manifest.discipline,
            is_drawn=manifest is None or is_drawn(manifest),
        )

    @cached_property
    def result(self) -> Result:
        """The record's parts."""
        return Result(self.record)

    @cached_property
    def headroom(self) -> list[Headroom]:
        """Every limit beside the load offered to it; empty without a profile."""
        if self.profile is None:
            return []
        if self.series is None:
            return headroom(self.result, self.profile, self.measured_phases_ns)
        warmup_ns = self.record["plan"]["warmup_ns"]
        tokens, peaks = measured_tokens(self.series, warmup_ns), Peaks(self.series, warmup_ns)
        return headroom(self.result, self.profile, self.measured_phases_ns, tokens, peaks)

    @property
    def binding(self) -> Headroom | None:
        """The limit that growing load meets first."""
        return binding(self.headroom)

    @property
    def binds_first(self) -> str | None:
        """Which limit binds first, as a sentence; None where no limit is compared."""
        was_refused = any(self.result.exact(f"shed.{reason}") for reason in _FOR_WANT_OF_ROOM)
        if self.binding is None:
            return None
        return first_sentence(self.binding, was_refused=was_refused, interrupted=self.interruptions)

    @cached_property
    def interruptions(self) -> str | None:
        """What kept calls from providers beside limits, as a sentence; None if nothing did."""
        return interruptions.sentence(self.result, self.series)

    @cached_property
    def closed_loops(self) -> list[str]:
        """What is to be said of each stream that is a closed loop: its callers ask less when answers are slow."""
        said = (check["detail"] for check in self.record["checks"] if check["name"] == "observations")
        return [note for detail in said for note in detail.split("; ") if _IS_CLOSED_LOOP in note]

    @cached_property
    def phase_names(self) -> list[str]:
        """The phases that observations tell apart, in order of time where that is known."""
        order = {name: at for at, (name, _, _) in enumerate(self.phases)}
        return sorted(self.result.names("phase"), key=lambda name: order.get(name, len(order)))

    @property
    def measured_phases_ns(self) -> dict[str, int]:
        """Length of each phase after the warm-up, nanoseconds."""
        warmup_ns = self.record["plan"]["warmup_ns"]
        return {name: end - max(start, warmup_ns) for name, start, end in self.phases if end > warmup_ns}
