"""Files that a command writes: refused before the work begins if they cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sim.cli.console import STDOUT, emit
from sim.textformats import TextOut
from tollgate.core.errors import ConfigError


def folder(option: str, path: Path) -> None:
    """Make a folder that is to be written to, if it is not there.

    Args:
        option: What named it, for the complaint.
        path: The folder.

    Raises:
        ConfigError: If it cannot be made or written to.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = "a file" if isinstance(error, FileExistsError) else error.strerror
        raise ConfigError(option, str(path), f"a folder that can be written to; this is {reason}") from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise ConfigError(option, str(path), "a folder that can be written to; permission denied")


def check_apart(outputs: Mapping[str, Path | None], taken: Mapping[Path, str] | None = None) -> None:
    """Refuse outputs that would run into each other or into something else.

    Args:
        outputs: Each option's file, or None.
        taken: What other resolved paths are for.

    Raises:
        ConfigError: Naming the option.
    """
    holders = dict(taken or {})
    for option, path in outputs.items():
        if path is None:
            continue
        holder = holders.setdefault(path.resolve(), option)
        if holder != option:
            raise ConfigError(option, str(path), f"a file of its own: this one is for {holder}")


class _Stdout:
    """Stdout as a text to be written, which a reader may close."""

    def write(self, text: str, /) -> None:
        """Take text."""
        emit(text)


@contextmanager
def text(option: str, path: Path | None) -> Iterator[TextOut | None]:
    """Open a text file that is to be written, or stdout for ``-``.

    Args:
        option: What named it, for the complaint.
        path: The file, or None.

    Yields:
        Where to write, or None.

    Raises:
        ConfigError: If it cannot be opened.
    """
    if path is None:
        yield None
    elif path == STDOUT:
        yield _Stdout()
    else:
        try:
            stream = path.open("w", encoding="utf-8", newline="\n")
        except OSError as error:
            raise unwritable(option, path, error) from None
        with stream:
            yield stream


def write(option: str, path: Path, content: str) -> None:
    """Write a text file whole, or stdout for ``-``.

    Raises:
        ConfigError: If it cannot be written.
    """
    with text(option, path) as out:
        if out is not None:
            out.write(content)


def unwritable(option: str, path: Path, error: OSError) -> ConfigError:
    """Return the complaint about a file that cannot be written."""
    return ConfigError(option, str(path), f"a file that can be written; {error.strerror or error}")
