"""The shape of the traffic in ``capacity-manifest/v1``: arrivals, streams and their clients.

This module owns keys and types. Rules that span several blocks live in ``sim.manifest.build``.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Discriminator, Field, ValidationInfo, field_validator

from sim.manifest.blocks import Block
from sim.manifest.distribution_blocks import Amounts, ordered
from sim.manifest.model import MAX_ATTEMPTS
from sim.manifest.scalars import (
    Amount,
    Digest,
    Milliseconds,
    Multiplier,
    Name,
    PositiveMilliseconds,
    PositiveNumber,
    PositiveSeconds,
    Probability,
    Seconds,
    complaint,
)
from tollgate.core.units import NS_PER_S

MAX_PRINCIPALS: Final = 1_000_000
"""Most principals of one stream: ten times the 10^5 that the lab is measured at; each costs some hundred bytes."""


# --- arrivals


class PoissonArrivals(Block):
    """A Poisson process."""

    kind: Literal["poisson"]
    per_second: PositiveNumber = Field(description="Arrivals a second, of each principal of the stream.")


class BurstyPoissonArrivals(Block):
    """A Poisson process whose rate is multiplied during bursts at known times."""

    kind: Literal["bursty-poisson"]
    per_second: PositiveNumber = Field(description="Arrivals a second outside bursts, of each principal of the stream.")
    multiplier: Multiplier = Field(description="Factor on the rate inside a burst.")
    first_seconds: Seconds = Field(
        default=0, description="Start of the first burst, seconds from the start of the run."
    )
    burst_seconds: PositiveSeconds = Field(description="Length of a burst, seconds.")
    every_seconds: PositiveSeconds | None = Field(
        default=None,
        description="From the start of one burst to the start of the next, seconds; without it there is one burst.",
    )

    @field_validator("every_seconds")
    @classmethod
    def _no_overlap(cls, value: int | None, info: ValidationInfo) -> int | None:
        ordered(value, info, "burst_seconds")
        return value


class TraceArrivals(Block):
    """Rows of a recorded file, replayed in its order.

    ``sim.workload.traces`` reads the file and judges how these keys go together.
    """

    later: ClassVar[tuple[str, ...]] = ("thin", "scale_rate", "time_warp", "bootstrap")

    kind: Literal["trace"]
    file: Annotated[str, Field(min_length=1)] = Field(description="The trace, relative to the manifest.")
    sha256: Digest = Field(description="Hex SHA-256 of the file's bytes; another file is refused.")
    format: Literal["csv", "jsonl", "clf"] = Field(description="How its rows are written.")
    time_column: str = Field(description="Column or key of the instants.")
    time_unit: Literal["date-time", "s", "ms", "us", "ns"] = Field(description="What an instant is written in.")
    time_is: Literal["start", "end"] = Field(
        default="start", description="Whether an instant is a request's start or its end."
    )
    tokens_columns: list[str] = Field(default=[], description="Columns whose sum is the size of a request, tokens.")
    principal_column: str | None = Field(
        default=None, description="Whom a request belongs to: the k-th id to appear is the stream's k-th principal."
    )
    duration_column: str | None = Field(
        default=None, description="How long a call took; without it the provider's service time."
    )
    duration_unit: Literal["s", "ms", "us", "ns"] | None = Field(default=None, description="Unit of the durations.")
    missing_size: Amount | None = Field(
        default=None, description="What a missing size counts as, tokens; without it, it is refused."
    )
    sort: bool = Field(
        default=False, description="Whether rows are put into the order of time; if not, a step back is refused."
    )
    split_on_step_back: bool = Field(
        default=False, description="Whether a step back starts another capture, which is laid behind the one before."
    )
    segment: Annotated[int, Field(ge=1, le=100)] | None = Field(
        default=None, description="The only capture that is replayed, by its number."
    )
    segment_gap_seconds: Seconds | None = Field(default=None, description="Time left between two captures, seconds.")
    drop_invalid: bool = Field(default=False, description="Whether rows that cannot be used are left out, and counted.")
    ms_per_token: PositiveNumber | None = Field(
        default=None, description="Length of a call for each of its tokens, ms."
    )


Arrivals = Annotated[PoissonArrivals | BurstyPoissonArrivals | TraceArrivals, Discriminator("kind")]


# --- streams


class Work(Block):
    """What one request asks for."""

    later: ClassVar[tuple[str, ...]] = ("prompt_tokens", "output_tokens", "items", "bytes", "cost_usd")

    tokens: Amounts = Field(description="Estimated tokens of a request.")


_JITTER: Final = "full draws each wait uniformly from 0 up to it, equal from its half up to it."
_ATTEMPTS: Final = "Attempts in all, the first included."
_BUDGET: Final = "What keeps retries back when there are too many; without it nothing."
_LAYER: Final = "Name of this layer in reports; needed in layers."


class RatioBudget(Block):
    """A budget that requests pay into and retries draw from."""

    kind: Literal["ratio"]
    ratio: Multiplier = Field(description="What each request pays in; a retry takes 1.")
    min_retries_per_second: Multiplier = Field(
        description="Retries a second that may be made on top, whatever was paid in."
    )
    ttl_seconds: PositiveSeconds = Field(
        default=10 * NS_PER_S, description="How long a payment and a retry are remembered, seconds."
    )
    per: Literal["stream", "principal"] = Field(
        default="stream",
        description="Whether all callers of the stream have one together, or each principal its own.",
    )

    @field_validator("min_retries_per_second")
    @classmethod
    def _ever(cls, value: Fraction, info: ValidationInfo) -> Fraction:
        if not value and not info.data.get("ratio", 1):
            raise complaint("above 0 where ratio is 0: nobody could ever retry")
        return value


class TokenBudget(Block):
    """A count that failures lower and successes raise; there are retries while it is above half of its maximum."""

    kind: Literal["tokens"]
    max_tokens: Annotated[int, Field(ge=1, le=1000)] = Field(
        description="The most it counts, and where it starts; a failed attempt takes 1."
    )
    token_ratio: PositiveNumber = Field(description="What a success gives back.")
    per: Literal["stream", "principal"] = Field(
        default="stream",
        description="Whether all callers of the stream have one together, or each principal its own.",
    )


BudgetBlock = Annotated[RatioBudget | TokenBudget, Discriminator("kind")]


class NoRetry(Block):
    """One attempt."""

    kind: Literal["none"]


class FixedRetry(Block):
    """The same wait before every further attempt."""

    kind: Literal["fixed"]
    base_ms: Milliseconds = Field(description="The wait, ms.")
    jitter: Literal["none", "full", "equal"] = Field(default="none", description=_JITTER)
    max_attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = Field(description=_ATTEMPTS)
    budget: BudgetBlock | None = Field(default=None, description=_BUDGET)
    name: Name | None = Field(default=None, description=_LAYER)


class ExponentialRetry(Block):
    """A wait that doubles before every further attempt."""

    kind: Literal["exponential"]
    base_ms: Milliseconds = Field(description="The first wait, ms.")
    cap_ms: Milliseconds = Field(description="The longest wait, ms.")
    jitter: Literal["none", "full", "equal"] = Field(default="none", description=_JITTER)
    max_attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = Field(description=_ATTEMPTS)
    budget: BudgetBlock | None = Field(default=None, description=_BUDGET)
    name: Name | None = Field(default=None, description=_LAYER)

    @field_validator("cap_ms")
    @classmethod
    def _above_base(cls, value: int, info: ValidationInfo) -> int:
        ordered(value, info, "base_ms")
        return value


class DecorrelatedRetry(Block):
    """A wait drawn between the base and three times the wait before it; it needs no other jitter."""

    kind: Literal["decorrelated"]
    base_ms: Milliseconds = Field(description="The shortest wait, ms; the first is drawn up to three times as long.")
    cap_ms: Milliseconds = Field(description="The longest wait, ms.")
    max_attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = Field(description=_ATTEMPTS)
    budget: BudgetBlock | None = Field(default=None, description=_BUDGET)
    name: Name | None = Field(default=None, description=_LAYER)

    @field_validator("cap_ms")
    @classmethod
    def _above_base(cls, value: int, info: ValidationInfo) -> int:
        ordered(value, info, "base_ms")
        return value


RetryBlock = Annotated[NoRetry | FixedRetry | ExponentialRetry | DecorrelatedRetry, Discriminator("kind")]
Layer = FixedRetry | ExponentialRetry | DecorrelatedRetry
LayerBlock = Annotated[Layer, Discriminator("kind")]


class Cancellation(Block):
    """Callers who change their mind."""

    probability: Probability = Field(description="Share of requests that are cancelled.")
    after_ms: Milliseconds = Field(description="When, ms after the request's arrival, if it is not over by then.")


class ClientBlock(Block):
    """How the callers of a stream behave."""

    later: ClassVar[tuple[str, ...]] = ("abandon", "herd")

    timeout_ms: PositiveMilliseconds | None = Field(
        default=None,
        description="How long a request may take from its arrival, over all attempts, ms; without it, for ever.",
    )
    retry: RetryBlock = Field(default=NoRetry(kind="none"), description="When a caller tries again.")
    layers: list[LayerBlock] = Field(
        default=[],
        description="Instead of retry, several that try again one around the other, from the one that makes the calls "
        "outwards; each has a name. Their attempts multiply.",
    )
    on_refusal: Literal["give-up", "retry"] = Field(
        default="give-up", description="Whether a refusal ends the request or is retried like a failure."
    )
    retry_after: Literal["honour", "ignore"] = Field(
        default="honour", description="Whether a wait that the service announces is waited out."
    )
    retry_after_cap_ms: Milliseconds | None = Field(
        default=None,
        description="The longest announced wait that is waited out, ms: a longer one ends the request; without it any.",
    )
    cancellation: Cancellation | None = Field(
        default=None, description="Requests that their caller cancels; without it none."
    )

    @field_validator("layers")
    @classmethod
    def _multiply(cls, value: list[Layer], info: ValidationInfo) -> list[Layer]:
        if not value:
            return value
        if not isinstance(info.data.get("retry"), NoRetry):
            raise complaint("absent where retry is given: a single policy is a single layer")
        names = [layer.name for layer in value]
        if None in names or len(set(names)) < len(names):
            raise complaint("layers that each have a name of their own")
        product = prod(layer.max_attempts for layer in value)
        if product > MAX_ATTEMPTS:
            raise complaint(f"at most {MAX_ATTEMPTS} attempts of all layers together; these make {product}")
        return value

    @field_validator("on_refusal")
    @classmethod
    def _retries(cls, value: str, info: ValidationInfo) -> str:
        if value == "retry" and isinstance(info.data.get("retry"), NoRetry) and not info.data.get("layers"):
            raise complaint("give-up, unless retry or layers says when to try again")
        return value

    @field_validator("retry_after_cap_ms")
    @classmethod
    def _honoured(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is not None and info.data.get("retry_after") == "ignore":
            raise complaint("absent where retry_after is ignore: no announced wait is waited out")
        return value


class StreamBlock(Block):
    """A source of requests that behave alike."""

    name: Name = Field(description="Name of the stream and of its random streams; unique.")
    principal: Name = Field(description="Who asks: a name under profile.principals.")
    count: Annotated[int, Field(ge=1, le=MAX_PRINCIPALS)] | None = Field(
        default=None,
        description="N principals, principal-1 to principal-N, each with the limits and the rate given here.",
    )
    cls: Name | None = Field(
        default=None, alias="class", description="Class of its requests in reports; without it the stream's name."
    )
    arrivals: Arrivals = Field(description="When requests come: poisson, bursty-poisson or trace.")
    work: Work | None = Field(default=None, description="What they ask for; only a trace that has sizes goes without.")
    providers: Annotated[dict[Name, PositiveNumber], Field(min_length=1)] = Field(
        description="Provider to weight; a request goes to one of them with probability weight over the sum of weights."
    )
    client: ClientBlock = Field(default=ClientBlock(), description="How its callers behave.")

    @field_validator("work")
    @classmethod
    def _sized_once(cls, value: Work | None, info: ValidationInfo) -> Work | None:
        arrivals = info.data.get("arrivals")
        if value is not None and isinstance(arrivals, TraceArrivals) and arrivals.tokens_columns:
            raise complaint("absent: the trace brings the sizes of its requests")
        return value
