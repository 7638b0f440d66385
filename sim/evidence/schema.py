"""The shape of a ``capacity-result/v1`` record.

Owns which keys a record has and what each may hold; ``sim.evidence.shapes`` checks values against these annotations,
both when a record is written and when it is read. No annotation allows a float, so that equal records have equal bytes.
It must not know how a record comes about.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypedDict

from sim.gates.rows import CheckRow, Count, DecimalText, GateResultRow, GateRow, ObservationRow, Pattern, VerdictName

SCHEMA: Final = "capacity-result/v1"

Flag = Literal["load-manifest-offline-passed", "manifest-drift"]
OFFLINE_PASSED: Final[Flag] = "load-manifest-offline-passed"
DRIFT: Final[Flag] = "manifest-drift"

Hex = Annotated[str, Pattern("[0-9a-f]{64}", "a sha256 as 64 lower-case hex digits")]
Digest = Annotated[str, Pattern("sha256:[0-9a-f]{64}", '"sha256:" and 64 lower-case hex digits')]
Commit = Annotated[str, Pattern("[0-9a-f]{40}|[0-9a-f]{64}", "a commit's hex name")]
FileName = Annotated[
    str, Pattern("(?![. ])[A-Za-z0-9._ ()+,=@~-]{1,100}", "a file name of plain ASCII that starts with no dot or space")
]
Path = Annotated[str, Pattern("[ -~]{1,300}", "a key path in printable ASCII, at most 300 characters")]
HostKey = Annotated[str, Pattern("[a-z0-9_]{1,64}", "a key of lower-case letters, digits and '_'")]


class ManifestRef(TypedDict):
    """The manifest, by name and by bytes."""

    name: str
    version: str
    schema: str
    sha256: Hex


class InputRef(TypedDict):
    """A file the run depended on beside its manifest."""

    name: str
    sha256: Hex
    bytes: Count


class Target(TypedDict):
    """What was under test."""

    kind: str
    discipline: str


class Code(TypedDict):
    """The code that ran: its sources, and the checkout they came from if they came from one."""

    source_sha256: Hex
    git_commit: Commit | None
    dirty: bool | None


class Plan(TypedDict):
    """What was decided before the first result existed."""

    n: Count
    seeds: list[Count]
    window_ns: Count
    warmup_ns: Count
    gates: list[GateRow]
    method: Literal["single-run"]
    confidence: DecimalText


class RunRef(TypedDict):
    """One run, by the digests of what it drew, decided and measured."""

    seed: Count
    observations_digest: Digest
    arrivals_sha256: Hex
    outcomes_sha256: Hex


class VerdictRow(TypedDict):
    """The verdict over all gates."""

    overall: VerdictName
    basis: str


class ProvenanceRow(TypedDict):
    """Where a value of the manifest comes from."""

    path: str
    value: str
    kind: Literal["measured", "fitted", "assumed"]
    source: str


class Artefact(TypedDict):
    """A file of the bundle."""

    name: FileName
    kind: Literal["manifest", "assumptions", "series", "slowest"]
    sha256: Hex
    bytes: Count


class Record(TypedDict):
    """One run: what was asked, by which code, what came out, and what it comes to."""

    schema: Literal["capacity-result/v1"]
    tool_version: str
    manifest: ManifestRef
    inputs: list[InputRef]
    target: Target
    overrides: dict[Path, str]
    code: Code
    lock_sha256: Hex | None
    plan: Plan
    plan_digest: Digest
    runs: list[RunRef]
    observations: list[ObservationRow]
    checks: list[CheckRow]
    gates: list[GateResultRow]
    verdict: VerdictRow
    flags: list[Flag]
    provenance: list[ProvenanceRow]
    artefacts: list[Artefact]
    observations_digest: Digest
    host: dict[HostKey, int | str]
    digest: Digest
