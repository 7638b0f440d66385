"""The command ``tollgate``: what users type, see, and get as exit code.

A command parses, calls the lab, prints. Nothing is decided here that a caller of ``sim`` would miss: every command is a
few calls that a notebook can make as well. Importing this package imports none of the lab's dependencies, and nothing
that takes time: until ``main`` runs, an interrupt would end as a traceback. A command imports what it needs when it is
called, so that help and complaints are quick.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which is not imported for this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

LAB_MODULES: Final = frozenset(
    {"jinja2", "markupsafe", "matplotlib", "numpy", "pandas", "pydantic", "rich", "scipy", "simpy", "typer", "yaml"}
)
"""What the extra ``lab`` installs, by import name."""

INSTALL: Final = 'pip install ".[lab]" in a checkout'

_USAGE: Final = 2
_INTERRUPTED: Final = 130
"""Both as in :class:`sim.cli.exits.Exit`, whose import may be what was interrupted."""


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
    except KeyboardInterrupt:  # before a command was under way, which catches its own
        _say("interrupted")
        return _INTERRUPTED
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in LAB_MODULES:
            raise
        _say(f"{missing} is not installed; the command needs the lab: {INSTALL}")
        return _USAGE


def _say(sentence: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"tollgate: {sentence}\n")
