"""What a command was pointed at: evidence of some kind, or something else by mistake.

A path that leads nowhere, or to a file of another kind, is bad input (exit code 2). Whether evidence *holds* is for
``sim.evidence`` to say (exit code 4); nothing here may call damaged evidence something else.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sim.evidence.bundle import RECORD_NAME
from sim.evidence.chain import CHAIN_NAME, CHAIN_SCHEMA
from sim.evidence.record import RECORD_BYTES_MAX
from sim.evidence.schema import SCHEMA
from sim.evidence.seed_form import EXPORT_SCHEMA
from sim.manifest.wording import Said
from tollgate.core.errors import ConfigError

_MARKS: Final = (SCHEMA.encode(), EXPORT_SCHEMA.encode(), b'"observations"', CHAIN_SCHEMA.encode(), b'"supersedes"')
"""What a record, an export or a chain holds and a manifest does not: two marks in each, so that one damaged byte leaves
one."""

_BUNDLE_MARKS: Final = (SCHEMA.encode(), b'"artefacts"')
"""What the record of a bundle holds, likewise."""


def record_bytes(folder: Path) -> bytes:
    """Return the record of a folder that is a bundle, damaged or not; nothing for any other folder."""
    try:
        with (folder / RECORD_NAME).open("rb") as stream:
            data = stream.read(RECORD_BYTES_MAX)
    except OSError:
        return b""
    return data if any(mark in data for mark in _BUNDLE_MARKS) else b""


def expect_bundle(path: Path) -> None:
    """Refuse what is no bundle at all.

    Raises:
        ConfigError: If there is nothing at the path, or no folder with a record.
    """
    _expect_something(path, "the folder of a bundle")
    if not path.is_dir():
        raise ConfigError("", Said("a file"), "the folder of a bundle", file=str(path))
    if not (path / RECORD_NAME).exists():
        got = Said(f"a folder without {RECORD_NAME}")
        raise ConfigError("", got, "the folder of a bundle", file=str(path))


def expect_evidence(path: Path) -> None:
    """Refuse what is neither a bundle, nor a record, nor an export in the seed's form, nor a chain or its folder.

    Raises:
        ConfigError: If there is nothing at the path, or something of another kind.
    """
    allowed = "a record, a bundle, an export or a chain"
    _expect_something(path, allowed)
    if path.is_dir() and (path / CHAIN_NAME).exists():
        return
    if path.is_dir():
        expect_bundle(path)
        return
    with path.open("rb") as stream:
        data = stream.read(RECORD_BYTES_MAX)
    if not any(mark in data for mark in _MARKS):
        raise ConfigError("", Said("a file that is no record"), allowed, file=str(path))


def _expect_something(path: Path, allowed: str) -> None:
    if not path.exists():
        raise ConfigError("", Said("no such file or folder"), allowed, file=str(path))
