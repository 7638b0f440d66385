"""The shape of the simulated providers in ``capacity-manifest/v1``: service, load, own limits, failures, outages.

This module owns keys and types. Rules that span several blocks live in ``sim.manifest.provider_build``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, ValidationInfo, field_validator

from sim.manifest.blocks import Block
from sim.manifest.distribution_blocks import Lengths
from sim.manifest.scalars import (
    Count,
    Factor,
    Milliseconds,
    Multiplier,
    Name,
    Pause,
    PositiveMilliseconds,
    PositiveNumber,
    PositiveSeconds,
    Probability,
    RecurringSeconds,
    Seconds,
    complaint,
)

RAMP_STEPS_MAX: Final = 1000
"""Most steps of a recovery ramp; each costs the run two events at most, and finer steps than a thousandth are not seen
in any figure."""


# --- how calls are served


class TokenServiceBlock(Block):
    """A call takes a fixed time and a time a token."""

    kind: Literal["tokens"]
    base_ms: Milliseconds = Field(default=0, description="Work of any call, ms.")
    ms_per_prompt_token: Multiplier = Field(default=Fraction(0), description="Work a token of the prompt, ms, exact.")
    ms_per_output_token: Multiplier = Field(default=Fraction(0), description="Work a token of the output, ms, exact.")


class SlowdownBlock(Block):
    """Calls in service that slow each other down."""

    above: Annotated[int, Field(ge=0, le=10**6)] = Field(description="Calls in service that do not slow it down.")
    per_call: PositiveNumber = Field(
        description="What each further one adds: n calls in service run 1 + per_call * (n - above) times as long."
    )


class RateLimitBlock(Block):
    """Limits of the provider's own, which it answers with 429 and a Retry-After."""

    requests_per_minute: PositiveNumber | None = Field(
        default=None, description="Refill of its request bucket, requests a minute."
    )
    requests_burst: Count | None = Field(default=None, description="Its capacity; without it one minute's worth.")
    tokens_per_minute: PositiveNumber | None = Field(
        default=None, description="Refill of its token bucket, tokens a minute."
    )
    tokens_burst: Count | None = Field(default=None, description="Its capacity; without it one minute's worth.")
    concurrency: Count | None = Field(default=None, description="Calls that it has in progress at once.")
    retry_after_ms: Pause | None = Field(
        default=None,
        description="The wait it announces where concurrency binds, ms; without it 1000. Buckets announce theirs.",
    )
    answer_ms: PositiveMilliseconds | None = Field(
        default=None, description="How long it takes to say no, ms; without it 1."
    )


# --- how calls fail


class IndependentFailures(Block):
    """Calls that fail independently of each other."""

    kind: Literal["independent"]
    probability: Probability = Field(description="Chance that a call fails, exact.")
    answer_ms: PositiveMilliseconds | None = Field(
        default=None, description="How long a call that fails takes, ms; without it as long as any other."
    )


class BurstyFailures(Block):
    """Calls that fail in bursts: a good and a bad state follow each other in time (Gilbert and Elliott)."""

    kind: Literal["bursty"]
    good_mean_seconds: RecurringSeconds = Field(
        description="Mean length of a good time, seconds; the run begins with one."
    )
    bad_mean_seconds: RecurringSeconds = Field(description="Mean length of a bad time, seconds.")
    good_probability: Probability = Field(
        default=Fraction(0), description="Chance that a call begun in a good time fails, exact."
    )
    bad_probability: Probability = Field(description="Chance that a call begun in a bad time fails, exact.")
    answer_ms: PositiveMilliseconds | None = Field(
        default=None, description="How long a call that fails takes, ms; without it as long as any other."
    )


Failures = Annotated[IndependentFailures | BurstyFailures, Discriminator("kind")]


# --- outages


class _OutageBlock(Block):
    """What every outage has: when it is, and how it fades."""

    name: Name | None = Field(
        default=None, description="Its name, unique; without it the provider's id, -outage- and its place from 1."
    )
    from_seconds: Seconds = Field(description="Its first instant, seconds from the start of the run.")
    for_seconds: PositiveSeconds = Field(description="Its length, seconds.")
    ramp_seconds: Seconds = Field(default=0, description="How long it takes to fade after its end, seconds.")
    ramp_steps: Annotated[int, Field(ge=1, le=RAMP_STEPS_MAX)] = Field(
        default=10, description="Equal steps in which it fades."
    )


class ErrorOutage(_OutageBlock):
    """Calls begun inside fail."""

    kind: Literal["error"]
    probability: Probability = Field(default=Fraction(1), description="Chance that a call begun inside fails, exact.")
    answer_ms: PositiveMilliseconds | None = Field(
        default=None, description="How long such a call takes, ms; without it 1."
    )


class StallOutage(_OutageBlock):
    """Nothing moves: calls begun or in service hang until it is over."""

    kind: Literal["stall"]


class SlowOutage(_OutageBlock):
    """Calls begun inside take longer."""

    kind: Literal["slow"]
    factor: Factor = Field(description="On the work of a call begun inside.")


class ThrottleOutage(_OutageBlock):
    """A storm of 429: calls begun inside are told to wait."""

    kind: Literal["throttle"]
    probability: Probability = Field(
        default=Fraction(1), description="Chance that a call begun inside is told to wait, exact."
    )
    retry_after_ms: Pause = Field(description="The wait that is announced, ms.")
    answer_ms: PositiveMilliseconds | None = Field(
        default=None, description="How long such an answer takes, ms; without it 1."
    )


OutageBlock = Annotated[ErrorOutage | StallOutage | SlowOutage | ThrottleOutage, Discriminator("kind")]


class ProviderBlock(Block):
    """A simulated provider."""

    id: Name = Field(description="Its name under profile.providers; unique.")
    service_ms: Lengths | None = Field(
        default=None, description="Length of a call, ms: a number or any law of lengths."
    )
    service: TokenServiceBlock | None = Field(
        default=None, description="Instead of service_ms: a length that follows from the size of the request."
    )
    servers: Annotated[int, Field(ge=1, le=10**6)] | None = Field(
        default=None, description="Calls it works on at a time, each at full speed; without it any number."
    )
    sharing: Literal["fifo", "processor"] = Field(
        default="fifo", description="Whether more calls than servers queue, or all share the servers alike."
    )
    slowdown: SlowdownBlock | None = Field(default=None, description="How its own load slows it down.")
    rate_limit: RateLimitBlock | None = Field(default=None, description="Its own limits, answered with 429.")
    failures: Failures | None = Field(default=None, description="How calls fail; without it none does.")
    outages: list[OutageBlock] = Field(default=[], description="Its bad times: error, stall, slow or throttle.")

    @field_validator("sharing")
    @classmethod
    def _shares_something(cls, value: str, info: ValidationInfo) -> str:
        if value == "processor" and "servers" in info.data and info.data["servers"] is None:
            raise complaint("fifo, unless servers says what is shared")
        return value
