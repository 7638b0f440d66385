"""The four verdicts and their order.

Owns the one vocabulary that gates, records, reports and the command line share. It must not know gates or numbers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """What a gate, or a whole run, comes to."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    INCONCLUSIVE = "INCONCLUSIVE"
    FAIL = "FAIL"
    INVALID = "INVALID"

    @property
    def weight(self) -> int:
        """Rank in an overall verdict, where the heaviest wins: INVALID > FAIL > INCONCLUSIVE > PASS."""
        return _FROM_BEST.index(self)


_FROM_BEST: Final = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.INVALID)
