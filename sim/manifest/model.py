"""The one internal model that every manifest schema maps onto.

Its values are frozen and plain: integer nanoseconds and exact fractions. This module owns the shape of what a run is
told. It must not know files, schemas or pydantic, and it draws nothing: how a distribution is sampled belongs to
``sim.workload``, how a client behaves to ``sim.world``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal, get_args

from sim.manifest.distributions import Distribution
from sim.manifest.processes import Closed, Generated, Reshape
from sim.manifest.work import Work
from tollgate.core.units import Rate
from tollgate.decision.profile import AdmissionProfile

SeedV1 = Literal["decision-load-manifest/v1"]
SeedV2 = Literal["decision-load-manifest/v2"]
SeedSchema = Literal[SeedV1, SeedV2]
SEED_SCHEMAS: Final[tuple[SeedSchema, ...]] = get_args(SeedSchema)
"""The seed's own manifests, each by its ``schema``."""

Discipline = Literal["default", "reference"]
Op = Literal["<=", ">=", "<", ">"]
Estimand = Literal["path", "mean", "hold"]

MAX_ATTEMPTS: Final = 62
"""Most attempts a client may make, all its layers of retries together: the failures of all attempts of one arrival
travel as bits of one signed 64-bit column."""


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


# --- clients


BudgetHolder = Literal["stream", "principal"]
"""Who has a retry budget of its own: all callers of a stream together, or each principal."""


@dataclass(frozen=True, slots=True)
class RatioBudget:
    """A budget that requests pay into and retries draw from, as in Finagle.

    Attributes:
        ratio: What each request pays in; a retry takes 1.
        min_retries_per_second: What may be drawn on top, whatever was paid in.
        ttl_ns: How long both are remembered, ns.
        per: Who has one.
    """

    ratio: Fraction
    min_retries_per_second: Fraction
    ttl_ns: int
    per: BudgetHolder = "stream"


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """A count that failures lower and successes raise, as in gRPC; there are retries while it is above half.

    Attributes:
        max_tokens: The most it counts, and where it starts; a failure takes 1.
        token_ratio: What a success gives back.
        per: Who has one.
    """

    max_tokens: int
    token_ratio: Fraction
    per: BudgetHolder = "stream"


@dataclass(frozen=True, slots=True)
class Retry:
    """When a layer of a client tries again after a failed attempt.

    Attributes:
        kind: ``fixed`` (always ``base_ns``), ``exponential`` (doubling from ``base_ns`` up to ``cap_ns``) or
            ``decorrelated`` (drawn between ``base_ns`` and three times the wait before, up to ``cap_ns``).
        base_ns: First wait; the shortest one of ``decorrelated``.
        cap_ns: Longest wait.
        jitter: ``full`` draws the wait uniformly from 0 up to it, ``equal`` from its half, ``none`` takes it as it is.
        max_attempts: Attempts in all, the first one included.
        budget: What keeps retries back when there are too many of them; None for nothing.
        name: What reports call this layer, where there are several.
    """

    kind: Literal["fixed", "exponential", "decorrelated"]
    base_ns: int = 0
    cap_ns: int = 0
    jitter: Literal["none", "full", "equal"] = "none"
    max_attempts: int = 1
    budget: RatioBudget | TokenBudget | None = None
    name: str = ""

    @property
    def is_drawn(self) -> bool:
        """Whether its waits are left to chance."""
        return self.jitter != "none" or self.kind == "decorrelated"


@dataclass(frozen=True, slots=True)
class Herd:
    """Callers who failed in an outage and come back as soon as it is over.

    Attributes:
        outage: Its name.
        provider: Index of the provider that had it.
        start_ns: Its first instant.
        end_ns: Its end.
        within_ns: Up to how long after its end they come.
    """

    outage: str
    provider: int
    start_ns: int
    end_ns: int
    within_ns: int


@dataclass(frozen=True, slots=True)
class Client:
    """How the callers of a stream behave.

    Attributes:
        timeout_ns: Patience of one request from its arrival, over all attempts; None for endless.
        abandon: What becomes of a call in service when patience ends: it is cancelled, or the provider goes on.
        frees_abandoned: Whether a call that goes on for nobody gives its permit back at once.
        cancel_probability: Share of requests that the caller cancels.
        cancel_after_ns: When it does, from the arrival; None where nobody cancels.
        on_refusal: Whether a refusal ends the request or is retried like a failure.
        layers: Who tries again after a failed attempt, from the layer that makes the calls outwards; empty for nobody.
            What a layer cannot make succeed is one failed attempt of the next.
        honour_retry_after: Whether a wait the service announces is waited out.
        retry_after_cap_ns: The longest announced wait that is waited out; a longer one ends the request. None for any.
        herd: Who comes back together, and when; None where everybody waits on their own.
        abortable_backoff: Whether a cancellation during a wait between attempts takes effect at once; if not, the next
            attempt meets it.
    """

    timeout_ns: int | None = None
    abandon: Literal["provider-stops", "provider-continues"] = "provider-stops"
    frees_abandoned: bool = False
    cancel_probability: Fraction = Fraction(0)
    cancel_after_ns: int | None = None
    on_refusal: Literal["give-up", "retry"] = "give-up"
    layers: tuple[Retry, ...] = ()
    honour_retry_after: bool = True
    retry_after_cap_ns: int | None = None
    herd: Herd | None = None
    abortable_backoff: bool = True

    @property
    def is_drawn(self) -> bool:
        """Whether any wait of theirs is left to chance."""
        return any(layer.is_drawn for layer in self.layers) or (self.herd is not None and self.herd.within_ns > 0)

    @property
    def max_attempts(self) -> int:
        """Most attempts of one request: the layers' multiplied."""
        return prod(layer.max_attempts for layer in self.layers)


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


OutageKind = Literal["error", "stall", "slow", "throttle"]


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch of time in which a provider does not do what it should, and its recovery.

    Attributes:
        name: Its name; no other outage of the manifest has it.
        provider: Index into ``Manifest.providers``.
        kind: ``error`` (calls fail), ``stall`` (calls hang), ``slow`` (calls take longer), ``throttle`` (calls are told
            to wait).
        start_ns: Its first instant, from the start of the run.
        end_ns: Its end, itself not part of it.
        ramp_end_ns: From when on nothing of it is left; ``end_ns`` where it ends at once.
        ramp_steps: Equal steps in which it fades from ``end_ns`` to ``ramp_end_ns``.
        probability: Chance that a call begun inside is hit, for ``error`` and ``throttle``.
        answer_ns: How long the provider takes for such an answer, ns.
        factor: On the work of a call begun inside, for ``slow``.
        retry_after_ns: The wait that it announces, for ``throttle``.
    """

    name: str
    provider: int
    kind: OutageKind
    start_ns: int
    end_ns: int
    ramp_end_ns: int
    ramp_steps: int = 1
    probability: Fraction = Fraction(1)
    answer_ns: int = 1
    factor: Fraction = Fraction(1)
    retry_after_ns: int = 0


@dataclass(frozen=True, slots=True)
class TokenService:
    """A call's work follows from its size: ``base_ns`` and so many ns a token, rounded down, at least 1 ns.

    Attributes:
        base_ns: Work of any call, ns.
        per_prompt_token_ns: Work a token of the prompt, ns, exact.
        per_output_token_ns: Work a token of the output, ns, exact.
    """

    base_ns: int
    per_prompt_token_ns: Fraction
    per_output_token_ns: Fraction


@dataclass(frozen=True, slots=True)
class Bursts:
    """Failures that come in bursts: a chain of two states in time, each of exponential length (Gilbert and Elliott).

    Attributes:
        good_ns: Mean stay in the good state, where the run begins, ns.
        bad_ns: Mean stay in the bad state, ns.
        good_probability: Chance that a call begun in the good state fails.
        bad_probability: Chance that one begun in the bad state does.
    """

    good_ns: int
    bad_ns: int
    good_probability: Fraction
    bad_probability: Fraction


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Calls in service slow each other down: each runs ``1 + per_call * (n - above)`` times as long while n are in it.

    Attributes:
        above: Calls in service that do not.
        per_call: What each further one adds, exact.
    """

    above: int
    per_call: Fraction


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A provider's own limits, which it answers with 429 and a wait.

    Attributes:
        requests: Refill and capacity of its request bucket; None for no such limit.
        tokens: Those of its token bucket.
        concurrency: Calls it has in progress at once; None for no such limit.
        answer_ns: How long it takes to say no, ns.
        retry_after_ns: The wait it announces where ``concurrency`` is what binds; buckets announce the exact one.
    """

    requests: tuple[Rate, int] | None
    tokens: tuple[Rate, int] | None
    concurrency: int | None
    answer_ns: int
    retry_after_ns: int


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """A simulated provider.

    Attributes:
        id: Its name in the profile.
        service: Work of a call, ns, as if it had the provider to itself.
        failure_probability: Chance that a call fails, each independently.
        failure_ns: How long a call that fails takes, ns; None where it takes as long as any other.
        bursts: Failures that come in bursts instead; None for none.
        servers: Calls it works on at a time, each at full speed; None for any number.
        sharing: What happens to more calls than ``servers``: they queue (``fifo``), or all of them share the servers
            alike (``processor``).
        slowdown: How its load slows it down further; None for not at all.
        rate_limit: Its own limits; None for none.
        outages: Its bad times, by ``start_ns``.
    """

    id: str
    service: Distribution | TokenService
    failure_probability: Fraction = Fraction(0)
    failure_ns: int | None = None
    bursts: Bursts | None = None
    servers: int | None = None
    sharing: Literal["fifo", "processor"] = "fifo"
    slowdown: Slowdown | None = None
    rate_limit: RateLimit | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def has_chances(self) -> bool:
        """Whether what happens to a call is drawn when it begins, from its arrival's own word."""
        hits = [outage for outage in self.outages if outage.kind in {"error", "throttle"}]
        return self.bursts is not None or any(
            outage.probability < 1 or outage.ramp_end_ns > outage.end_ns for outage in hits
        )

    @property
    def is_plain(self) -> bool:
        """Whether each call takes its own work and nothing else matters, so that it ends when it was to end."""
        return (
            self.failure_ns is None
            and self.bursts is None
            and self.servers is None
            and self.slowdown is None
            and self.rate_limit is None
            and not self.outages
        )


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

    @property
    def has_loops(self) -> bool:
        """Whether some arrivals exist only in a run: those of callers who wait for an answer before they ask again."""
        return any(isinstance(stream.arrivals, Closed) for stream in self.streams)

    @property
    def horizon_ns(self) -> int:
        """End of the arrivals: the end of the last phase, ns from the start."""
        return self.phases[-1].end_ns

    @property
    def faults(self) -> tuple[Outage, ...]:
        """Every outage of every provider, by its start, then in the order of the manifest.

        A window leaves out those that begin at its end or later, and shortens none.
        """
        every = [outage for provider in self.providers for outage in provider.outages]
        return tuple(sorted(every, key=lambda outage: outage.start_ns))
