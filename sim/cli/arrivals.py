"""The arrivals of a manifest as text, without a run."""

from __future__ import annotations

from sim.manifest import Manifest
from sim.textformats import TextOut, arrival_line
from sim.workload.arrivals import arrival_blocks


def list_arrivals(manifest: Manifest, out: TextOut) -> None:
    """Write a line for every arrival; a manifest that lacks something has stand-ins for it."""
    principals = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    ordinal = 0
    for block in arrival_blocks(manifest):
        columns = zip(
            block.at_ns,
            block.principal,
            block.provider,
            block.tokens,
            block.service_ns,
            block.fails,
            block.cancel_after_ns,
            strict=True,
        )
        out.write(
            "".join(
                arrival_line(place, at_ns, principals[who], providers[whom], tokens, service_ns, fails, cancel_ns)
                for place, (at_ns, who, whom, tokens, service_ns, fails, cancel_ns) in enumerate(columns, ordinal)
            )
        )
        ordinal += len(block)
