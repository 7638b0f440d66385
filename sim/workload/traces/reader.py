"""Rows of a trace, one after the other, without judging what they mean.

This module owns which formats there are and how one is told from another. It must not know how any of them is written,
nor what a time or a token is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final, Literal, get_args

from sim.workload.traces import clf_rows
from sim.workload.traces.clf_rows import ClfRows
from sim.workload.traces.csv_rows import CsvRows
from sim.workload.traces.faults import Fault
from sim.workload.traces.json_rows import JsonRows
from sim.workload.traces.lines import UTF8_BOM, Lines, Row, opened

Format = Literal["csv", "jsonl", "clf"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_ROWS: Final[dict[Format, type[CsvRows | JsonRows | ClfRows]]] = {"csv": CsvRows, "jsonl": JsonRows, "clf": ClfRows}
_SUFFIXES: Final[dict[str, Format]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SNIFFED_BYTES: Final = 1 << 16  # room for a first line with a long request


class RowReader:
    """Iterates once over the rows of a file.

    Attributes:
        format: How it is read.
        lines: The physical lines, with what their bytes looked like.
    """

    def __init__(self, path: Path, format: Format) -> None:  # noqa: A002 - the word users know it by
        self.format: Format = format
        self.lines = Lines(path)
        self._rows = _ROWS[format](self.lines)

    @property
    def header(self) -> tuple[str, ...]:
        """Column names of a CSV file, known once the first row was asked for; empty where rows name their own."""
        return self._rows.header

    @property
    def sha256(self) -> str:
        """Hex digest of the bytes read so far; of the file once the rows are exhausted."""
        return self.lines.sha256

    def __iter__(self) -> Generator[Row | Fault, None, None]:  # noqa: PYI058 - who stops early closes it
        """Yield every row, or what is wrong with it.

        Raises:
            ConfigError: For faults that leave no next row to go on with: no file, no text, no header, broken quoting, a
                line beyond the cap.
        """
        yield from self._rows

    def remarks(self) -> list[str]:
        """Return what the bytes looked like, for people; only what is out of the ordinary."""
        return self.lines.remarks()


def sniff_format(path: Path) -> Format:
    """Tell the format from the file's suffix or, failing that, from how it starts.

    Raises:
        ConfigError: If there is no such file.
    """
    known = _SUFFIXES.get(path.suffix.lower())
    if known is not None:
        return known
    with opened(path) as stream:
        start = stream.read(_SNIFFED_BYTES).removeprefix(UTF8_BOM).lstrip()
    if start[:1] in {b"{", b"["}:
        return "jsonl"
    first = start.partition(b"\n")[0].decode(errors="replace").strip()
    return "csv" if clf_rows.fields(first) is None else "clf"


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
