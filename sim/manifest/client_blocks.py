"""The shape of a client in ``capacity-manifest/v1``: when callers try again, how long they wait, when they leave.

This module owns keys and types. What a client does belongs to ``sim.world.clients``.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, ValidationInfo, field_validator

from sim.manifest.blocks import Block, at_least
from sim.manifest.clients import MAX_ATTEMPTS
from sim.manifest.scalars import (
    Milliseconds,
    Multiplier,
    Name,
    PositiveMilliseconds,
    PositiveNumber,
    PositiveSeconds,
    Probability,
    complaint,
)
from tollgate.core.units import NS_PER_S

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

    _ordered = field_validator("cap_ms")(at_least("base_ms"))


class DecorrelatedRetry(Block):
    """A wait drawn between the base and three times the wait before it; it needs no other jitter."""

    kind: Literal["decorrelated"]
    base_ms: Milliseconds = Field(description="The shortest wait, ms; the first is drawn up to three times as long.")
    cap_ms: Milliseconds = Field(description="The longest wait, ms.")
    max_attempts: Annotated[int, Field(ge=1, le=MAX_ATTEMPTS)] = Field(description=_ATTEMPTS)
    budget: BudgetBlock | None = Field(default=None, description=_BUDGET)
    name: Name | None = Field(default=None, description=_LAYER)

    _ordered = field_validator("cap_ms")(at_least("base_ms"))


RetryBlock = Annotated[NoRetry | FixedRetry | ExponentialRetry | DecorrelatedRetry, Discriminator("kind")]
Layer = FixedRetry | ExponentialRetry | DecorrelatedRetry
LayerBlock = Annotated[Layer, Discriminator("kind")]


class Cancellation(Block):
    """Callers who change their mind."""

    probability: Probability = Field(description="Share of requests that are cancelled.")
    after_ms: Milliseconds = Field(description="When, ms after the request's arrival, if it is not over by then.")


class HerdBlock(Block):
    """Callers who failed in an outage and try again as soon as it is over."""

    outage: Name = Field(description="Name of the outage, of one of the stream's providers.")
    within_ms: Milliseconds = Field(
        default=0, description="They come alike anywhere up to so long after its end, ms; 0 for all at once."
    )


class ClientBlock(Block):
    """How the callers of a stream behave."""

    timeout_ms: PositiveMilliseconds | None = Field(
        default=None,
        description="How long a request may take from its arrival, over all attempts, ms; without it, for ever.",
    )
    abandon: Literal["provider-stops", "provider-continues"] = Field(
        default="provider-stops",
        description="What becomes of a call in service when its caller's time is over: the gateway cancels it, or the "
        "provider works on for nobody.",
    )
    abandoned_permit: Literal["held", "freed"] = Field(
        default="held", description="Whether a call that goes on for nobody keeps its permit until it is done."
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
    herd: HerdBlock | None = Field(
        default=None, description="Callers who come back together when an outage is over; without it each on its own."
    )
    cancellation: Cancellation | None = Field(
        default=None, description="Requests that their caller cancels; without it none."
    )

    @field_validator("abandon")
    @classmethod
    def _loses_patience(cls, value: str, info: ValidationInfo) -> str:
        if value == "provider-continues" and info.data.get("timeout_ms", 1) is None:
            raise complaint("provider-stops, unless timeout_ms says when a caller leaves")
        return value

    @field_validator("abandoned_permit")
    @classmethod
    def _goes_on(cls, value: str, info: ValidationInfo) -> str:
        if value == "freed" and info.data.get("abandon") == "provider-stops":
            raise complaint("held, unless abandon is provider-continues: a call that stops frees its permit at once")
        return value

    @field_validator("herd")
    @classmethod
    def _comes_back(cls, value: HerdBlock | None, info: ValidationInfo) -> HerdBlock | None:
        if value is not None and isinstance(info.data.get("retry"), NoRetry) and not info.data.get("layers"):
            raise complaint("absent, unless retry or layers says when to try again")
        return value

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
