"""``--set PATH=VALUE``: a document with one value replaced, to be validated again as a whole.

A path is keys joined by dots; an entry of a list is named by its place or by its ``name`` or ``id``, as in
``streams.noisy.arrivals.per_second`` or ``gates.0.bound``. A value is read as the manifest would read it. This module
must not know what a path means; it knows only where the two families of manifests keep limits, to point there.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Sequence

from sim.manifest.documents import parse_document
from sim.manifest.model import SEED_SCHEMAS
from tollgate.core.errors import ConfigError, nearest


def overridden(document: object, sets: Iterable[tuple[str, str]]) -> object:
    """Return a copy of the document with values replaced.

    All but the last step of a path must be there already; the last may be a key that the document leaves out. Whether
    it is a key at all is for the schema to say.

    Args:
        document: A parsed manifest.
        sets: Pairs of path and value text, applied in order.

    Raises:
        ConfigError: For a path that leads nowhere, with the nearest key, or a value that cannot be read.
    """
    result = copy.deepcopy(document)
    for path, text in sets:
        _replace(result, path, _value(path, text))
    return result


def settled(document: object, sets: Sequence[tuple[str, str]]) -> tuple[object, tuple[tuple[str, str], ...]]:
    """Return a copy of the document with values replaced, and the changes that give it in whatever order they are kept.

    A record keeps changes by path, in the order of the paths. So a change that a later one replaces is dropped, and
    where the paths as they are spelt would still lead elsewhere in that order (one entry under two names, an entry
    renamed on the way), they are spelt by places.

    Args:
        document: A parsed manifest.
        sets: Pairs of path and value text, applied in order.

    Raises:
        ConfigError: As :func:`overridden`.
    """
    result = copy.deepcopy(document)
    kept: dict[tuple[str | int, ...], tuple[str, str]] = {}
    for path, text in sets:
        place = _replace(result, path, _value(path, text))
        kept = {other: pair for other, pair in kept.items() if other[: len(place)] != place}
        kept[place] = (path, text)
    changes = tuple(kept.values())
    if len(sets) > 1 and not all(_gives(result, document, order) for order in (changes, sorted(dict(changes).items()))):
        changes = tuple((".".join(map(str, place)), text) for place, (_, text) in kept.items())
    return result, changes


def _gives(result: object, document: object, changes: Iterable[tuple[str, str]]) -> bool:
    try:
        return overridden(document, changes) == result
    except ConfigError:  # a path that exists after another change alone
        return False


def _value(path: str, text: str) -> object:
    if not text:
        raise ConfigError(path, text, "a value after the =")
    try:
        data = text.encode()
        path.encode()
    except UnicodeEncodeError:  # an argument of other bytes
        raise ConfigError("--set", f"{path}={text}", "UTF-8 text") from None
    try:
        return parse_document(data, "yaml")
    except ConfigError as error:
        raise ConfigError(path, error.got, error.allowed, hint=error.hint) from None


def _replace(document: object, path: str, value: object) -> tuple[str | int, ...]:
    """Replace one value in place; returns the keys and places that lead to it."""
    steps = re.sub(r"\[(\d+)\]", r".\1", path).split(".")
    if steps[0] == "schema":
        raise ConfigError(path, value, "keys of the manifest other than its schema")
    if isinstance(document, dict) and (hint := _other_family(document, steps)):
        raise ConfigError(path, steps[0], _one_of(list(document)), hint=hint)
    node = document
    place: list[str | int] = []
    while steps:
        step, taken = _step(node, steps, path)
        steps = steps[taken:]
        place.append(step)
        if not steps:
            node[step] = value  # type: ignore[index]  # _step only returns for a mapping or a list
        else:
            node = node[step]  # type: ignore[index]
    return tuple(place)


def _step(node: object, steps: list[str], path: str) -> tuple[str | int, int]:
    """Return the key or place that the next steps name, and how many steps it took: keys may hold dots themselves."""
    if isinstance(node, dict):
        for taken in range(1, len(steps) + 1):
            key = ".".join(steps[:taken])
            if key in node:
                return key, taken
        if len(steps) == 1:
            return steps[0], 1
        names = list(node)
    elif isinstance(node, list):
        if steps[0].isdecimal() and int(steps[0]) < len(node):
            return int(steps[0]), 1
        names = [str(entry.get("name", entry.get("id", ""))) if isinstance(entry, dict) else "" for entry in node]
        for taken in range(1, len(steps) + 1):
            name = ".".join(steps[:taken])
            if name and names.count(name) == 1:
                return names.index(name), taken
        names = [name for name in names if name] or [f"0 to {len(node) - 1}"]
    else:
        names = []
    raise ConfigError(path, steps[0], _one_of(names), hint=nearest(steps[0], names))


def _one_of(names: list[str]) -> str:
    return f"one of {', '.join(names[:12])}" if names else "the end of the path: there is nothing below"


def _other_family(document: dict[str, object], steps: list[str]) -> str:
    """Return where a limit stands in this document if the path is that of the other family; else an empty text.

    Ours keep limits below ``profile`` in snake case; the seed's at the top in camel case, a principal's in ``limits``.
    """
    head, *rest = steps
    if head in document or not rest:
        return ""
    schema = document.get("schema")
    if schema in SEED_SCHEMAS and head == "profile":
        hint = f"a {schema} has no profile block"
        if len(rest) == 1 or rest[0] not in document:
            return hint
        block, *below = rest
        named = 0 if block == "workspace" else 1  # below providers and principals comes a name, which stays as it is
        limits = ["limits"] if block == "principals" else []
        keys = [re.sub(r"_([a-z])", lambda found: found[1].upper(), key) for key in below[named:]]
        return f"{hint}, here it is {'.'.join([block, *below[:named], *limits, *keys])}"
    if "profile" in document and head in {"workspace", "principals"}:
        named = 0 if head == "workspace" else 1
        keys = [re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", key) for key in rest[named:] if key != "limits"]
        return f"a {schema} keeps limits in its profile, here it is {'.'.join(['profile', head, *rest[:named], *keys])}"
    return ""
