"""The command ``tollgate``: what users type, see, and get as exit code.

A command parses, calls the lab, prints. Nothing is decided here that a caller of ``sim`` would miss: every command is a
few calls that a notebook can make as well. Importing this package imports none of the lab's dependencies; a command
imports what it needs when it is called, so that help and complaints are quick.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from sim.cli.exits import Exit

LAB_MODULES: Final = frozenset(
    {"jinja2", "markupsafe", "matplotlib", "numpy", "pandas", "pydantic", "rich", "scipy", "simpy", "typer", "yaml"}
)
"""What the extra ``lab`` installs, by import name."""

INSTALL: Final = 'pip install ".[lab]" in a checkout'


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        argv: The words after ``tollgate``; by default those of this process.

    Returns:
        The exit code (:class:`sim.cli.exits.Exit`).
    """
    try:
        from sim.cli.app import dispatch  # noqa: PLC0415 - typer may not be installed

        return dispatch(sys.argv[1:] if argv is None else argv)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in LAB_MODULES:
            raise
        sys.stderr.write(f"tollgate: {missing} is not installed; the command needs the lab: {INSTALL}\n")
        return Exit.USAGE
