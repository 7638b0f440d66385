"""Rows of a CSV or JSON-lines file, one after the other, without judging what they mean.

This module owns bytes: encoding, line ends, quoting, caps on size, and the digest of what was read. Every row knows the
physical line on which it starts. It must not know what a time or a token is.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final, Literal, NoReturn, get_args

from sim.workload.traces.faults import Fault, FaultKind
from sim.workload.traces.timestamps import JsonNumber
from tollgate.core.errors import ConfigError

Format = Literal["csv", "jsonl"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

MAX_LINE_BYTES: Final = 1 << 20
"""Longest physical line, in bytes. The longest seen in public traces is a few KiB (one hash for each 512 tokens of a
prompt)."""

MAX_COLUMNS: Final = 1_000
"""Most columns or keys of a row."""

_SUFFIXES: Final[dict[str, Format]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_UTF8_BOM: Final = b"\xef\xbb\xbf"
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it stands in the file.

    Attributes:
        line: Physical line on which it starts, from 1.
        cells: Value by column or key. CSV has texts only; a JSON number is a :class:`JsonNumber`.
        content: Equal for two rows exactly when they have the same content.
    """

    line: int
    cells: Mapping[str, object]
    content: object


class RowReader:
    """Iterates once over the rows of a file.

    Attributes:
        path: The file.
        format: How it is read.
        header: Column names of a CSV file, known once the first row was asked for; empty for JSON lines.
        bom: Whether the file starts with a UTF-8 byte order mark (skipped).
        crlf: Lines so far that end in CR LF.
        blank: Blank lines so far (skipped).
        lines: Physical lines so far.
        final_newline: Whether the last line read ends in a line end.
    """

    def __init__(self, path: Path, format: Format) -> None:  # noqa: A002 - the word users know it by
        self.path = path
        self.format: Format = format
        self.header: tuple[str, ...] = ()
        self.bom = False
        self.crlf = 0
        self.blank = 0
        self.lines = 0
        self.final_newline = True
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes read so far; of the file once the rows are exhausted."""
        return self._hash.hexdigest()

    def __iter__(self) -> Generator[Row | Fault, None, None]:
        """Yield every row, or what is wrong with it.

        Raises:
            ConfigError: For faults that leave no next row to go on with: no file, no text, no header, broken quoting, a
                line beyond the cap.
        """
        with _opened(self.path) as stream:
            yield from self._csv(self._texts(stream)) if self.format == "csv" else self._jsonl(self._texts(stream))

    def remarks(self) -> list[str]:
        """Return what the bytes looked like, for people; only what is out of the ordinary."""
        found = []
        if self.bom:
            found.append("the file starts with a UTF-8 byte order mark, which was skipped")
        if self.crlf:
            found.append(f"{self.crlf:,} of {self.lines:,} lines end in CR LF")
        if not self.final_newline:
            found.append("the last line has no line end; it was read like any other")
        if self.blank:
            found.append(f"blank lines skipped: {self.blank:,}")
        return found

    def _refuse(self, where: str, got: object, allowed: str) -> NoReturn:
        raise ConfigError(where, got, allowed, file=str(self.path))

    def _texts(self, stream: BinaryIO) -> Iterator[str]:
        while raw := stream.readline(MAX_LINE_BYTES + 1):
            self.lines += 1
            self._hash.update(raw)
            if len(raw) > MAX_LINE_BYTES:
                self._refuse(
                    f"row {self.lines}", f"more than {MAX_LINE_BYTES} bytes", f"at most {MAX_LINE_BYTES} bytes a line"
                )
            self.crlf += raw.endswith(b"\r\n")
            self.final_newline = raw.endswith(b"\n")
            if self.lines == 1:
                if raw.startswith(_UTF16_BOMS):
                    self._refuse("row 1", "UTF-16", "UTF-8 text")
                self.bom = raw.startswith(_UTF8_BOM)
                raw = raw.removeprefix(_UTF8_BOM)
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                self._refuse(
                    f"row {self.lines}, byte {error.start + 1}", raw[error.start : error.start + 4], "UTF-8 text"
                )

    def _csv(self, texts: Iterator[str]) -> Iterator[Row | Fault]:
        rows = csv.reader(texts, strict=True)
        ended = 0  # physical line on which the row before ended: a quoted cell may run over several
        while True:
            try:
                fields = next(rows, None)
            except csv.Error as error:
                self._refuse(f"row {ended + 1}", str(error), "cells quoted as RFC 4180 has it")
            if fields is None:
                break
            line, ended = ended + 1, rows.line_num
            if not fields or (len(fields) == 1 and not fields[0].strip()):
                self.blank += 1
            elif not self.header:
                self.header = self._checked_header(line, fields)
            elif len(fields) != len(self.header):
                allowed = f"{len(self.header)} cells, as in the header"
                yield Fault(line, FaultKind.SHAPE, "", f"{len(fields)} cells", allowed)
            else:
                yield Row(line, dict(zip(self.header, fields, strict=True)), tuple(fields))
        if not self.header:
            self._refuse("", "an empty file", "a header and at least one row")

    def _checked_header(self, line: int, fields: list[str]) -> tuple[str, ...]:
        names = tuple(field.strip() for field in fields)
        where = f"row {line}"
        if len(names) > MAX_COLUMNS:
            self._refuse(where, f"{len(names)} columns", f"at most {MAX_COLUMNS} columns")
        if not any(name[:1].isalpha() or name[:1] == "_" for name in names):
            self._refuse(
                where,
                ",".join(names),
                "a header with column names: which column is the time cannot be told without one",
            )
        for index, name in enumerate(names):
            if name in names[:index]:
                self._refuse(where, name, "column names that differ")
        return names

    def _jsonl(self, texts: Iterator[str]) -> Iterator[Row | Fault]:
        rows = 0
        for text in texts:
            line, content = self.lines, text.strip()
            if not content:
                self.blank += 1
                continue
            if rows == 0 and content.startswith("["):
                self._refuse(f"row {line}", content, "one JSON object a line; a JSON array is not read")
            rows += 1
            try:
                cells = _DECODER.decode(content)
            except json.JSONDecodeError as error:
                yield Fault(
                    line, FaultKind.SHAPE, "", content, f"one JSON object a line ({error.msg}, character {error.colno})"
                )
            except _BadJsonError as error:
                yield Fault(line, FaultKind.SHAPE, "", error.got, error.allowed)
            except RecursionError:
                yield Fault(line, FaultKind.SHAPE, "", content, "a JSON object that is not nested this deeply")
            else:
                if not isinstance(cells, dict):
                    yield Fault(line, FaultKind.SHAPE, "", content, "one JSON object a line")
                elif len(cells) > MAX_COLUMNS:
                    yield Fault(line, FaultKind.SHAPE, "", f"{len(cells)} keys", f"at most {MAX_COLUMNS} keys")
                else:
                    yield Row(line, cells, content)
        if rows == 0:
            self._refuse("", "an empty file", "at least one JSON object")


def sniff_format(path: Path) -> Format:
    """Tell the format from the file's suffix or, failing that, from its first character.

    Raises:
        ConfigError: If there is no such file.
    """
    known = _SUFFIXES.get(path.suffix.lower())
    if known is not None:
        return known
    with _opened(path) as stream:
        start = stream.read(4096).removeprefix(_UTF8_BOM).lstrip()
    return "jsonl" if start[:1] in {b"{", b"["} else "csv"


def first_rows(path: Path, format: Format, count: int) -> tuple[tuple[str, ...], list[Row]]:  # noqa: A002
    """Return the names of the columns and the first rows that can be read.

    Args:
        path: The file.
        format: How to read it.
        count: How many rows to look at, at most.

    Raises:
        ConfigError: If the file cannot be read, or none of the rows looked at can.
    """
    reader = RowReader(path, format)
    with closing(iter(reader)) as rows:
        seen = list(islice(rows, count))
    found = [row for row in seen if isinstance(row, Row)]
    for fault in seen:
        if not found and isinstance(fault, Fault):
            raise fault.error(str(path))
    return reader.header or tuple(dict.fromkeys(name for row in found for name in row.cells)), found


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except IsADirectoryError:
        raise ConfigError("", "a folder", "a CSV or JSON-lines file", file=str(path)) from None
    except OSError as error:
        raise ConfigError("", error.strerror, "a file that can be read", file=str(path)) from error


class _BadJsonError(ValueError):
    """Well-formed JSON that a trace may not hold."""

    def __init__(self, got: str, allowed: str) -> None:
        super().__init__(allowed)
        self.got = got
        self.allowed = allowed


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _BadJsonError(name, "each key once")
            seen.add(name)
    return found


def _constant(name: str) -> NoReturn:
    raise _BadJsonError(name, "finite numbers")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=_constant
)
