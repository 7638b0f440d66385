"""What can be wrong with one row, as a value.

A fault becomes an error that names the row, or a count when the user asked to drop such rows. This module knows no file
format.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tollgate.core.errors import ConfigError


class FaultKind(StrEnum):
    """The kinds that are counted apart when rows are dropped."""

    SHAPE = "row that cannot be read"
    TIME = "unusable time"
    SIZE = "missing or unusable size"
    DURATION = "missing or unusable duration"
    ORDER = "step back in time"


class BadCellError(ValueError):
    """A cell that cannot be read.

    Attributes:
        allowed: What would have been.
    """

    def __init__(self, allowed: str) -> None:
        super().__init__(allowed)
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Fault:
    """One row that cannot be used.

    Attributes:
        line: Physical line on which the row starts, from 1.
        kind: What it is counted as when it is dropped.
        place: Column or key, or an empty text for the row as a whole.
        got: The value found.
        allowed: What would have been accepted.
        hint: One more sentence, or an empty text.
    """

    line: int
    kind: FaultKind
    place: str
    got: object
    allowed: str
    hint: str = ""

    def error(self, file: str) -> ConfigError:
        """Return the error that stops the import at this row."""
        where = f"row {self.line}, column {self.place!r}" if self.place else f"row {self.line}"
        return ConfigError(where, self.got, self.allowed, file=file, hint=self.hint)
