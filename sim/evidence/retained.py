"""Which retained records answer the question that a manifest asks.

Owns what makes two runs the same question: manifest, inputs, seed, window, overrides and discipline. Gates are no part
of it, for they are judged and not asked of the run. It must not compare answers; that is
``sim.evidence.verification``.
"""

from __future__ import annotations

from pathlib import Path

from sim.evidence.bundle import RECORD_NAME, read_record
from sim.evidence.overrides import overrides_of
from sim.evidence.schema import Record
from sim.manifest.model import Manifest
from tollgate.core.errors import EvidenceError


def retained(folder: Path, manifest: Manifest, discipline: str) -> list[Path]:
    """Return the bundles of a folder that hold the answer to one question, in the order of their names.

    Args:
        folder: Folder of bundles; one that does not exist holds none.
        manifest: What is asked, overrides, seed and window applied.
        discipline: Under which discipline.

    Raises:
        EvidenceError: If a record there cannot be read: it might be the one.
    """
    try:
        places = sorted(file.parent for file in folder.glob(f"*/{RECORD_NAME}"))
    except OSError as error:
        raise EvidenceError(f"{folder}: cannot be read: {error.strerror or error}") from error
    return [place for place in places if _asks(read_record(place), manifest, discipline)]


def _asks(record: Record, manifest: Manifest, discipline: str) -> bool:
    return (
        record["manifest"]["sha256"] == manifest.sha256
        and [file["sha256"] for file in record["inputs"]] == [file.sha256 for file in manifest.inputs]
        and record["plan"]["seeds"] == [manifest.seed]
        and record["plan"]["window_ns"] == manifest.horizon_ns
        and record["overrides"] == overrides_of(manifest)
        and record["target"]["discipline"] == discipline
    )
