"""What to run: manifests of three schemas, read strictly into one internal model.

This package owns reading, validating and mapping manifests. It draws no random number, drives no clock and knows
nothing of how a run is made.
"""

from __future__ import annotations

from sim.manifest.loader import SCHEMAS, load, parse, schema, with_overrides
from sim.manifest.model import Manifest

__all__ = ["SCHEMAS", "Manifest", "load", "parse", "schema", "with_overrides"]
