"""Exit codes: one vocabulary for every command."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from tollgate.core.errors import ConfigError, EvidenceError


class Exit(IntEnum):
    """What a command's exit code says (contract: gates).

    70 is ``EX_SOFTWARE`` of sysexits.h, 130 what a shell reports for a process that SIGINT ended.
    """

    PASS = 0
    FAIL = 1
    USAGE = 2
    INCONCLUSIVE = 3
    EVIDENCE = 4
    UNEXPECTED = 70
    INTERRUPTED = 130


_VERDICTS: Final = {
    "PASS": Exit.PASS,
    "FAIL": Exit.FAIL,
    "INCONCLUSIVE": Exit.INCONCLUSIVE,
    "INVALID": Exit.EVIDENCE,
}


def of_verdict(overall: str) -> Exit:
    """Return the exit code of a verdict."""
    return _VERDICTS[overall]


def of_error(error: Exception) -> Exit:
    """Return the exit code of an error; what is neither bad input, nor the disk, nor bad evidence is our own fault."""
    if isinstance(error, (ConfigError, OSError)):
        return Exit.USAGE
    return Exit.EVIDENCE if isinstance(error, EvidenceError) else Exit.UNEXPECTED
