"""One encoding of a JSON value, its digest, and a parser that refuses what does not come back the same.

Digests bind bytes, so equal values must have equal bytes on every host: RFC 8785 (JSON Canonicalization Scheme). On top
of it, floats are refused unless asked for: ``1`` and ``1.0`` would share a digest, and so would ``0`` and ``-0.0``.

The parser is stricter than :func:`json.loads`, which keeps the last of two equal keys, reads ``NaN``, turns ``1e400``
into infinity and fails with :class:`RecursionError` on deep nesting. This module does not know what the values mean.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple, NoReturn, TypeAlias, cast

import rfc8785

from tollgate.core.errors import CallerError, ConfigError, shown
from tollgate.core.units import MAX_SAFE_INTEGER

__all__ = [
    "CANONICAL_DEPTH_MAX",
    "INTEGER_DIGITS_MAX",
    "JSON",
    "PARSE_DEPTH_MAX",
    "canonical_bytes",
    "digest",
    "parse_json",
    "sha256_hex",
]

JSON: TypeAlias = "bool | int | float | Decimal | str | list[JSON] | dict[str, JSON] | None"
"""A parsed value. ``Decimal`` occurs only where it was asked for."""

CANONICAL_DEPTH_MAX = 64
"""Levels of nesting that are encoded; twice what the parser reads, so that a record may wrap what was parsed."""

PARSE_DEPTH_MAX = 32
"""Levels of nesting that are read unless the caller says otherwise."""

INTEGER_DIGITS_MAX = 4300
"""Digits an integer may have: CPython's own default limit, kept here because a host can switch that one off."""

_KEY_SHOWN_MAX = 80

# Structure outside of strings; an unterminated string swallows the rest. Possessive: no text makes it backtrack.
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_bytes(obj: object, *, allow_floats: bool = False) -> bytes:
    """Return the RFC 8785 encoding of a value.

    Args:
        obj: None, bool, int, str, and lists, tuples and dicts of them; dict keys are texts.
        allow_floats: Encode finite floats too, for the export of formats that have them.

    Raises:
        CallerError: Naming the key path of what has no canonical form: a float, NaN or infinity, an integer beyond
            2^53 - 1, a key that is no text, a lone surrogate, another type, or nesting deeper than 64.

    >>> canonical_bytes({"b": [1, True], "a": None})
    b'{"a":null,"b":[1,true]}'
    """
    _check_encodable(obj, "", 0, allow_floats=allow_floats)
    try:
        return rfc8785.dumps(cast("dict[str, None]", obj))
    except rfc8785.CanonicalizationError as error:
        raise CallerError(f"no canonical form: {error}") from error


def digest(obj: object, *, allow_floats: bool = False) -> str:
    """Return ``sha256:`` and the digest of :func:`canonical_bytes`.

    >>> digest({}) == digest([])
    False
    """
    return "sha256:" + sha256_hex(canonical_bytes(obj, allow_floats=allow_floats))


def sha256_hex(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def parse_json(
    data: bytes,
    *,
    max_bytes: int,
    max_depth: int = PARSE_DEPTH_MAX,
    decimals: bool = False,
    file: str | None = None,
) -> JSON:
    """Parse JSON that has exactly one meaning, or refuse it.

    Args:
        data: UTF-8 without a byte order mark.
        max_bytes: Longest input that is looked at.
        max_depth: Levels of nesting; checked by a scan before anything recurses.
        decimals: Return numbers with a point or an exponent as exact Decimals rather than floats.
        file: Name of the file, for errors.

    Returns:
        The value: dicts, lists, texts, ints, bools, None, and floats or Decimals.

    Raises:
        ConfigError: With line and column for broken syntax, with the key path for a duplicate key, NaN, infinity, a
            number outside a double's range, negative zero, an integer of more than 4,300 digits, or a lone surrogate.

    >>> parse_json(b'{"share": 0.29}', max_bytes=1000, decimals=True)
    {'share': Decimal('0.29')}
    """
    if len(data) > max_bytes:
        raise ConfigError("", f"{len(data)} bytes", f"at most {max_bytes} bytes", file=file)
    text = _decoded(data, file)
    _check_nesting(text, max_depth, file)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=lambda name: _Refused(name, "a finite number"),
            parse_float=_decimal if decimals else _float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        where = _place(text, error.pos)
        raise ConfigError(where, _near(text, error.pos), f"JSON ({error.msg.lower()})", file=file) from error
    _check_parsed(value, "", file)
    return cast("JSON", value)


class _Refused(NamedTuple):
    """Stands in the parsed tree for what the parser's hooks refuse: only the tree knows the key path."""

    got: object
    allowed: str
    key: str = ""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Refused:
    parsed: dict[str, object] = {}
    for key, value in pairs:
        if key in parsed:
            return _Refused(key, "each key once in an object", key)
        parsed[key] = value
    return parsed


def _int(text: str) -> int | _Refused:
    if len(text) > INTEGER_DIGITS_MAX:
        return _Refused(f"an integer of {len(text)} characters", f"at most {INTEGER_DIGITS_MAX} digits")
    if text == "-0":
        return _Refused(text, "0 without a sign")
    return int(text)


def _float(text: str) -> float | _Refused:
    return _out_of_range(text) or float(text)


def _decimal(text: str) -> Decimal | _Refused:
    return _out_of_range(text) or Decimal(text)


def _out_of_range(text: str) -> _Refused | None:
    """Refuse what a double would turn into infinity, into 0, or into a second spelling of 0."""
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        return _Refused(text, "a number that a double can hold (below 1.8e308)")
    if value == 0:
        if text.startswith("-"):
            return _Refused(text, "0 without a sign")
        if re.search("[1-9]", re.split("[eE]", text)[0]):
            return _Refused(text, "a number that a double can tell from 0 (above 4.9e-324)")
    return None


def _decoded(data: bytes, file: str | None) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        where = _place(before, len(before))
        raise ConfigError(where, data[error.start : error.start + 4], "UTF-8", file=file) from error
    if text.startswith("\ufeff"):
        raise ConfigError(_place(text, 0), "a byte order mark", "UTF-8 without one", file=file)
    if not text.strip(" \t\r\n"):
        raise ConfigError("", "an empty document", "one JSON value", file=file)
    return text


def _check_nesting(text: str, max_depth: int, file: str | None) -> None:
    if text.count("[") + text.count("{") <= max_depth:
        return
    depth = 0
    for match in _STRUCTURE.finditer(text):
        token = match.group()
        if token in {"[", "{"}:
            depth += 1
            if depth > max_depth:
                where = _place(text, match.start())
                raise ConfigError(where, f"{depth} levels of nesting", f"at most {max_depth}", file=file)
        elif token in {"]", "}"}:
            depth -= 1


def _check_parsed(value: object, path: str, file: str | None) -> None:
    """Raise, with the key path, for anything the hooks refused and for lone surrogates (half of an escaped pair)."""
    if isinstance(value, _Refused):
        raise ConfigError(_joined(path, value.key) if value.key else path, value.got, value.allowed, file=file)
    if isinstance(value, dict):
        for key, item in value.items():
            if _SURROGATE.search(key):
                raise ConfigError(path, key, "keys without lone surrogates", file=file)
            _check_parsed(item, _joined(path, key), file)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_parsed(item, f"{path}[{index}]", file)
    elif isinstance(value, str) and _SURROGATE.search(value):
        raise ConfigError(path, value, "text without lone surrogates", file=file)


def _check_encodable(value: object, path: str, depth: int, *, allow_floats: bool) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            _refuse(path, value, f"integers up to {MAX_SAFE_INTEGER}; carry larger ones as strings")
    elif isinstance(value, float):
        if not allow_floats:
            _refuse(path, value, "no floats; carry exact numbers as integers or decimal strings")
        if value - value != 0:
            _refuse(path, value, "finite numbers")
    elif isinstance(value, str):
        if _SURROGATE.search(value):
            _refuse(path, value, "text without lone surrogates")
    elif isinstance(value, dict | list | tuple):
        if depth >= CANONICAL_DEPTH_MAX:
            _refuse(path, value, f"nesting of at most {CANONICAL_DEPTH_MAX} levels")
        for key, item in _items(value):
            if isinstance(key, str):
                if _SURROGATE.search(key):
                    _refuse(path, key, "keys without lone surrogates")
                _check_encodable(item, _joined(path, key), depth + 1, allow_floats=allow_floats)
            elif isinstance(value, dict):
                _refuse(path, key, "texts as keys")
            else:
                _check_encodable(item, f"{path}[{key}]", depth + 1, allow_floats=allow_floats)
    else:
        _refuse(path, value, "None, bool, int, str, list, tuple or dict")


def _items(container: dict[object, object] | list[object] | tuple[object, ...]) -> Iterator[tuple[object, object]]:
    return iter(container.items()) if isinstance(container, dict) else enumerate(container)


def _refuse(path: str, got: object, allowed: str) -> NoReturn:
    raise CallerError(f"no canonical form: {path or 'the value'}: got {shown(got)}; allowed: {allowed}")


def _joined(path: str, key: str) -> str:
    """Extend a key path; a key that cannot be printed on one line is shown as a literal."""
    part = key if key.isprintable() and len(key) <= _KEY_SHOWN_MAX else shown(key)
    return f"{path}.{part}" if path else part


def _place(text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return f"line {line}, column {column}"


def _near(text: str, position: int) -> str:
    return text[position : position + 20] or "the end of the document"
