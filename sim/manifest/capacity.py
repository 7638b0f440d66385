"""The shape of ``capacity-manifest/v1``: which keys there are, of which type.

JSON Schema is generated from these models. Ranges of limits live in ``tollgate.decision.limits``, rules that span
several blocks in ``sim.manifest.build``; this module must not know either.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from sim.manifest.blocks import Block
from sim.manifest.limits import ProfileBlock
from sim.manifest.provider_blocks import ProviderBlock
from sim.manifest.scalars import (
    Multiplier,
    Name,
    Number,
    OpenProbability,
    PositiveSeconds,
    Seconds,
    complaint,
    judged_by_its_beginning,
)
from sim.manifest.traffic import StreamBlock
from sim.manifest.wording import shown_value
from tollgate.core.units import MAX_SAFE_INTEGER

SCHEMA: Final = "capacity-manifest/v1"


def _none_yet(value: list[object]) -> list[object]:
    if value:
        raise complaint(
            "an empty list: outages stand under their provider, other faults are not available in this version"
        )
    return value


NoneYet = Annotated[list[object], AfterValidator(_none_yet), WithJsonSchema({"type": "array", "maxItems": 0})]
"""A list whose entries a later version will define."""


class TargetBlock(Block):
    """What is under test."""

    kind: Literal["admission-controller"] = Field(description="The admission controller of the library.")
    discipline: Literal["default", "reference"] = Field(
        default="default",
        description="Whether the product's discipline decides, or the seed's reference to compare with.",
    )


class PhaseBlock(Block):
    """A stretch of the run."""

    name: Name = Field(description="Label in observations; unique.")
    seconds: PositiveSeconds = Field(description="Its length, seconds.")
    rate_multiplier: dict[Name, Multiplier] = Field(
        default={},
        description="Stream to factor on its arrival rate; 1 for streams not named. Traces have no rate to change.",
    )


class ReplicationsBlock(Block):
    """How many runs a verdict over replications takes."""

    later: ClassVar[tuple[str, ...]] = ("precision",)

    n: Annotated[int, Field(ge=1, le=1_000_000)] = Field(description="Number of runs, each with its own seed.")


class GateBlock(Block):
    """A rule over one metric."""

    id: Name = Field(description="Its name in verdicts; unique.")
    metric: str = Field(description="Name of a metric.")
    where: dict[Literal["class", "principal", "provider", "phase"], Name] = Field(
        default={}, description="Which class, principal, provider or phase it looks at; without it the whole run."
    )
    op: Literal["<=", ">=", "<", ">"] = Field(description="What must hold between the observed value and the bound.")
    bound: Number = Field(description="The bound, exact, in the metric's unit.")
    unit: str | None = Field(default=None, description="The metric's unit, if it is to be said.")
    estimand: Literal["path", "mean", "hold"] = Field(
        description="Of what it speaks: this run, the mean over replications, or the share of runs in which it holds."
    )
    confidence: OpenProbability = Field(
        default=Fraction(95, 100), description="Confidence on each side, for verdicts over replications."
    )
    min_probability: OpenProbability | None = Field(
        default=None, description="The share of runs that a hold gate asks for."
    )
    severity: Literal["block", "warn"] = Field(
        default="block", description="Whether it can change the verdict and the exit code."
    )

    @field_validator("min_probability")
    @classmethod
    def _hold_only(cls, value: Fraction | None, info: ValidationInfo) -> Fraction | None:
        if value is not None and info.data.get("estimand") in {"path", "mean"}:
            raise complaint("absent, unless estimand is hold")
        return value


def _as_text(value: object) -> object:
    return str(shown_value(value)) if isinstance(value, (int, Decimal)) else value


class ProvenanceBlock(Block):
    """Where a value comes from."""

    path: str = Field(description="Key path of the value.")
    value: Annotated[str, BeforeValidator(_as_text), WithJsonSchema({"type": ["string", "number", "boolean"]})] = Field(
        description="The value, as text or number."
    )
    kind: Literal["measured", "fitted", "assumed"] = Field(description="How it came about.")
    source: str = Field(description="What it was measured on, fitted to, or assumed from.")


class CapacityManifest(Block):
    """A capacity manifest: limits, traffic, world and rules."""

    schema_: Literal["capacity-manifest/v1"] = Field(alias="schema", description="Always capacity-manifest/v1.")
    name: Name = Field(description="Name of the experiment.")
    version: Name = Field(description="Version of these bytes; changed bytes take a new one.")
    mode: Literal["offline-fake-provider"] = Field(
        default="offline-fake-provider", description="Simulated providers under a fake clock."
    )
    seed: Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)] = Field(description="Root of every random stream.")
    target: TargetBlock = Field(default=TargetBlock(kind="admission-controller"), description="What is under test.")
    profile: ProfileBlock = Field(description="The limits under test.")
    phases: Annotated[list[PhaseBlock], Field(min_length=1), judged_by_its_beginning] = Field(
        description="The run, phase after phase."
    )
    warmup_seconds: Seconds = Field(default=0, description="Observations begin after this, seconds.")
    drain_seconds: Seconds = Field(
        default=60 * 10**9,
        description="Time after the last phase for what is in flight; what is unsettled then makes the run INVALID.",
    )
    streams: Annotated[list[StreamBlock], Field(min_length=1), judged_by_its_beginning] = Field(
        description="The traffic."
    )
    providers: Annotated[list[ProviderBlock], Field(min_length=1), judged_by_its_beginning] = Field(
        description="The world."
    )
    faults: NoneYet = Field(
        default=[], description="An empty list: outages stand under their provider, and there are no other faults yet."
    )
    replications: ReplicationsBlock = Field(
        default=ReplicationsBlock(n=1), description="Runs that a verdict over replications takes."
    )
    gates: Annotated[list[GateBlock], judged_by_its_beginning] = Field(
        default=[], description="The rules for the verdict."
    )
    provenance: Annotated[list[ProvenanceBlock], judged_by_its_beginning] = Field(
        default=[], description="Where values come from."
    )
