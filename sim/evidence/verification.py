"""Checks evidence again: its bytes, its verdict, and on request the run itself.

Owns what is compared and what a difference means. A record that was edited and digested again is sound in itself: only
a re-run tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sim.evidence.artefacts import SERIES_NAME, SLOWEST_NAME
from sim.evidence.bundle import RECORD_NAME, Bundle, pack, read_bundle
from sim.evidence.chain import CHAIN_NAME, CHAIN_SCHEMA, examine_chain, in_force
from sim.evidence.differences import Difference, between_files, between_observations, between_rows, between_tables
from sim.evidence.record import decode, judge, parse, read_bytes
from sim.evidence.rerun import Rerun, RerunRequest
from sim.evidence.retention import compare
from sim.evidence.schema import DRIFT, SCHEMA, Record
from sim.evidence.seed_form import EXPORT_SCHEMA, Export, discipline_of, export, read_export, window_ns_of
from sim.evidence.source import Tool
from sim.gates import CheckRow, GateResultRow, is_host_metric
from sim.manifest.seed_bounds import SEED_BOUNDS
from tollgate.core.canonical import sha256_hex
from tollgate.core.errors import ConfigError, EvidenceError

ARRIVALS_DIFFER: Final = "arrivals differ: platform"
DECISIONS_DIFFER: Final = "decisions differ"
CHECKS_DIFFER: Final = "checks differ"
CODE_DIFFERS: Final = "the code differs"
NOT_RERUN: Final = "not re-run: a record that was edited and digested again would look the same"

_HOST_BOUNDS: Final = frozenset(bound.name for bound in SEED_BOUNDS if is_host_metric(bound.metric))


@dataclass(slots=True)
class VerifyReport:
    """What a verification found.

    Attributes:
        subject: The file or folder.
        problems: Sentences, each enough to refuse the evidence.
        differences: The figures behind them.
        notes: What a reader should know and nobody need refuse.
        reran: Whether the manifest was run again.
    """

    subject: str
    problems: list[str] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reran: bool = False

    @property
    def ok(self) -> bool:
        """Whether the evidence holds."""
        return not self.problems

    def lines(self) -> Iterator[str]:
        """Yield the report as lines of text: the finding first, then what lies behind it."""
        how = "bytes, verdict and re-run" if self.reran else "bytes and verdict"
        yield f"{self.subject}: {'holds' if self.ok else 'DOES NOT HOLD'} ({how})"
        yield from (f"  {problem}" for problem in self.problems)
        yield from (f"    {difference}" for difference in self.differences)
        yield from (f"  note: {note}" for note in self.notes)


def verify(path: Path, tool: Tool, *, manifest: Path | None = None, rerun: Rerun | None = None) -> VerifyReport:
    """Check a record, a bundle, an export in the seed's form, or a chain with all records in force.

    Args:
        path: A record's file, a bundle's folder, an export's file, a chain's file or the folder it lies in.
        tool: The code that checks, to say whether it is the code that wrote.
        manifest: The manifest's file, where the evidence does not bring it along or another copy is to be checked.
        rerun: Runs a manifest again; None leaves it at the bytes and the verdict.

    Returns:
        The report; evidence that does not hold is a finding there, not an exception.

    Raises:
        ConfigError: If a re-run needs a manifest that nobody gave.
        EvidenceError: If there is nothing at ``path``.
    """
    if not path.exists():
        raise EvidenceError(f"{path}: no such file or folder; allowed: a record, a bundle, an export or a chain")
    verification = _Verification(VerifyReport(str(path)), tool, manifest, rerun)
    try:
        if path.is_dir() and (path / CHAIN_NAME).exists() and not (path / RECORD_NAME).exists():
            verification.chain(path / CHAIN_NAME)
        elif path.is_dir():
            verification.bundle(read_bundle(path), path)
        else:
            verification.file(read_bytes(path), path)
    except EvidenceError as error:
        verification.report.problems.append(str(error))
    if not verification.report.reran:
        verification.report.notes.append(NOT_RERUN)
    return verification.report


@dataclass(frozen=True, slots=True)
class _Verification:
    """One call of ``verify`` and the report it fills."""

    report: VerifyReport
    tool: Tool
    manifest: Path | None
    rerun: Rerun | None

    def bundle(self, bundle: Bundle, folder: Path) -> None:
        bound = (RECORD_NAME, *bundle.files)
        unbound = sorted(entry.name for entry in folder.iterdir() if entry.name not in bound)
        if unbound:
            self.report.notes.append(f"not bound by the record: {', '.join(unbound)}")
        self._record(bundle.record, bundle)

    def file(self, data: bytes, path: Path) -> None:
        value = parse(data, file=str(path))
        schema = value.get("schema") if isinstance(value, dict) else None
        if schema == EXPORT_SCHEMA:
            self._export(read_export(data, file=str(path)))
        elif schema == SCHEMA:
            self._record(decode(data, file=str(path)))
        elif schema == CHAIN_SCHEMA:
            self.chain(path)
        else:
            allowed = f"one of {SCHEMA!r}, {EXPORT_SCHEMA!r}, {CHAIN_SCHEMA!r}"
            raise EvidenceError(f"{path}: schema: got {schema!r}; allowed: {allowed}")

    def chain(self, path: Path) -> None:
        """Check a chain, the folder it lies in, and every bundle in force there."""
        if self.manifest is not None:
            raise ConfigError("--manifest", str(self.manifest), "a single record: those of a chain have one each")
        entries, problems = examine_chain(read_bytes(path), file=str(path))
        self.report.problems += [*problems, *compare(entries, path.parent)]
        places = [(path.parent / entry["record"]).parent for entry in in_force(entries).values()]
        reports = [verify(place, self.tool, rerun=self.rerun) for place in places if place.is_dir()]
        for found in reports:
            self.report.problems += [f"{found.subject}: {problem}" for problem in found.problems]
            of = Path(found.subject).name
            self.report.differences += [replace(each, what=f"{of}: {each.what}") for each in found.differences]
            self.report.notes += [f"{found.subject}: {note}" for note in found.notes if note != NOT_RERUN]
        self.report.reran = bool(reports) and all(found.reran for found in reports)
        self.report.notes.append(f"{len(entries)} entries, {len(places)} in force")

    def _record(self, record: Record, bundle: Bundle | None = None) -> None:
        self._check_verdict(record)
        if not self._is_manifest(record["manifest"]["sha256"]) or self.rerun is None:
            return
        copies = {} if bundle is None else bundle.places
        request = RerunRequest.of(
            record, manifest=self._manifest_or(copies.get("manifest")), assumptions=copies.get("assumptions")
        )
        fresh = pack(self.rerun(request), self.tool, drifted=DRIFT in record["flags"])
        self.report.reran = True
        self._compare_asked(record, fresh.record)
        self._compare_outcomes(record, fresh.record)
        self._compare_files(record, bundle, fresh)
        self._compare_tools(record, fresh.record)

    def _export(self, exported: Export) -> None:
        sha256 = exported["manifest"]["digest"].removeprefix("sha256:")
        if not self._is_manifest(sha256) or self.rerun is None:
            return
        request = RerunRequest(
            manifest=self._manifest_or(None),
            assumptions=None,
            discipline=discipline_of(exported),
            seed=None,
            window_ns=window_ns_of(exported),
            overrides={},
        )
        fresh = export(pack(self.rerun(request), self.tool).record)
        self.report.reran = True
        stored_rows, fresh_rows = (
            [row for row in each["comparisons"] if row["bound"] not in _HOST_BOUNDS] for each in (exported, fresh)
        )
        self._same(
            {
                "manifest": (exported["manifest"], fresh["manifest"]),
                "mode": (exported["mode"], fresh["mode"]),
                "target": (exported["target"], fresh["target"]),
                "window": (exported["window"], fresh["window"]),
            }
        )
        found = [
            *between_tables("observation", exported["observations"], fresh["observations"]),
            *between_rows("comparison", stored_rows, fresh_rows, key="bound"),
        ]
        if found:
            self.report.problems.append(f"{DECISIONS_DIFFER}, or the arrivals, of which this form holds no digest")
            self.report.differences.extend(found)

    def _is_manifest(self, sha256: str) -> bool:
        """Compare the manifest that was given with the digest in the evidence; True where none was given."""
        if self.manifest is None:
            return True
        found = sha256_hex(read_bytes(self.manifest))
        if found != sha256:
            self.report.problems.append(
                f"manifest differs: {self.manifest} has sha256 {found}, the evidence is of {sha256}"
            )
        return found == sha256

    def _manifest_or(self, copy: Path | None) -> Path:
        manifest = self.manifest or copy
        if manifest is None:
            raise ConfigError(
                "--manifest", None, "the manifest's file: a re-run needs it, and this evidence has no copy"
            )
        return manifest

    def _check_verdict(self, record: Record) -> None:
        """Work the verdict out again from the stored numbers and the plan's gates."""
        gates, verdict = judge(record["plan"]["gates"], record["observations"], record["checks"], record["host"])
        found = [
            *between_rows("gate", record["gates"], gates, key="id"),
            *between_tables("verdict", record["verdict"], verdict),
        ]
        if found:
            self.report.problems.append("verdict differs: the record's own numbers and gates give another")
            self.report.differences.extend(found)

    def _compare_asked(self, record: Record, fresh: Record) -> None:
        """Compare what was asked: a record that was digested again may have been given easier gates."""
        self._same(
            {
                "manifest": (record["manifest"], fresh["manifest"]),
                "inputs": (record["inputs"], fresh["inputs"]),
                "target": (record["target"], fresh["target"]),
                "overrides": (record["overrides"], fresh["overrides"]),
                "plan": (record["plan"], fresh["plan"]),
                "provenance": (record["provenance"], fresh["provenance"]),
            }
        )
        self.report.differences.extend(
            between_rows("planned gate", record["plan"]["gates"], fresh["plan"]["gates"], key="id")
        )

    def _same(self, parts: Mapping[str, tuple[object, object]]) -> None:
        for part, (stored, again) in parts.items():
            if stored != again:
                self.report.problems.append(f"{part} differs from the re-run's")

    def _compare_outcomes(self, record: Record, fresh: Record) -> None:
        """Compare what came out, the host's figures aside."""
        stored_run, fresh_run = record["runs"][0], fresh["runs"][0]
        figures = [*between_observations(record["observations"], fresh["observations"])]
        checks = [*between_rows("check", record["checks"], fresh["checks"], key="name")]
        if not checks and record["checks"] != fresh["checks"]:
            checks = [Difference("order of checks", _names(record["checks"]), _names(fresh["checks"]))]
        gates = [*between_rows("gate", _of_the_run(record), _of_the_run(fresh), key="id")]
        if stored_run["arrivals_sha256"] != fresh_run["arrivals_sha256"]:
            self.report.problems.append(
                f"{ARRIVALS_DIFFER}: other traffic came from the same seed, so nothing is said of decisions"
            )
        elif figures or stored_run["outcomes_sha256"] != fresh_run["outcomes_sha256"]:
            self.report.problems.append(f"{DECISIONS_DIFFER}: the same arrivals had other outcomes")
        elif checks:  # a check that fails spoils gates, so checks are the cause where both differ
            self.report.problems.append(f"{CHECKS_DIFFER}: the outcomes agree, what the run says of itself does not")
        elif gates:
            self.report.problems.append("gates differ: the outcomes agree, what is made of them does not")
        elif record["verdict"] == fresh["verdict"] and record["flags"] != fresh["flags"]:
            self.report.problems.append(f"flags differ: stored {record['flags']}, earned {fresh['flags']}")
        self.report.differences.extend([*figures, *checks, *gates])

    def _compare_files(self, record: Record, bundle: Bundle | None, fresh: Bundle) -> None:
        """Compare series and slowest requests, whatever code made them: they follow from what has been compared.

        The series' packed bytes depend on the build of zlib, so they are compared unpacked, and not at all where a
        record comes without its bundle.
        """
        same_code = record["code"]["source_sha256"] == self.tool.source_sha256
        because = "" if same_code else f"; {CODE_DIFFERS}, and nothing tells its change from an edit"
        slowest = [each["sha256"] for each in record["artefacts"] if each["kind"] == "slowest"]
        outcomes_agree = self.report.ok
        for kind, name in (("series", SERIES_NAME), ("slowest", SLOWEST_NAME)):
            again = fresh.plain(kind)
            if bundle is not None:
                agrees = bundle.plain(kind) == again
            elif kind == "slowest":
                agrees = slowest == [sha256_hex(data) for data in (again,) if data is not None]
            else:
                self.report.notes.append(f"{name} was not compared: this is a record without its bundle")
                continue
            if not agrees:
                self.report.problems.append(f"{name} differs from the re-run's{because}")
            if not agrees and bundle is not None and outcomes_agree:
                self.report.differences.extend(between_files(name, bundle.parsed(kind), fresh.parsed(kind)))

    def _compare_tools(self, record: Record, fresh: Record) -> None:
        """Tell what else made the record; a version that contradicts the sources it stands in is a lie."""
        same_code = record["code"]["source_sha256"] == fresh["code"]["source_sha256"]
        if not same_code:
            self.report.notes.append(CODE_DIFFERS + (", and the observations agree" if self.report.ok else ""))
        for part, stored, again in (
            ("tool_version", record["tool_version"], fresh["tool_version"]),
            ("lock_sha256", record["lock_sha256"], fresh["lock_sha256"]),
        ):
            if stored == again:
                continue
            told = f"{part} differs: stored {stored or 'nothing'}, here {again or 'nothing'}"
            if part == "tool_version" and same_code:
                self.report.problems.append(f"{told}, though the sources, which hold it, are the same")
            else:
                self.report.notes.append(told)


def _of_the_run(record: Record) -> list[GateResultRow]:
    """Return the gates on the run itself; those on the host's figures need not repeat."""
    return [row for row in record["gates"] if not is_host_metric(row["metric"])]


def _names(checks: list[CheckRow]) -> str:
    return ", ".join(check["name"] for check in checks)
