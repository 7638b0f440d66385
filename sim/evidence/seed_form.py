"""The seed's own form of a record, ``decision-load-result/v1``, exported from ours.

Owns the seed's field names and its numbers: JSON numbers, fractions among them, digested over their RFC 8785 bytes.
What that form cannot say, such as a changed limit, is not exported. It must not know runs: it reads a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Final, Literal, TypedDict, cast

from sim.evidence.build import OFFLINE_MODE, SHIPPED_DISCIPLINE, VIRTUAL_DURATION
from sim.evidence.record import parse
from sim.evidence.schema import Digest, Record
from sim.evidence.shapes import check
from sim.gates import GateResultRow, Verdict
from sim.gates.rows import AtLeast
from sim.manifest.model import SEED_SCHEMAS, SeedSchema
from sim.manifest.seed_bounds import SEED_BOUNDS
from tollgate.core.canonical import digest
from tollgate.core.errors import EvidenceError, shown
from tollgate.core.units import NS_PER_S, fraction

EXPORT_SCHEMA: Final = "decision-load-result/v1"

JsonNumber = int | float
Seconds = Annotated[JsonNumber, AtLeast(0)]

_SCALES: Final = {bound.name: bound.scale for bound in SEED_BOUNDS}
_SHED: Final = "shed."

_Labels = tuple[tuple[str, str], ...]
_QUIET: Final[_Labels] = (("class", "quiet"),)
_NOISY: Final[_Labels] = (("class", "noisy"),)


class ExportedManifest(TypedDict):
    """The manifest, by version and bytes."""

    schema: SeedSchema
    version: str
    digest: Digest


class Window(TypedDict):
    """How long requests arrived."""

    seconds: Seconds


Comparison = TypedDict(
    "Comparison",
    {"bound": str, "limit": JsonNumber, "observed": JsonNumber | None, "pass": bool},
)
"""One bound met or missed."""


class Export(TypedDict):
    """A record in the form of the seed."""

    schema: Literal["decision-load-result/v1"]
    manifest: ExportedManifest
    mode: Literal["offline-fake-provider"]
    target: str
    window: Window
    environment: dict[str, str]
    observations: dict[str, JsonNumber | dict[str, int]]
    resources: dict[str, JsonNumber]
    comparisons: list[Comparison]
    passed: bool
    digest: Digest


def not_exportable(schema: str, overrides: Iterable[str]) -> str | None:
    """Return why a run has no form in the seed's schema, or None if it has one.

    Args:
        schema: The manifest's.
        overrides: Key paths of the values that were replaced.
    """
    if schema not in SEED_SCHEMAS:
        return f"it is of a {schema}, and that form is for {' and '.join(SEED_SCHEMAS)}"
    if replaced := ", ".join(overrides):
        return f"values were overridden ({replaced}), which that form cannot say"
    return None


def export(record: Record) -> Export:
    """Return a record in the form of the seed.

    Args:
        record: A record of a run of one of the seed's manifests.

    Raises:
        EvidenceError: If that form cannot say what the record says.
    """
    reason = not_exportable(record["manifest"]["schema"], record["overrides"])
    if reason is not None:
        raise EvidenceError(f"{record['manifest']['name']}: no export as {EXPORT_SCHEMA}: {reason}")
    comparisons = [_comparison(row) for row in record["gates"]]
    exported = Export(
        schema=EXPORT_SCHEMA,
        manifest=ExportedManifest(
            schema=cast("SeedSchema", record["manifest"]["schema"]),
            version=record["manifest"]["version"],
            digest=f"sha256:{record['manifest']['sha256']}",
        ),
        mode=OFFLINE_MODE,  # the only one that a record is made of
        target=_target(record["target"]["kind"], record["target"]["discipline"]),
        window=Window(seconds=_number(Fraction(record["plan"]["window_ns"], NS_PER_S))),
        environment={key: str(record["host"][key]) for key in ("python", "platform", "arch")},
        observations=_observations(record),
        resources=_resources(record["host"]),
        comparisons=comparisons,
        passed=_passed(comparisons),
        digest="",
    )
    exported["digest"] = _digest_of(exported)
    return exported


def read_export(data: bytes, *, file: str) -> Export:
    """Return an export after working out its digest and its comparisons again.

    The digest binds values, not their layout: an export is printed for people and pipes, and may be indented.

    Raises:
        EvidenceError: If it is none, a value was changed, or a comparison does not follow from its own numbers.
    """
    value = parse(data, file=file)
    check(value, Export, file=file)
    exported = cast("Export", value)
    computed = _digest_of(exported)
    if exported["digest"] != computed:
        raise EvidenceError(
            f"{file}: altered after it was written: digest is {exported['digest']}, the content's is {computed}"
        )
    bounds = [row["bound"] for row in exported["comparisons"]]
    if len(set(bounds)) < len(bounds):
        raise EvidenceError(f"{file}: comparisons: got {shown(bounds)}; allowed: each bound once")
    for index, row in enumerate(exported["comparisons"]):
        if row["pass"] and not _holds(row):
            raise EvidenceError(f"{file}: comparisons[{index}]: got {shown(row)}; allowed: a pass within its limit")
    if exported["passed"] is not _passed(exported["comparisons"]):
        raise EvidenceError(f"{file}: passed: got {exported['passed']}; allowed: what its comparisons give")
    return exported


def discipline_of(exported: Export) -> str:
    """Return the discipline that an export's target names."""
    return exported["target"].partition("/")[2] or SHIPPED_DISCIPLINE


def window_ns_of(exported: Export) -> int:
    """Return an export's window, ns."""
    return round(Fraction(repr(exported["window"]["seconds"])) * NS_PER_S)


def _target(kind: str, discipline: str) -> str:
    """Return the seed's name of a target; another discipline than the default is named behind it."""
    return kind if discipline == SHIPPED_DISCIPLINE else f"{kind}/{discipline}"


def _digest_of(exported: Export) -> str:
    return digest({key: item for key, item in exported.items() if key != "digest"}, allow_floats=True)


def _passed(comparisons: list[Comparison]) -> bool:
    return bool(comparisons) and all(row["pass"] for row in comparisons)


def _holds(row: Comparison) -> bool:
    """Return whether a comparison is a pass by its own numbers."""
    observed, limit = row["observed"], row["limit"]
    if observed is None:
        return False
    return observed >= limit if row["bound"].startswith("minimum") else observed <= limit


def _comparison(row: GateResultRow) -> Comparison:
    scale = _SCALES[row["id"]]
    return {
        "bound": row["id"],
        "limit": _number(fraction(row["bound"]) / scale),
        "observed": None if row["observed"] is None else _number(fraction(row["observed"]) / scale),
        "pass": row["verdict"] == Verdict.PASS,
    }


def _observations(record: Record) -> dict[str, JsonNumber | dict[str, int]]:
    values: dict[tuple[str, _Labels], Fraction] = {
        (row["metric"], tuple(row["labels"].items())): fraction(row["value"]) for row in record["observations"]
    }

    def number(metric: str, labels: _Labels = (), *, otherwise: int | None = None) -> JsonNumber:
        value = values.get((metric, labels))
        if value is not None:
            return _number(value)
        if otherwise is None:
            raise EvidenceError(f"observations: got no {metric}; allowed: a record that has it, for this form")
        return otherwise

    shed = {
        metric.removeprefix(_SHED): value.numerator
        for (metric, labels), value in sorted(values.items())
        if metric.startswith(_SHED) and not labels and value
    }
    # The seed takes a ratio over nothing for 1 and the latency of no cancellation for 0; we leave such a number out.
    return {
        "arrivals": number("arrivals"),
        "attempts": number("attempts"),
        "completed": number("completed"),
        "failed": number("failed"),
        "shed": number("shed"),
        "cancelled": number("cancelled"),
        "shedReasons": shed,
        "maximumActiveCalls": number("active.max"),
        "maximumQueuedCalls": number("queue.length.max"),
        "maximumEligibleLaneWaitMs": number("lane.eligible_wait.max"),
        "retryAmplificationRatio": number("retry.amplification", otherwise=1),
        "maximumCancellationLatencyMs": number("cancel.latency.max", otherwise=0),
        "quietPrincipalAdmissionRatio": number("admission.ratio", _QUIET, otherwise=1),
        "noisyPrincipalAdmissionRatio": number("admission.ratio", _NOISY, otherwise=1),
        "virtualDurationMs": number(VIRTUAL_DURATION),
    }


def _resources(host: Mapping[str, int | str]) -> dict[str, JsonNumber]:
    """Return the machine's figures that stand behind the bounds on memory and processor."""
    resources: dict[str, JsonNumber] = {}
    if "rss_peak" in host:
        resources["peakResidentMiB"] = _number(fraction(host["rss_peak"]))
    if "cpu_ratio" in host:
        resources["cpuPercentOneCore"] = _number(fraction(host["cpu_ratio"]) * 100)
    return resources


def _number(value: Fraction) -> JsonNumber:
    """Return an exact decimal as the JSON number that reads the same."""
    return value.numerator if value.denominator == 1 else float(value)
