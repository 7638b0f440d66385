"""Times and lengths of time as they stand in traces, to integer nanoseconds.

Everything is integer arithmetic: a double cannot hold a present-day instant to the nanosecond. What lies below one
nanosecond is cut off, which moves an instant by less than that towards the past and never changes the order of two
rows. This module knows no rows and no files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, get_args

from sim.workload.traces.faults import BadCellError
from tollgate.core.units import NS_PER_MIN, NS_PER_MS, NS_PER_S

TimeUnit = Literal["date-time", "s", "ms", "us", "ns"]
LengthUnit = Literal["s", "ms", "us", "ns"]

TIME_UNITS: Final[tuple[TimeUnit, ...]] = get_args(TimeUnit)
LENGTH_UNITS: Final[tuple[LengthUnit, ...]] = get_args(LengthUnit)

NS_PER: Final[dict[LengthUnit, int]] = {"s": NS_PER_S, "ms": NS_PER_MS, "us": 1_000, "ns": 1}

MAX_NS: Final = 2**63 - 1
"""Largest instant or length that fits a signed 64-bit column; counted from 1970 it lies in the year 2262."""

NS_PER_HOUR: Final = 60 * NS_PER_MIN
NS_PER_DAY: Final = 24 * NS_PER_HOUR
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()

_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,40}))?"
    r" ?(?:([Zz])|([+-])([0-9]{2}):?([0-9]{2}))?"
)
# How access logs write it: 08/Mar/2026:03:00:01 -0400.
_LOG_TIME = re.compile(r"([0-9]{2})/([A-Z][a-z]{2})/([0-9]{4}):([0-9]{2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4})")
_MONTH_NAMES: Final = "JanFebMarAprMayJunJulAugSepOctNovDec"
_MONTHS: Final = {_MONTH_NAMES[3 * k : 3 * k + 3]: f"{k + 1:02d}" for k in range(12)}
_DECIMAL = re.compile(r"([0-9]{1,40})(?:\.([0-9]{0,40}))?(?:[eE]([+-]?[0-9]{1,2}))?")

_PLAIN_DIGITS: Final = 20  # more digits than the largest instant has

_DATE_TIME_FORM = "a date-time such as 2023-11-16 18:17:03.9799600, 2023-11-16T18:17:03Z or 16/Nov/2023:18:17:03 +0000"

# A first value this large cannot be an offset from the start of a capture that anyone would replay, but is an instant
# after 1973 (for seconds: after 2001) counted from 1970 in the unit named.
_EPOCH_FROM: Final[tuple[tuple[int, LengthUnit], ...]] = (
    (10**17, "ns"),
    (10**14, "us"),
    (10**11, "ms"),
    (10**9, "s"),
)

_UNIT_WORDS: Final[dict[str, LengthUnit]] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "msecs", "milli", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "usec", "micro", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nsec", "nano", "nanos", "nanosecond", "nanoseconds"), "ns"),
}


class JsonNumber(str):
    """A number of a JSON row, kept as the text it was written in so that no digit is lost."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class UnitGuess:
    """The unit a column is in.

    Attributes:
        unit: The unit.
        why: What speaks for it, as the end of "taken as ... because".
        certain: Whether the file itself says so; a guess by custom is worth a warning.
    """

    unit: TimeUnit
    why: str
    certain: bool


def guess_unit(name: str, samples: Iterable[str]) -> UnitGuess:
    """Tell the unit of a column of times or lengths from its name and first values.

    Args:
        name: Name of the column.
        samples: Its first values, in the order of the file.
    """
    readable = [text for text in samples if _is_date_time(text) or _DECIMAL.fullmatch(text)]
    if readable and _is_date_time(readable[0]):
        return UnitGuess("date-time", "the values are date-times", certain=True)
    words = name_words(name)
    if len(words) > 1 and words[-1] in _UNIT_WORDS:
        return UnitGuess(_UNIT_WORDS[words[-1]], f"the name ends in {words[-1]!r}", certain=True)
    first = int(readable[0].partition(".")[0].lower().partition("e")[0]) if readable else 0
    for least, unit in _EPOCH_FROM:
        if first >= least:
            return UnitGuess(
                unit, f"the first value, {readable[0]}, is an instant since 1970 in that unit", certain=True
            )
    if any("." in text for text in readable):
        return UnitGuess("s", "the values have fractions", certain=False)
    if readable and isinstance(readable[0], JsonNumber):
        return UnitGuess("ms", "bare integers in JSON traces are usually milliseconds", certain=False)
    return UnitGuess("s", "a bare number is usually in seconds", certain=False)


def name_words(name: str) -> list[str]:
    """Split a column name into its words, in lower case.

    >>> name_words("startTimeUnixNano"), name_words("input_length"), name_words("TIMESTAMP")
    (['start', 'time', 'unix', 'nano'], ['input', 'length'], ['timestamp'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def without_unit(name: str) -> str:
    """Return the words of a name run together, a unit at its end left out.

    >>> without_unit("arrival_ms"), without_unit("ContextTokens")
    ('arrival', 'contexttokens')
    """
    words = name_words(name)
    if len(words) > 1 and words[-1] in _UNIT_WORDS:
        words.pop()
    return "".join(words)


def seconds_text(ns: int) -> str:
    """Return nanoseconds as seconds: an exact decimal without trailing zeros.

    >>> seconds_text(604_453 * NS_PER_S), seconds_text(-1)
    ('604453', '-0.000000001')
    """
    whole, rest = divmod(abs(ns), NS_PER_S)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:09d}".rstrip("0").rstrip(".")


class LengthParser:
    """Reads non-negative decimal numbers in one unit.

    Attributes:
        unit: The unit.
        cut: Values so far that had digits below one nanosecond.
    """

    __slots__ = ("_ns_per_unit", "cut", "unit")

    def __init__(self, unit: LengthUnit) -> None:
        self.unit = unit
        self.cut = 0
        self._ns_per_unit = NS_PER[unit]

    @property
    def allowed(self) -> str:
        """What the parser reads."""
        return f"a number of {self.unit}, 0 or more, below {(MAX_NS + 1) // self._ns_per_unit}"

    def parse(self, text: str) -> int:
        """Return the value in nanoseconds, cut to a whole one.

        Args:
            text: A decimal, with or without an exponent of at most two digits.

        Raises:
            BadCellError: If the text is no such number or beyond 64 bits.
        """
        if text.isdigit() and len(text) < _PLAIN_DIGITS and text.isascii():  # most of them, and quick
            value = int(text) * self._ns_per_unit
            if value > MAX_NS:
                raise BadCellError(self.allowed)
            return value
        match = _DECIMAL.fullmatch(text)
        if match is None:
            raise BadCellError(self.allowed)
        whole, fraction, exponent = match.groups(default="")
        value = int(whole + fraction) * self._ns_per_unit
        shift = int(exponent or 0) - len(fraction)
        if shift >= 0:
            value *= int(10**shift)
        else:
            value, rest = divmod(value, 10**-shift)
            self.cut += rest > 0
        if value > MAX_NS:
            raise BadCellError(self.allowed)
        return value


class DateTimeParser:
    """Reads date-times, all with a zone or all without, in ISO 8601 or as access logs write them.

    A time without a zone is read as UTC: only differences matter, and they are right unless the clocks were changed
    inside the file.

    Attributes:
        zoned: Whether the times carry a zone; None before the first.
        cut: Values so far that had digits below one nanosecond.
    """

    __slots__ = ("_at_ns", "_day", "_day_ns", "_text", "cut", "zoned")

    allowed: Final = _DATE_TIME_FORM

    def __init__(self) -> None:
        self.zoned: bool | None = None
        self.cut = 0
        self._day = ""
        self._day_ns = 0
        self._text = ""  # the last text of which nothing was cut off, and its instant: logs repeat a second many times
        self._at_ns = 0

    def parse(self, text: str) -> int:
        """Return the instant in nanoseconds since 1970-01-01T00:00:00 UTC.

        Args:
            text: Date, ``T`` or a space, time, any number of fraction digits, and a zone or none; or day, month,
                year, time and zone like ``08/Mar/2026:03:00:01 -0400``.

        Raises:
            BadCellError: If the text is no date-time, lies before 1970 or after 2262, or has a zone where others have
                none.
        """
        if text == self._text and text:
            return self._at_ns
        match = _DATE_TIME.fullmatch(text) or _DATE_TIME.fullmatch(_from_log(text))
        if match is None:
            raise BadCellError(_DATE_TIME_FORM)
        day, hour, minute, second, fraction, utc, sign, zone_hour, zone_minute = match.groups()
        if day != self._day:
            self._day_ns = _day_ns(day)
            self._day = day
        if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
            raise BadCellError("hours to 23, minutes and seconds to 59")
        at_ns = self._day_ns + (int(hour) * 3600 + int(minute) * 60 + int(second)) * NS_PER_S
        whole = True
        if fraction is not None:
            at_ns += int(fraction[:9].ljust(9, "0"))
            whole = not fraction[9:].strip("0")
            self.cut += not whole
        zoned = utc is not None or sign is not None
        if self.zoned is None:
            self.zoned = zoned
        elif zoned is not self.zoned:
            others = "with" if self.zoned else "without"
            raise BadCellError(
                f"a date-time {others} a zone, as in the rows before: a file that mixes both has no one order"
            )
        if sign is not None:
            at_ns += _zone_ns(sign, zone_hour, zone_minute)
        if not 0 <= at_ns <= MAX_NS:
            raise BadCellError("a date-time from 1970 to 2262")
        if whole:
            self._text, self._at_ns = text, at_ns
        return at_ns


TimeParser = LengthParser | DateTimeParser


def time_parser(unit: TimeUnit) -> TimeParser:
    """Return a parser for times in the given unit."""
    return DateTimeParser() if unit == "date-time" else LengthParser(unit)


def _is_date_time(text: str) -> bool:
    return _DATE_TIME.fullmatch(_from_log(text)) is not None


def _from_log(text: str) -> str:
    """Return the time of an access log in the order of ISO 8601; any other text as it is."""
    match = _LOG_TIME.fullmatch(text)
    if match is None:
        return text
    day, month, year, rest = match.groups()
    return f"{year}-{_MONTHS.get(month, month)}-{day} {rest}"


def _day_ns(day: str) -> int:
    try:
        return (date.fromisoformat(day).toordinal() - _EPOCH_ORDINAL) * NS_PER_DAY
    except ValueError as error:
        raise BadCellError("a day that exists") from error


def _zone_ns(sign: str, hour: str, minute: str) -> int:
    """Return what has to be added to a local time to get UTC."""
    if int(hour) > 23 or int(minute) > 59:
        raise BadCellError("a zone from -23:59 to +23:59")
    east = int(hour) * NS_PER_HOUR + int(minute) * NS_PER_MIN
    return -east if sign == "+" else east
