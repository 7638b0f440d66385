"""Values as YAML on one line.

A text goes without quotes only where no reader of YAML, old or new, could take it for anything but a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_YAML_1_1_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def flow(value: object) -> str:
    """Return a value as YAML without line breaks.

    Args:
        value: Texts, integers, booleans and None, in mappings with text keys, lists and tuples.

    >>> flow({"requests_per_minute": 60, "on": ["p-1", "12:30:45", "0000010"]})
    '{requests_per_minute: 60, "on": [p-1, "12:30:45", "0000010"]}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _YAML_1_1_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def printable(text: str) -> str:
    """Return a text fit for a comment or a quoted scalar, with ``?`` for what cannot stand there."""
    return "".join(character if character.isprintable() else "?" for character in text)
