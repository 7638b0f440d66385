"""Complaints about a document: one ``ConfigError`` for whatever a schema found, in the words of the manifest.

The complaint that comes first in the file is the one reported, with a count of the others. This module owns wording and
order; it must not know which keys a schema has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sim.manifest.wording import NOTHING, Said, not_yet, shown_value
from tollgate.core.errors import ConfigError, nearest

LATER: Final[Mapping[str, tuple[str, ...]]] = {
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
    "tuple_type": "a list of two, such as [1, 200]",
    "too_long": "a list of two, such as [1, 200]",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "union_tag_not_found": "a kind",
}

_ABSENT: Final = object()


class Keys(NamedTuple):
    """The keys that a block may have, and those that a later version will know."""

    known: tuple[str, ...]
    later: tuple[str, ...]


class _Problem(NamedTuple):
    """One thing a schema found, at its place in the document."""

    keys: list[str | int]
    kind: str
    context: Mapping[str, object]
    message: str


def complaint_about(
    document: object, error: ValidationError, blocks: Sequence[tuple[Mapping[str, object], Keys]]
) -> ConfigError:
    """Return the complaint about ``document`` that comes first in it.

    Args:
        document: The plain document that a schema was given.
        error: What it found.
        blocks: Which mapping of the document was read as which block.
    """
    problems = [_problem(detail, document) for detail in error.errors(include_url=False)]
    places: dict[int, dict[object, int]] = {}
    first = min(problems, key=lambda problem: _position(problem.keys, document, places))
    complaint = _worded(first, document, blocks)
    others = len(problems) - 1
    if others == 0:
        return complaint
    more = f"{others} more problem{'s' if others > 1 else ''} in this file"
    hint = f"{complaint.hint}; {more}" if complaint.hint else more
    return ConfigError(complaint.path, complaint.got, complaint.allowed, hint=hint)


def _problem(detail: ErrorDetails, document: object) -> _Problem:
    """Find the place in the document; pydantic's location also names the branch of a union it took."""
    steps = [*detail["loc"]]
    if detail["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        steps.append("kind")
    keys: list[str | int] = []
    node = document
    is_inside = False  # the branch of the union that the node belongs to; a key may have its name
    for step in steps:
        if _is_branch(node, step) and not is_inside:
            is_inside = True
            continue
        keys.append(step)
        node = _child(node, step)
        is_inside = False
    return _Problem(keys, detail["type"], detail.get("ctx", {}), detail["msg"])


def _is_branch(node: object, step: str | int) -> bool:
    """Tell whether a step of a location names a union's branch: the block's kind, or the bare value."""
    return node.get("kind") == step if isinstance(node, Mapping) else str(step).startswith("bare")


def _position(keys: Sequence[str | int], document: object, places: dict[int, dict[object, int]]) -> list[int]:
    """Return where keys stand in the document, so that positions compare as the file reads.

    What is missing stands at the end of its block. ``places`` keeps the places of each mapping's keys, by the mapping's
    identity, from one call to the next: a mapping of a hundred thousand keys has as many problems.
    """
    position: list[int] = []
    node = document
    for key in keys:
        if isinstance(node, Mapping):
            places_here = places.setdefault(id(node), {})
            if not places_here:
                places_here.update((each, place) for place, each in enumerate(node))
            position.append(places_here.get(key, len(node)))
        elif isinstance(key, int):
            position.append(key)
        node = _child(node, key)
    return position


def _worded(problem: _Problem, document: object, blocks: Sequence[tuple[Mapping[str, object], Keys]]) -> ConfigError:
    keys, kind, context, _ = problem
    if keys[-1:] == ["[key]"]:  # the key of a mapping is wrong, not its value
        path, key = _path(keys[:-1]), keys[-2]
        return (
            _choice(path, keys, key, context) if kind == "literal_error" else ConfigError(path, key, _allowed(problem))
        )
    path, got = _path(keys), _at(keys, document)
    if kind == "extra_forbidden":
        return _unknown_key(path, str(keys[-1]), got, _at(keys[:-1], document), blocks)
    if kind in {"union_tag_invalid", "literal_error"}:
        return _choice(path, keys, got, context)
    missing = kind in {"missing", "union_tag_not_found"}
    return ConfigError(path, NOTHING if missing else shown_value(got), _allowed(problem))


def _unknown_key(
    path: str, key: str, value: object, block: object, blocks: Sequence[tuple[Mapping[str, object], Keys]]
) -> ConfigError:
    known, later = next(keys for mapping, keys in blocks if mapping is block)
    if key in later:
        return ConfigError(path, shown_value(value), f"without this key: {key} is not available in this version")
    hint = nearest(key, known)
    return ConfigError(path, Said(f"the unknown key {key!r}"), f"the keys {', '.join(known)}", hint=hint)


def _choice(path: str, keys: Sequence[str | int], value: object, context: Mapping[str, object]) -> ConfigError:
    expected = str(context.get("expected_tags") or context["expected"])
    available = [name for name in re.findall(r"'([^']*)'", expected) if not name.startswith("bare")] or [
        expected.lower()
    ]
    names = [str(key) for key in keys if isinstance(key, str)]
    for label in (".".join(names[-2:]), names[-1]):
        if value in LATER.get(label, ()):
            return ConfigError(path, value, not_yet(label.replace(".", " "), str(value), available))
    allowed = f"one of {', '.join(available)}" if len(available) > 1 else available[0]
    return ConfigError(path, shown_value(value), allowed, hint=nearest(str(value), available))


def _allowed(problem: _Problem) -> str:
    kind, context = problem.kind, problem.context
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
    return str(context.get("allowed", problem.message))


def _path(keys: Sequence[str | int]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


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
