"""Complaints about a document: one ``ConfigError`` for whatever a schema found, in the words of the manifest.

The complaint that comes first in the file is the one reported, with a count of the others. This module owns wording and
order; it must not know which keys a schema has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tollgate.core.errors import ConfigError, nearest

LATER: Final[Mapping[str, tuple[str, ...]]] = {
    "arrivals.kind": ("nhpp", "mmpp", "renewal", "batch", "closed"),
    "tokens.kind": ("exponential", "lognormal", "gamma", "pareto", "empirical"),
    "service_ms.kind": ("lognormal", "gamma", "pareto", "empirical", "mixture"),
    "failures.kind": ("bursty",),
    "retry.kind": ("decorrelated",),
    "jitter": ("equal", "decorrelated"),
    "target.kind": ("evaluator", "request-path", "fleet", "tenancy"),
    "mode": ("staged-provider",),
}
"""Values that the lab is meant to have and this version has not; they are refused by their name."""

_WORDING: Final[Mapping[str, str]] = {
    "missing": "a value: this key is required",
    "int_type": "an integer",
    "bool_type": "true or false",
    "string_type": "a text; a number meant as text goes in quotes",
    "list_type": "a list",
    "tuple_type": "a list of two: [weight, value]",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


_ABSENT: Final = object()


class Said(str):
    """A phrase in a message, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def shown_value(value: object) -> object:
    """Return what a message shows of a document's value: containers by their kind, exact decimals by their digits."""
    if isinstance(value, Mapping):
        return Said(f"a mapping of {len(value)} keys" if value else "an empty mapping")
    if isinstance(value, list):
        return Said(f"a list of {len(value)}" if value else "an empty list")
    if isinstance(value, Decimal):
        return Said(value)
    if value is None or isinstance(value, bool):
        return Said({None: "null", True: "true", False: "false"}[value])
    return value


def not_yet(what: str, value: str, available: Sequence[str]) -> str:
    """Say that ``value`` is known and not built yet, and what can be used."""
    return f"{what} {value} is not available in this version; available: {', '.join(sorted(available))}"


def complain(error: ValidationError, document: object) -> ConfigError:
    """Return the complaint about ``document`` that comes first in it.

    Args:
        error: What a schema found.
        document: The plain document it was given.
    """
    details = error.errors(include_url=False)
    placed = [(_keys(detail, document), detail) for detail in details]
    keys, first = min(placed, key=lambda pair: _position(pair[0], document))
    complaint = _worded(keys, first, document)
    if len(details) == 1:
        return complaint
    more = f"{len(details) - 1} more problem{'s' if len(details) > 2 else ''} in this file"
    hint = f"{complaint.hint}; {more}" if complaint.hint else more
    return ConfigError(complaint.path, complaint.got, complaint.allowed, hint=hint)


def _keys(detail: ErrorDetails, document: object) -> list[str | int]:
    """Return where an error stands in the document; pydantic's location also names the branch of a union it took."""
    keys: list[str | int] = []
    node = document
    for step in (*detail["loc"], *_extra_step(detail)):
        below = _child(node, step)
        if below is not _ABSENT or not _is_branch(node, step):
            keys.append(step)
            node = below
    return keys


def _is_branch(node: object, step: str | int) -> bool:
    """Tell whether a step of a location names a union's branch: the block's kind, or the bare value."""
    return node.get("kind") == step if isinstance(node, Mapping) else step in {"bare", "[key]"}


def _extra_step(detail: ErrorDetails) -> tuple[str, ...]:
    if detail["type"] == "unknown_key":
        return (str(detail["ctx"]["key"]),)
    return ("kind",) if detail["type"] in {"union_tag_invalid", "union_tag_not_found"} else ()


def _position(keys: Sequence[str | int], document: object) -> list[int]:
    """Return where keys stand in the document, so that positions compare as the file reads.

    What is missing stands at the end of its block.
    """
    position: list[int] = []
    node = document
    for key in keys:
        if isinstance(node, Mapping):
            position.append(list(node).index(key) if key in node else len(node))
        elif isinstance(key, int):
            position.append(key)
        node = _child(node, key)
    return position


def _worded(keys: list[str | int], detail: ErrorDetails, document: object) -> ConfigError:
    path = _path(keys)
    kind, context = detail["type"], detail.get("ctx", {})
    got = shown_value(_at(keys, document)) if kind != "missing" else Said("nothing")
    if kind == "unknown_key":
        key, known = str(context["key"]), list(context["known"])
        if key in context["later"]:
            return ConfigError(path, got, f"without this key: {key} is not available in this version")
        return ConfigError(
            path, Said(f"the unknown key {key!r}"), f"the keys {', '.join(known)}", hint=nearest(key, known)
        )
    if kind in {"union_tag_invalid", "literal_error"}:
        return _choice(
            path,
            keys,
            _at(keys, document),
            re.findall(r"'([^']*)'", context.get("expected_tags") or context["expected"]),
        )
    if kind == "union_tag_not_found":
        return ConfigError(path, Said("nothing"), "a kind")
    return ConfigError(path, got, _allowed(kind, context, detail["msg"]))


def _path(keys: Sequence[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _choice(path: str, keys: Sequence[str | int], value: object, allowed: Sequence[str]) -> ConfigError:
    names = [str(key) for key in keys if isinstance(key, str)]
    available = [name for name in allowed if name != "bare"]
    for label in (".".join(names[-2:]), names[-1]):
        if value in LATER.get(label, ()):
            return ConfigError(path, value, not_yet(label.replace(".", " "), str(value), available))
    return ConfigError(path, shown_value(value), f"one of {', '.join(available)}", hint=nearest(str(value), available))


def _allowed(kind: str, context: Mapping[str, object], message: str) -> str:
    if kind in _WORDING:
        return _WORDING[kind]
    if kind == "greater_than_equal":
        return f"an integer of at least {context['ge']}"
    if kind == "less_than_equal":
        return f"an integer of at most {context['le']}"
    if kind == "too_short":
        return f"at least {context['min_length']} of them"
    if kind == "string_pattern_mismatch":
        return f"a text that matches {context['pattern']}"
    return str(context.get("allowed", message))


def _at(keys: Sequence[str | int], document: object) -> object:
    node = document
    for key in keys:
        node = _child(node, key)
    return None if node is _ABSENT else node


def _child(node: object, key: str | int) -> object:
    """Return what stands under a key or place, or ``_ABSENT``."""
    if isinstance(node, Mapping):
        return node.get(key, _ABSENT)
    if isinstance(node, list) and isinstance(key, int) and key < len(node):
        return node[key]
    return _ABSENT
