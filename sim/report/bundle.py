"""What a report is made of.

Owns the list of a report's inputs and what follows from them alone. Must not know files: whoever reads a bundle checks
its digests and fills this in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sim.evidence.schema import Record
from sim.report.headroom import Headroom, binding, headroom
from sim.report.result import Result
from sim.report.series import SeriesView
from sim.report.text import command


@dataclass(frozen=True)
class ReportInput:
    """A bundle, read and checked, as a report takes it.

    Attributes:
        record: The parsed ``record.json``.
        series: The view of ``series.json.gz``; None where the bundle has none.
        slowest: The rows of ``slowest.json``, worst first.
        profile: The ``profile:`` block the run was made under, overrides included; None leaves headroom out.
        phases: (name, start_ns, end_ns) of each phase; empty takes those of the series.
        path: Path of the bundle as a reader types it, relative.
        manifest_path: Path of the manifest as a reader types it, relative.
    """

    record: Record
    series: SeriesView | None = None
    slowest: Sequence[Mapping[str, object]] = ()
    profile: Mapping[str, object] | None = None
    phases: Sequence[tuple[str, int, int]] = ()
    path: str = "out/bundle"
    manifest_path: str = field(default="manifest.yaml")

    @cached_property
    def result(self) -> Result:
        """The record's parts."""
        return Result(self.record)

    @cached_property
    def headroom(self) -> list[Headroom]:
        """Every limit beside the load offered to it."""
        if self.profile is None:
            return []
        return headroom(self.result, self.profile, self.measured_phases_ns, self._tokens)

    @property
    def binding(self) -> Headroom | None:
        """The limit that growing load meets first."""
        return binding(self.headroom)

    @property
    def measured_phases_ns(self) -> dict[str, int]:
        """Length of each phase after the warm-up, nanoseconds."""
        phases = self.phases or [
            band[1:2] + band[3:] for band in (self.series.bands if self.series else ()) if band[0] == "phase"
        ]
        warmup = self.record["plan"]["warmup_ns"]
        return {name: end - max(start, warmup) for name, start, end in phases if end > warmup}

    @property
    def reproduce(self) -> str:
        """The command that makes the same run again."""
        words = [
            "tollgate",
            "run",
            self.manifest_path,
            "--seed",
            self.result.seed,
            "--discipline",
            self.record["target"]["discipline"],
        ]
        for path, value in self.record["overrides"].items():
            words += ["--set", f"{path}={value}"]
        return command(*words)

    @property
    def _tokens(self) -> dict[str, int]:
        """Tokens drawn over the run by scope name, where the series keep them."""
        if self.series is None:
            return {}
        sums = {name: sum(values) for name, values in self.series.series.items() if name.split("|")[0] == "tokens"}
        scopes = {
            "workspace" if "|" not in name else name.partition("|")[2].replace("=", " ", 1): n
            for name, n in sums.items()
        }
        if "workspace" not in scopes:
            parts = [n for scope, n in scopes.items() if scope.startswith("provider ")]
            return scopes | ({"workspace": sum(parts)} if parts else {})
        return scopes
