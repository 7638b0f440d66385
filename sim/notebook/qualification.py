"""A manifest run headless as a gate of a pipeline: run, kept, judged, and ended with an error unless it may go on.

Owns the parameters of that notebook and the rule by which it ends. What a verdict is belongs to ``sim.gates``; how a
bundle is written, to ``sim.evidence``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, get_args

from sim.evidence import describe_tool, pack, write_bundle
from sim.evidence.source import installation_root
from sim.experiment import Run, run
from sim.lint import lint
from sim.manifest import Manifest
from sim.manifest.model import Discipline
from sim.notebook.parameters import TAG, Asked, check_given, flag, text, whole
from sim.report.markup import markdown
from sim.report.report import Report
from sim.report.story import scope_of_claim, why
from tollgate.core.errors import ConfigError, TollgateError


class NotQualifiedError(TollgateError):
    """A verdict that a pipeline must not go on with; the message begins with it."""


@dataclass(frozen=True, slots=True)
class Qualification(Asked):
    """What is to be qualified.

    Attributes:
        discipline: Another discipline than the manifest's, or None.
        out: Folder that the bundle goes to.
        allow_inconclusive: Whether INCONCLUSIVE may go on; INVALID and FAIL never may.
    """

    discipline: Discipline | None
    out: str
    allow_inconclusive: bool


NAMES: Final = tuple(field.name for field in fields(Qualification))
"""The parameters, in the order in which the notebook declares them."""


@dataclass(frozen=True)
class Qualified:
    """A run that was made and kept.

    Attributes:
        run: The run.
        report: Its report, of the bundle that was written.
        folder: Where the bundle lies.
    """

    run: Run
    report: Report
    folder: Path


def qualification(namespace: Mapping[str, object]) -> Qualification:
    """Return the parameters of the notebook.

    Args:
        namespace: The notebook's ``globals()``.

    Raises:
        ConfigError: If one is unknown, missing, of another type or out of range, or if values were given to a notebook
            that has no tagged cell.
    """
    check_given(namespace, NAMES)
    return Qualification(
        manifest=text(namespace, "manifest"),
        seed=whole(namespace, "seed", at_least=0),
        window_seconds=whole(namespace, "window_seconds", at_least=1),
        discipline=_discipline(namespace["discipline"]),
        out=text(namespace, "out"),
        allow_inconclusive=flag(namespace, "allow_inconclusive"),
    )


def qualify(asked: Qualification) -> Qualified:
    """Run a manifest and write its bundle, whatever the verdict is.

    Raises:
        ConfigError: If the manifest cannot be run.
        EvidenceError: If the bundle cannot be written.
    """
    manifest = asked.load()
    done = run(manifest, discipline=asked.discipline)
    bundle = pack(done, describe_tool())
    written = write_bundle(bundle, installation_root() / asked.out)
    report = Report.of(bundle, manifest, path=written.folder, manifest_path=asked.manifest)
    return Qualified(done, report, written.folder)


def findings(manifest: Manifest) -> str:
    """Return what lint finds in a manifest, as a list in Markdown."""
    found = [f"- `{finding.code}` {markdown(finding.path)}: {markdown(finding.says)}." for finding in lint(manifest)]
    return "\n".join(found) or "No findings."


def conclude(qualified: Qualified, *, allow_inconclusive: bool) -> str:
    """Return the verdict as Markdown, or end the notebook.

    Args:
        qualified: The run.
        allow_inconclusive: Whether INCONCLUSIVE may go on.

    Raises:
        NotQualifiedError: For FAIL and INVALID, and for INCONCLUSIVE unless that is allowed.
    """
    result = qualified.report.result
    said = f"{why(result)} {scope_of_claim(result)}"
    if result.verdict == "PASS" or (allow_inconclusive and result.verdict == "INCONCLUSIVE"):
        return f"**{result.verdict}.** {markdown(said)}"
    raise NotQualifiedError(f"{result.verdict}: {said} The bundle is kept: {qualified.folder}")


def _discipline(value: object) -> Discipline | None:
    known: tuple[Discipline, ...] = get_args(Discipline)
    for name in known:
        if value == name:
            return name
    if value is None:
        return None
    raise ConfigError("discipline", value, f"one of {', '.join(known)}, or None", file=TAG)
