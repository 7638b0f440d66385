"""What a caller asks: an attempt, and what it is expected to use.

This module owns the shape of these values. It must not decide anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tollgate.core.units import MAX_SAFE_INTEGER

_FIGURES: Final = ("tokens", "cost_micros", "request_bytes", "items", "attempts", "batch_size", "retained_work")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a request is expected to use. None means not known.

    A malformed figure (negative, fractional, NaN, above 2^53-1, not a number at all) does not raise here: the
    controller refuses the request as ``invalid-estimate``, so that a bad estimate is one refused request and not a
    crashed caller.

    Attributes:
        tokens: Tokens.
        cost_micros: Money, micro-units.
        request_bytes: Size, bytes.
        items: Items.
        attempts: Attempts it stands for; 1 when None.
        batch_size: Batch size.
        retained_work: Units of work that stay with the provider.
        draw: Tokens it draws from token buckets: 0 where they are not known or the estimate is malformed.
        is_valid: Whether every figure is an integer from 0 to 2^53-1 or None.
    """

    tokens: int | None = None
    cost_micros: int | None = None
    request_bytes: int | None = None
    items: int | None = None
    attempts: int | None = None
    batch_size: int | None = None
    retained_work: int | None = None
    draw: int = field(init=False, compare=False)
    is_valid: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Note whether the figures can be used."""
        figures = [getattr(self, name) for name in _FIGURES]
        is_valid = all(value is None or (type(value) is int and 0 <= value <= MAX_SAFE_INTEGER) for value in figures)
        object.__setattr__(self, "is_valid", is_valid)
        object.__setattr__(self, "draw", self.tokens if is_valid and self.tokens is not None else 0)

    def __repr__(self) -> str:
        """Show the figures that are known; a malformed estimate shows none of them."""
        if not self.is_valid:
            return "<Estimate malformed>"
        known = {name: value for name in _FIGURES if (value := getattr(self, name)) is not None}
        return f"Estimate({', '.join(f'{name}={value}' for name, value in known.items())})"


NOTHING_KNOWN: Final = Estimate()


@dataclass(slots=True)
class Request:
    """One attempt that asks to go out.

    Attributes:
        budget_id: The invocation it belongs to; attempts, cost and tokens of all its attempts add up.
        principal: Who asks, as the trusted host says.
        workspace: Where, as the trusted host says.
        provider: Whom the call would go to.
        estimate: What it is expected to use.
        deadline_ns: Instant from which it is of no use, ns; None for none.
        is_cancelled: Whether the caller has already given up.
    """

    budget_id: str
    principal: str
    workspace: str
    provider: str
    estimate: Estimate = NOTHING_KNOWN
    deadline_ns: int | None = None
    is_cancelled: bool = False
