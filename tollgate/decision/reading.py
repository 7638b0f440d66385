"""Reading plain values out of a parsed document: exactly, or with an error that says where and what.

This module owns the small readers that limits and profiles share. It must not know what a limit is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tollgate.core.errors import ConfigError, nearest
from tollgate.core.units import fraction


def block(
    raw: object, path: str, what: str, *, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> Mapping[str, object]:
    """Return a mapping that has every required key and no unknown one.

    Args:
        raw: What stands in the document.
        path: Key path of it.
        what: What the mapping is, for messages, such as ``a circuit breaker``.
        required: Keys that must be there.
        optional: Keys that may be.

    Raises:
        ConfigError: If it is no mapping, or naming the first key that is unknown or missing.
    """
    known = [*required, *optional]
    if not isinstance(raw, Mapping):
        raise ConfigError(path, raw, f"{what}: a mapping of {', '.join(known)}")
    for key, value in raw.items():
        if key not in known:
            raise ConfigError(
                f"{path}.{key}", value, f"a key of {what}: {', '.join(known)}", hint=nearest(str(key), known)
            )
    for key in required:
        if key not in raw:
            raise ConfigError(f"{path}.{key}", None, f"present: {what} needs it")
    return raw


def whole(raw: object, path: str, allowed: str) -> int:
    """Return an integer; a bool, a float or a text is refused."""
    if type(raw) is not int:
        raise ConfigError(path, raw, allowed)
    return raw


def exact(raw: object, path: str, allowed: str) -> Fraction:
    """Return an exact number: an integer, a Fraction, a Decimal, or a decimal as text."""
    try:
        return fraction(raw)
    except ConfigError:
        raise ConfigError(path, raw, allowed) from None


def scaled(raw: object, path: str, allowed: str, factor: int) -> int:
    """Return an exact number times ``factor``, which must come out whole."""
    value = exact(raw, path, allowed) * factor
    if value.denominator != 1:
        raise ConfigError(path, raw, f"{allowed}, in whole steps of 1/{factor}")
    return value.numerator


def flag(raw: object, path: str, allowed: str) -> bool:
    """Return true or false."""
    if not isinstance(raw, bool):
        raise ConfigError(path, raw, allowed)
    return raw
