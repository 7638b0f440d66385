"""Bundles that somebody edited and bound again: refused as evidence (exit code 4), in one line, by every command."""

from __future__ import annotations

import gzip
import json

import pytest

from tollgate.core.canonical import canonical_bytes, digest, sha256_hex


def sealed(record):
    """Digest a record again, as a forger who can read its documentation would."""
    record["plan_digest"] = digest(record["plan"])
    record["digest"] = digest({key: value for key, value in record.items() if key != "digest"})
    return canonical_bytes(record)


def forge(bundle, *, change=None, **files):
    """Change a bundle's record and files, and bind everything anew."""
    file = bundle / "record.json"
    record = json.loads(file.read_bytes())
    for kind, data in files.items():
        (artefact,) = (each for each in record["artefacts"] if each["kind"] == kind)
        (bundle / artefact["name"]).write_bytes(data)
        artefact |= {"sha256": sha256_hex(data), "bytes": len(data)}
        if kind == "manifest":
            record["manifest"]["sha256"] = artefact["sha256"]
    if change is not None:
        change(record)
    file.write_bytes(sealed(record))


FILES = {
    "slowest.json": [b"{", b'[{"ordinal":1}]', b"[7]"],
    "series.json.gz": [
        b"no gzip",
        gzip.compress(b"{}", mtime=0),
        gzip.compress(b"[1]", mtime=0),
        gzip.compress(b'{"schema":1}', mtime=0)[:-4],
    ],
}
COMMANDS = [("verify",), ("verify", "--rerun"), ("report",), ("explain", "--request", "1")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("name", "data"), [(name, data) for name, some in FILES.items() for data in some])
def test_a_malformed_file_is_named_by_every_command(words, name, data, cli, bundle):
    forge(bundle, **{name.partition(".")[0]: data})
    told = cli(words[0], bundle, *words[1:])
    assert told.code == 4
    said = told.out + told.err
    assert sum(name in line for line in said.splitlines()) == 1
    assert "unexpected" not in said
    if words[0] != "verify":
        assert told.line.startswith(f"{bundle}/{name}: ")


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("window_ns", 0),
        ("window_ns", 10**18 // 10**3),
        ("overrides", {"profile.workspace.concurency": "3"}),
        ("overrides", {"profile.workspace.concurrency": "many"}),
        ("discipline", "reference"),
        ("discipline", "no-such"),
    ],
)
def test_a_record_of_a_run_that_cannot_have_been_is_no_evidence(part, value, cli, bundle):
    def change(record):
        place = {"window_ns": record["plan"], "overrides": record, "discipline": record["target"]}[part]
        place[part] = value

    forge(bundle, change=change)
    told = cli("verify", bundle, "--rerun", "--quiet")
    assert told.code == 4
    assert "DOES NOT HOLD" in told.out
    assert "unexpected" not in told.out + told.err


@pytest.mark.parametrize("data", [b"", b"nothing of the kind", b'{"schema": "capacity-manifest/v1"}'])
def test_a_copy_of_a_manifest_that_nobody_can_have_run_is_no_evidence(data, cli, bundle):
    forge(bundle, manifest=data)
    told = cli("verify", bundle, "--rerun", "--quiet")
    assert told.code == 4
    assert "nobody can have run this manifest" in told.out


def test_an_edited_slowest_request_is_caught_though_the_record_names_other_code(cli, bundle):
    rows = json.loads((bundle / "slowest.json").read_bytes())
    rows[0]["sojourn_ns"] += 1
    forge(
        bundle,
        slowest=canonical_bytes(rows),
        change=lambda record: record["code"].update(source_sha256="0" * 64),
    )
    assert cli("verify", bundle).code == 0
    told = cli("verify", bundle, "--rerun", "--quiet")
    assert told.code == 4
    assert "slowest.json differs from the re-run's; the code differs" in told.out
    assert "slowest.json [0].sojourn_ns: stored" in told.out


def test_a_check_that_stands_twice_is_no_evidence(cli, bundle):
    forge(bundle, change=lambda record: record["checks"].append(record["checks"][0]))
    told = cli("verify", bundle)
    assert told.code == 4
    assert "checks: got" in told.out
