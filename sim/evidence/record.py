"""A record as bytes and back: one encoding, one set of digests, nothing else accepted.

Owns sealing a record (its four digests), encoding it, and reading it so strictly that no two files hold the same record
and no altered file reads as one. It must not know runs, bundles or folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

from sim.evidence.schema import OFFLINE_PASSED, Record, VerdictRow
from sim.evidence.shapes import check
from sim.gates import CheckRow, Gate, GateResultRow, GateRow, ObservationRow, evaluate, is_host_metric, overall
from sim.metrics import METRICS
from tollgate.core.canonical import JSON, canonical_bytes, digest, parse_json
from tollgate.core.errors import CallerError, ConfigError, EvidenceError, shown

RECORD_BYTES_MAX: Final = 16 * 1024 * 1024
"""Largest record that is read. One of v2 takes some 60 kB; tables are cut at 20 rows whatever the traffic."""

HOST_KEYS: Final = ("python", "platform", "arch")
"""What every record says of the machine; other keys are free."""


def seal(record: Record) -> Record:
    """Return the record with its digests worked out anew.

    Raises:
        EvidenceError: If a part has no canonical form.
    """
    host = {key: value for key, value in record["host"].items() if key != "digest"}
    sealed = cast("Record", {**record, "host": host})
    try:
        sealed["host"]["digest"] = digest(host)
        sealed["plan_digest"] = digest(record["plan"])
        sealed["observations_digest"] = digest(record["observations"])
        sealed["runs"] = [{**run, "observations_digest": sealed["observations_digest"]} for run in record["runs"]]
        sealed["digest"] = _digest_of(sealed)
    except CallerError as error:
        raise EvidenceError(f"this run cannot be recorded: {error}") from error
    return sealed


def encode(record: Record) -> bytes:
    """Return the bytes of a sealed record.

    Raises:
        EvidenceError: If reading these bytes would not give the record back: a float, an unknown key, a value outside
            its range, a digest that does not fit.
    """
    try:
        data = canonical_bytes(record)
    except CallerError as error:
        raise EvidenceError(f"this run cannot be recorded: {error}") from error
    decode(data, file="the record to write")
    return data


def decode(data: bytes, *, file: str = "record.json") -> Record:
    """Return the record that these bytes are.

    Args:
        data: The whole file.
        file: Its name, for messages.

    Raises:
        EvidenceError: If the bytes are not the one canonical encoding of a record whose parts fit each other and its
            digests.
    """
    value = parse(data, file=file)
    check(value, Record, file=file)
    record = cast("Record", value)
    _check_bytes(data, value, file)
    _check_digests(record, file)
    _check_parts(record, file)
    return record


def parse(data: bytes, *, file: str) -> JSON:
    """Parse the JSON of a record or an export.

    Raises:
        EvidenceError: For anything but one well-formed value of one meaning.
    """
    try:
        return parse_json(data, max_bytes=RECORD_BYTES_MAX, file=file)
    except ConfigError as error:
        raise EvidenceError(str(error)) from error


def read_bytes(path: Path, *, max_bytes: int = RECORD_BYTES_MAX) -> bytes:
    """Return the bytes of a file of evidence.

    Raises:
        EvidenceError: If it cannot be read, is a link or a folder, or is larger than ``max_bytes``.
    """
    if path.is_symlink():
        raise EvidenceError(f"{path}: a symbolic link; evidence is read from plain files only")
    try:
        with path.open("rb") as stream:
            data = stream.read(max_bytes + 1)
    except OSError as error:
        raise EvidenceError(f"{path}: cannot be read: {error.strerror or error}") from error
    if len(data) > max_bytes:
        raise EvidenceError(f"{path}: got more than {max_bytes} bytes; allowed: at most {max_bytes}")
    return data


def identity(record: Record) -> str:
    """Return the digest of what a re-run by the same code reproduces: everything but the host's figures.

    Figures of gates on the host are left out and their verdicts kept, so that two runs which differ in memory or
    processor time alone have one identity unless that changed what a gate came to.
    """
    gates = [
        row | {"observed": None, "margin": None} if is_host_metric(row["metric"]) else row for row in record["gates"]
    ]
    rest = {key: value for key, value in record.items() if key not in {"host", "digest"}}
    return digest(rest | {"gates": gates})


def judge(
    gates: Iterable[GateRow],
    observations: Iterable[ObservationRow],
    checks: Iterable[CheckRow],
    host: Mapping[str, int | str],
) -> tuple[list[GateResultRow], VerdictRow]:
    """Work the verdict out from what a record stores.

    Args:
        gates: The plan's gates.
        observations: The run's numbers.
        checks: The run's self-checks.
        host: The machine's figures.

    Returns:
        The rows of ``gates`` and the ``verdict`` of a record.
    """
    results = evaluate([Gate.from_row(row) for row in gates], [*observations, *_host_rows(host)], checks=list(checks))
    worst = overall(results)
    verdict = VerdictRow(overall=worst.verdict.value, basis=worst.basis.value)
    return [result.to_row() for result in results], verdict


def observation_key(row: ObservationRow) -> tuple[str, list[tuple[str, str]]]:
    """Return what observations are sorted by: the metric, then the labels."""
    return row["metric"], sorted(row["labels"].items())


def _host_rows(host: Mapping[str, int | str]) -> list[ObservationRow]:
    """Return the host's figures as observations: ``host.rss_peak`` stands under ``rss_peak``."""
    return [
        ObservationRow(metric=metric.name, labels={}, value=host[key], unit=metric.unit, n=1, half_width=None)
        for metric in METRICS
        if metric.host and (key := metric.name.removeprefix("host.")) in host
    ]


def _digest_of(record: Record) -> str:
    return digest({key: value for key, value in record.items() if key != "digest"})


def _check_bytes(data: bytes, value: JSON, file: str) -> None:
    canonical = canonical_bytes(value)  # cannot fail: the shape has no floats and the parser no lone surrogates
    if data != canonical:
        place = next((at for at, (a, b) in enumerate(zip(data, canonical, strict=False)) if a != b), len(canonical))
        raise EvidenceError(f"{file}: byte {place}: not as RFC 8785 writes this record, the only encoding allowed")


def _check_digests(record: Record, file: str) -> None:
    sealed = seal(record)
    if record == sealed:
        return
    parts = {
        "observations": (record["observations_digest"], record["runs"])
        != (sealed["observations_digest"], sealed["runs"]),
        "plan": record["plan_digest"] != sealed["plan_digest"],
        "host": record["host"] != sealed["host"],
    }
    altered = [part for part, differs in parts.items() if differs] or ["a part outside observations, plan and host"]
    raise EvidenceError(
        f"{file}: altered after it was written, in {' and '.join(altered)}: digest is {record['digest']}, "
        f"the content's is {sealed['digest']}"
    )


def _check_parts(record: Record, file: str) -> None:
    """Refuse a record whose parts contradict each other."""
    for part, got, allowed, holds in _rules(record):
        if not holds:
            raise EvidenceError(f"{file}: {part}: got {shown(got)}; allowed: {allowed}")


def _rules(record: Record) -> Iterator[tuple[str, object, str, bool]]:
    """Yield each part, what stands there, what is allowed, and whether that is so."""
    plan, seeds, flags = record["plan"], record["plan"]["seeds"], record["flags"]
    run_seeds = [run["seed"] for run in record["runs"]]
    yield "plan.n", plan["n"], "1 (several replications are not built yet)", plan["n"] == len(seeds) == 1
    yield "runs", run_seeds, f"one run for each seed of the plan, {seeds}", run_seeds == seeds

    keys = [observation_key(row) for row in record["observations"]]
    in_order = all(before < after for before, after in pairwise(keys))
    yield "observations", keys, "rows sorted by metric and labels, each once", in_order
    hosted = [metric for metric, _ in keys if is_host_metric(metric)]
    yield "observations", hosted, "no figures of the host, which stand in host", not hosted

    checks = [row["name"] for row in record["checks"]]
    yield "checks", checks, "each name once", len(set(checks)) == len(checks)

    gates = [(row["id"], row["metric"], row["op"], row["bound"]) for row in record["gates"]]
    planned = [(row["id"], row["metric"], row["op"], row["bound"]) for row in plan["gates"]]
    yield "gates", gates, "the gates of the plan, in its order", gates == planned
    yield "gates", gates, "each id once", len({id_ for id_, *_ in gates}) == len(gates)

    artefacts = record["artefacts"]
    manifests = [artefact["sha256"] for artefact in artefacts if artefact["kind"] == "manifest"]
    yield "artefacts", artefacts, "each name once", len({each["name"] for each in artefacts}) == len(artefacts)
    yield "artefacts", artefacts, "each kind once", len({each["kind"] for each in artefacts}) == len(artefacts)
    yield "artefacts", manifests, "one manifest, of manifest.sha256", manifests == [record["manifest"]["sha256"]]

    yield "flags", flags, "sorted, each once", flags == sorted(set(flags))
    earned = OFFLINE_PASSED not in flags or record["verdict"]["overall"] == "PASS"
    yield "flags", flags, f"{OFFLINE_PASSED} on a PASS only", earned
    yield "host", sorted(record["host"]), f"at least {', '.join(HOST_KEYS)}", record["host"].keys() >= {*HOST_KEYS}
