"""The two streams of a command: data to stdout, everything said on the way to stderr.

Owns that neither breaks a command (a reader that closed the pipe, a stream that was never open and a terminal that
lacks a character are no errors), and that nothing a manifest, a path or a record says can steer a terminal: what a
person reads has its control characters escaped, and a message has an end.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Final, TextIO

STDOUT: Final = Path("-")
"""The name of a file that means stdout."""

WIDTH: Final = 100
"""Columns of text that goes to a file or a pipe."""

LINE_MAX: Final = 800
"""Characters of a message: some ten rows of a narrow terminal. What is allowed may list every key of a block, 400."""


def printable(text: str, *, keep: str = "") -> str:
    r"""Return a text with everything escaped that is no printable character, as Python would write it.

    Control characters and the sequences they begin, characters that turn the direction of writing, and bytes of a path
    that are no text all count as such.

    Args:
        text: Any text.
        keep: Characters that stay.

    >>> printable("plain \x1b[31mred")
    'plain \\x1b[31mred'
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode() for each in text
    )


def line(sentence: str) -> str:
    """Return a message as one line of at most :data:`LINE_MAX` characters; what is too long loses its middle."""
    whole = printable(sentence)
    if len(whole) <= LINE_MAX:
        return whole
    half = (LINE_MAX - 5) // 2
    return f"{whole[:half]} ... {whole[-half:]}"


def emit(text: str, stream: TextIO | None = None) -> None:
    """Write data as it is, to stdout unless another stream is named."""
    _write(sys.stdout if stream is None else stream, text)


def json_text(value: object) -> str:
    """Return a value as an indented JSON document; an escape means the same there as the character it keeps away."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    if text.replace("\n", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)


def show(text: str, stream: TextIO | None) -> None:
    """Write lines that a person reads, escaped; to nobody if the stream was never open."""
    _write(stream, printable(text, keep="\n"))


def note(sentence: str, *, quiet: bool = False) -> None:
    """Write one line to stderr, unless nothing is to be said."""
    if not quiet:
        _write(sys.stderr, line(sentence) + "\n")


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person looks at a stream, on something that can move its cursor."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour(stream: TextIO | None) -> bool:
    """Return whether to colour a stream: a terminal whose user has not set NO_COLOR (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def width(stream: TextIO | None) -> int:
    """Return the columns of a stream."""
    return shutil.get_terminal_size((WIDTH, 0)).columns if stream is not None and stream.isatty() else WIDTH


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
    except OSError as error:
        # Nothing more can reach it, and the interpreter's own flush at exit must not complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        # `tollgate run M | head -1`: the reader has what it wanted, and the exit code still tells the verdict.
        if not isinstance(error, BrokenPipeError):
            raise
