"""Everything that reads one run's trace, put together once.

Owns which consumers a run needs and their order. It must not know what writes the trace or where results go.
"""

from __future__ import annotations

from sim.manifest.model import Manifest
from sim.measure.checks import CheckResult, Checks
from sim.measure.observe import Measure, Observation
from sim.measure.outcomes import Outcomes
from sim.measure.recorder import SeriesRecorder
from sim.measure.series import SeriesView
from sim.measure.shape import RunShape
from sim.measure.slowest import Slowest, SlowRequest
from sim.textformats import TextOut
from sim.trace import Consumer


class Instruments:
    """Measurement, self-checks, series, outcomes and slowest requests of one run."""

    def __init__(
        self, manifest: Manifest, outcomes_out: TextOut | None = None, *, observations_only: bool = False
    ) -> None:
        """Prepare for a run.

        Args:
            manifest: What is run.
            outcomes_out: Where the outcome lines are copied to, if anywhere.
            observations_only: Leave out series, outcomes and slowest requests; their results are then empty.
        """
        shape = RunShape.of(manifest)
        self.measure = Measure(shape, ((gate.metric, gate.where) for gate in manifest.gates))
        self._checks = Checks(shape, self.measure.tracker)
        self._series = SeriesRecorder(shape)
        self._outcomes = Outcomes(outcomes_out)
        self._slowest = Slowest(shape)
        self._detail: tuple[Consumer, ...] = (self._series, self._outcomes, self._slowest)
        if observations_only:
            self._detail = (self._outcomes,) if outcomes_out is not None else ()

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """What to hand the trace to."""
        return *self.measure.consumers, self._checks, *self._detail

    def observations(self) -> list[Observation]:
        """Return what was measured."""
        return self.measure.observations()

    def checks(self) -> list[CheckResult]:
        """Return the self-checks; a breach makes the run INVALID.

        The last one always holds: it says how the observations are to be read, so that every record says so.
        """
        read_as = "; ".join(self.measure.notes()) or "every principal is listed, every quantile is exact"
        return [*self._checks.results(), CheckResult(name="observations", ok=True, detail=read_as)]

    def series(self) -> SeriesView:
        """Return the time series, histograms and bands for figures."""
        return self._series.view(self.measure.histograms())

    def slowest(self) -> list[SlowRequest]:
        """Return the slowest requests and what held them."""
        return self._slowest.worst()

    def outcomes_sha256(self) -> str:
        """Return the digest of all outcome lines, hex."""
        return self._outcomes.hexdigest()
