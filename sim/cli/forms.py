"""Which document a run prints: its record, or the record in the form of the seed."""

from __future__ import annotations

from typing import Final, Literal

from sim.cli.console import json_text
from sim.evidence import Record, encode, export, not_exportable
from sim.evidence.overrides import overrides_of
from sim.evidence.schema import SCHEMA
from sim.evidence.seed_form import EXPORT_SCHEMA
from sim.manifest import Manifest
from tollgate.core.errors import ConfigError

Form = Literal["capacity-result/v1", "decision-load-result/v1"]

OURS: Final[Form] = SCHEMA
SEEDS: Final[Form] = EXPORT_SCHEMA


def form_of(manifest: Manifest, asked: Form | None) -> Form:
    """Return the form in which a run of a manifest is printed as JSON.

    Args:
        manifest: What is to be run, overrides applied.
        asked: What the user asks for; None for the seed's form wherever it can say what was run.

    Raises:
        ConfigError: If the form asked for cannot.
    """
    cannot = not_exportable(manifest.schema, overrides_of(manifest))
    if cannot is None:
        return asked or SEEDS
    if asked == SEEDS:
        raise ConfigError("--format", asked, f"{OURS}: {cannot}")
    return OURS


def document(record: Record, form: Form) -> str:
    """Return a record as text: ours byte for byte as ``record.json`` holds it, the seed's indented."""
    if form == OURS:
        return encode(record).decode()
    return json_text(export(record))
