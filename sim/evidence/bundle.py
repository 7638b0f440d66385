"""The bundle of a run: its record and the files the record binds, in one folder.

Owns what a bundle holds, its name, and writing it so that a reader sees a whole bundle or none: staged beside its
place, flushed, renamed, never written over. It must not know how a record is made of a run (``sim.evidence.build``) or
judged again (``sim.evidence.verification``).

A bundle is named ``<name>-<12 hex digits>`` after the record's *identity*, the digest of everything but the host's
figures: the same manifest, seed and code write one bundle however often they run, while a change of any of them, or of
a verdict, writes another.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from sim.evidence.artefacts import (
    ARTEFACT_BYTES_MAX,
    SERIES_NAME,
    SLOWEST_NAME,
    check_artefact,
    packed_series,
    parsed,
    plain,
)
from sim.evidence.build import RunLike, build_record
from sim.evidence.record import decode, encode, identity, read_bytes
from sim.evidence.schema import Artefact, Record
from sim.evidence.source import Tool
from tollgate.core.canonical import JSON, canonical_bytes, sha256_hex
from tollgate.core.errors import CallerError, EvidenceError

RECORD_NAME: Final = "record.json"

_COPY_NAME_MAX: Final = 80
_NAME_MAX: Final = 60  # with the digest a folder name stays far below the 255 bytes of common file systems
_READABLE_BY_ALL: Final = 0o755


@dataclass(frozen=True)
class Bundle:
    """A record and the files it binds.

    Attributes:
        record: The record.
        files: Bytes of each artefact, by name.
        folder: Where it was read, or None while it is in memory only.
    """

    record: Record
    files: Mapping[str, bytes] = field(repr=False)
    folder: Path | None = None

    @property
    def name(self) -> str:
        """The folder's name."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self.record["manifest"]["name"]).strip(".-")[:_NAME_MAX] or "run"
        return f"{plain}-{identity(self.record).removeprefix('sha256:')[:12]}"

    @property
    def names(self) -> dict[str, str]:
        """File name of each kind of artefact that the run has."""
        return {each["kind"]: each["name"] for each in self.record["artefacts"]}

    @property
    def places(self) -> dict[str, Path]:
        """Path of each kind of artefact; none while the bundle is in memory only."""
        return {} if self.folder is None else {kind: self.folder / name for kind, name in self.names.items()}

    def series(self) -> JSON:
        """Return the run's series as JSON values, or None where the run kept none.

        Raises:
            EvidenceError: If they cannot be unpacked.
        """
        return self.parsed("series")

    def slowest(self) -> JSON:
        """Return the worst requests as JSON values.

        Raises:
            EvidenceError: If they are not JSON.
        """
        return self.parsed("slowest") or []

    def parsed(self, kind: str) -> JSON:
        """Return an artefact of this kind as JSON values, or None where the run has none.

        Raises:
            EvidenceError: If it cannot be unpacked or is no JSON.
        """
        data = self.plain(kind)
        return None if data is None else parsed(data, self.names[kind])

    def plain(self, kind: str) -> bytes | None:
        """Return the bytes of an artefact, unpacked where it is packed, or None where the run has none of the kind.

        Raises:
            EvidenceError: If it cannot be unpacked.
        """
        name = self.names.get(kind)
        return None if name is None else plain(kind, self.files[name], name)


@dataclass(frozen=True, slots=True)
class Written:
    """Where a bundle stands.

    Attributes:
        folder: The folder.
        is_new: False where the same run had been written before; its host figures are kept.
    """

    folder: Path
    is_new: bool


def pack(run: RunLike, tool: Tool, *, drifted: bool = False) -> Bundle:
    """Return the bundle of a run, in memory.

    Args:
        run: The run.
        tool: The code that made it.
        drifted: Whether the manifest's bytes differ from those retained under its name and version.

    Raises:
        EvidenceError: If the run cannot be recorded.
    """
    manifest = run.manifest
    contents = [(_copy_name(manifest.path.name, "manifest"), "manifest", manifest.raw)]
    if manifest.assumptions_path is not None:
        name = _copy_name(manifest.assumptions_path.name, "assumptions", taken=contents[0][0])
        contents.append((name, "assumptions", manifest.assumptions_raw))
    try:
        if run.series is not None:
            contents.append((SERIES_NAME, "series", packed_series(run.series.to_json())))
        contents.append((SLOWEST_NAME, "slowest", canonical_bytes(list(run.slowest))))
    except CallerError as error:
        raise EvidenceError(f"this run cannot be recorded: {error}") from error
    artefacts = [
        cast("Artefact", {"name": name, "kind": kind, "sha256": sha256_hex(data), "bytes": len(data)})
        for name, kind, data in contents
    ]
    record = build_record(run, tool, artefacts, drifted=drifted)
    return Bundle(record, {name: data for name, _, data in contents})


def write_bundle(bundle: Bundle, out: Path) -> Written:
    """Write a bundle below a folder, whole or not at all.

    Args:
        bundle: What to write.
        out: The folder that holds bundles; made if it is missing.

    Returns:
        Where it stands. A bundle of the same identity that is there and sound is left as it is.

    Raises:
        EvidenceError: If it cannot be written, or its place holds something else.
    """
    data = encode(bundle.record)
    place = out / bundle.name
    try:
        out.mkdir(parents=True, exist_ok=True)
        if place.exists() or place.is_symlink():
            return _already_there(bundle, place)
        stage = Path(tempfile.mkdtemp(prefix=f".{bundle.name}.", dir=out))
        try:
            for name, content in {**bundle.files, RECORD_NAME: data}.items():
                _write_through(stage / name, content)
            stage.chmod(_READABLE_BY_ALL)  # mkdtemp lets the owner in alone
            _flush_folder(stage)
            try:
                stage.rename(place)
            except OSError:
                if place.exists():  # another process was first
                    return _already_there(bundle, place)
                raise
            _flush_folder(out)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        raise EvidenceError(f"{place}: cannot be written: {error.strerror or error}") from error
    return Written(place, is_new=True)


def read_record(path: Path) -> Record:
    """Return the record in a file, or in the ``record.json`` of a bundle.

    Raises:
        EvidenceError: If there is none, or it is not exactly what was written.
    """
    file = path / RECORD_NAME if path.is_dir() else path
    return decode(read_bytes(file), file=str(file))


def read_bundle(folder: Path) -> Bundle:
    """Return the bundle in a folder after comparing every file with the digest its record holds.

    Raises:
        EvidenceError: If the folder is no bundle, a file is missing, a byte of any of them was changed, or series or
            worst requests are nothing that a run writes.
    """
    if not folder.is_dir():
        raise EvidenceError(f"{folder}: no such folder; a bundle is a folder with a {RECORD_NAME}")
    record = read_record(folder)
    files = {each["name"]: _artefact(folder / each["name"], each) for each in record["artefacts"]}
    return Bundle(record, files, folder)


def _artefact(path: Path, listed: Artefact) -> bytes:
    data = read_bytes(path, max_bytes=ARTEFACT_BYTES_MAX)
    if len(data) != listed["bytes"] or sha256_hex(data) != listed["sha256"]:
        raise EvidenceError(
            f"{path}: altered after it was written: {len(data)} bytes of sha256 {sha256_hex(data)}, "
            f"the record lists {listed['bytes']} bytes of sha256 {listed['sha256']}"
        )
    check_artefact(listed["kind"], data, str(path))
    return data


def _already_there(bundle: Bundle, place: Path) -> Written:
    """Accept what stands at the bundle's place if it is the same run, undamaged."""
    try:
        there = read_bundle(place)
    except EvidenceError as error:
        raise EvidenceError(f"{place}: not written over, though it is no sound bundle: {error}") from error
    if identity(there.record) != identity(bundle.record):
        raise EvidenceError(f"{place}: not written over: it holds another run, {there.record['digest']}")
    return Written(place, is_new=False)


def _copy_name(name: str, kind: str, *, taken: str = RECORD_NAME) -> str:
    """Return a safe file name for the copy of an input, its own wherever no other file of the bundle has it."""
    plain = re.sub(r"[^A-Za-z0-9._ ()+,=@~-]", "_", name)[-_COPY_NAME_MAX:].lstrip(". ") or kind
    others = {RECORD_NAME, SERIES_NAME, SLOWEST_NAME, taken.lower()}
    return f"{kind}-{plain}" if plain.lower() in others else plain


def _write_through(path: Path, data: bytes) -> None:
    with path.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Make a folder's entries durable where the platform can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
