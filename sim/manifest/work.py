"""What a request uses and what it states, where that is more than a number of tokens.

This module owns the shape of these values. It must not know how a manifest spells them, nor how they are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, get_args

from sim.manifest.distributions import Constant, Distribution

Statement = Literal["request_bytes", "cost_micros", "items", "attempts", "batch_size", "retained_work"]
STATEMENTS: Final[tuple[Statement, ...]] = get_args(Statement)
"""What a request states beside its tokens, by the names of ``tollgate.decision.Estimate``, in the order in which
arrivals carry them."""

PLAIN: Final[Mapping[Statement, int | None]] = {
    "request_bytes": None,
    "cost_micros": 0,
    "items": 1,
    "attempts": 1,
    "batch_size": 1,
    "retained_work": 1,
}
"""What a request states where the manifest says nothing of it; None is unknown."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The output is estimated at what it turns out to be."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody estimates the tokens: neither the output's nor the whole."""


@dataclass(frozen=True, slots=True)
class MaxTokens:
    """The output is estimated at its cap, and cut there."""

    cap: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """The output is estimated at a factor of what it turns out to be, rounded up."""

    factor: Fraction


@dataclass(frozen=True, slots=True)
class Drawn:
    """The output is estimated without a look at what it turns out to be."""

    tokens: Distribution


_NOTHING: Final = Constant(0)
_EXACT: Final = Exact()

OutputEstimate = Exact | Unknown | MaxTokens | Scaled | Drawn


@dataclass(frozen=True, slots=True)
class Work:
    """What the requests of a stream use and state.

    Attributes:
        prompt_tokens: Tokens that a request brings; None where its whole is told as tokens.
        output_tokens: Tokens that it is answered with; none where its whole is told as tokens.
        output_estimate: What its caller takes the output for.
        stated: What it states beside its tokens: a distribution, or None where it states nothing. A name that is
            missing has the plain request's figure.
    """

    prompt_tokens: Distribution | None = None
    output_tokens: Distribution = _NOTHING
    output_estimate: OutputEstimate = _EXACT
    stated: MappingProxyType[Statement, Distribution | None] = field(default_factory=lambda: MappingProxyType({}))
