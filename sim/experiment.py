"""One run: a manifest's traffic through its target, measured and checked.

This module puts the parts together (arrivals, kernel, world, target, trace, instruments) and owns nothing of them. It
must not judge: gates read records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from sim import host
from sim.baselines.harness import run_reference
from sim.kernel import Kernel, Progress
from sim.manifest import with_overrides
from sim.manifest.model import Discipline, Manifest
from sim.measure import CheckResult, Instruments, Observation, SeriesView, SlowRequest
from sim.measure.frames import KeptRows, Tables, observations_frame, series_frame
from sim.measure.shape import RunShape
from sim.targets.controller import build
from sim.textformats import LineDigest, TextOut, arrival_line, arrival_lines
from sim.trace import Trace
from sim.workload.arrivals import arrival_blocks
from sim.workload.blocks import BLOCK_ROWS, ArrivalBlock, ArrivalRow
from sim.workload.closed import populations
from sim.world import World
from sim.world.loops import Heard
from tollgate.core.errors import CallerError, EvidenceError
from tollgate.core.units import NS_PER_MS

if TYPE_CHECKING:
    import pandas as pd

    from sim.explain import Story


@dataclass(frozen=True, slots=True)
class Run:
    """What one run gave.

    Attributes:
        manifest: What was run, overrides applied.
        discipline: Which discipline decided.
        seed: Root of the random streams.
        observations: The numbers.
        checks: The run's checks on itself; one breach makes it INVALID.
        series: Figures over time; None where only observations were asked for.
        slowest: The worst requests and what held them.
        arrivals_sha256: Hex digest of the arrivals' text; empty where only observations were asked for.
        outcomes_sha256: Hex digest of the outcomes' text; likewise.
        end_ns: End of the run, ns.
        host: Figures of the machine.
        tables: The frames behind ``requests`` and ``attempts``.
    """

    manifest: Manifest = field(repr=False)
    discipline: Discipline
    seed: int
    observations: Sequence[Observation] = field(repr=False)
    checks: Sequence[CheckResult] = field(repr=False)
    series: SeriesView | None = field(repr=False)
    slowest: Sequence[SlowRequest] = field(repr=False)
    arrivals_sha256: str
    outcomes_sha256: str
    end_ns: int
    host: dict[str, int | str] = field(repr=False)
    tables: Tables | None = field(default=None, repr=False, compare=False)

    @property
    def requests(self) -> pd.DataFrame:
        """Every request as a row of a data frame; columns in :data:`sim.measure.frames.REQUESTS`.

        Without ``keep_rows`` the manifest is run again when this or ``attempts`` is first asked for.

        Raises:
            CallerError: If the run was not made by :func:`run`.
            EvidenceError: If run again, it gave other observations.
        """
        return self._tables.requests

    @property
    def attempts(self) -> pd.DataFrame:
        """Every attempt that ended, likewise; columns in :data:`sim.measure.frames.ATTEMPTS`."""
        return self._tables.attempts

    @property
    def series_frame(self) -> pd.DataFrame:
        """The series as a data frame, a row a bin (:func:`sim.measure.frames.series_frame`).

        Raises:
            CallerError: If only observations were asked for.
        """
        if self.series is None:
            raise CallerError("the run has no series: only observations were asked for")
        return series_frame(self.series)

    @property
    def observations_frame(self) -> pd.DataFrame:
        """The observations as a data frame; columns in :data:`sim.measure.frames.OBSERVATIONS`."""
        return observations_frame(self.observations)

    @property
    def _tables(self) -> Tables:
        if self.tables is None:
            raise CallerError("the run has no rows: it was not made by sim.run")
        return self.tables

    def _repr_html_(self) -> str:
        """Return what a notebook shows. The gates are judged here, from the record that the run would leave."""
        from sim.evidence import describe_tool, pack  # noqa: PLC0415 - a run in itself knows no records
        from sim.report import shown  # noqa: PLC0415 - draws with matplotlib, which takes a second to import
        from sim.report.result import Result  # noqa: PLC0415

        return shown.html(Result(pack(self, describe_tool()).record), self.series)

    def explain(self, ordinal: int) -> Story:
        """Return the story of one request; printed, it reads as ``tollgate explain`` tells it.

        Args:
            ordinal: Its place among the arrivals, from 0.

        Raises:
            ConfigError: If the run has no such request.
        """
        from sim.explain import explain  # noqa: PLC0415 - most runs are not asked

        return explain(self.manifest, ordinal)

    def value(self, metric: str, where: Mapping[str, str] | None = None) -> int | str:
        """Return one observed figure: a count as an integer, everything else as decimal text in the metric's unit.

        Args:
            metric: A name of :mod:`sim.metrics`, such as ``queue.wait.p99``.
            where: Selectors, such as ``{"class": "quiet"}``; the whole run without.

        Raises:
            CallerError: If the run has no such figure.
        """
        labels = dict(where or {})
        for row in self.observations:
            if row["metric"] == metric and row["labels"] == labels:
                return row["value"]
        raise CallerError(f"the run has no figure {metric} for {labels or 'the whole run'}")


def run(
    manifest: Manifest,
    *,
    discipline: Discipline | None = None,
    seed: int | None = None,
    observations_only: bool = False,
    keep_rows: bool = False,
    arrivals_out: TextOut | None = None,
    outcomes_out: TextOut | None = None,
    progress: Progress | None = None,
) -> Run:
    """Run a manifest once.

    Args:
        manifest: From :func:`sim.manifest.load`.
        discipline: Another discipline than the manifest's.
        seed: Another seed than the manifest's.
        observations_only: Leave out series, slowest requests and the digests of arrivals and outcomes; memory then
            stays flat in the number of arrivals, and the run is faster.
        keep_rows: Keep the row of each request and attempt for ``Run.requests`` and ``Run.attempts``, 120 bytes each;
            without it they are made by running the manifest again.
        arrivals_out: Where the arrivals' text goes, if anywhere.
        outcomes_out: Where the outcomes' text goes, if anywhere.
        progress: Is told how far the run is.

    Raises:
        ConfigError: If the manifest lacks what a run needs, or the discipline cannot run it.
    """
    if not isinstance(cast("object", manifest), Manifest):
        raise CallerError(f"sim.run takes a manifest, as sim.load(path) returns it, not {manifest!r:.200}")
    if seed is not None:
        manifest = with_overrides(manifest, seed=seed)
    if discipline is not None:
        manifest = replace(manifest, discipline=discipline)
    manifest.refuse_lacking()
    instruments = Instruments(manifest, outcomes_out, observations_only=observations_only)
    kept = KeptRows() if keep_rows else None
    trace = Trace(instruments.consumers if kept is None else (*instruments.consumers, kept))
    arrivals = None if observations_only and arrivals_out is None else LineDigest(arrivals_out)
    began_ns = host.cpu_ns()
    simulate = _simulate_reference if manifest.discipline == "reference" else _simulate
    with host.collector_paused():
        end_ns, checks = simulate(manifest, trace, arrivals, progress)
        observations = instruments.observations()
    used_ns = host.cpu_ns() - began_ns
    return Run(
        manifest=manifest,
        discipline=manifest.discipline,
        seed=manifest.seed,
        observations=observations,
        checks=[*instruments.checks(), *checks],
        series=None if observations_only else instruments.series(),
        slowest=() if observations_only else instruments.slowest(),
        arrivals_sha256="" if arrivals is None else arrivals.hexdigest(),
        outcomes_sha256="" if observations_only else instruments.outcomes_sha256(),
        end_ns=end_ns,
        host=host.figures(used_ns, end_ns),
        tables=_tables(manifest, observations, kept),
    )


def _tables(manifest: Manifest, observations: Sequence[Observation], kept: KeptRows | None) -> Tables:
    """Return the frames of a run, whose rows are those that were kept, or come from running it again."""
    streams = tuple(stream.name for stream in manifest.streams) or (manifest.name,)

    def rows() -> KeptRows:
        if kept is not None:
            return kept
        again, found = KeptRows(), Instruments(manifest, observations_only=True)
        trace = Trace((*found.consumers, again))
        simulate = _simulate_reference if manifest.discipline == "reference" else _simulate
        with host.collector_paused():
            simulate(manifest, trace, None, None)
        if found.observations() != observations:
            raise EvidenceError(f"{manifest.path}: run again, it gave other observations: its inputs or code changed")
        return again

    return Tables(RunShape.of(manifest), streams, rows)


def _simulate(
    manifest: Manifest, trace: Trace, arrivals: LineDigest | None, progress: Progress | None
) -> tuple[int, list[CheckResult]]:
    """Run the production controller; returns the end of the run and what the world checked."""
    audits: list[str] = []
    kernel = Kernel()
    loops = populations(manifest)

    def audit() -> None:
        audits.extend(world.audit())

    blocks = _attended(manifest, None if loops else arrivals, progress, audit)
    heard = _listener(manifest, arrivals, progress, audit)
    world = World(manifest, blocks, build(manifest), trace, kernel, populations=loops, heard=heard)
    kernel.run(manifest.horizon_ns + manifest.drain_ns)
    audits.extend(world.audit())
    end_ns = _end_ns(manifest, world)
    world.close(end_ns)
    detail = "; ".join(audits[:3]) or "callers and controller agree on who is in service and who waits"
    checks = [CheckResult(name="holders-and-waiters", ok=not audits, detail=detail)]
    if layers := world.layers():
        told = "; ".join(account for account, _ in layers)
        checks.append(CheckResult(name="layers-of-retries", ok=all(ok for _, ok in layers), detail=told))
    return end_ns, checks


def _simulate_reference(
    manifest: Manifest, trace: Trace, arrivals: LineDigest | None, progress: Progress | None
) -> tuple[int, list[CheckResult]]:
    """Run the reference discipline, which brings its own harness."""
    for _ in _attended(manifest, arrivals, None, lambda: None):
        pass
    return run_reference(manifest, trace, progress=progress).end_ms * NS_PER_MS, []


def _attended(
    manifest: Manifest, arrivals: LineDigest | None, progress: Progress | None, audit: Callable[[], None]
) -> Iterator[ArrivalBlock]:
    """Yield the blocks of arrivals; between two, audit the world, spell the arrivals and report progress."""
    ordinal = 0
    principals = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    for block in arrival_blocks(manifest):
        if ordinal:
            audit()
        if arrivals is not None:
            arrivals.add_all(arrival_lines(block, ordinal, principals, providers))
        if progress is not None and len(block):
            progress(block.at_ns[0], manifest.horizon_ns)
        ordinal += len(block)
        yield block


def _listener(
    manifest: Manifest, arrivals: LineDigest | None, progress: Progress | None, audit: Callable[[], None]
) -> Heard:
    """Return what attends to a run with closed loops, whose arrivals are known only when they come."""
    principals = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]

    def heard(ordinal: int, row: ArrivalRow) -> None:
        if arrivals is not None:
            at_ns, _, who, whom, tokens, service_ns, fails, cancel_ns, _, figures = row
            arrivals.add(
                arrival_line(
                    ordinal, at_ns, principals[who], providers[whom], tokens, service_ns, fails, cancel_ns, figures
                )
            )
        if ordinal % BLOCK_ROWS == 0:
            audit()
            if progress is not None:
                progress(row[0], manifest.horizon_ns)

    return heard


def _end_ns(manifest: Manifest, world: World) -> int:
    """Return the end of a run, ns: when the last request has settled, and not before the last phase is over.

    A run in which something has not settled lasts until the end of the drain.

    The seed's manifests are drained in steps of the longest call and the backoff, at least one, counted from the last
    arrival (conformance notes, 8.3), so that both disciplines report the duration by one rule.
    """
    if world.unsettled:
        return manifest.horizon_ns + manifest.drain_ns
    model = manifest.seed_family
    if model is None:
        return max(manifest.horizon_ns, world.last_settled_ns)
    step_ns = (model.service_max_ms + model.backoff_ms) * NS_PER_MS
    steps = max(1, -(-(world.last_settled_ns - world.last_arrival_ns) // step_ns))
    return max(NS_PER_MS, world.last_arrival_ns + steps * step_ns)
