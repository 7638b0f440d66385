"""A notebook's run against the retained record of the same question.

Owns what a notebook has to have in hand before its figures may be believed. Files are read, and differences found, by
``sim.evidence``.
"""

from __future__ import annotations

from pathlib import Path

from sim.evidence import describe_tool, pack, verify
from sim.evidence.retained import retained
from sim.experiment import Run
from sim.report.result import Result
from sim.report.text import with_seconds
from tollgate.core.errors import EvidenceError


def result_of(run: Run) -> Result:
    """Return a run as reports read it, its gates judged."""
    return Result(pack(run, describe_tool()).record)


def confirm(run: Run, evidence: Path | None) -> str:
    """Hold a run against the retained record that answers the same question.

    Args:
        run: The run; series and digests included.
        evidence: Folder of retained records; None compares with nothing, and the sentence says so.

    Returns:
        What was found, in a sentence.

    Raises:
        EvidenceError: If the run is empty or breaks its own checks, the folder has no record of this question, or a
            record there was altered or differs in any observation, arrival, outcome, gate or verdict.
    """
    whose = f"{run.manifest.name} {run.manifest.version}, {run.discipline}, seed {run.seed}"
    if run.value("arrivals") == 0:
        raise EvidenceError(f"{whose}: the run had no arrivals, so it says nothing")
    broken = [check["name"] for check in run.checks if not check["ok"]]
    if broken or not run.checks:
        raise EvidenceError(f"{whose}: the run breaks its own checks: {', '.join(broken) or 'it has none'}")
    if evidence is None:
        return f"{whose}: sound in itself; compared with nothing, for evidence is None."
    places = retained(evidence, run.manifest, run.discipline)
    if not places:
        window = with_seconds(run.manifest.horizon_ns)
        raise EvidenceError(
            f"{evidence}: holds no record of {whose} over {window}; `make evidence` retains those of the manifests as "
            "they stand; with another seed or window, evidence = None compares with nothing"
        )
    for place in places:
        found = verify(place, describe_tool(), rerun=lambda _: run)
        if not found.ok:
            raise EvidenceError("\n".join(found.lines()))
    return f"{whose}: as retained in {', '.join(place.name for place in places)}."
