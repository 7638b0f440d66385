"""Rows of an access log in the common or combined form, as Apache, nginx and others write it.

This module owns how such a line is taken apart. It must not know bytes or what a field means for an import. The form:
``host ident user [time] "request" status bytes``, and in the combined one ``"referrer" "agent"`` after it; whatever a
site adds behind that is kept as ``extra_1``, ``extra_2`` and so on. A field that a server writes as ``-`` is one it
does not know; a user of that name is left out of the row, so that it names nobody.

Source: "Log Files" in the manual of the Apache HTTP Server, version 2.4; ngx_http_log_module of nginx.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sim.workload.traces.faults import Fault, FaultKind
from sim.workload.traces.lines import MAX_COLUMNS, Lines, Row

TIME: Final = "time"
"""Name of the field of the instant."""

SIZE: Final = "bytes"
"""Name of the field of the answer's size."""

STATUS: Final = "status"
"""Name of the field of the answer's status."""

REFERRER: Final = "referrer"
AGENT: Final = "agent"
"""Names of the fields that the combined form has besides."""

IDENT: Final = "ident"
USER: Final = "user"
HOST: Final = "host"
"""Names of the fields that may say whom a request belongs to: the authenticated user, or the address it came from."""

FIELDS: Final = (HOST, IDENT, USER, TIME, "request", STATUS, SIZE)
"""Names of the fields that every line has, in their order."""

_FORM: Final = 'host ident user [day/Mon/year:hh:mm:ss +zone] "request" status bytes, and perhaps "referrer" "agent"'

# Every repetition is bounded or cannot give back what it took, so that no line takes more than linear time. A user may
# hold spaces; the request and what follows may hold escaped quotes.
_QUOTED: Final = r'"((?:[^"\\]|\\.)*+)"'
_LINE = re.compile(
    r"(\S++) (\S++) (.{1,256}?) \[([^\]\[]{1,64})\] " + _QUOTED + r" ([0-9]{3}|-) ([0-9]{1,20}|-)"
    rf"(?: {_QUOTED} {_QUOTED}(?= |$))?+((?: .*+)?)"
)
_FIELD = re.compile(rf" ++(?:{_QUOTED}(?= |$)|(?!\")(\S++))")
_UNKNOWN: Final = "-"


class ClfRows:
    """Iterates once over the rows.

    Attributes:
        header: Empty: which fields there are depends on the row.
    """

    def __init__(self, lines: Lines) -> None:
        self.header: tuple[str, ...] = ()
        self._lines = lines

    def __iter__(self) -> Iterator[Row | Fault]:
        """Yield every row, or what is wrong with it.

        Raises:
            ConfigError: For an empty file.
        """
        lines, rows = self._lines, 0
        for text in lines:
            content = text.strip()
            if not content:
                lines.blank += 1
                continue
            rows += 1
            cells = fields(content)
            if cells is None:
                yield Fault(lines.number, FaultKind.SHAPE, "", content, _FORM)
            else:
                yield Row(lines.number, cells, content)
        if rows == 0:
            lines.refuse("", "an empty file", "at least one line of an access log")


def fields(line: str) -> dict[str, object] | None:
    """Return the fields of one line by name, None if it is no line of such a log."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    *main, referrer, agent, rest = match.groups()
    cells: dict[str, object] = dict(zip(FIELDS, main, strict=True))
    for name in (IDENT, USER):
        if cells[name] == _UNKNOWN:
            del cells[name]
    if referrer is not None:
        cells[REFERRER], cells[AGENT] = referrer, agent
    if rest.strip():
        added = _added(rest)
        if added is None:
            return None
        cells.update(added)
    return cells


def _added(rest: str) -> dict[str, object] | None:
    """Return the fields behind the form, or None if they are no fields."""
    cells: dict[str, object] = {}
    end = 0
    while end < len(rest):
        match = _FIELD.match(rest, end)
        if match is None or len(cells) == MAX_COLUMNS:
            return None
        cells[f"extra_{len(cells) + 1}"] = match[1] if match[1] is not None else match[2]
        end = match.end()
    return cells
