"""Whether a name and version still mean the bytes they meant.

Owns the comparison of a manifest with the records retained in a folder of evidence and with its chain: a bound that
changed after results were seen needs a new version. It must not know how evidence is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sim.evidence.bundle import RECORD_NAME, read_record
from sim.evidence.chain import CHAIN_NAME, read_chain
from sim.manifest.model import Manifest
from tollgate.core.errors import EvidenceError


def check_drift(manifest: Manifest, folder: Path, *, allow: bool = False) -> bool:
    """Refuse a manifest whose bytes changed under a name and version that a retained record holds.

    Args:
        manifest: What is to be run.
        folder: Folder of bundles; one that does not exist holds no evidence.
        allow: Let a drifted manifest run; its record must then be flagged (``pack(..., drifted=True)``).

    Returns:
        Whether the manifest drifted.

    Raises:
        EvidenceError: If it did and that was not allowed, or a retained record or the chain cannot be read: nobody can
            say then what the name meant.
    """
    drifted = False
    for name, version, sha256, where in _retained(folder):
        if (name, version) == (manifest.name, manifest.version) and sha256 != manifest.sha256:
            drifted = True
            if not allow:
                raise EvidenceError(
                    f"{manifest.path}: {manifest.name} {manifest.version}: got bytes of sha256 {manifest.sha256}; "
                    f"allowed: {sha256}, as retained in {where}; give the changed manifest a new version, "
                    "or run it with --allow-drift, which its record will say"
                )
    return drifted


def _retained(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, version and digest of every manifest of which there is or was a record, and where it says so."""
    for file in _records(folder):
        retained = read_record(file)["manifest"]
        yield retained["name"], retained["version"], retained["sha256"], str(file)
    chain = folder / CHAIN_NAME
    if chain.exists():
        for entry in read_chain(chain):  # a record that was superseded or removed still fixed what its version means
            where = f"entry {entry['sequence']} of {chain}"
            yield entry["name"], entry["version"], entry["manifest_sha256"], where


def _records(folder: Path) -> Iterator[Path]:
    """Yield the records of all bundles in a folder, in the order of their names."""
    try:
        yield from sorted(folder.glob(f"*/{RECORD_NAME}"))
    except OSError as error:
        raise EvidenceError(f"{folder}: cannot be read: {error.strerror or error}") from error
