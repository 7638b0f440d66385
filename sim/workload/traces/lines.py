"""The physical lines of a trace, and what one row of it is before anybody judges what it means.

This module owns bytes: encoding, line ends, the cap on a line, and the digest of what was read. It must not know how
the rows of any format are written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, NoReturn

from tollgate.core.errors import ConfigError

MAX_LINE_BYTES: Final = 1 << 20
"""Longest physical line, in bytes. The longest seen in public traces is a few KiB (one hash for each 512 tokens of a
prompt)."""

MAX_COLUMNS: Final = 1_000
"""Most columns or keys of a row."""

UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


class Row(NamedTuple):
    """One row as it stands in the file.

    Attributes:
        line: Physical line on which it starts, from 1.
        cells: Value by column or key. Only JSON has others than texts, and its numbers are
            :class:`~sim.workload.traces.timestamps.JsonNumber`, texts as well.
        content: Equal for two rows exactly when they have the same content.
    """

    line: int
    cells: Mapping[str, object]
    content: object


class Lines:
    """Iterates once over the physical lines of a file, decoded.

    Attributes:
        path: The file.
        bom: Whether the file starts with a UTF-8 byte order mark (skipped).
        crlf: Lines so far that end in CR LF.
        blank: Blank lines so far, counted by whoever reads rows.
        number: Physical lines so far, which is the number of the line at hand.
        final_newline: Whether the last line read ends in a line end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bom = False
        self.crlf = 0
        self.blank = 0
        self.number = 0
        self.final_newline = True
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes read so far; of the file once the lines are exhausted."""
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[str]:
        """Yield each line with its line end.

        Raises:
            ConfigError: If there is no such file, or at a line that is too long or no UTF-8 text.
        """
        digest = self._hash.update
        with opened(self.path) as stream:
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                self.number += 1
                digest(raw)
                if len(raw) > MAX_LINE_BYTES:
                    got = f"more than {MAX_LINE_BYTES} bytes"
                    self.refuse(f"row {self.number}", got, f"at most {MAX_LINE_BYTES} bytes a line")
                if raw[-2:] == b"\r\n":
                    self.crlf += 1
                elif raw[-1:] != b"\n":
                    self.final_newline = False
                if self.number == 1:
                    if raw.startswith(_UTF16_BOMS):
                        self.refuse("row 1", "UTF-16", "UTF-8 text")
                    self.bom = raw.startswith(UTF8_BOM)
                    raw = raw.removeprefix(UTF8_BOM)
                try:
                    yield raw.decode()
                except UnicodeDecodeError as error:
                    place = f"row {self.number}, byte {error.start + 1}"
                    self.refuse(place, raw[error.start : error.start + 4], "UTF-8 text")

    def remarks(self) -> list[str]:
        """Return what the bytes looked like, for people; only what is out of the ordinary."""
        found = []
        if self.bom:
            found.append("the file starts with a UTF-8 byte order mark, which was skipped")
        if self.crlf:
            found.append(f"{self.crlf:,} of {self.number:,} lines end in CR LF")
        if not self.final_newline:
            found.append("the last line has no line end; it was read like any other")
        if self.blank:
            found.append(f"blank lines skipped: {self.blank:,}")
        return found

    def refuse(self, where: str, got: object, allowed: str) -> NoReturn:
        """Stop the reading at what leaves no next row to go on with."""
        raise ConfigError(where, got, allowed, file=str(self.path))


def opened(path: Path) -> BinaryIO:
    """Return a trace opened for reading.

    Raises:
        ConfigError: If it is a folder or cannot be read.
    """
    try:
        return path.open("rb")
    except IsADirectoryError:
        raise ConfigError("", "a folder", "a file of recorded requests", file=str(path)) from None
    except OSError as error:
        raise ConfigError("", error.strerror, "a file that can be read", file=str(path)) from error
    except ValueError as error:  # a path with a NUL in it
        raise ConfigError("", str(error), "a file that can be read", file=str(path)) from None
