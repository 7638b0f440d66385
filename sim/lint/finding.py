"""One finding and one rule, as values.

Owns what a finding consists of. It must not know what any rule looks for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sim.lint.subject import Subject


class Basis(StrEnum):
    """What a finding rests on."""

    CONFIGURATION = "configuration"  # true whatever arrives and however it is drawn
    OFFERED_LOAD = "offered load"  # true of the traffic that the manifest describes, with the margin that is stated


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    Attributes:
        code: The rule's name, stable for ever.
        path: Key path in the manifest.
        values: What stands there and what it was compared with, by name, as texts.
        says: What is wrong, as a sentence.
        advice: What to do about it, as a sentence.
        basis: What it rests on.
    """

    code: str
    path: str
    values: tuple[tuple[str, str], ...]
    says: str
    advice: str
    basis: Basis


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule yields: a finding without what every finding of the rule shares."""

    path: str
    says: str
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        code: Its name, stable for ever.
        finds: What it finds, as documentation has it.
        advice: What to do about a finding.
        look: The rule itself.
        basis: What its findings rest on.
    """

    code: str
    finds: str
    advice: str
    look: Callable[[Subject], Iterator[Found]]
    basis: Basis = Basis.CONFIGURATION
