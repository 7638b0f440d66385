"""Whether a folder of evidence holds what its chain says: every record in force, unaltered, and no other.

Owns the comparison of a chain with the bundles beside it. It must not judge the bundles themselves; that is
``sim.evidence.verification``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sim.evidence.bundle import RECORD_NAME, read_record
from sim.evidence.chain import Entry, in_force
from sim.evidence.schema import Record
from tollgate.core.errors import EvidenceError


def compare(entries: list[Entry], folder: Path) -> Iterator[str]:
    """Yield a sentence for each way in which a folder is not what its chain says.

    Args:
        entries: Of the chain.
        folder: The folder it lies in.
    """
    current = {entry["record"]: entry for entry in in_force(entries).values()}
    for path, entry in current.items():
        told = f"entry {entry['sequence']} ({path})"
        if not (folder / path).exists():
            yield f"{told}: the record is not there, and no later entry supersedes it"
            continue
        try:
            record = read_record(folder / path)
        except EvidenceError:
            continue  # verification of the bundle says why
        for part, listed, got in _parts(entry, record):
            if listed != got:
                yield f"{told}: {part}: the chain says {listed}, the record there {got}"
    replaced = {entry["record"]: entry["sequence"] for entry in entries}
    for place in sorted(file.parent for file in folder.glob(f"*/{RECORD_NAME}")):
        path = f"{place.name}/{RECORD_NAME}"
        if path not in current and path in replaced:
            yield f"{place}: entry {replaced[path]} retained it, a later one superseded it, and it is still there"
        elif path not in current:
            yield f"{place}: no entry of the chain retains it"


def _parts(entry: Entry, record: Record) -> Iterator[tuple[str, str, str]]:
    yield "record_digest", entry["record_digest"], record["digest"]
    yield "observations_digest", entry["observations_digest"], record["observations_digest"]
    yield "name", entry["name"], record["manifest"]["name"]
    yield "version", entry["version"], record["manifest"]["version"]
    yield "manifest_sha256", entry["manifest_sha256"], record["manifest"]["sha256"]
    yield "discipline", entry["discipline"], record["target"]["discipline"]
