"""Commands that a reader can type as they stand, from the folder in which the report's paths were given.

Owns which options make a command be about the same run: whatever the run was given and its manifest does not say. Must
not know why a reader would type it; that is ``sim.report.advice``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sim.evidence.overrides import given_in
from sim.evidence.schema import DRIFT
from sim.report.report import Report
from sim.report.text import command, rounded
from tollgate.core.units import NS_PER_S


def again(report: Report, *, seed: int | None = None, sets: Mapping[str, object] | None = None) -> str:
    """Return the command that makes the same run again.

    Args:
        report: The report of the run.
        seed: Another seed; None keeps the run's.
        sets: Further values to replace, by key path.
    """
    record = report.record
    # The manifest's own seed stays unsaid: a seed that is given is an override, and makes another record.
    seed_given, sets_given = given_in(record)
    chosen = seed_given if seed is None else seed
    words = ["tollgate", "run", report.manifest_path]
    if report.assume_path is not None:
        words += ["--assume", report.assume_path]
    if record["target"]["discipline"] != report.discipline:
        words += ["--discipline", record["target"]["discipline"]]
    if chosen is not None:
        words += ["--seed", str(chosen)]
    if report.window_ns is not None:
        words += ["--window", rounded(Fraction(report.window_ns, NS_PER_S), 9)]
    for path, value in {**sets_given, **(sets or {})}.items():
        words += ["--set", f"{path}={value}"]
    if DRIFT in record["flags"]:
        words.append("--allow-drift")
    return command(*words)


def explain(report: Report, ordinal: int) -> str:
    """Return the command that tells one request's story."""
    return command("tollgate", "explain", report.path, "--request", str(ordinal), *_original(report))


def verify(report: Report) -> str:
    """Return the command that makes the run again and compares it with the record."""
    return command("tollgate", "verify", report.path, "--rerun", *_original(report))


def _original(report: Report) -> list[str]:
    """Return the option that names the manifest where the bundle lacks a file that it needs, such as a trace."""
    copies = {each["sha256"] for each in report.record["artefacts"]}
    is_whole = all(each["sha256"] in copies for each in report.record["inputs"])
    return [] if is_whole else ["--manifest", report.manifest_path]
