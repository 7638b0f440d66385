"""How messages show what was found in a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal


class Said(str):
    """A phrase in a message, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


NOTHING = Said("nothing")


def shown_value(value: object) -> object:
    """Return what a message shows of a document's value: containers by their kind, exact decimals by their digits."""
    if isinstance(value, Mapping):
        return Said("a mapping" if value else "an empty mapping")
    if isinstance(value, list):
        return Said("a list" if value else "an empty list")
    if isinstance(value, Decimal):
        return Said(value)
    if value is None or isinstance(value, bool):
        return Said({None: "null", True: "true", False: "false"}[value])
    return value


def not_yet(what: str, value: str, available: Sequence[str]) -> str:
    """Say that ``value`` is known and not built yet, and what can be used."""
    return f"{what} {value} is not available in this version; available: {', '.join(sorted(available))}"
