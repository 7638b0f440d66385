"""The shape of generated arrivals in ``capacity-manifest/v1``, one block a kind.

This module owns keys and types. Rules that span several keys live in ``sim.manifest.arrival_build``.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, field_validator

from sim.manifest.blocks import Block, at_least
from sim.manifest.distribution_blocks import Amounts, Lengths
from sim.manifest.scalars import (
    Milliseconds,
    Multiplier,
    Number,
    PositiveNumber,
    PositiveSeconds,
    RecurringSeconds,
    Seconds,
    Variation,
)

STATES_MAX: Final = 100
"""Most states of a modulated process; measured ones are fitted with two to four."""

_PER_SECOND: Final = "Arrivals a second, of each principal of the stream."


class PoissonArrivals(Block):
    """A Poisson process."""

    kind: Literal["poisson"]
    per_second: PositiveNumber = Field(description=_PER_SECOND)


class BurstyPoissonArrivals(Block):
    """A Poisson process whose rate is multiplied during bursts at known times."""

    kind: Literal["bursty-poisson"]
    per_second: PositiveNumber = Field(description="Arrivals a second outside bursts, of each principal of the stream.")
    multiplier: Multiplier = Field(description="Factor on the rate inside a burst.")
    first_seconds: Seconds = Field(
        default=0, description="Start of the first burst, seconds from the start of the run."
    )
    burst_seconds: PositiveSeconds = Field(description="Length of a burst, seconds.")
    every_seconds: RecurringSeconds | None = Field(
        default=None,
        description="From the start of one burst to the start of the next, seconds; without it there is one burst.",
    )

    _apart = field_validator("every_seconds")(at_least("burst_seconds"))


CurvePoint = Annotated[tuple[Seconds, Multiplier], Field(strict=False)]


class CurveArrivals(Block):
    """A Poisson process whose rate follows a curve."""

    kind: Literal["nhpp"]
    curve: Annotated[list[CurvePoint], Field(min_length=2)] = Field(
        description="Points [seconds, per_second] from 0 to the end of the phases or beyond, of each principal."
    )
    between: Literal["linear", "step"] = Field(
        default="linear",
        description="Whether the rate goes straight from point to point, or stays until the next.",
    )


class ModulatedArrivals(Block):
    """A Poisson process whose rate is that of a state, which changes at random times."""

    kind: Literal["mmpp"]
    per_second: Annotated[list[Multiplier], Field(min_length=2, max_length=STATES_MAX)] = Field(
        description="Arrivals a second in each state, of each principal of the stream."
    )
    mean_seconds: list[PositiveSeconds] | None = Field(
        default=None, description="Mean length of each state, seconds; what follows is each of the others alike."
    )
    generator: list[list[Number]] | None = Field(
        default=None,
        description="In place of mean_seconds: row by row, changes a second from state to state; each row sums to 0.",
    )
    initial: Annotated[int, Field(ge=0)] = Field(default=0, description="State at the start, counted from 0.")


class RenewalArrivals(Block):
    """Arrivals with independent gaps of a given spread."""

    kind: Literal["renewal"]
    per_second: PositiveNumber = Field(description=_PER_SECOND)
    gaps: Literal["gamma", "weibull"] = Field(description="Law of the gaps.")
    cv: Variation = Field(description="Standard deviation over mean of a gap; 1 is as wild as Poisson.")


class BatchArrivals(Block):
    """Batches of requests, each batch of one principal."""

    kind: Literal["batch"]
    per_second: PositiveNumber = Field(description="Batches a second, of each principal of the stream.")
    size: Amounts = Field(description="Requests of a batch; at most 100000 however drawn.")
    within_ms: Milliseconds = Field(
        default=0, description="Its requests come alike anywhere up to so long after it, ms; 0 for all at once."
    )


MAX_POPULATION: Final = 100_000
"""Most callers of one closed stream; each costs about a kilobyte and an event."""


class ClosedArrivals(Block):
    """A fixed number of callers who wait for the end of their request, think, and ask again."""

    kind: Literal["closed"]
    population: Annotated[int, Field(ge=1, le=MAX_POPULATION)] = Field(
        description="Callers of the stream, dealt out to its principals in turn."
    )
    think_ms: Lengths = Field(description="How long a caller thinks before each request, the first included, ms.")
