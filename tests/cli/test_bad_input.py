"""Every bad input ends as one line that names the place, and an exit code, never as a traceback.

The code is 2, or 4 for evidence that is there and does not hold.
"""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

SEED = "tests/conformance/data/22-ties.json"


def edited(*changes):
    """Return a test's way to spoil the small manifest."""

    def spoil(text):
        for before, after in changes:
            assert before in text
            text = text.replace(before, after, 1)
        return text

    return spoil


MANIFESTS = {
    "unknown key": (edited(("concurrency: 2,", "concurency: 2,")), "profile.workspace.concurency", "concurrency"),
    "wrong type": (edited(("per_second: 3", "per_second: often")), "streams[0].arrivals", "often"),
    "negative": (edited(("max_queue_length: 4", "max_queue_length: -4")), "max_queue_length", "-4"),
    "NaN": (edited(("per_second: 3", "per_second: .nan")), "streams[0].arrivals", "per_second"),
    "1e400": (edited(("seconds: 20", "seconds: 1e400")), "line 13", "1e400"),
    "a key twice": (edited(("seed: 7", "seed: 7\nseed: 8")), "seed", "line"),
    "an alias": (edited(("ann: {}", "ann: &a {}"), ("bob: {}", "bob: *a")), "line 11", "&a"),
    "brackets": (lambda _text: "[" * 200_000, "small.yaml", "nest"),
    "brackets in a value": (edited(("seed: 7", f"seed: {'[' * 200_000}")), "small.yaml", "nest"),
    "empty": (lambda _text: "", "small.yaml", "empty"),
    "no principals": (
        edited(("principals: {ann: {}, bob: {}}", "principals: {}")),
        "profile.principals",
        "at least one",
    ),
    "no providers": (
        edited(("providers: {primary: {concurrency: 2}}", "providers: {}")),
        "profile.providers",
        "at least one",
    ),
    "a reservation above its ceiling": (
        edited(("ann: {}", "ann: {concurrency: 1, reserved_concurrency: 2}")),
        "ann.reserved_concurrency",
        "2",
    ),
    "another schema": (edited(("capacity-manifest/v1", "capacity-manifest/v9")), "schema", "capacity-manifest/v1"),
    "no schema": (edited(("schema: capacity-manifest/v1\n", "")), "schema", "capacity-manifest/v1"),
    "an unknown metric": (edited(("admission.ratio", "admision.ratio")), "gates[0].metric", '"admission.ratio"'),
    "a probe limit that lets nothing through": (
        edited(
            (
                "primary: {concurrency: 2}",
                "primary: {circuit_breaker: {failure_threshold: 1, open_ms: 10, half_open_max_calls: 0}}",
            )
        ),
        "circuit_breaker.half_open_max_calls",
        "0",
    ),
    "concurrency that lets nothing through": (edited(("concurrency: 2,", "concurrency: 0,")), "concurrency", "0"),
    "something later": (edited(("kind: admission-controller", "kind: fleet")), "target.kind", "not available in"),
    "a list": (lambda _text: "- 1\n", "small.yaml", "mapping"),
    "bytes that are no text": (lambda _text: "\udcff\udcfe\x00\x01", "small.yaml", "UTF-8"),
    "half a document": (edited(("provenance: []", "provenance: [")), "small.yaml", "line"),
}


@pytest.mark.parametrize(("spoil", "place", "said"), MANIFESTS.values(), ids=MANIFESTS)
@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_bad_manifest_is_refused_with_its_file_and_place(cli, manifest, command, spoil, place, said):
    manifest.write_bytes(spoil(manifest.read_text()).encode(errors="surrogateescape"))
    told = cli(command, manifest, *(["--request", "0"] if command == "explain" else []))
    assert told.code == 2
    assert told.out == ""
    assert told.line.startswith(f"{manifest}: ")
    assert place in told.line
    assert said in told.line
    assert not Path("out").exists()


JSON_MANIFESTS = {
    "a key twice": ('"version": "', '"version": "1.0.0", "version": "', "version"),
    "NaN": ('"seed": ', '"seed": NaN, "x": ', "NaN"),
    "1e400": ('"averageRequestsPerSecond": ', '"averageRequestsPerSecond": 1e400, "x": ', "1e400"),
    "an unknown key": ('"arrivalModel"', '"arrivalModle"', "arrivalModle"),
    "brackets": ("{", "[" * 200_000, "nest"),
}


@pytest.mark.parametrize(("before", "after", "said"), JSON_MANIFESTS.values(), ids=JSON_MANIFESTS)
def test_a_bad_manifest_of_the_seed_is_refused_with_its_file_and_place(cli, repository, tmp_path, before, after, said):
    text = (repository / SEED).read_text()
    assert before in text
    bad = tmp_path / "bad.json"
    bad.write_text(text.replace(before, after, 1))
    told = cli("run", bad)
    assert told.code == 2
    assert told.line.startswith(f"{bad}: ")
    assert said in told.line


def test_a_manifest_that_is_no_readable_file_is_refused(cli, tmp_path):
    folder = cli("run", tmp_path)
    assert (folder.code, "a folder" in folder.line) == (2, True)
    missing = cli("run", "nope.yaml")
    assert (missing.code, missing.line.startswith("nope.yaml: got no such file")) == (2, True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock.yaml")  # there, and not to be opened: what permissions cannot show to the superuser
        unreadable = cli("run", "sock.yaml")
    assert unreadable.code == 2
    assert unreadable.line.startswith("sock.yaml: ")


@pytest.mark.parametrize(
    ("words", "place", "said"),
    [
        (("--set", "profile.workspace.concurency=3"), "profile.workspace.concurency", "concurrency"),
        (("--set", "profil.workspace.concurrency=3"), "profil.workspace.concurrency", '"profile"'),
        (("--set", "concurrency"), "--set", "PATH=VALUE"),
        (("--set", "=3"), "--set", "PATH=VALUE"),
        (("--set", "seed="), "seed", "after the ="),
        (("--set", "profile.workspace.concurrency=many"), "profile.workspace.concurrency", "many"),
        (("--window", "0"), "window", "at most 20"),
        (("--window", "-1"), "window", "at most 20"),
        (("--window", "21"), "window", "at most 20"),
        (("--window", "soon"), "window", "soon"),
        (("--window", "nan"), "window", "nan"),
        (("--window", "1e400"), "window", "1e400"),
        (("--seed", "-1"), "seed", "-1"),
        (("--seed", str(2**53)), "seed", "2^53-1"),
        (("--assume", "nope.yaml"), "nope.yaml", "no such file"),
        (("--discipline", "reference"), "discipline", "default"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_bad_change_of_the_manifest_is_refused(cli, manifest, words, place, said):
    told = cli("run", manifest, *words)
    assert told.code == 2
    assert place in told.line
    assert said in told.line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "file"), "--out: got 'file'; allowed: a folder"),
        (("--out", "file/below"), "--out: got 'file/below'; allowed: a folder"),
        (("--outcomes", "."), "--outcomes: got '.'; allowed: a file"),
        (("--arrivals", "nope/a.txt"), "--arrivals: got 'nope/a.txt'; allowed: a file"),
        (("--arrivals", "a.txt", "--outcomes", "a.txt"), "--outcomes: got 'a.txt'; allowed: a file of its own"),
        (("--arrivals", "small.yaml"), "--arrivals: got 'small.yaml'; allowed: a file of its own"),
        (("--outcomes", "-", "--json"), "--outcomes: got '-'; allowed: a file of its own"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_output_that_cannot_be_written_is_refused_before_the_run(cli, manifest, tmp_path, words, said):
    (tmp_path / "file").write_text("")
    before = manifest.read_bytes()
    told = cli("run", "small.yaml", *words)
    assert told.code == 2
    assert told.line.startswith(said)
    assert manifest.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_no_fault_of_ours(cli, manifest):
    told = cli("run", manifest, "--outcomes", "/dev/full")
    assert told.code == 2
    assert "No space left" in told.line


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_refused_before_the_run(cli, manifest, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    told = cli("run", manifest, "--out", "locked")
    assert told.code == 2
    assert told.line.startswith("--out: got 'locked'")


@pytest.mark.parametrize("request_", ["-1", "100000"])
def test_a_request_that_is_not_there_is_refused_with_how_many_are(cli, manifest, request_):
    arrivals = json.loads(cli("run", manifest, "--json", "--arrivals", "a.txt").out)["observations"]
    count = next(row["value"] for row in arrivals if row["metric"] == "arrivals" and not row["labels"])
    told = cli("explain", manifest, "--request", request_)
    assert told.code == 2
    assert f"got {request_}; allowed: 0 to {int(count) - 1}" in told.line


def altered(path):
    """Change one byte in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["record.json", "small.yaml", "series.json.gz", "slowest.json"])
def test_evidence_with_one_byte_changed_is_no_evidence(cli, bundle, name):
    altered(bundle / name)
    checked = cli("verify", bundle)
    assert checked.code == 4
    assert "DOES NOT HOLD" in checked.out
    assert name in checked.out
    for words in (("report", bundle), ("explain", bundle, "--request", "0")):
        told = cli(*words)
        assert told.code == 4
        assert name in told.line


@pytest.mark.parametrize("command", ["verify", "report", "explain"])
def test_a_folder_that_is_no_bundle_is_bad_input(cli, tmp_path, command):
    (tmp_path / "empty").mkdir()
    told = cli(command, "empty", *(["--request", "0"] if command == "explain" else []))
    assert told.code == 2
    assert told.line == "empty: got a folder without record.json; allowed: the folder of a bundle"


@pytest.mark.parametrize("command", ["verify", "report", "explain"])
def test_a_path_that_leads_nowhere_is_bad_input(cli, command):
    told = cli(command, "nope", *(["--request", "0"] if command == "explain" else []))
    assert told.code == 2
    assert told.line.startswith("nope: got no such file")


@pytest.mark.parametrize("command", ["verify", "report"])
def test_a_file_of_another_kind_is_bad_input(cli, manifest, command):
    told = cli(command, manifest)
    assert told.code == 2
    assert told.line.startswith(f"{manifest}: got a file")


def test_a_record_alone_is_no_bundle_to_report_on(cli, bundle):
    assert cli("report", bundle / "record.json").code == 2


@pytest.mark.parametrize("mark", [b"capacity-result/v1", b'"observations"'])
def test_a_record_that_lost_a_mark_of_its_kind_is_evidence_that_does_not_hold(cli, bundle, tmp_path, mark):
    record = (bundle / "record.json").read_bytes()
    assert mark in record
    (tmp_path / "record.json").write_bytes(record.replace(mark, mark[::-1]))
    assert cli("verify", "record.json").code == 4


def test_the_bundle_of_another_run_in_its_place_is_not_written_over(cli, manifest, bundle):
    altered(bundle / "record.json")
    spoilt = (bundle / "record.json").read_bytes()
    told = cli("run", manifest, "--quiet")
    assert told.code == 4
    assert "not written over" in told.line
    assert (bundle / "record.json").read_bytes() == spoilt


HEADER = "time,tokens\n"
TRACES = {
    "a step back": ("time,tokens\n0,1\n5,1\n3,1\n", ("--time-unit", "s"), "row 4", "--sort"),
    "a missing size": ("time,tokens\n0,1\n5,\n", ("--time-unit", "s"), "row 3", "tokens"),
    "a negative size": ("time,tokens\n0,1\n5,-2\n", ("--time-unit", "s"), "row 3", "-2"),
    "no rows": (HEADER, ("--time-unit", "s"), "t.csv", "row"),
    "nothing": ("", (), "t.csv", "empty"),
    "a column that is not there": ("time,tokens\n0,1\n", ("--time-column", "when"), "when", "t"),
    "a unit that is none": ("time,tokens\n0,1\n", ("--time-unit", "weeks"), "--time-unit", "ms"),
    "a format that is none": ("time,tokens\n0,1\n", ("--format", "xml"), "--format", "csv"),
    "an end without a duration": ("time,tokens\n0,1\n", ("--time-is", "end", "--time-unit", "s"), "time", "duration"),
}


@pytest.mark.parametrize(("text", "words", "place", "said"), TRACES.values(), ids=TRACES)
@pytest.mark.parametrize("command", ["inspect", "to-manifest"])
def test_a_bad_trace_is_refused_with_its_row(cli, tmp_path, command, text, words, place, said):
    (tmp_path / "t.csv").write_text(text)
    told = cli("trace", command, "t.csv", *words)
    assert told.code == 2
    assert told.out == ""
    assert place in told.line
    assert said in told.line


@pytest.mark.parametrize("command", ["inspect", "to-manifest"])
def test_a_byte_order_mark_and_crlf_are_no_faults(cli, tmp_path, command):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbftime,tokens\r\n0,1\r\n5,2")
    assert cli("trace", command, "t.csv", "--time-unit", "s").code == 0


def test_a_trace_that_is_no_readable_file_is_refused(cli, tmp_path):
    assert cli("trace", "inspect", "nope.csv").code == 2
    folder = cli("trace", "inspect", tmp_path)
    assert (folder.code, "a folder" in folder.line) == (2, True)


def test_a_manifest_made_from_a_trace_never_lands_on_what_it_was_made_from(cli, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("time,tokens\n0,1\n5,2\n")
    told = cli("trace", "to-manifest", "t.csv", "--time-unit", "s", "-o", "t.csv")
    assert told.code == 2
    assert trace.read_text().startswith("time,tokens")


def test_a_trace_that_changed_after_its_manifest_was_made_is_refused(cli, tmp_path):
    (tmp_path / "t.csv").write_text("time,tokens\n0,1\n5,2\n")
    assert cli("trace", "to-manifest", "t.csv", "--time-unit", "s", "-o", "m.yaml").code == 0
    (tmp_path / "t.csv").write_text("time,tokens\n0,1\n6,2\n")
    told = cli("run", "m.yaml")
    assert told.code == 2
    assert "m.yaml: streams[0].arrivals.sha256" in told.line


def test_init_never_writes_over_a_file(cli, manifest):
    before = manifest.read_bytes()
    told = cli("init", manifest)
    assert told.code == 2
    assert str(manifest) in told.line
    assert manifest.read_bytes() == before
    assert cli("init", "nope/m.yaml").code == 2


@pytest.mark.parametrize("option", ["--arrivals", "--outcomes"])
@pytest.mark.parametrize("name", ["trace.csv", "alias.csv"])
def test_an_output_that_the_run_reads_is_refused_and_stays_whole(cli, tmp_path, option, name):
    trace = tmp_path / "trace.csv"
    trace.write_text("timestamp,tokens\n0,1\n5,2\n")
    (tmp_path / "alias.csv").hardlink_to(trace)
    assert cli("trace", "to-manifest", "trace.csv", "-o", "replay.yaml", "--ms-per-token", "1").code == 0
    told = cli("run", "replay.yaml", option, name)
    assert told.code == 2
    assert told.line.startswith(f"{option}: got '{name}'; allowed: a file of its own")
    assert trace.read_text() == "timestamp,tokens\n0,1\n5,2\n"


def looping(tmp_path: Path) -> Path:
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path / "loop"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "loop"),
        ("verify", "loop"),
        ("report", "loop"),
        ("explain", "loop", "--request", "0"),
        ("init", "loop"),
        ("trace", "inspect", "loop"),
        ("trace", "to-manifest", "loop"),
        ("run", "small.yaml", "--assume", "loop"),
        ("run", "small.yaml", "--arrivals", "loop"),
        ("run", "small.yaml", "--out", "loop"),
    ],
    ids=" ".join,
)
def test_links_that_lead_round_in_a_circle_are_no_path(cli, manifest, tmp_path, words):
    looping(tmp_path)
    told = cli(*words)
    assert told.code == 2
    assert "loop" in told.line


PATHS = [
    ("run", "{}"),
    ("verify", "{}"),
    ("report", "{}"),
    ("explain", "{}", "--request", "0"),
    ("init", "{}"),
    ("trace", "inspect", "{}"),
    ("trace", "to-manifest", "{}"),
    ("trace", "to-manifest", "t.csv", "--out", "{}"),
    ("trace", "to-manifest", "t.csv", "--profile", "{}"),
    ("run", "small.yaml", "--out", "{}"),
    ("run", "small.yaml", "--arrivals", "{}"),
    ("run", "small.yaml", "--outcomes", "{}"),
    ("run", "small.yaml", "--junit", "{}"),
    ("run", "small.yaml", "--markdown", "{}"),
    ("run", "small.yaml", "--assume", "{}"),
    ("verify", "small.yaml", "--manifest", "{}"),
    ("report", "small.yaml", "--out", "{}"),
]


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
@pytest.mark.parametrize("text", ["", "a\0b"], ids=["empty", "nul"])
def test_what_cannot_be_a_path_is_refused_as_such(cli, manifest, tmp_path, words, text):
    before = sorted(tmp_path.iterdir())
    told = cli(*(text if word == "{}" else word for word in words))
    assert told.code == 2
    assert f"got {text!r}; allowed: a path" in told.line
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("words", PATHS, ids=" ".join)
def test_a_path_of_bytes_that_are_no_text_is_never_an_unexpected_error(cli, manifest, tmp_path, words):
    (tmp_path / "t.csv").write_text("time,tokens\n0,1\n5,2\n")
    told = cli(*("b\udcff" if word == "{}" else word for word in words))
    assert told.code in {0, 2}
    assert told.err.isascii()


def test_a_bundle_at_a_path_of_bytes_that_are_no_text_is_read_and_drawn(cli, manifest, tmp_path):
    assert cli("run", manifest, "--out", "b\udcff").code == 0
    (bundle,) = (tmp_path / "b\udcff").iterdir()
    for words in (("report", bundle), ("verify", bundle, "--json"), ("report", bundle, "--junit", "-")):
        assert cli(*words).code == 0


@pytest.mark.parametrize("value", ["na\udcffme=3", "name=\udcff"])
def test_a_change_of_bytes_that_are_no_text_is_refused(cli, manifest, value):
    told = cli("run", manifest, "--set", value)
    assert told.code == 2
    assert "--set: got " in told.line
    assert "UTF-8" in told.line


def test_a_trace_whose_name_is_no_text_cannot_be_named_by_a_manifest(cli, tmp_path):
    (tmp_path / "t\udcff.csv").write_text("time,tokens\n0,1\n5,2\n")
    told = cli("trace", "to-manifest", "t\udcff.csv", "--time-unit", "s")
    assert told.code == 2
    assert "a path in UTF-8" in told.line


HOSTILE = "\x1b[31m\x07\u202e"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("concurrency: 2,", '"concurrency{}": 2,'),
        ("seed: 7", 'seed: "{}"'),
        ("name: small", 'name: "{}"'),
        ("primary: {concurrency: 2}", '"primary{}": {concurrency: 2}'),
        ("id: primary", 'id: "primary{}"'),
        ("ann: {}", '"ann{}": {}'),
        ("principal: ann", 'principal: "ann{}"'),
        ("metric: admission.ratio", 'metric: "admission{}"'),
        ("{kind: poisson, per_second: 3}", '{kind: trace, file: "{}", time_column: t, sha256: "{}"}'),
    ],
)
def test_control_characters_of_a_manifest_reach_no_terminal(cli, manifest, before, after):
    escaped = "".join(f"\\u{ord(each):04x}" for each in HOSTILE)
    text = manifest.read_text()
    assert before in text
    manifest.write_text(text.replace(before, after.replace("{}", escaped, 1 if ": {}" in after else -1), 1))
    told = cli("run", manifest)
    assert told.code == 2
    assert told.line.isprintable()


def test_control_characters_of_a_file_name_reach_no_terminal(cli, manifest, tmp_path, monkeypatch):
    hostile = tmp_path / f"m{HOSTILE}\n.yaml"
    manifest.rename(hostile)
    monkeypatch.setattr("sim.cli.pages.wants_colour", lambda _stream: True)
    told = cli("run", hostile, "--page")
    assert told.code == 0
    assert told.out.replace("\n", "").isprintable()
    assert r"m\x1b[31m\x07\u202e" in told.out
    for words in (("run", hostile, "--set", "name="), ("explain", hostile, "--request", "-1"), ("verify", hostile)):
        told = cli(*words)
        assert told.code == 2
        assert told.line.isprintable()
    debug = cli("run", hostile, "--set", "name=", "--debug")
    assert debug.err.replace("\n", "").isprintable()


def test_a_message_has_an_end_however_long_its_parts(cli, manifest):
    long = "x" * 200_000
    for words in (("run", long), ("run", manifest, "--set", f"{long}=1"), ("run", manifest, f"--{long}"), (long,)):
        told = cli(*words)
        assert told.code == 2
        assert len(told.line) <= 800
