"""The shapes of the seed's two manifests and of the file of assumptions that completes the first.

Their keys are the seed's own, in its spelling. Limits are left to ``tollgate.decision.limits``. This module must not
know what the blocks are turned into.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, PlainValidator, WithJsonSchema, field_validator
from pydantic.alias_generators import to_camel

from sim.manifest.blocks import Block, at_least
from sim.manifest.clients import MAX_ATTEMPTS
from sim.manifest.model import SEED_SCHEMAS, SeedV1, SeedV2
from sim.manifest.scalars import HORIZON_MAX_NS, Amount, Count, Name, Number, complaint
from tollgate.core.units import NS_PER_MS, NS_PER_S

V1, V2 = SEED_SCHEMAS
ASSUMPTIONS: Final = "capacity-assumptions/v1"

MAX_SECONDS: Final = HORIZON_MAX_NS // NS_PER_S
MAX_MS: Final = HORIZON_MAX_NS // NS_PER_MS
MAX_RETRIES: Final = MAX_ATTEMPTS - 1


def _double(low: float, high: float, *, above: bool = False) -> PlainValidator:
    """A number that the seed's generator computes with: the double nearest to its source text."""
    bounds = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"

    def read(value: object) -> float:
        if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            number = float(value)
            if low <= number <= high and not (above and number == low):
                return number
        raise complaint(f"a number {bounds}")

    return PlainValidator(read)


Share = Annotated[float, _double(0, 1), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})]
Positive = Annotated[
    float,
    _double(0, 1e9, above=True),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": 10**9}),
]
WholeSeconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]
WholeMs = Annotated[int, Field(ge=0, le=MAX_MS)]
LimitKeys = dict[str, Any]
"""Limits as the file has them; their keys and values are judged by ``tollgate.decision.limits``."""


class SeedBlock(Block):
    """A block whose keys are spelt in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class ServiceTime(SeedBlock):
    """Range of whole milliseconds that a call may take."""

    minimum: WholeMs
    maximum: WholeMs

    _ordered = field_validator("maximum")(at_least("minimum"))


class BurstyArrivals(SeedBlock):
    """When requests come, in both versions."""

    kind: Literal["seeded-bursty-poisson"]
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    average_requests_per_second: Positive
    spike_multiplier: Positive
    spike_duration_seconds: WholeSeconds


class FullArrivals(BurstyArrivals):
    """Version 2 says what they ask for and how it goes, too."""

    small_tokens: Amount
    huge_tokens: Amount
    huge_token_share: Share
    service_time_ms: ServiceTime
    retryable_failure_rate: Share
    max_retries: Annotated[int, Field(ge=0, le=MAX_RETRIES)]
    retry_backoff_ms: WholeMs
    cancellation_rate: Share
    cancel_after_ms: WholeMs


class Durations(SeedBlock):
    """Seconds of each part of the run; arrivals go on over all of them."""

    load_seconds: WholeSeconds
    spike_seconds: WholeSeconds
    soak_seconds: WholeSeconds

    @property
    def total_seconds(self) -> int:
        """Length of the run."""
        return self.load_seconds + self.spike_seconds + self.soak_seconds


class DurationsV2(Durations):
    """Version 2 adds how much of it the evaluator's run takes; the controller's run has no use for it."""

    evaluator_sample_seconds: WholeSeconds | None = None


class SeedPrincipal(SeedBlock):
    """One who asks."""

    id: Name
    class_: Name = Field(alias="class")
    weight: Positive
    limits: LimitKeys


class BoundsV1(SeedBlock):
    """Bounds of version 1. The order is that of the seed's records."""

    maximum_active_calls: Number | None = None
    maximum_queued_calls: Number | None = None
    maximum_resident_memory_mib: Number | None = Field(default=None, alias="maximumResidentMemoryMiB")
    maximum_cpu_percent_one_core: Number | None = None
    maximum_eligible_lane_wait_ms: Number | None = None
    maximum_retry_amplification_ratio: Number | None = None
    maximum_cancellation_latency_ms: Number | None = None


class BoundsV2(SeedBlock):
    """Bounds of version 2. The order is that of the seed's records."""

    maximum_active_calls: Number | None = None
    maximum_queued_calls: Number | None = None
    maximum_heap_used_mib: Number | None = Field(default=None, alias="maximumHeapUsedMiB")
    maximum_cpu_percent_one_core: Number | None = None
    maximum_eligible_lane_wait_ms: Number | None = None
    maximum_retry_amplification_ratio: Number | None = None
    maximum_cancellation_latency_ms: Number | None = None
    minimum_quiet_principal_admission_ratio: Number | None = None


class PassFailV2(SeedBlock):
    """What the seed's harness promises; other values would ask for what this lab does not do."""

    all_bounds_must_pass: Literal[True]
    live_service_required: Literal[False]


class PassFailV1(PassFailV2):
    """Version 1 promises a little more."""

    deterministic_result_order: Literal[True]
    cross_principal_queue_state_disclosure: Literal[False]


class ProfileV1(SeedBlock):
    """Ceilings and limits of version 1, which names no principal and no provider."""

    binding_concurrency: Count
    caller_concurrency: Count
    graph_concurrency: Count
    principal_concurrency: Count
    workspace_concurrency: Count
    provider_concurrency: Count
    requests_per_minute: Number | None = None
    tokens_per_second: Number | None = None
    max_attempts_per_invocation: Count | None = None
    max_batch_size: Count | None = None
    max_cost_usd_per_invocation: Number | None = None
    allow_unknown_cost: bool = False
    max_queue_length: Amount | None = None
    max_queue_wait_ms: Number | None = None
    max_request_bytes: Count | None = None
    max_items: Count | None = None


class ManifestV1(SeedBlock):
    """``decision-load-manifest/v1``: limits, rates and bounds; no principals, sizes, service times or failures."""

    schema_: SeedV1 = Field(alias="schema")
    version: Name
    mode: Literal["offline-fake-provider"]
    profile: ProfileV1
    arrival_model: BurstyArrivals
    duration: Durations
    bounds: BoundsV1
    pass_fail: PassFailV1


class ManifestV2(SeedBlock):
    """``decision-load-manifest/v2``: complete."""

    schema_: SeedV2 = Field(alias="schema")
    version: Name
    mode: Literal["offline-fake-provider"]
    profile_version: Name
    workspace: LimitKeys
    providers: Annotated[dict[str, LimitKeys], Field(min_length=1)]
    principals: Annotated[list[SeedPrincipal], Field(min_length=1)]
    arrival_model: FullArrivals
    duration: DurationsV2
    bounds: BoundsV2
    pass_fail: PassFailV2


class AssumedPrincipal(Block):
    """One who is assumed to ask."""

    id: Name = Field(description="Its name; unique.")
    class_: Name = Field(alias="class", description="Class of its requests in reports.")
    weight: Positive = Field(default=1.0, description="Its share of the requests, relative to the others.")


class AssumedTokens(Block):
    """Sizes of requests."""

    small: Amount = Field(description="Tokens of an ordinary request.")
    huge: Amount = Field(default=0, description="Tokens of a huge one.")
    huge_share: Share = Field(default=0.0, description="Share of huge ones.")


class AssumedService(Block):
    """Length of calls, whole milliseconds, each equally likely."""

    min: WholeMs = Field(description="Shortest call, ms.")
    max: WholeMs = Field(description="Longest call, ms, included.")

    _ordered = field_validator("max")(at_least("min"))


class AssumedRetries(Block):
    """What callers do after a failure."""

    max_retries: Annotated[int, Field(ge=0, le=MAX_RETRIES)] = Field(description="Attempts after the first.")
    backoff_ms: WholeMs = Field(description="Wait before each of them, ms.")


class AssumedCancellation(Block):
    """Callers who change their mind."""

    probability: Share = Field(description="Share of requests that are cancelled.")
    after_ms: WholeMs = Field(description="When, ms after the request's arrival.")


class Assumptions(Block):
    """``capacity-assumptions/v1``: what a manifest of the seed's version 1 leaves open."""

    schema_: Literal["capacity-assumptions/v1"] = Field(alias="schema", description="Always capacity-assumptions/v1.")
    source: str = Field(description="Why these values are assumed; it goes into the record.")
    principals: Annotated[list[AssumedPrincipal], Field(min_length=1)] = Field(description="Who asks.")
    providers: Annotated[list[Name], Field(min_length=1)] = Field(description="Who serves; each equally often.")
    tokens: AssumedTokens = Field(description="Sizes of requests.")
    service_ms: AssumedService = Field(description="Length of calls.")
    failure_probability: Share = Field(default=0.0, description="Share of requests whose first attempt fails.")
    retries: AssumedRetries | None = Field(default=None, description="What follows a failure; without it nothing.")
    cancellation: AssumedCancellation | None = Field(
        default=None, description="Requests that their caller cancels; without it none."
    )
