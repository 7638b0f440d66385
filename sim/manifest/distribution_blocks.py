"""The shape of distributions in ``capacity-manifest/v1``: one block a law, whatever is drawn from it.

A law is read for *amounts* (whole numbers: tokens, items, bytes) or for *lengths* (ms, read as whole nanoseconds). This
module owns keys and types. What a distribution is drawn for belongs to whoever has a key of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, ValidationInfo, field_validator

from sim.manifest.blocks import Block, at_least
from sim.manifest.scalars import (
    Amount,
    Count,
    Digest,
    Exponent,
    PositiveMilliseconds,
    PositiveNumber,
    Variation,
    complaint,
)

Value = TypeVar("Value")
Part = TypeVar("Part")


def kind_or_bare(value: object) -> str | None:
    """Tell which branch a distribution takes: its kind, or a bare value."""
    if isinstance(value, Mapping):
        return str(value["kind"]) if "kind" in value else None
    return "bare"


# --- the laws


class ConstantBlock(Block, Generic[Value]):
    """Always the same value."""

    kind: Literal["constant"]
    value: Value = Field(description="The value.")


class UniformBlock(Block, Generic[Value]):
    """Each whole number, or each whole nanosecond, of a range equally likely."""

    kind: Literal["uniform"]
    min: Value = Field(description="The least.")
    max: Value = Field(description="The most, included.")

    _ordered = field_validator("max")(at_least("min"))


class ExponentialBlock(Block, Generic[Value]):
    """Exponential."""

    kind: Literal["exponential"]
    mean: Value = Field(description="Its mean.")


class LognormalBlock(Block, Generic[Value]):
    """Lognormal, by mean and cv or by median and p99."""

    kind: Literal["lognormal"]
    mean: Value | None = Field(default=None, description="Its mean; with cv.")
    cv: Variation | None = Field(default=None, description="Standard deviation over mean.")
    median: Value | None = Field(default=None, description="Its median, in place of mean; with p99.")
    p99: Value | None = Field(default=None, description="Its 99th percentile, above the median.")

    @field_validator("median")
    @classmethod
    def _one_centre(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        if value is not None and (info.data.get("mean") is not None or info.data.get("cv") is not None):
            raise complaint("absent beside mean and cv: a lognormal is told by mean and cv, or by median and p99")
        return value

    @field_validator("p99")
    @classmethod
    def _above_median(cls, value: Value | None, info: ValidationInfo) -> Value | None:
        median = info.data.get("median")
        if value is not None and isinstance(value, int) and isinstance(median, int) and value <= median:
            raise complaint("above median")
        return value


class GammaBlock(Block, Generic[Value]):
    """Gamma; at a cv of 1 exponential, below it steadier, above it wilder."""

    kind: Literal["gamma"]
    mean: Value = Field(description="Its mean.")
    cv: Variation = Field(description="Standard deviation over mean.")


class BoundedParetoBlock(Block, Generic[Value]):
    """Pareto, cut to a range: many small values and a heavy tail that ends."""

    kind: Literal["bounded-pareto"]
    alpha: Exponent = Field(description="Exponent of the tail; the smaller, the heavier.")
    min: Value = Field(description="The least.")
    max: Value = Field(description="The most.")

    _ordered = field_validator("max")(at_least("min"))


class EmpiricalBlock(Block):
    """Each value of a file equally likely."""

    kind: Literal["empirical"]
    file: Annotated[str, Field(min_length=1)] = Field(
        description="The file, relative to the manifest: one value a line, or CSV with column."
    )
    sha256: Digest = Field(description="Hex SHA-256 of the file's bytes; another file is refused.")
    column: str | None = Field(default=None, description="Column of a CSV file with a header.")
    scale: PositiveNumber = Field(
        default=Fraction(1),
        description="Factor on every value, exact: 1000 where the file has seconds and ms are meant.",
    )


class MixtureBlock(Block, Generic[Part]):
    """One of several parts, by exact weights that sum to 1."""

    kind: Literal["mixture"]
    of: Annotated[list[Annotated[tuple[PositiveNumber, Part], Field(strict=False)]], Field(min_length=1)] = Field(
        description="Pairs [weight, part]; a part is a value or any kind but mixture. Weights are exact and sum to 1."
    )

    @field_validator("of")
    @classmethod
    def _whole(cls, value: list[tuple[Fraction, Part]]) -> list[tuple[Fraction, Part]]:
        total = sum(weight for weight, _ in value)
        if total != 1:
            raise complaint(f"weights that sum to exactly 1; these sum to {total}")
        return value


# --- of amounts


class ConstantAmount(ConstantBlock[Amount]):
    """Always the same amount."""


class UniformAmount(UniformBlock[Amount]):
    """Each amount of a range equally likely."""


class ExponentialAmount(ExponentialBlock[Count]):
    """Exponential, rounded to whole numbers, at least one."""


class LognormalAmount(LognormalBlock[Count]):
    """Lognormal, rounded to whole numbers, at least one."""


class GammaAmount(GammaBlock[Count]):
    """Gamma, rounded to whole numbers, at least one."""


class BoundedParetoAmount(BoundedParetoBlock[Count]):
    """Bounded Pareto, rounded to whole numbers."""


AmountLaw = (
    Annotated[Amount, Tag("bare")]
    | Annotated[ConstantAmount, Tag("constant")]
    | Annotated[UniformAmount, Tag("uniform")]
    | Annotated[ExponentialAmount, Tag("exponential")]
    | Annotated[LognormalAmount, Tag("lognormal")]
    | Annotated[GammaAmount, Tag("gamma")]
    | Annotated[BoundedParetoAmount, Tag("bounded-pareto")]
    | Annotated[EmpiricalBlock, Tag("empirical")]
)
AmountPart = Annotated[AmountLaw, Discriminator(kind_or_bare)]


class MixtureAmount(MixtureBlock[AmountPart]):
    """One of several amounts or laws of amounts."""


AnyAmount = AmountLaw | Annotated[MixtureAmount, Tag("mixture")]
Amounts = Annotated[AnyAmount, Discriminator(kind_or_bare)]
"""A key whose values are whole numbers."""


# --- of lengths


class ConstantLength(ConstantBlock[PositiveMilliseconds]):
    """Always the same length, ms."""


class UniformLength(UniformBlock[PositiveMilliseconds]):
    """Each whole nanosecond of a range equally likely."""


class ExponentialLength(ExponentialBlock[PositiveMilliseconds]):
    """Exponential, rounded to whole nanoseconds, at least one."""


class LognormalLength(LognormalBlock[PositiveMilliseconds]):
    """Lognormal, rounded to whole nanoseconds, at least one."""


class GammaLength(GammaBlock[PositiveMilliseconds]):
    """Gamma, rounded to whole nanoseconds, at least one."""


class BoundedParetoLength(BoundedParetoBlock[PositiveMilliseconds]):
    """Bounded Pareto, rounded to whole nanoseconds."""


LengthLaw = (
    Annotated[PositiveMilliseconds, Tag("bare")]
    | Annotated[ConstantLength, Tag("constant")]
    | Annotated[UniformLength, Tag("uniform")]
    | Annotated[ExponentialLength, Tag("exponential")]
    | Annotated[LognormalLength, Tag("lognormal")]
    | Annotated[GammaLength, Tag("gamma")]
    | Annotated[BoundedParetoLength, Tag("bounded-pareto")]
    | Annotated[EmpiricalBlock, Tag("empirical")]
)
LengthPart = Annotated[LengthLaw, Discriminator(kind_or_bare)]


class MixtureLength(MixtureBlock[LengthPart]):
    """One of several lengths or laws of lengths."""


AnyLength = LengthLaw | Annotated[MixtureLength, Tag("mixture")]
Lengths = Annotated[AnyLength, Discriminator(kind_or_bare)]
"""A key whose values are lengths of time above 0, ms."""
