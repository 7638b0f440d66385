"""What the files beside a record hold: a run's series, packed, and its worst requests.

Owns their names, their one encoding, and reading them as strictly as a record: a file that was edited and bound again
either means what a run writes or is refused by name. It must not know records, folders or how a bundle is written.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Mapping
from typing import Final, cast

from sim.evidence.shapes import check
from sim.measure.series import SeriesView
from sim.measure.slowest import SlowRequest
from tollgate.core.canonical import JSON, canonical_bytes, parse_json
from tollgate.core.errors import ConfigError, EvidenceError

SERIES_NAME: Final = "series.json.gz"
SLOWEST_NAME: Final = "slowest.json"

ARTEFACT_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest artefact that is read, packed or unpacked: above the largest manifest (32 MiB), far below what hurts a
reader."""


def packed_series(document: object) -> bytes:
    """Return gzip bytes that depend on the series and the zlib build alone: no time stamp, no file name.

    Raises:
        CallerError: If the document has no canonical form.
    """
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(canonical_bytes(document))
    return buffer.getvalue()


def unpacked(packed: bytes, file: str) -> bytes:
    """Unpack a gzip file, refusing one that swells beyond what an artefact may hold.

    Raises:
        EvidenceError: If it cannot be unpacked whole.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            data = stream.read(ARTEFACT_BYTES_MAX + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise EvidenceError(f"{file}: cannot be unpacked: {error}") from error
    if len(data) > ARTEFACT_BYTES_MAX:
        raise EvidenceError(f"{file}: unpacks to more than {ARTEFACT_BYTES_MAX} bytes")
    return data


def plain(kind: str, data: bytes, file: str) -> bytes:
    """Return what a file of this kind holds, unpacked if it is packed.

    Raises:
        EvidenceError: If it cannot be unpacked whole.
    """
    return unpacked(data, file) if kind == "series" else data


def parsed(data: bytes, file: str) -> JSON:
    """Return the JSON values in plain bytes.

    Raises:
        EvidenceError: If they are no JSON of one meaning.
    """
    try:
        return parse_json(data, max_bytes=ARTEFACT_BYTES_MAX, file=file)
    except ConfigError as error:
        raise EvidenceError(str(error)) from error


def check_artefact(kind: str, data: bytes, file: str) -> None:
    """Refuse a file that no run writes.

    Args:
        kind: Kind of the artefact. Copies of inputs are not looked into: whoever loads a manifest does that.
        data: Its bytes.
        file: Its name, for the message.

    Raises:
        EvidenceError: Naming the file and what is wrong in it.
    """
    if kind not in {"series", "slowest"}:
        return
    value = parsed(plain(kind, data, file), file)
    if kind == "slowest":
        check(value, list[SlowRequest], file=file)
        _check_times(cast("list[Mapping[str, object]]", value), file)
        return
    try:
        SeriesView.from_json(value)
    except EvidenceError as error:
        raise EvidenceError(f"{file}: {error}") from error


def _check_times(rows: list[Mapping[str, object]], file: str) -> None:
    """Refuse a negative time or place: every number of this file is one or the other."""
    for place, row in enumerate(rows):
        attempts = cast("list[Mapping[str, object]]", row["attempts"])
        for path, part in (("", row), *((f".attempts[{at}]", attempt) for at, attempt in enumerate(attempts))):
            for key, value in part.items():
                if isinstance(value, int) and value < 0:
                    raise EvidenceError(
                        f"{file}: [{place}]{path}.{key}: got {value}; allowed: an integer of at least 0"
                    )
