"""``tollgate lint``: what is wrong with a manifest before it is run."""
# ruff: noqa: PLC0415 - a command imports what it needs when it is called, so that help is quick

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sim.cli import options
from sim.cli.console import emit, json_text, printable, show
from sim.cli.exits import Exit

if TYPE_CHECKING:
    from sim.lint import Finding


def lint(
    manifest: options.Manifest,
    *,
    sets: options.Sets = None,
    assume: options.Assume = None,
    as_json: options.AsJson = False,
) -> int:
    """Look for what a run of a manifest could not show: limits that cannot bind, work that cannot pass, idle gates.

    Nothing is run. Exit code 0 if nothing is found, 1 if something is, 2 if the manifest cannot be read.
    """
    from sim.cli.subject import changed
    from sim.lint import lint as look
    from sim.manifest import load
    from sim.report.text import plural

    loaded = changed(load(manifest, assume=assume), sets=sets)
    findings = look(loaded)
    if as_json:
        document = {
            "manifest": {"name": loaded.name, "version": loaded.version, "sha256": loaded.sha256},
            "findings": [_entry(finding) for finding in findings],
        }
        emit(json_text(document))
    else:
        lines = [line for finding in findings for line in _lines(finding)]
        lines.append(f"{manifest}: {plural(len(findings), 'finding') if findings else 'no findings'}")
        show("".join(f"{printable(line)}\n" for line in lines), sys.stdout)
    return Exit.FAIL if findings else Exit.PASS


def _entry(finding: Finding) -> dict[str, object]:
    return {
        "code": finding.code,
        "path": finding.path,
        "values": dict(finding.values),
        "says": finding.says,
        "advice": finding.advice,
        "basis": finding.basis.value,
    }


def _lines(finding: Finding) -> list[str]:
    basis = "" if finding.basis == "configuration" else f" (of the {finding.basis})"
    return [f"{finding.path}: {finding.code}{basis}", f"    {finding.says}", f"    {finding.advice}"]
