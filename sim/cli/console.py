"""The two streams of a command: data to stdout, everything said on the way to stderr.

Owns that neither breaks a command: a reader that closed the pipe and a terminal that lacks a character are no errors.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final, TextIO

STDOUT: Final = Path("-")
"""The name of a file that means stdout."""

WIDTH: Final = 100
"""Columns of text that goes to a file or a pipe."""


def emit(text: str, stream: TextIO | None = None) -> None:
    """Write data as it is, to stdout unless another stream is named."""
    _write(sys.stdout if stream is None else stream, text)


def note(sentence: str, *, quiet: bool = False) -> None:
    """Write one line to stderr, unless nothing is to be said."""
    if not quiet:
        _write(sys.stderr, " ".join(sentence.splitlines()) + "\n")


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person looks at a stream, on something that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(stream: TextIO) -> bool:
    """Return whether to colour a stream: a terminal whose user has not set NO_COLOR (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def width(stream: TextIO) -> int:
    """Return the columns of a stream."""
    return shutil.get_terminal_size((WIDTH, 0)).columns if stream.isatty() else WIDTH


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # closed by whoever started us: nobody listens
        return
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        # `tollgate run M | head -1`: the reader has what it wanted. Nothing more can reach it, and the interpreter's
        # own flush at exit must not complain; the exit code still tells the verdict.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
