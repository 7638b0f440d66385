"""Reading the values of an empirical distribution: one a line, or one column of a CSV file.

Values are exact decimals. This module owns the form of such a file and the complaints about its rows. It must not know
what the values are drawn for.
"""

from __future__ import annotations

import csv
import re
import sys
from array import array
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import BinaryIO, Final

from sim.manifest.scalars import HORIZON_MAX_NS
from sim.manifest.wording import Said
from tollgate.core.errors import ConfigError, nearest
from tollgate.core.units import MAX_SAFE_INTEGER

VALUES_MIN: Final = 2
"""Fewest values: a distribution of one value is a constant, and is to be written as one."""

VALUES_MAX: Final = 10_000_000
"""Most values; they are kept in 8 bytes each."""

LINE_MAX: Final = 1 << 20
"""Longest line, bytes, as in a trace."""

_NUMBER: Final = re.compile(r"\+?([0-9]{1,40})(?:\.([0-9]{0,60}))?(?:[eE]([+-]?[0-9]{1,2}))?", re.ASCII)


def read_values(stream: BinaryIO, column: str | None, scale: Fraction, unit: int, least: int) -> bytes:
    """Return the values of a file in rising order, 64-bit little-endian integers one after another.

    Args:
        stream: The file, open at its start.
        column: A column of a CSV file with a header; None for one value a line.
        scale: Factor on every value.
        unit: 1 for amounts, which have to be whole once scaled; nanoseconds a unit for lengths, which are rounded to
            whole ones, halves up.
        least: Least value after that.

    Raises:
        ConfigError: For a row without a usable value, naming it, or a file with fewer than two values.
    """
    most = MAX_SAFE_INTEGER if unit == 1 else HORIZON_MAX_NS
    read = _value_of(scale * unit, least, most, is_whole=unit == 1)
    found = array("q")
    for row, text in _cells(_lines(stream), column):
        if len(found) == VALUES_MAX:
            raise ConfigError(f"row {row}", Said(f"value {VALUES_MAX + 1}"), f"at most {VALUES_MAX} values")
        value = read(text)
        if value is None:
            raise ConfigError(f"row {row}" + (f", column {column!r}" if column else ""), text, _allowed(least, unit))
        found.append(value)
    if len(found) < VALUES_MIN:
        got = Said("one value" if found else "no value")
        raise ConfigError("", got, f"at least {VALUES_MIN} values; a single one is a constant, and is written as one")
    values = array("q", sorted(found))
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _allowed(least: int, unit: int) -> str:
    if unit == 1:
        return "a whole number from 0 to 2^53-1, after the scale"
    return f"a number {'above 0' if least else 'of 0 or more'}, at most a year, after the scale"


def _value_of(factor: Fraction, least: int, most: int, *, is_whole: bool) -> Callable[[str], int | None]:
    over, under = factor.numerator, factor.denominator

    def read(text: str) -> int | None:
        match = _NUMBER.fullmatch(text)
        if match is None:
            return None
        whole, places, exponent = match.groups(default="")
        above, below = int(whole + places) * over, under
        power = int(exponent or 0) - len(places)
        if power >= 0:
            above *= 10**power
        else:
            below *= 10**-power
        if is_whole and above % below:
            return None
        value = (2 * above + below) // (2 * below)
        return value if least <= value <= most else None

    return read


def _lines(stream: BinaryIO) -> Iterator[str]:
    row = 0
    while raw := stream.readline(LINE_MAX + 1):
        row += 1
        if len(raw) > LINE_MAX:
            raise ConfigError(f"row {row}", Said(f"more than {LINE_MAX} bytes"), f"at most {LINE_MAX} bytes a line")
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"row {row}", raw[error.start : error.start + 4], "UTF-8 text") from None
        yield text.removeprefix("\ufeff") if row == 1 else text


def _cells(lines: Iterator[str], column: str | None) -> Iterator[tuple[int, str]]:
    """Yield each value's text with its row, from 1."""
    if column is None:
        for row, text in enumerate(lines, start=1):
            yield row, text.strip()
        return
    rows = csv.reader(lines, strict=True)
    place = -1
    width = 0
    ended = 0
    while True:
        try:
            fields = next(rows, None)
        except csv.Error as error:
            raise ConfigError(f"row {ended + 1}", Said(error), "cells quoted as RFC 4180 has it") from None
        if fields is None:
            return
        row, ended = ended + 1, rows.line_num
        if place < 0:
            names = [name.strip() for name in fields]
            if names.count(column) != 1:
                got = Said(f"{names.count(column)} columns {column!r}")
                raise ConfigError(f"row {row}", got, "a header that has the column once", hint=nearest(column, names))
            place, width = names.index(column), len(names)
        elif len(fields) != width:
            raise ConfigError(f"row {row}", Said(f"{len(fields)} cells"), f"{width} cells, as in the header")
        else:
            yield row, fields[place].strip()
