"""The table of commands, and what becomes of an error.

Every error ends as one line on stderr and an exit code; a traceback is shown on demand only. This module must not know
what a command does.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Final

import typer

import tollgate
from sim.cli import explain, init, lint, report, run, schema, trace, verify
from sim.cli.console import emit, note, show
from sim.cli.exits import Exit, of_error
from tollgate.core.errors import ConfigError, EvidenceError

LATER: Final = ("calibrate", "compare", "dst", "gate", "replicate", "sweep")
"""Commands that later versions will have: asked for by name, they are answered better than with a guess."""

DEBUG: Final = "--debug"

# typer's public base of its complaints about a command line; the class itself has no public name.
_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="tollgate",
    help="Bring the limits you run and yesterday's traffic: a reproducible verdict, and what binds first.",
    epilog="Exit codes: 0 pass, 1 fail, 2 usage or input, 3 inconclusive, 4 invalid or evidence mismatch, "
    "70 unexpected, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("lint")(lint.lint)
app.command("verify")(verify.verify)
app.command("report")(report.report)
app.command("explain")(explain.explain)
app.command("schema")(schema.schema)
app.add_typer(trace.app, name="trace")
app.command("init")(init.init)


def _version(asked: bool) -> None:
    if asked:
        emit(f"tollgate {tollgate.__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an unexpected error; may stand behind any command.")
    ] = False,
) -> None:
    """Declare the options that stand before a command, for its help.

    The first answers by its callback; the other is taken out of the words beforehand, so that it may stand anywhere.
    """


def dispatch(argv: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    debug = DEBUG in argv
    words = [word for word in argv if word != DEBUG]
    if words and words[0] in LATER:
        note(f"tollgate {words[0]}: not available in this version; available: {', '.join(_available())}")
        return Exit.USAGE
    try:
        code = typer.main.get_command(app).main(words, prog_name="tollgate", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = Exit.INTERRUPTED
    except _UsageError as error:
        note(_usage(error))
        return Exit.USAGE
    except SystemExit:  # how click ends when a reader leaves before it has read a help
        return Exit.PASS
    except ModuleNotFoundError:
        raise  # the package above knows whether the lab is installed
    except Exception as error:  # noqa: BLE001 - the outermost handler: everything ends as one line and a code
        note(_line(error))
        if debug:
            show("".join(traceback.format_exception(error)), sys.stderr)
        return of_error(error)
    if code == Exit.INTERRUPTED:
        note("tollgate: interrupted")
    return Exit.PASS if code is None else int(code)


def _available() -> list[str]:
    commands = [info.name for info in app.registered_commands] + [info.name for info in app.registered_groups]
    return sorted(str(name) for name in commands)


def _usage(error: Exception) -> str:
    """Return a complaint about the command line, with where to look."""
    context = getattr(error, "ctx", None)
    command = "tollgate" if context is None else context.command_path
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"{command}: {' '.join(message.split()).rstrip('.')}; see {command} --help"


def _line(error: Exception) -> str:
    if isinstance(error, (ConfigError, EvidenceError)):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename or 'tollgate'}: {error.strerror or error}"
    return f"tollgate: unexpected {type(error).__name__}: {error}; {DEBUG} shows where; please report it"
