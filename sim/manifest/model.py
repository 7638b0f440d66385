"""The one internal model that every manifest schema maps onto.

Its values are frozen and plain: integer nanoseconds and exact fractions. This module owns the shape of what a run is
told. It must not know files, schemas or pydantic, and it draws nothing: how a distribution is sampled belongs to
``sim.workload``, how a client behaves to ``sim.world``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

from sim.manifest.clients import Client
from sim.manifest.distributions import Distribution
from sim.manifest.processes import Closed, Generated, Reshape
from sim.manifest.providers import Outage, ProviderModel
from sim.manifest.work import Work
from tollgate.core.errors import ConfigError
from tollgate.decision.profile import AdmissionProfile

SeedV1 = Literal["decision-load-manifest/v1"]
SeedV2 = Literal["decision-load-manifest/v2"]
SeedSchema = Literal[SeedV1, SeedV2]
SEED_SCHEMAS: Final[tuple[SeedSchema, ...]] = get_args(SeedSchema)
"""The seed's own manifests, each by its ``schema``."""

Discipline = Literal["default", "reference"]
Op = Literal["<=", ">=", "<", ">"]
Estimand = Literal["path", "mean", "hold"]

# --- arrivals

_AS_IT_IS: Final = Reshape()


@dataclass(frozen=True, slots=True)
class TraceReplay:
    """Arrivals read from a file, row by row.

    Attributes:
        path: The file, resolved against the manifest's folder.
        sha256: Hex digest of the file's bytes, checked when the manifest is read.
        options: How to read it: the other keys of the block. ``sim.workload.traces`` knows what they mean.
        reshape: What is done to its rows before they are replayed.
    """

    path: Path
    sha256: str
    options: Mapping[str, object]
    reshape: Reshape = _AS_IT_IS


Arrivals = Generated | TraceReplay | Closed


# --- streams, world and rules


@dataclass(frozen=True, slots=True)
class PrincipalInfo:
    """One who asks, and the class that reports group it by."""

    name: str
    cls: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of the run, from ``start_ns`` up to but not including ``end_ns``.

    Attributes:
        name: Label in observations.
        start_ns: From the start of the run.
        end_ns: From the start of the run.
        rate_multiplier: Factor on a stream's arrival rate, by stream name; 1 where a stream is not named.
    """

    name: str
    start_ns: int
    end_ns: int
    rate_multiplier: Mapping[str, Fraction] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Stream:
    """A source of requests that behave alike.

    Attributes:
        index: Place in the manifest; ties between arrivals go to the lower one.
        name: Name of the stream and of its random streams.
        cls: Class of its requests.
        principals: Indices into ``Manifest.principals``; each has the arrival rate of its own, except in a replayed
            trace.
        arrivals: When requests come.
        tokens: Tokens of a request, as estimated and used; 0 where its work tells the prompt and the output apart.
        work: What is special about its requests; None where they are plain.
        providers: (index into ``Manifest.providers``, exact weight); the weights sum to 1.
        client: How its callers behave.
    """

    index: int
    name: str
    cls: str
    principals: tuple[int, ...]
    arrivals: Arrivals
    tokens: Distribution
    providers: tuple[tuple[int, Fraction], ...]
    client: Client
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class GateSpec:
    """A rule over one metric.

    Attributes:
        id: Its name in verdicts.
        metric: Name in ``sim.metrics``.
        where: Selector values, such as ``{"class": "quiet"}``.
        op: Comparison that must hold between the observed value and ``bound``.
        bound: Exact decimal text, in ``unit``.
        unit: The metric's unit.
        estimand: ``path`` (this run), ``mean`` (over replications) or ``hold`` (share of runs in which it holds).
        confidence: Of the interval that decides, exact.
        min_probability: The share a ``hold`` gate asks for; None for the others.
        severity: Whether it can change the verdict.
    """

    id: str
    metric: str
    where: Mapping[str, str]
    op: Op
    bound: str
    unit: str
    estimand: Estimand
    confidence: Fraction = Fraction(95, 100)
    min_probability: Fraction | None = None
    severity: Literal["block", "warn"] = "block"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a value of the manifest comes from."""

    path: str
    value: str
    kind: Literal["measured", "fitted", "assumed"]
    source: str


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file the run depends on beside the manifest itself; ``sha256`` is hex."""

    name: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class SeedFamilyModel:
    """The arrival model of the seed's manifests, in its own units.

    Its generator is reproduced to the bit, so what it computes with are the same doubles.

    Attributes:
        seed: Of its generator.
        rate: Average requests per second outside the spike, as the file has it.
        spike_multiplier: Factor on the rate in the spike.
        spike_start_ms: Start of the spike.
        spike_ms: Length of the spike.
        end_ms: End of the arrivals.
        principals: (index into ``Manifest.principals``, weight) in the order of the file.
        providers: Indices into ``Manifest.providers`` in the order of their ids by code unit.
        small_tokens: Tokens of an ordinary request.
        huge_tokens: Tokens of a huge one.
        huge_share: Share of huge ones.
        service_min_ms: Shortest call.
        service_max_ms: Longest call.
        failure_rate: Share of requests whose first attempt fails.
        max_retries: Attempts after the first.
        backoff_ms: Wait before each of them.
        cancellation_rate: Share of requests the caller cancels.
        cancel_after_ms: When it does, from the arrival.
    """

    seed: int
    rate: float
    spike_multiplier: float
    spike_start_ms: int
    spike_ms: int
    end_ms: int
    principals: tuple[tuple[int, float], ...]
    providers: tuple[int, ...]
    small_tokens: int
    huge_tokens: int
    huge_share: float
    service_min_ms: int
    service_max_ms: int
    failure_rate: float
    max_retries: int
    backoff_ms: int
    cancellation_rate: float
    cancel_after_ms: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """A validated manifest, whatever schema it was written in.

    Attributes:
        schema: Schema it was written in.
        name: Name of the experiment.
        version: Its version; the same name and version always mean the same bytes.
        mode: Kind of provider it runs against.
        seed: Root of every random stream.
        sha256: Hex digest of ``raw``.
        raw: The exact bytes of the file, before any override.
        path: Where it was read.
        target_kind: What is under test.
        discipline: Which discipline decides.
        profile: The limits under test, one entry for every principal.
        phases: Back to back from 0, cut at the window if one was given.
        warmup_ns: Observations begin here.
        drain_ns: Time after the last phase for what is in flight.
        streams: The traffic; empty for the seed's manifests.
        providers: The world.
        principals: Everyone who asks.
        gates: The rules for the verdict.
        replications_n: Runs that ``gate`` makes.
        provenance: Where values come from.
        inputs: Files beside the manifest, such as traces and assumptions.
        client: How callers behave where there are no streams (the seed's manifests); None otherwise.
        seed_family: The arrival model of the seed's manifests; None for ours.
        declared_horizon_ns: Length of the phases before a window cut them.
        format: How ``raw`` was read.
        window_ns: The cut that was asked for; None for none.
        seed_given: The seed that replaces the file's; None for none.
        assumptions_path: The file of assumptions that completes the manifest; None where there is none.
        assumptions_raw: Its exact bytes.
        overrides: (path, value) changed after reading, for the record.
        lacks: What has to be assumed before this manifest can be run; empty when it is complete.
    """

    schema: str
    name: str
    version: str
    mode: str
    seed: int
    sha256: str
    raw: bytes = field(repr=False)
    path: Path
    target_kind: str
    discipline: Discipline
    profile: AdmissionProfile = field(repr=False)
    phases: tuple[Phase, ...]
    warmup_ns: int
    drain_ns: int
    streams: tuple[Stream, ...] = field(repr=False)
    providers: tuple[ProviderModel, ...]
    principals: tuple[PrincipalInfo, ...] = field(repr=False)
    gates: tuple[GateSpec, ...]
    replications_n: int = 1
    provenance: tuple[Provenance, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    client: Client | None = None
    seed_family: SeedFamilyModel | None = None
    declared_horizon_ns: int = 0
    format: Literal["json", "yaml"] = "json"
    window_ns: int | None = None
    seed_given: int | None = None
    assumptions_path: Path | None = None
    assumptions_raw: bytes = field(default=b"", repr=False)
    overrides: tuple[tuple[str, str], ...] = ()
    lacks: tuple[str, ...] = ()

    def refuse_lacking(self) -> None:
        """Refuse a manifest that lacks what a run needs; it is not run on stand-ins.

        Raises:
            ConfigError: Naming what is missing.
        """
        if self.lacks:
            raise ConfigError(
                "",
                self.name,
                f"a manifest that states {', '.join(self.lacks)}; give them with --assume FILE",
                file=str(self.path),
            )

    @property
    def has_loops(self) -> bool:
        """Whether some arrivals exist only in a run: those of callers who wait for an answer before they ask again."""
        return any(isinstance(stream.arrivals, Closed) for stream in self.streams)

    @property
    def horizon_ns(self) -> int:
        """End of the arrivals: the end of the last phase, ns from the start."""
        return self.phases[-1].end_ns

    @property
    def outages(self) -> tuple[Outage, ...]:
        """Every outage of every provider, by its start, then in the order of the manifest.

        A window leaves out those that begin at its end or later, and shortens none.
        """
        every = [outage for provider in self.providers for outage in provider.outages]
        return tuple(sorted(every, key=lambda outage: outage.start_ns))
