"""Bytes to plain documents: strict JSON, and the part of YAML that cannot surprise.

Both give mappings with text keys, lists, texts, booleans, None, integers and exact ``Decimal`` numbers, in the order of
the file. YAML is read from its events, so that nothing expands, nests or converts on its own: no alias, anchor, tag,
merge key, second document or repeated key, and a plain scalar is a number, ``true``, ``false`` or ``null`` only where
JSON would say so. What YAML 1.1 turns into something else (``on``, ``0000010``, ``12:30:45``, ``1_000``, dates) stays
the text it is.

This module owns syntax. It must not know what a manifest means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, Literal, Protocol, cast

import yaml

from sim.manifest.wording import Said
from tollgate.core.canonical import parse_json
from tollgate.core.errors import ConfigError

Format = Literal["json", "yaml"]
Value = object
"""A document: ``dict[str, Value]``, ``list[Value]``, ``str``, ``bool``, ``int``, ``Decimal`` or ``None``."""

MAX_BYTES: Final = 32 * 1024 * 1024
"""Largest manifest. One that lists 10^5 principals one by one, each with its limits in some 250 bytes, takes 25 MB; by
``count`` it is tiny."""

MAX_DEPTH: Final = 32
"""Deepest nesting. The deepest key of any schema (of a part of the mixture that an output is estimated at) lies ten
levels down; parsers of a few thousand levels are where recursion ends."""

MAX_ENTRIES: Final = 100_000
"""Longest list. Lists name what a person wrote down, phases or streams; what comes by the million comes by ``count`` or
from a trace, and reading it here would take longer than running it."""

MAX_EXPONENT: Final = 40
"""Largest power of ten of a number, either way: 2^53-1 is below 10^16, so what is beyond is a mistake, and expanding it
exactly could be
made to cost any amount of memory."""

_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_WORDS: Final[dict[str, Value]] = {"true": True, "false": False, "null": None, "": None}
_LOADER: Final = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # libyaml where the wheel has it: the same events, ten times faster


def parse_document(data: bytes, form: Format) -> Value:
    """Return the document in ``data``.

    Args:
        data: The bytes of a file.
        form: How to read them.

    Raises:
        ConfigError: For anything but exactly one well-formed document within the caps; its path is the key path or
        ``line L, column C``.
    """
    if len(data) > MAX_BYTES:
        raise ConfigError("", Said(f"{len(data)} bytes"), f"at most {MAX_BYTES} bytes")
    if not data.strip():
        raise _empty()
    if form == "yaml":
        return _parse_yaml(data)
    document = parse_json(data, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH, decimals=True)
    _check_lists(document)
    return document


def _check_lists(document: Value) -> None:
    """Refuse a list that is too long, wherever it stands."""
    left = [document]
    while left:
        node = left.pop()
        if isinstance(node, dict):
            left += node.values()
        elif isinstance(node, list):
            if len(node) > MAX_ENTRIES:
                raise _too_long("")
            left += node


def _too_long(place: str) -> ConfigError:
    return ConfigError(place, Said("a longer list"), f"lists of at most {MAX_ENTRIES} entries")


def _parse_yaml(data: bytes) -> Value:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError("", Said(f"byte {data[error.start]:#04x} at offset {error.start}"), "UTF-8 text") from None
    if text.startswith("\ufeff"):
        raise ConfigError("line 1, column 1", Said("a byte order mark"), "UTF-8 text without one")
    try:
        return _document(iter(yaml.parse(text, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_place(error.problem_mark), Said(error.problem), "well-formed YAML") from None
    except yaml.YAMLError as error:
        raise ConfigError("", Said(str(error).splitlines()[0]), "well-formed YAML") from None


def _place(mark: _Mark | None) -> str:
    return "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"


def _document(events: Iterator[yaml.Event]) -> Value:
    """Build the one document of an event stream, without recursion."""
    root: list[Value] = []
    open_nodes: list[_Node] = []
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and root:
            raise ConfigError(_place(event.start_mark), Said("a second document"), "one document a file")
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            open_nodes.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        _refuse_sharing(event)
        parent = open_nodes[-1] if open_nodes else None
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
            if parent is not None and parent.wants_key:
                parent.take_key(value, event)
                continue
        else:
            if parent is not None and parent.wants_key:
                raise ConfigError(_place(event.start_mark), Said("a list or mapping as a key"), "keys that are texts")
            if len(open_nodes) == MAX_DEPTH:
                raise ConfigError(
                    _place(event.start_mark),
                    Said(f"more than {MAX_DEPTH} levels"),
                    f"at most {MAX_DEPTH} levels of nesting",
                )
            value = {} if isinstance(event, yaml.MappingStartEvent) else []
        if parent is None:
            root.append(value)
        else:
            parent.put(value, event)
        if not isinstance(event, yaml.ScalarEvent):
            open_nodes.append(_Node(value))
    if not root:
        raise _empty()
    return root[0]


def _empty() -> ConfigError:
    return ConfigError("", Said("an empty file"), "a mapping that starts with its schema")


class _Mark(Protocol):
    line: int
    column: int


class _Node:
    """A mapping or list being filled."""

    __slots__ = ("content", "key")

    def __init__(self, content: Value) -> None:
        self.content = content
        self.key: str | None = None

    @property
    def wants_key(self) -> bool:
        return isinstance(self.content, dict) and self.key is None

    def take_key(self, key: Value, event: yaml.ScalarEvent) -> None:
        if not isinstance(key, str):
            raise ConfigError(_place(event.start_mark), event.value, "keys that are texts: put it in quotes")
        if key in cast("dict[str, Value]", self.content):
            raise ConfigError(_place(event.start_mark), Said(f"the key {key!r} for the second time"), "each key once")
        self.key = key

    def put(self, value: Value, event: yaml.NodeEvent) -> None:
        if isinstance(self.content, list):
            if len(self.content) == MAX_ENTRIES:
                raise _too_long(_place(event.start_mark))
            self.content.append(value)
        else:
            cast("dict[str | None, Value]", self.content)[self.key] = value
            self.key = None


def _refuse_sharing(event: yaml.NodeEvent) -> None:
    """Refuse what makes one piece of text stand for another."""
    if isinstance(event, yaml.AliasEvent):
        raise ConfigError(
            _place(event.start_mark), Said(f"the alias *{event.anchor}"), "values written out: aliases are refused"
        )
    if event.anchor is not None:
        raise ConfigError(
            _place(event.start_mark), Said(f"the anchor &{event.anchor}"), "values written out: anchors are refused"
        )
    tag = getattr(event, "tag", None)
    if tag is not None and tag != "!":
        raise ConfigError(_place(event.start_mark), Said(f"the tag {tag}"), "plain values: tags are refused")


def _signed_zero(event: yaml.ScalarEvent) -> ConfigError:
    """Return the complaint about a zero with a sign, which canonical JSON has no spelling for."""
    return ConfigError(_place(event.start_mark), Said(event.value), "0 without a sign")


def _scalar(event: yaml.ScalarEvent) -> Value:
    """Resolve a scalar as JSON would; whatever JSON would not read stays text."""
    text: str = event.value
    if event.style not in {None, ""}:
        return text
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if match[1] is None and match[2] is None and len(text) <= MAX_EXPONENT:
        if text == "-0":
            raise _signed_zero(event)
        return int(text)
    number = Decimal(text)
    if number.is_signed() and not number:
        raise _signed_zero(event)
    if len(text) > 2 * MAX_EXPONENT or (number and abs(number.adjusted()) > MAX_EXPONENT):
        raise ConfigError(_place(event.start_mark), text, f"a number between 1e-{MAX_EXPONENT} and 1e{MAX_EXPONENT}")
    return number
