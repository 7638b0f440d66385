"""One loader for the three schemas: bytes in, a validated ``Manifest`` out.

What cannot be accepted raises one complaint that names file, key path, value and what is allowed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from sim.manifest import capacity, seed_shape
from sim.manifest.build import build_capacity
from sim.manifest.documents import Format, parse_document
from sim.manifest.inputs import read_bytes
from sim.manifest.model import Manifest
from sim.manifest.overrides import settled
from sim.manifest.seed_build import build_seed_v1, build_seed_v2
from sim.manifest.source import Source
from sim.manifest.wording import NOTHING, shown_value
from tollgate.core.errors import ConfigError, nearest
from tollgate.core.units import MAX_SAFE_INTEGER, NS_PER_S, fraction

SCHEMAS: Final[Mapping[str, Callable[[Source], Manifest]]] = {
    capacity.SCHEMA: build_capacity,
    seed_shape.V1: build_seed_v1,
    seed_shape.V2: build_seed_v2,
}
"""Every schema that can be loaded, and what builds the internal model from it."""


def load(path: str | Path, *, assume: str | Path | None = None) -> Manifest:
    """Return the manifest in a file.

    Args:
        path: A JSON or YAML file of one of the three schemas.
        assume: A file of assumptions (``capacity-assumptions/v1``), for a manifest that leaves something open.

    Raises:
        ConfigError: For the first problem, with the file's name.
    """
    path = Path(path)
    return parse(read_bytes(path, "a manifest"), path=path, assume=None if assume is None else Path(assume))


def parse(raw: bytes, *, path: Path, format: Format | None = None, assume: Path | None = None) -> Manifest:  # noqa: A002 - the user's word
    """Return the manifest in ``raw``.

    Args:
        raw: The bytes of a manifest.
        path: Where they come from: for complaints, and traces are named relative to its folder.
        format: ``json`` or ``yaml``; by default as the name ends, else as the text begins.
        assume: A file of assumptions.

    Raises:
        ConfigError: For the first problem, with the file's name.
    """
    form = format or _format(raw, path)
    source = Source(path, raw, _document(raw, path, form), form)
    if assume is not None:
        data = read_bytes(assume, "a file of assumptions")
        assumptions = _document(data, assume, _format(data, assume))
        source = dataclasses.replace(source, assumptions_path=assume, assumptions_raw=data, assumptions=assumptions)
    return _build(source)


def with_overrides(
    manifest: Manifest,
    sets: Iterable[tuple[str, str]] = (),
    seed: int | None = None,
    window_s: Fraction | int | str | None = None,
) -> Manifest:
    """Return the manifest with values replaced, validated again as a whole.

    Args:
        manifest: As it was loaded, or as an earlier call returned it; earlier changes stay.
        sets: Pairs of key path and value text, such as ``("profile.workspace.concurrency", "6")``.
        seed: Another root of every random stream.
        window_s: Where the phases are cut, seconds from the start.

    Raises:
        ConfigError: For a path that leads nowhere, or for the first problem in the changed document.
    """
    if seed is not None and not 0 <= seed <= MAX_SAFE_INTEGER:
        raise ConfigError("seed", seed, "an integer from 0 to 2^53-1", file=str(manifest.path))
    try:
        document, overrides = settled(
            _document(manifest.raw, manifest.path, manifest.format), (*manifest.overrides, *sets)
        )
        window_ns = manifest.window_ns if window_s is None else _window_ns(window_s)
    except ConfigError as error:
        raise error.within(file=str(manifest.path)) from None
    assume = manifest.assumptions_path
    return _build(
        Source(
            manifest.path,
            manifest.raw,
            _mapping(document),
            manifest.format,
            manifest.seed_given if seed is None else seed,
            window_ns,
            overrides,
            assume,
            manifest.assumptions_raw,
            None
            if assume is None
            else _document(manifest.assumptions_raw, assume, _format(manifest.assumptions_raw, assume)),
        )
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``capacity-manifest/v1``."""
    found = capacity.CapacityManifest.model_json_schema(by_alias=True)
    return (
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": capacity.SCHEMA}
        | found
        | {"title": capacity.SCHEMA}
    )


def _document(raw: bytes, path: Path, form: Format) -> Mapping[str, object]:
    try:
        return _mapping(parse_document(raw, form))
    except ConfigError as error:
        raise error.within(file=str(path)) from None


def _format(raw: bytes, path: Path) -> Format:
    suffix = path.suffix.lower()
    if suffix in {".yaml", ".yml"}:
        return "yaml"
    return "json" if suffix == ".json" or raw.lstrip()[:1] in {b"{", b"["} else "yaml"


def _mapping(document: object) -> Mapping[str, object]:
    if not isinstance(document, dict):
        raise ConfigError("", shown_value(document), "a mapping that starts with its schema")
    return document


def _build(source: Source) -> Manifest:
    try:
        return _builder(source)(source)
    except ConfigError as error:
        raise error.within(file=str(source.path)) from None


def _builder(source: Source) -> Callable[[Source], Manifest]:
    name = source.document.get("schema")
    build = SCHEMAS.get(name) if isinstance(name, str) else None
    if build is None:
        got = NOTHING if name is None else shown_value(name)
        raise ConfigError("schema", got, f"one of {', '.join(SCHEMAS)}", hint=nearest(str(name), SCHEMAS))
    if source.assumptions_path is not None and name != seed_shape.V1:
        raise ConfigError("schema", name, f"{seed_shape.V1}, to go with assumptions: only it leaves something open")
    return build


def _window_ns(seconds: Fraction | int | str) -> int:
    window = fraction(seconds, "window") * NS_PER_S
    if window.denominator != 1:
        raise ConfigError("window", seconds, "seconds, in whole nanoseconds")
    return window.numerator
