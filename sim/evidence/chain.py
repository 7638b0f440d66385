"""The chain of retained records: which were written, in which order, and which of them each later one replaced.

Owns the file ``chain.json``: its shape, its one encoding, reading it so that an altered, removed or moved entry is
named, and adding to it. Entries are added and never changed: a record that is renewed gets an entry of its own, which
says what it supersedes. It must not know what the records hold beyond what it lists; that ``sim.evidence.retention``
compares.

Each entry holds the digest of the entry before it, so the last digest stands for all of them in their order.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypedDict, cast

from sim.evidence.record import RECORD_BYTES_MAX, parse, read_bytes
from sim.evidence.schema import Digest, Hex, Record
from sim.evidence.shapes import check
from sim.gates.rows import AtLeast, Pattern
from tollgate.core.canonical import canonical_bytes, digest
from tollgate.core.errors import EvidenceError

CHAIN_NAME: Final = "chain.json"
CHAIN_SCHEMA: Final = "capacity-evidence-chain/v1"

Place = Annotated[int, AtLeast(1)]
RecordPath = Annotated[
    str,
    Pattern(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}/record\.json", "a bundle's folder beside the chain, and record.json"),
]

_READABLE_BY_ALL: Final = 0o644


class Entry(TypedDict):
    """One record, when it was retained."""

    sequence: Place
    record: RecordPath
    record_digest: Digest
    observations_digest: Digest
    name: str
    version: str
    manifest_sha256: Hex
    discipline: str
    supersedes: Place | None
    previous: Digest | None
    digest: Digest


class Chain(TypedDict):
    """All entries, the first one retained first."""

    schema: Literal["capacity-evidence-chain/v1"]
    entries: list[Entry]
    length: Place
    digest: Digest


Question = tuple[str, str, str]
"""Name and version of a manifest, and the discipline: of the entries on one question the last one is in force."""


def question(entry: Entry) -> Question:
    """Return what an entry's record answers."""
    return entry["name"], entry["version"], entry["discipline"]


def in_force(entries: list[Entry]) -> dict[Question, Entry]:
    """Return the last entry on each question, in the order of the chain."""
    last = {question(entry): entry for entry in entries}
    return {question(entry): entry for entry in entries if last[question(entry)] is entry}


def next_entry(entries: list[Entry], record: Record, path: str) -> Entry:
    """Return the entry that retains a record behind the given entries.

    Args:
        entries: Those that stand there.
        record: The record.
        path: Its file, from the chain's folder.
    """
    manifest, discipline = record["manifest"], record["target"]["discipline"]
    before = in_force(entries).get((manifest["name"], manifest["version"], discipline))
    entry = Entry(
        sequence=len(entries) + 1,
        record=path,
        record_digest=record["digest"],
        observations_digest=record["observations_digest"],
        name=manifest["name"],
        version=manifest["version"],
        manifest_sha256=manifest["sha256"],
        discipline=discipline,
        supersedes=None if before is None else before["sequence"],
        previous=entries[-1]["digest"] if entries else None,
        digest="",
    )
    entry["digest"] = _content_digest(entry)
    return entry


def encode_chain(entries: list[Entry]) -> bytes:
    """Return the bytes of the chain of these entries.

    Raises:
        EvidenceError: If they are no chain.
    """
    chain = Chain(schema=CHAIN_SCHEMA, entries=entries, length=len(entries), digest="")
    chain["digest"] = _content_digest(chain)
    data = canonical_bytes(chain)
    decode_chain(data, file="the chain to write")
    return data


def examine_chain(data: bytes, *, file: str = CHAIN_NAME) -> tuple[list[Entry], list[str]]:
    """Return the entries of a chain, and a sentence for each that was altered, removed, inserted or moved.

    Raises:
        EvidenceError: If these bytes have not the shape of a chain.
    """
    value = parse(data, file=file)
    check(value, Chain, file=file)
    chain = cast("Chain", value)
    problems = [f"{file}: {problem}" for problem in _problems(chain)]
    if not problems and data != canonical_bytes(value):
        problems = [f"{file}: not as RFC 8785 writes this chain, the only encoding allowed"]
    return chain["entries"], problems


def decode_chain(data: bytes, *, file: str = CHAIN_NAME) -> list[Entry]:
    """Return the entries of the chain that these bytes are.

    Raises:
        EvidenceError: Naming the first entry that was altered, removed, inserted or moved.
    """
    entries, problems = examine_chain(data, file=file)
    if problems:
        raise EvidenceError(problems[0])
    return entries


def read_chain(path: Path) -> list[Entry]:
    """Return the entries of a chain's file.

    Raises:
        EvidenceError: If it cannot be read or is not exactly what was written.
    """
    return decode_chain(read_bytes(path), file=str(path))


def write_chain(path: Path, entries: list[Entry]) -> None:
    """Put a chain in its place, whole or not at all, if it goes on from the one that is there.

    Raises:
        EvidenceError: If it would change history, cannot be written, or the chain there cannot be read.
    """
    data = encode_chain(entries)
    if path.exists() or path.is_symlink():
        there = read_chain(path)
        if entries[: len(there)] != there:
            raise EvidenceError(f"{path}: not written over: entries may be added to it, and none changed")
    if len(data) > RECORD_BYTES_MAX:
        raise EvidenceError(f"{path}: got {len(data)} bytes; allowed: at most {RECORD_BYTES_MAX}")
    try:
        handle, stage = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            Path(stage).chmod(_READABLE_BY_ALL)  # mkstemp lets the owner in alone
            Path(stage).replace(path)
        finally:
            Path(stage).unlink(missing_ok=True)
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be written: {error.strerror or error}") from error


def _content_digest(part: Entry | Chain) -> str:
    return digest({key: value for key, value in part.items() if key != "digest"})


def _problems(chain: Chain) -> Iterator[str]:
    """Yield what is wrong with a chain, the earliest entry first."""
    entries = chain["entries"]
    if not entries:
        yield "entries: got none; allowed: at least one"
    last: dict[Question, int] = {}
    meaning: dict[tuple[str, str], Entry] = {}
    for place, entry in enumerate(entries, start=1):
        told = f"entry {place} ({entry['record']})"
        before = entries[place - 2]["digest"] if place > 1 else None
        if entry["sequence"] != place:
            moved = "an entry was removed, inserted or moved"
            yield f"{told}: sequence: got {entry['sequence']}; allowed: {place}: {moved}"
        if entry["digest"] != _content_digest(entry):
            yield f"{told}: altered after it was written: its digest is {entry['digest']}"
        if entry["previous"] != before:
            yield f"{told}: previous: got {entry['previous']}; allowed: {before}: it followed another entry"
        if entry["supersedes"] != last.get(question(entry)):
            expected = last.get(question(entry))
            yield f"{told}: supersedes: got {entry['supersedes']}; allowed: {expected}, the last entry on its question"
        meant = meaning.setdefault((entry["name"], entry["version"]), entry)
        if meant["manifest_sha256"] != entry["manifest_sha256"]:
            yield (
                f"{told}: manifest_sha256: got {entry['manifest_sha256']}; allowed: {meant['manifest_sha256']}, "
                f"which {entry['name']} {entry['version']} meant in entry {meant['sequence']}"
            )
        last[question(entry)] = place
    if chain["length"] != len(entries):
        some = f"there are {len(entries)}: entries behind the last one were removed or added"
        yield f"length: got {chain['length']}, and {some}"
    if chain["digest"] != _content_digest(chain):
        yield f"altered after it was written: digest is {chain['digest']}, the content's is {_content_digest(chain)}"
