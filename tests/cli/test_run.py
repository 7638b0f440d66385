from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

DATA = "tests/conformance/data"


def test_the_verdict_is_printed_and_is_the_exit_code(cli, manifest):
    told = cli("run", manifest)
    assert told.code == 0
    assert told.out.startswith("PASS  small 1.0.0, seed 7\n")
    assert "bundle  out/small-" in told.out
    assert told.err == ""


@pytest.mark.parametrize(
    ("gate", "verdict", "code"),
    [
        ('{bound: "1", estimand: path}', "FAIL", 1),
        ('{bound: "0.5", estimand: mean}', "INCONCLUSIVE", 3),
        ('{bound: "0", estimand: path}', "INVALID", 4),
    ],
    ids=["fail", "inconclusive", "only an implied gate"],
)
def test_each_verdict_has_its_exit_code(cli, manifest, gate, verdict, code):
    sets = re.findall(r"(\w+): (\"?[\w.]+\"?)", gate)
    words = [word for key, value in sets for word in ("--set", f"gates.admitted.{key}={value}")]
    told = cli("run", manifest, *words)
    assert told.out.startswith(verdict)
    assert told.code == code


def test_the_reference_discipline_gives_the_references_numbers_to_the_last_digit(cli, repository):
    # The figures were measured by the reference's own harness, apart from this code.
    expected = json.loads((repository / DATA / "v2.expected.json").read_text())
    v2 = repository / "manifests/load-manifest.v2.json"
    told = cli("run", v2, "--discipline", "reference", "--json", "--arrivals", "a.txt", "--outcomes", "o.txt")
    document = json.loads(told.out)
    assert document["observations"] == expected["observations"]
    assert document["manifest"]["digest"] == expected["manifestDigest"]
    for name, key in (("a.txt", "arrivalsSha256"), ("o.txt", "outcomesWithReasonSha256")):
        assert hashlib.sha256(Path(name).read_bytes()).hexdigest() == expected[key]
    assert told.code == 0


def test_json_is_one_document_and_says_on_stderr_where_the_bundle_is(cli, manifest):
    told = cli("run", manifest, "--json")
    record = json.loads(told.out)
    assert record["schema"] == "capacity-result/v1"
    assert told.line.startswith("bundle: out/small-")
    assert Path(told.line.removeprefix("bundle: "), "record.json").read_text() == told.out


def test_the_seeds_manifest_prints_the_seeds_form_unless_asked_otherwise(cli, repository):
    v2 = repository / "manifests/load-manifest.v2.json"
    short = ("--window", "30", "--quiet")
    assert json.loads(cli("run", v2, "--json", *short).out)["schema"] == "decision-load-result/v1"
    assert json.loads(cli("run", v2, "--format", "capacity-result/v1", *short).out)["schema"] == "capacity-result/v1"
    assert json.loads(cli("run", v2, "--json", "--set", "workspace.concurrency=3", *short).out)["overrides"] == {
        "workspace.concurrency": "3"
    }


def test_what_the_seeds_form_cannot_say_is_refused_before_the_run(cli, manifest, repository):
    v2 = repository / "manifests/load-manifest.v2.json"
    ours = cli("run", manifest, "--format", "decision-load-result/v1")
    assert ours.code == 2
    assert ours.line.startswith("--format: got 'decision-load-result/v1'; allowed: capacity-result/v1")
    changed = cli("run", v2, "--format", "decision-load-result/v1", "--seed", "3")
    assert changed.code == 2
    assert "seed" in changed.line
    assert not Path("out").exists()


def test_set_seed_and_window_change_the_run_and_stand_in_its_record(cli, manifest):
    told = cli("run", manifest, "--json", "--set", "profile.workspace.concurrency=1", "--seed", "8", "--window", "2.5")
    record = json.loads(told.out)
    assert record["overrides"] == {"profile.workspace.concurrency": "1", "seed": "8"}
    assert record["plan"]["seeds"] == [8]
    assert record["plan"]["window_ns"] == 2_500_000_000


def test_a_second_run_leaves_the_bundle_as_it_is_and_says_so(cli, manifest):
    first = cli("run", manifest)
    again = cli("run", manifest)
    assert again.code == 0
    assert "the same run was there already" in again.line
    assert first.out.splitlines()[0] == again.out.splitlines()[0]


def test_outcomes_on_stdout_leave_the_summary_to_stderr(cli, manifest):
    told = cli("run", manifest, "--outcomes", "-")
    lines = told.out.splitlines()
    assert [line.split(" ")[0] for line in lines] == [str(place) for place in range(len(lines))]
    assert told.err.startswith("PASS  small")


def test_the_page_is_written_into_the_bundle_and_the_summary_names_it(cli, manifest):
    told = cli("run", manifest, "--page")
    page = re.search(r"^page    (\S+)$", told.out, re.MULTILINE).group(1)
    assert re.fullmatch(r"out/small-[0-9a-f]{12}/report\.html", page)
    assert "small" in Path(page).read_text(encoding="utf-8")


def test_a_changed_manifest_under_a_retained_name_and_version_is_refused_unless_allowed(cli, manifest):
    assert cli("run", manifest, "--out", "evidence").code == 0
    manifest.write_text(manifest.read_text() + "# changed\n")
    told = cli("run", manifest)
    assert told.code == 4
    assert "--allow-drift" in told.line
    assert json.loads(cli("run", manifest, "--allow-drift", "--json").out)["flags"] == ["manifest-drift"]


def test_v1_lists_its_arrivals_without_assumptions_and_says_what_a_run_needs(cli, repository):
    told = cli("run", repository / "manifests/load-manifest.v1.json", "--arrivals", "a.txt")
    assert told.code == 2
    assert "--assume" in told.line
    times = [float(line.split(",")[1]) for line in Path("a.txt").read_text().splitlines()]
    assert len(times) > 10_000
    assert times == sorted(times)


def test_v1_runs_with_assumptions_and_its_bundle_needs_no_other_file(cli, repository, tmp_path):
    assume = tmp_path / "assume.yaml"
    assume.write_text(ASSUMPTIONS)
    v1 = repository / "manifests/load-manifest.v1.json"
    record = json.loads(
        cli("run", v1, "--assume", assume, "--window", "20", "--format", "capacity-result/v1", "--quiet").out
    )
    assert {row["kind"] for row in record["provenance"]} == {"assumed"}
    assume.unlink()
    bundle = next((tmp_path / "out").iterdir())
    assert cli("verify", bundle, "--rerun").code == 0
    assert cli("explain", bundle, "--request", "0").code == 0


ASSUMPTIONS = """\
schema: capacity-assumptions/v1
source: invented for this test
principals:
- {id: loud, class: noisy, weight: 3}
- {id: calm, class: quiet, weight: 1}
providers: [a]
tokens: {small: 100, huge: 900, huge_share: 0.1}
service_ms: {min: 50, max: 150}
failure_probability: 0.1
retries: {max_retries: 1, backoff_ms: 100}
"""
