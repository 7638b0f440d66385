"""Rows of a JSON-lines file: one object a line, numbers kept as the texts they were written in.

This module owns what JSON a trace may hold. It must not know bytes or what a key means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NoReturn

from sim.workload.traces.faults import Fault, FaultKind
from sim.workload.traces.lines import MAX_COLUMNS, Lines, Row
from sim.workload.traces.timestamps import JsonNumber


class JsonRows:
    """Iterates once over the rows.

    Attributes:
        header: Empty: every row names its own keys.
    """

    def __init__(self, lines: Lines) -> None:
        self.header: tuple[str, ...] = ()
        self._lines = lines

    def __iter__(self) -> Iterator[Row | Fault]:
        """Yield every row, or what is wrong with it.

        Raises:
            ConfigError: For an empty file or a JSON array.
        """
        lines, decode, rows = self._lines, _DECODER.raw_decode, 0
        for text in lines:
            line, content = lines.number, text.strip()
            if not content:
                lines.blank += 1
                continue
            if rows == 0 and content.startswith("["):
                lines.refuse(f"row {line}", content, "one JSON object a line; a JSON array is not read")
            rows += 1
            try:
                cells, end = decode(content)
                if end != len(content):
                    raise json.JSONDecodeError("Extra data", content, end)  # noqa: TRY301 - as ``decode`` has it
            except json.JSONDecodeError as error:
                allowed = f"one JSON object a line ({error.msg}, character {error.colno})"
                yield Fault(line, FaultKind.SHAPE, "", content, allowed)
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
            lines.refuse("", "an empty file", "at least one JSON object")


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
