"""The shape of the traffic in ``capacity-manifest/v1``: arrivals, streams and their clients.

This module owns keys and types. Rules that span several blocks live in ``sim.manifest.build``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, ValidationInfo, field_validator

from sim.manifest.arrival_blocks import (
    BatchArrivals,
    BurstyPoissonArrivals,
    ClosedArrivals,
    CurveArrivals,
    ModulatedArrivals,
    PoissonArrivals,
    RenewalArrivals,
)
from sim.manifest.blocks import Block
from sim.manifest.client_blocks import ClientBlock
from sim.manifest.scalars import (
    Amount,
    Digest,
    Name,
    PositiveNumber,
    RecurringSeconds,
    Seconds,
    Share,
    complaint,
)
from sim.manifest.work_blocks import Work

MAX_PRINCIPALS: Final = 1_000_000
"""Most principals of one stream: ten times the 10^5 that the lab is measured at; each costs some hundred bytes."""


# --- arrivals


WarpPoint = Annotated[tuple[Seconds, Seconds], Field(strict=False)]


class TraceArrivals(Block):
    """Rows of a recorded file, replayed in its order.

    ``sim.workload.traces`` reads the file and judges how these keys go together.
    """

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

    scale_rate: PositiveNumber = Field(
        default=Fraction(1), description="Factor on its rate: its clock runs so much faster."
    )
    time_warp: Annotated[list[WarpPoint], Field(min_length=2)] | None = Field(
        default=None,
        description="Points [seconds of the trace, seconds of the run] from [0, 0] on, straight in between.",
    )
    bootstrap_seconds: RecurringSeconds | None = Field(
        default=None,
        description="Length of blocks, seconds, that are drawn from it at random, again and again, to fill the phases.",
    )
    thin: Share = Field(default=Fraction(1), description="Share of the rows that are kept, each by a draw of its own.")


ArrivalBlock = (
    PoissonArrivals
    | BurstyPoissonArrivals
    | CurveArrivals
    | ModulatedArrivals
    | RenewalArrivals
    | BatchArrivals
    | TraceArrivals
    | ClosedArrivals
)
Arrivals = Annotated[ArrivalBlock, Discriminator("kind")]


# --- streams


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
    arrivals: Arrivals = Field(description="When requests come.")
    work: Work | None = Field(default=None, description="What they ask for; only a trace that has sizes goes without.")
    providers: Annotated[dict[Name, PositiveNumber], Field(min_length=1)] = Field(
        description="Provider to weight; a request goes to one of them with probability weight over the sum of weights."
    )
    client: ClientBlock = Field(default=ClientBlock(), description="How its callers behave.")

    @field_validator("work")
    @classmethod
    def _sized_once(cls, value: Work | None, info: ValidationInfo) -> Work | None:
        arrivals = info.data.get("arrivals")
        sized = isinstance(arrivals, TraceArrivals) and arrivals.tokens_columns
        if value is not None and sized and (value.tokens is not None or value.prompt_tokens is not None):
            raise complaint("a work without tokens: the trace brings the sizes of its requests")
        return value
