"""The shape of ``work`` in ``capacity-manifest/v1``: what a request uses, and what it says of itself.

This module owns keys and types. What a limit makes of a figure belongs to ``tollgate.decision``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from sim.manifest.blocks import Block
from sim.manifest.distribution_blocks import Amounts, AnyAmount, kind_or_bare
from sim.manifest.scalars import Count, PositiveNumber, complaint


class ExactEstimate(Block):
    """Callers know how much they will be answered with."""

    kind: Literal["exact"]


class UnknownEstimate(Block):
    """Callers state no tokens at all: none are drawn from token buckets."""

    kind: Literal["unknown"]


class MaxTokensEstimate(Block):
    """Callers state the cap on the output, as a gateway does that counts max_tokens; the answer is cut there."""

    kind: Literal["max-tokens"]
    value: Count = Field(description="The cap, tokens: what the output is estimated at, and the most it can be.")


class FactorEstimate(Block):
    """Callers are off by a factor."""

    kind: Literal["factor"]
    value: PositiveNumber = Field(
        description="Estimate over actual output, exact, rounded up: above 1 too much, below 1 too little."
    )


class DrawnEstimate(Block):
    """Callers guess, whatever the answer will be."""

    kind: Literal["drawn"]
    tokens: Amounts = Field(description="What the output is estimated at.")


OutputEstimateBlock = Annotated[
    ExactEstimate | UnknownEstimate | MaxTokensEstimate | FactorEstimate | DrawnEstimate, Discriminator("kind")
]


def _known_or_not(value: object) -> str | None:
    return "bare word" if value == "unknown" else kind_or_bare(value)


AmountsOrUnknown = Annotated[Annotated[Literal["unknown"], Tag("bare word")] | AnyAmount, Discriminator(_known_or_not)]
"""A figure that a caller may leave out."""


class Work(Block):
    """What one request asks for."""

    tokens: Amounts | None = Field(
        default=None, description="Tokens of a request, estimated and used alike; or prompt_tokens and output_tokens."
    )
    prompt_tokens: Amounts | None = Field(default=None, description="Tokens that a request brings, known beforehand.")
    output_tokens: Amounts | None = Field(
        default=None, description="Tokens that it is answered with, as they turn out; without it none."
    )
    output_estimate: OutputEstimateBlock | None = Field(
        default=None, description="What callers take the output for; without it for what it turns out to be."
    )
    request_bytes: AmountsOrUnknown | None = Field(default=None, description="Size, bytes; without it unknown.")
    cost_micros: AmountsOrUnknown | None = Field(
        default=None, description="Expected cost, millionths of a USD; without it 0."
    )
    items: AmountsOrUnknown | None = Field(default=None, description="Items; without it 1.")
    attempts: Amounts | None = Field(
        default=None, description="Attempts that each attempt counts for in its invocation's budget; without it 1."
    )
    batch_size: AmountsOrUnknown | None = Field(default=None, description="Batch size; without it 1.")
    retained_work: AmountsOrUnknown | None = Field(
        default=None, description="Units of work that stay with the provider; without it 1."
    )

    @field_validator("prompt_tokens")
    @classmethod
    def _told_once(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and info.data.get("tokens") is not None:
            raise complaint("absent beside tokens: a request is told by tokens, or by prompt_tokens and output_tokens")
        return value

    @field_validator("output_tokens")
    @classmethod
    def _beside_prompt(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and info.data.get("prompt_tokens") is None:
            raise complaint("absent without prompt_tokens: those of a request without a prompt are 0")
        return value

    @field_validator("output_estimate")
    @classmethod
    def _of_an_output(cls, value: object, info: ValidationInfo) -> object:
        if value is not None and info.data.get("output_tokens") is None:
            raise complaint("absent without output_tokens: there is nothing to estimate")
        return value
