"""Digest-bound records of runs: built, written, read and checked again.

This package owns the record ``capacity-result/v1``, the bundle around it and the export in the form of the seed. It
runs nothing: whoever re-runs a manifest hands the run in.
"""

from __future__ import annotations

from sim.evidence.build import RunLike, plan_of
from sim.evidence.bundle import Bundle, Written, pack, read_bundle, read_record, write_bundle
from sim.evidence.differences import Difference
from sim.evidence.drift import check_drift
from sim.evidence.record import encode
from sim.evidence.rerun import Rerun, RerunRequest
from sim.evidence.schema import Record
from sim.evidence.seed_form import Export, export, not_exportable
from sim.evidence.source import Tool, describe_tool
from sim.evidence.verification import VerifyReport, verify

__all__ = [
    "Bundle",
    "Difference",
    "Export",
    "Record",
    "Rerun",
    "RerunRequest",
    "RunLike",
    "Tool",
    "VerifyReport",
    "Written",
    "check_drift",
    "describe_tool",
    "encode",
    "export",
    "not_exportable",
    "pack",
    "plan_of",
    "read_bundle",
    "read_record",
    "verify",
    "write_bundle",
]
