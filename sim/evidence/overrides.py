"""What a command line changed, as a record holds it, and back.

Owns the one table ``overrides`` for seed and values. A window is no part of it: the plan has its length, whether cut or
not.
"""

from __future__ import annotations

from typing import Final

from sim.evidence.schema import Record
from sim.manifest.model import Manifest

SEED_PATH: Final = "seed"
"""Key of ``overrides`` under which another seed than the manifest's stands, whatever its schema calls it."""


def overrides_of(manifest: Manifest) -> dict[str, str]:
    """Return what the command line changed, by key path; a seed given there stands under ``seed``."""
    given = {} if manifest.seed_given is None else {SEED_PATH: str(manifest.seed_given)}
    return {**dict(manifest.overrides), **given}


def given_in(record: Record) -> tuple[int | None, dict[str, str]]:
    """Return the seed that the command line gave, None for the manifest's own, and the values it replaced."""
    sets = dict(record["overrides"])
    seed_given = sets.pop(SEED_PATH, None) is not None
    return record["plan"]["seeds"][0] if seed_given else None, sets
