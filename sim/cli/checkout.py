"""Which code runs: the installation's digest, and its commit where it is a checkout."""

from __future__ import annotations

import os
import subprocess

from sim.evidence import Tool, describe_tool
from sim.evidence.source import installation_root

_TIMEOUT_S = 10  # a repository on a stalled network share must not hold a verdict back; the record then names no commit


def this_tool() -> Tool:
    """Return what identifies the code of this process."""
    return describe_tool(_git)


def _git(arguments: tuple[str, ...]) -> str | None:
    """Run git where the packages are; None if it failed or is not there."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed words and no shell
            ("git", "-C", str(installation_root()), *arguments),  # noqa: S607 - whichever git the user has
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # looking must not lock the index against somebody's commit
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
