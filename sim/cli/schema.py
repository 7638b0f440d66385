"""``tollgate schema``: what a manifest may say, for editors and other programs."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

from sim.cli.console import emit, json_text
from sim.cli.exits import Exit


def schema() -> int:
    """Print the JSON Schema of capacity-manifest/v1."""
    from sim.manifest import schema as of_manifest

    emit(json_text(of_manifest()))
    return Exit.PASS
