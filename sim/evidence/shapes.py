"""Checks a parsed JSON value against type annotations: closed keys, exact types, stated ranges.

Owns the reading of annotations built from ``TypedDict``, ``list``, ``dict``, ``Literal``, unions, ``Annotated`` and the
scalars of JSON. It must not know what any value means.
"""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Literal, Protocol, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from sim.gates.rows import TEXT_MAX
from tollgate.core.errors import EvidenceError, nearest, shown
from tollgate.core.units import MAX_SAFE_INTEGER

_SCALARS = {str: "a text", bool: "true or false", float: "a number", NoneType: "null"}


class _Rule(Protocol):
    """What stands behind a scalar in ``Annotated``."""

    @property
    def allowed(self) -> str:
        """The end of the sentence "allowed: ..."."""

    def matches(self, value: object, /) -> bool:
        """Return whether the value is allowed."""


def check(value: object, shape: object, *, file: str) -> None:
    """Refuse a value that does not have the shape an annotation states.

    Args:
        value: A parsed JSON value.
        shape: The annotation.
        file: Name of the file, for the message.

    Raises:
        EvidenceError: Naming file, key path, the value got and what is allowed; for an unknown key, the nearest known
            one.
    """
    problem = _problem(value, shape, "")
    if problem is not None:
        raise EvidenceError(f"{file}: {problem}")


def _problem(value: object, shape: object, path: str) -> str | None:
    """Return the first thing wrong, or None."""
    origin = get_origin(shape)
    if origin is Annotated:
        base, *rules = get_args(shape)
        return _problem(value, base, path) or _broken_rule(value, cast("list[_Rule]", rules), path)
    if origin in {Union, UnionType}:
        problems = [_problem(value, option, path) for option in get_args(shape)]
        return None if None in problems else _got(path, value, _allowed(shape))
    if origin is Literal:
        # By type as well: in Python True == 1.
        same = any(type(value) is type(option) and value == option for option in get_args(shape))
        return None if same else _got(path, value, _allowed(shape))
    if origin is list:
        return _list_problem(value, get_args(shape)[0], path)
    if origin is dict:
        key, item = get_args(shape)
        return _dict_problem(value, key, item, path)
    if is_typeddict(shape):
        return _table_problem(value, cast("type", shape), path)
    return _scalar_problem(value, cast("type", shape), path)


def _scalar_problem(value: object, shape: type, path: str) -> str | None:
    if type(value) is not shape:
        return _got(path, value, _allowed(shape))
    if isinstance(value, int) and abs(value) > MAX_SAFE_INTEGER:
        return _got(path, value, _allowed(shape))
    if isinstance(value, str) and len(value) > TEXT_MAX:
        return _got(path, value, f"a text of at most {TEXT_MAX} characters")
    return None


def _broken_rule(value: object, rules: list[_Rule], path: str) -> str | None:
    broken = next((rule for rule in rules if not rule.matches(value)), None)
    return None if broken is None else _got(path, value, broken.allowed)


def _list_problem(value: object, item: object, path: str) -> str | None:
    if not isinstance(value, list):
        return _got(path, value, "a list")
    found = (_problem(entry, item, f"{path}[{index}]") for index, entry in enumerate(value))
    return next((problem for problem in found if problem is not None), None)


def _dict_problem(value: object, key_shape: object, item: object, path: str) -> str | None:
    if not isinstance(value, dict):
        return _got(path, value, "an object")
    for key, entry in value.items():
        problem = _problem(key, key_shape, f"{path}: key") or _problem(entry, item, _joined(path, key))
        if problem is not None:
            return problem
    return None


def _table_problem(value: object, shape: type, path: str) -> str | None:
    if not isinstance(value, dict):
        return _got(path, value, "an object")
    fields = _fields(shape)
    for key in value:
        if key not in fields:
            return _got(_joined(path, key), value[key], f"the keys {', '.join(fields)}", nearest(str(key), fields))
    for key, field in fields.items():
        if key not in value:
            return _got(_joined(path, key), "nothing", _allowed(field))
        problem = _problem(value[key], field, _joined(path, key))
        if problem is not None:
            return problem
    return None


@cache
def _fields(shape: type) -> dict[str, object]:
    return get_type_hints(shape, include_extras=True)


def _allowed(shape: object) -> str:
    """Return the end of the sentence "allowed: ..." for a shape."""
    origin = get_origin(shape)
    if origin is Annotated:
        return cast("_Rule", get_args(shape)[1]).allowed
    if origin in {Union, UnionType}:
        return " or ".join(_allowed(option) for option in get_args(shape))
    if origin is Literal:
        return f"one of {', '.join(map(repr, get_args(shape)))}"
    if shape is int:
        return "an integer within 2^53-1"
    return _SCALARS.get(cast("type", shape), "a list" if origin is list else "an object")


def _got(path: str, value: object, allowed: str, hint: str = "") -> str:
    sentence = f"{path or 'the document'}: got {shown(value)}; allowed: {allowed}"
    return f"{sentence}; {hint}" if hint else sentence


def _joined(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
