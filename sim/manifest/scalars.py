"""The scalar types of manifest keys: exact numbers, whole nanoseconds, names.

Every number is read from its source text, never through a binary float; a length of time becomes whole nanoseconds
here, once. This module owns what one scalar may be. It must not know which keys exist.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Final

from pydantic import AfterValidator, Field, PlainValidator, ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator
from pydantic_core import PydanticCustomError

from tollgate.core.errors import ConfigError
from tollgate.core.ids import LANE_NAME_MAX, lane_name
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_MS, NS_PER_S, decimal_text, fraction
from tollgate.decision.controller import MAX_PAUSE_NS

HORIZON_MAX_NS: Final = 366 * 24 * 3600 * NS_PER_S
"""Longest stretch of time: a year is 3.2e16 ns, so sums of a few hundred such stretches stay inside signed 64-bit
columns."""

RATE_MAX: Final = 10**9
"""Largest rate, multiplier or weight: one arrival a nanosecond is the finest the clock can tell apart."""

FACTOR_MAX: Final = 10**6
"""Largest factor on a service time: with it, a call of a minute still ends within two years."""

_NUMBER_SCHEMA: Final = {"type": ["number", "string"], "pattern": r"^[+-]?[0-9]{1,60}(\.[0-9]{1,60})?$"}


def complaint(allowed: str) -> PydanticCustomError:
    """Return the error that says what would have been accepted."""
    return PydanticCustomError("allowed", "{allowed}", {"allowed": allowed})


def _unsigned_zero(value: int | str | Decimal) -> Fraction:
    """Return an exact number; a zero with a sign is none, as in JSON and YAML, whoever spells it as a text."""
    number = fraction(value)
    if not number and str(value).startswith("-"):
        raise ConfigError("", value, "0 without a sign")
    return number


def _exact(allowed: str, accepts: Callable[[Fraction], bool]) -> PlainValidator:
    def read(value: object) -> Fraction:
        if isinstance(value, (int, str, Decimal)):
            try:
                number = _unsigned_zero(value)
            except ConfigError:
                raise complaint(allowed) from None
            if accepts(number):
                return number
        raise complaint(allowed)

    return PlainValidator(read)


def _whole_ns(unit_ns: int, allowed: str, least_ns: int, most_ns: int = HORIZON_MAX_NS) -> PlainValidator:
    def read(value: object) -> int:
        if isinstance(value, (int, str, Decimal)):
            try:
                length = _unsigned_zero(value) * unit_ns
            except ConfigError:
                raise complaint(allowed) from None
            if length.denominator == 1 and least_ns <= length <= most_ns:
                return length.numerator
        raise complaint(allowed)

    return PlainValidator(read)


def _name(text: str) -> str:
    try:
        return lane_name(text)
    except ConfigError as error:
        raise complaint(error.allowed) from None


def _judge_beginning(value: object, judge: ValidatorFunctionWrapHandler) -> object:
    if isinstance(value, list) and len(value) > _BEGINNING:
        judge(value[:_BEGINNING])
    return judge(value)


_BEGINNING: Final = 1000
judged_by_its_beginning: Final = WrapValidator(_judge_beginning)
"""Says that a long list is refused for what its first thousand entries hold: a complaint about each entry of a million
would take gigabytes, and one is told."""

PositiveNumber = Annotated[
    Fraction,
    _exact("a decimal number above 0, at most 10^9", lambda number: 0 < number <= RATE_MAX),
    WithJsonSchema(_NUMBER_SCHEMA | {"exclusiveMinimum": 0, "maximum": RATE_MAX}),
]
Factor = Annotated[
    Fraction,
    _exact("a decimal number of at least 1, at most 10^6", lambda number: 1 <= number <= FACTOR_MAX),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 1, "maximum": FACTOR_MAX}),
]
Multiplier = Annotated[
    Fraction,
    _exact("a decimal number from 0 to 10^9", lambda number: 0 <= number <= RATE_MAX),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0, "maximum": RATE_MAX}),
]
Probability = Annotated[
    Fraction,
    _exact("a decimal from 0 to 1, exact", lambda number: 0 <= number <= 1),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0, "maximum": 1}),
]
Share = Annotated[
    Fraction,
    _exact("a decimal above 0, at most 1", lambda number: 0 < number <= 1),
    WithJsonSchema(_NUMBER_SCHEMA | {"exclusiveMinimum": 0, "maximum": 1}),
]
OpenProbability = Annotated[
    Fraction,
    _exact("a decimal above 0 and below 1, exact", lambda number: 0 < number < 1),
    WithJsonSchema(_NUMBER_SCHEMA | {"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
]
Variation = Annotated[
    Fraction,
    _exact("a decimal number from 0.01 to 10", lambda number: Fraction(1, 100) <= number <= 10),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0.01, "maximum": 10}),
]
"""A coefficient of variation. Below a hundredth a constant serves, and above 10 a run sees too few of the values that
its mean comes from."""
Exponent = Annotated[
    Fraction,
    _exact("a decimal number from 0.01 to 100", lambda number: Fraction(1, 100) <= number <= 100),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0.01, "maximum": 100}),
]
"""The exponent of a tail; measured ones lie between 0.5 and 5."""
Number = Annotated[
    Fraction,
    _exact("a decimal number", lambda number: abs(number) <= MAX_SAFE_INTEGER),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": -MAX_SAFE_INTEGER, "maximum": MAX_SAFE_INTEGER}),
]
Milliseconds = Annotated[
    int,
    _whole_ns(NS_PER_MS, "a number of ms from 0 to a year, in whole ns", 0),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0, "maximum": HORIZON_MAX_NS // NS_PER_MS}),
]
PositiveMilliseconds = Annotated[
    int,
    _whole_ns(NS_PER_MS, "a number of ms above 0, at most a year, in whole ns", 1),
    WithJsonSchema(_NUMBER_SCHEMA | {"exclusiveMinimum": 0, "maximum": HORIZON_MAX_NS // NS_PER_MS}),
]
Pause = Annotated[
    int,
    _whole_ns(NS_PER_MS, "a number of ms from 0 to 21600000, six hours, in whole ns", 0, MAX_PAUSE_NS),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0, "maximum": MAX_PAUSE_NS // NS_PER_MS}),
]
"""A wait that a provider announces; the controller honours no longer one."""
Seconds = Annotated[
    int,
    _whole_ns(NS_PER_S, "a number of seconds from 0 to a year, in whole ns", 0),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0, "maximum": HORIZON_MAX_NS // NS_PER_S}),
]
PositiveSeconds = Annotated[
    int,
    _whole_ns(NS_PER_S, "a number of seconds above 0, at most a year, in whole ns", 1),
    WithJsonSchema(_NUMBER_SCHEMA | {"exclusiveMinimum": 0, "maximum": HORIZON_MAX_NS // NS_PER_S}),
]
RecurringSeconds = Annotated[
    int,
    _whole_ns(NS_PER_S, "a number of seconds from 0.001 to a year, in whole ns", NS_PER_MS),
    WithJsonSchema(_NUMBER_SCHEMA | {"minimum": 0.001, "maximum": HORIZON_MAX_NS // NS_PER_S}),
]
"""Length of what comes again and again until a run ends: each time costs a run as much as an arrival, whoever asks
meanwhile, and below a millisecond no queue of calls sees it."""
Amount = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]
Count = Annotated[int, Field(ge=1, le=MAX_SAFE_INTEGER)]
Name = Annotated[str, AfterValidator(_name), Field(json_schema_extra={"minLength": 1, "maxLength": LANE_NAME_MAX})]
Digest = Annotated[str, Field(pattern=r"^(sha256:)?[0-9a-f]{64}$")]


def plain_decimal(number: Fraction) -> str:
    """Return a decimal fraction as plain decimal text, every digit of it and no trailing zero."""
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    return decimal_text(number, places)
