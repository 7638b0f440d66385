"""The shape of a ``profile:`` block, for JSON Schema and for complaints about types.

Which values a limit may take is decided by ``tollgate.decision.limits`` alone, which reads the same block afterwards; a
test compares the keys of both. This module must not repeat a range.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from sim.manifest.blocks import Block
from sim.manifest.scalars import complaint
from tollgate.decision.profile import DEFAULT_QUANTUM_TOKENS


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        raise complaint('an integer or a plain decimal such as "0.25"')
    return value


Exact = Annotated[object, PlainValidator(_number), WithJsonSchema({"type": ["number", "string"]})]
"""A number whose range and exactness ``AdmissionLimits`` judges."""


class WindowBlock(Block):
    """When a breaker counts a rate of failures rather than consecutive ones."""

    calls: int = Field(description="Calls that the window holds.")
    minimum_calls: int = Field(description="Calls it must hold before it can open.")
    failure_rate: Exact = Field(description="Share of failures at which it opens, exact.")


class BreakerBlock(Block):
    """When calls stop going to a provider."""

    failure_threshold: int = Field(description="Consecutive failures that open it.")
    open_ms: Exact = Field(description="How long it stays open, ms.")
    half_open_max_calls: int = Field(description="Probes at a time while half-open.")
    window: WindowBlock | None = Field(default=None, description="Open on a rate of failures too.")


class LimitsBlock(Block):
    """Limits that exist on workspace, provider and principal alike. Absent means no such limit."""

    concurrency: int | None = Field(default=None, description="Calls in flight.")
    requests_per_minute: Exact | None = Field(
        default=None, description="Refill of the request bucket, requests a minute."
    )
    requests_burst: int | None = Field(default=None, description="Its capacity; without it one minute's worth.")
    tokens_per_second: Exact | None = Field(default=None, description="Refill of the token bucket, tokens a second.")
    tokens_burst: int | None = Field(default=None, description="Its capacity; without it one second's worth.")
    max_attempts: int | None = Field(default=None, description="Attempts of one invocation.")
    max_cost_usd: Exact | None = Field(default=None, description="Money of one invocation, USD, at most six places.")
    max_tokens: int | None = Field(default=None, description="Tokens of one invocation, all attempts together.")
    allow_unknown_cost: bool = Field(default=False, description="Whether a request without a cost passes a cost limit.")
    max_batch_size: int | None = Field(default=None, description="Batch size of one request.")
    max_request_bytes: int | None = Field(default=None, description="Size of one request, bytes.")
    max_items: int | None = Field(default=None, description="Items of one request.")
    max_retained_work: int | None = Field(default=None, description="Retained work of one request, units.")
    max_queue_length: int | None = Field(default=None, description="Requests that may wait.")
    max_queue_wait_ms: Exact | None = Field(
        default=None, description="Longest wait, ms; at exactly that wait a request is refused."
    )


class WorkspaceLimits(LimitsBlock):
    """Limits of the whole workspace."""

    max_principal_share: Exact | None = Field(
        default=None, description="Share of concurrency and queue that one principal may hold."
    )


class ProviderLimits(LimitsBlock):
    """Limits of one provider."""

    max_principal_share: Exact | None = Field(
        default=None, description="Share of concurrency and queue that one principal may hold."
    )
    circuit_breaker: BreakerBlock | None = Field(default=None, description="When calls stop going out.")


class PrincipalLimits(LimitsBlock):
    """Limits of one principal."""

    reserved_concurrency: int = Field(default=0, description="Permits kept back for this principal.")
    weight: int = Field(default=1, description="Share under scheduling kind deficit.")


class SchedulingBlock(Block):
    """How waiting lanes are put in order."""

    kind: Literal["turns", "deficit"] = Field(
        default="turns", description="Longest unserved first, or deficit round robin by tokens."
    )
    quantum_tokens: int = Field(default=DEFAULT_QUANTUM_TOKENS, description="Credit of weight 1 a visit, for deficit.")
    protect_large_requests: bool = Field(
        default=True, description="Whether a large request cannot be overtaken for ever."
    )


class ProfileBlock(Block):
    """All limits of one workspace."""

    profile_version: str = Field(description="Name of this set of limits.")
    workspace: WorkspaceLimits = Field(description="Limits of the whole workspace.")
    providers: dict[str, ProviderLimits] = Field(description="Limits by provider.")
    principals: dict[str, PrincipalLimits] = Field(description="Limits by principal.")
    scheduling: SchedulingBlock = Field(default=SchedulingBlock(), description="How waiting lanes are put in order.")
