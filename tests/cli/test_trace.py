from __future__ import annotations

import json
import re

import pytest

from sim.manifest import load

FIXTURES = "tests/fixtures/traces"


def test_a_trace_is_described_as_text_and_as_json(cli, repository):
    grid = repository / FIXTURES / "grid.jsonl"
    assert "rows                 7 over 9 s" in cli("trace", "inspect", grid).out
    assert json.loads(cli("trace", "inspect", grid, "--json").out)["rows"] == 7


def test_every_reading_option_reaches_the_manifest(cli, tmp_path):
    (tmp_path / "t.csv").write_text("who,when,took,in,out\na,1.5,100,1,2\nb,1,200,3,4\nb,nonsense,1,5,6\n")
    words = (
        "--format csv --time-column when --time-unit s --time-is start --tokens-columns in,out --principal-column who "
    )
    words += "--duration-column took --duration-unit ms --sort --drop-invalid --name mine"
    assert cli("trace", "to-manifest", "t.csv", *words.split(), "-o", "m.yaml").code == 0
    manifest = load("m.yaml")
    options = manifest.streams[0].arrivals.options
    assert manifest.name == "mine"
    assert options["time_column"] == "when"
    assert tuple(options["tokens_columns"]) == ("in", "out")
    assert options["principal_column"] == "who"
    assert options["duration_column"] == "took"
    assert options["sort"] is options["drop_invalid"] is True
    assert cli("run", "m.yaml", "--arrivals", "a.txt").code == 0
    # Sorted, from the first instant on: bob's 7 tokens at 0 ms for 200 ms, then ann's 3 at 500 ms for 100 ms.
    rows = [line.split(",") for line in (tmp_path / "a.txt").read_text().splitlines()]
    assert [(row[1], row[4], row[5]) for row in rows] == [("0", "7", "200"), ("500", "3", "100")]


def test_an_empty_column_name_says_that_there_is_none(cli, repository):
    holes = repository / FIXTURES / "holes.csv"
    with_ids = cli("trace", "inspect", holes, "--drop-invalid").out
    without = cli("trace", "inspect", holes, "--tokens-columns", "", "--principal-column", "").out
    assert "tokens  " in with_ids
    assert "tokens  " not in without


def test_limits_and_time_of_service_come_from_the_options(cli, tmp_path, repository):
    (tmp_path / "limits.yaml").write_text(
        "profile:\n  profile_version: l-1\n  workspace: {concurrency: 3}\n  providers: {a: {}, b: {}}\n"
        "  principals: {x: {}, y: {}}\n"
    )
    grid = repository / FIXTURES / "grid.jsonl"
    words = ("--profile", "limits.yaml", "--provider", "b", "--principal", "y")
    assert cli("trace", "to-manifest", grid, *words, "--service-ms", "uniform 40..160", "-o", "m.yaml").code == 0
    manifest = load("m.yaml")
    assert manifest.profile.workspace.concurrency == 3
    assert [provider.id for provider in manifest.providers] == ["b"]
    assert manifest.principals[manifest.streams[0].principals[0]].name == "y"
    assert cli("trace", "to-manifest", grid, *words[:2]).line.startswith("--provider")
    assert cli("trace", "to-manifest", grid, "--ms-per-token", "0.5").code == 0


@pytest.mark.parametrize("name", ["", "x" * 129, "a\tb", "a\udcff"])
def test_a_name_is_refused_as_the_manifest_would_refuse_it(cli, repository, tmp_path, name):
    told = cli("trace", "to-manifest", repository / FIXTURES / "grid.jsonl", "--name", name, "-o", "m.yaml")
    assert told.code == 2
    assert told.line.startswith("--name: got ")
    assert told.line.endswith("; allowed: 1 to 128 printable characters")
    assert list(tmp_path.iterdir()) == []


def test_the_longest_name_is_one(cli, repository):
    cli("trace", "to-manifest", repository / FIXTURES / "grid.jsonl", "--name", "x" * 128, "-o", "m.yaml")
    assert load("m.yaml").name == "x" * 128


def test_without_an_output_the_manifest_goes_to_stdout_alone(cli, repository):
    told = cli("trace", "to-manifest", repository / FIXTURES / "grid.jsonl")
    assert told.err == ""
    assert re.search(r"^schema: capacity-manifest/v1$", told.out, re.MULTILINE)


@pytest.mark.parametrize("name", ["ticks.csv", "grid.jsonl", "ended.csv"])
def test_a_replayed_trace_has_as_many_arrivals_as_rows(cli, repository, tmp_path, name):
    trace = repository / FIXTURES / name
    rows = json.loads(cli("trace", "inspect", trace, "--json").out)["rows"]
    assert cli("trace", "to-manifest", trace, "-o", "m.yaml", "--quiet").err == ""
    assert cli("run", "m.yaml", "--outcomes", "o.txt", "--quiet").code in {0, 1}
    assert len((tmp_path / "o.txt").read_text().splitlines()) == rows


def test_repairs_that_are_asked_for_reach_the_manifest_and_the_run(cli, tmp_path):
    (tmp_path / "t.csv").write_text("ts,tokens\n5,1\n6,\n0,3\n2,4\n")
    words = ("--split-on-step-back", "--segment-gap-seconds", "0.5", "--missing-size", "9", "--service-ms", "1")
    assert cli("trace", "to-manifest", "t.csv", *words, "-o", "m.yaml").code == 0
    assert cli("run", "m.yaml", "--arrivals", "a.txt", "--quiet").code == 0
    rows = [line.split(",") for line in (tmp_path / "a.txt").read_text().splitlines()]
    assert [(row[1], row[4]) for row in rows] == [("0", "1"), ("1000", "9"), ("1500", "3"), ("3500", "4")]
    (record,) = tmp_path.glob("out/*/record.json")
    told = [entry["source"] for entry in json.loads(record.read_text())["provenance"] if entry["value"] == "repair"]
    assert told == [
        "asked for: sizes filled in: 1 that are missing in the file",
        "asked for: split: 2 segments, rows from 2 on: 2, rows from 4 on: 2 after a step back of 6 s",
    ]
    only = cli("trace", "inspect", "t.csv", "--split-on-step-back", "--segment", "2", "--missing-size", "0", "--json")
    assert json.loads(only.out)["rows"] == 2


def test_an_access_log_becomes_a_manifest_that_runs(cli, repository, tmp_path):
    log = repository / FIXTURES / "access.log"
    words = ("--sort", "--missing-size", "0", "--drop-invalid", "--principal-column", "host", "--name", "log")
    assert cli("trace", "to-manifest", log, *words, "--format", "clf", "-o", "m.yaml", "-q").code == 0
    assert cli("run", "m.yaml", "--quiet").code in {0, 1}
    assert "198.51.100" not in (tmp_path / "m.yaml").read_text()


@pytest.mark.parametrize(
    ("name", "words", "told"),
    [
        ("clients.csv", (), "a population of clients"),
        ("access.log", (), "access.log: row 3, column 'bytes': got '-'"),
        ("two_weeks.jsonl", (), "two_weeks.jsonl: row 5, column 'timestamp'"),
        ("two_weeks.jsonl", ("--split-on-step-back", "--sort"), "--sort: "),
        ("two_weeks.jsonl", ("--split-on-step-back", "--segment", "3"), "two_weeks.jsonl: segment: got 3"),
    ],
)
def test_what_needs_a_choice_ends_with_exit_code_2(cli, repository, name, words, told):
    for command in ("inspect", "to-manifest"):
        answer = cli("trace", command, repository / FIXTURES / name, *words)
        assert answer.code == 2
        assert told in answer.line
