"""The rows of a record that a verdict is worked out from, and the row it becomes.

Owns their keys, their types and what each text may look like; ``sim.evidence`` checks every record against these
shapes, so that the rest of this package may trust a row. It must not know files or digests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypedDict

from sim.metrics import SELECTORS

TEXT_MAX: Final = 4096
"""Longest text of a record, characters: above any name, path or sentence that a tool writes, and far below what could
hurt a reader."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a text must match as a whole."""

    regex: str
    allowed: str

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        return re.fullmatch(self.regex, text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The least value of an integer."""

    least: int

    @property
    def allowed(self) -> str:
        """The end of the sentence "allowed: ..."."""
        return f"an integer of at least {self.least}"

    def matches(self, value: int) -> bool:
        """Return whether the value is large enough."""
        return value >= self.least


DecimalText = Annotated[str, Pattern(r"-?(0|[1-9][0-9]{0,59})(\.[0-9]{1,60})?", 'a plain decimal such as "0.25"')]
Count = Annotated[int, AtLeast(0)]
Number = int | DecimalText
"""A stored number: an integer, or an exact decimal as text."""

MetricName = Annotated[str, Pattern(r"[a-z0-9_.-]{1,128}", "the dotted name of a metric")]
Selector = Annotated[str, Pattern("|".join(SELECTORS), f"one of {', '.join(SELECTORS)}")]
Labels = dict[Selector, str]
Operator = Literal["<=", ">=", "<", ">"]
VerdictName = Literal["PASS", "INCONCLUSIVE", "FAIL", "INVALID"]


class ObservationRow(TypedDict):
    """One measured number and how many things it rests on; what could not be measured has no row."""

    metric: MetricName
    labels: Labels
    value: Number
    unit: str
    n: Count
    half_width: DecimalText | None


class CheckRow(TypedDict):
    """One self-check of a run."""

    name: str
    ok: bool
    detail: str


class GateRow(TypedDict):
    """One gate of the plan."""

    id: str
    metric: MetricName
    where: Labels
    op: Operator
    bound: DecimalText
    unit: str
    estimand: Literal["path", "mean", "hold"]
    confidence: DecimalText | None
    min_probability: DecimalText | None
    severity: Literal["block", "warn"]
    guaranteed: DecimalText | None


class GateResultRow(TypedDict):
    """What one gate came to."""

    id: str
    metric: MetricName
    op: Operator
    bound: DecimalText
    observed: Number | None
    margin: DecimalText | None
    verdict: VerdictName
    implied: bool
    basis: str
    n: Count
    method: str
