"""Rows of a CSV file as RFC 4180 has it, with a header.

This module owns quoting and the header. It must not know bytes or what a column means.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

from sim.workload.traces.faults import Fault, FaultKind
from sim.workload.traces.lines import MAX_COLUMNS, Lines, Row


class CsvRows:
    """Iterates once over the rows below the header.

    Attributes:
        header: Column names, known once the first row was asked for.
    """

    def __init__(self, lines: Lines) -> None:
        self.header: tuple[str, ...] = ()
        self._lines = lines

    def __iter__(self) -> Iterator[Row | Fault]:
        """Yield every row, or what is wrong with it.

        Raises:
            ConfigError: For an empty file, a header that is none, or broken quoting.
        """
        rows = csv.reader(iter(self._lines), strict=True)
        header, ended = (
            self.header,
            0,
        )  # physical line on which the row before ended: a quoted cell may run over several
        while True:
            try:
                fields = next(rows, None)
            except csv.Error as error:
                self._lines.refuse(f"row {ended + 1}", str(error), "cells quoted as RFC 4180 has it")
            if fields is None:
                break
            line, ended = ended + 1, rows.line_num
            if not fields or (len(fields) == 1 and not fields[0].strip()):
                self._lines.blank += 1
            elif not header:
                header = self.header = self._checked_header(line, fields)
            elif len(fields) != len(header):
                allowed = f"{len(header)} cells, as in the header"
                yield Fault(line, FaultKind.SHAPE, "", f"{len(fields)} cells", allowed)
            else:
                yield Row(line, dict(zip(header, fields, strict=True)), tuple(fields))
        if not header:
            self._lines.refuse("", "an empty file", "a header and at least one row")

    def _checked_header(self, line: int, fields: list[str]) -> tuple[str, ...]:
        names = tuple(field.strip() for field in fields)
        where = f"row {line}"
        if len(names) > MAX_COLUMNS:
            self._lines.refuse(where, f"{len(names)} columns", f"at most {MAX_COLUMNS} columns")
        if not any(name[:1].isalpha() or name[:1] == "_" for name in names):
            self._lines.refuse(
                where,
                ",".join(names),
                "a header with column names: which column is the time cannot be told without one",
            )
        for index, name in enumerate(names):
            if name in names[:index]:
                self._lines.refuse(where, name, "column names that differ")
        return names
