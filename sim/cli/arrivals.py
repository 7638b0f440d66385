"""The arrivals of a manifest as text, without a run."""

from __future__ import annotations

from sim.manifest import Manifest
from sim.textformats import TextOut, arrival_lines
from sim.workload.arrivals import arrival_blocks


def list_arrivals(manifest: Manifest, out: TextOut) -> None:
    """Write a line for every arrival; a manifest that lacks something has stand-ins for it."""
    principals = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    ordinal = 0
    for block in arrival_blocks(manifest):
        out.write("".join(arrival_lines(block, ordinal, principals, providers)))
        ordinal += len(block)
