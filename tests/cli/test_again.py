"""The commands that summary and page print are typed as they stand, and make the same run again."""

from __future__ import annotations

import html
import json
import re
import shlex
from pathlib import Path

import pytest

from sim.evidence import read_record
from sim.evidence.record import identity
from sim.report import page
from tests.cli.test_run import ASSUMPTIONS

SETS = ("--set", "profile.workspace.concurrency=1", "--set", "streams.bob.arrivals.per_second=12")


def words_of(line: str) -> list[str]:
    program, *words = shlex.split(line)
    assert program == "tollgate"
    return words


def in_summary(text: str) -> list[str]:
    return words_of(re.search(r"^again   (.+)$", text, re.MULTILINE)[1])


def in_page(text: str) -> list[str]:
    return words_of(html.unescape(re.search(r"<pre>(tollgate run .+)</pre>\n<p>This one makes it again", text)[1]))


def result_of(bundle: Path) -> str:
    """Return the digest of all that a record says, but of code and machine."""
    return identity({**read_record(bundle), "code": None})


@pytest.mark.parametrize(
    "words",
    [
        ("small.yaml",),
        ("small.yaml", *SETS),
        (
            "small.yaml",
            "--set",
            "gates.admitted={id: admitted, metric: admission.ratio, op: '>=', bound: '0.9', estimand: path}",
        ),
        ("small.yaml", "--seed", "9"),
        ("small.yaml", "--seed", "7"),
        ("small.yaml", "--window", "7.25"),
        ("small.yaml", "--seed", "9", "--window", "7.25", *SETS),
        ("v1.json", "--assume", "assume.yaml", "--window", "20"),
        ("v2.json", "--window", "20"),
        ("v2.json", "--discipline", "reference", "--window", "20"),
        ("v2.json", "--discipline", "default", "--window", "20"),
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_a_run_is_repeated_by_the_command_that_summary_and_page_print(
    cli, manifest, repository, tmp_path, monkeypatch, words
):
    monkeypatch.setattr(page, "_figures", lambda _report: {})  # which take a second and print no command
    (tmp_path / "assume.yaml").write_text(ASSUMPTIONS)
    for version in ("v1", "v2"):
        (tmp_path / f"{version}.json").write_bytes(
            (repository / f"manifests/load-manifest.{version}.json").read_bytes()
        )
    told = cli("run", *words)
    (bundle,) = Path("out").iterdir()
    html_page = cli("report", bundle, "-o", "-").out
    for place, again in enumerate((in_summary(told.out), in_page(html_page))):
        repeated = cli(*again, "--quiet", "--out", f"again-{place}")
        assert repeated.code == told.code
        (other,) = Path(f"again-{place}").iterdir()
        assert result_of(other) == result_of(bundle)


def test_a_drifted_run_is_repeated(cli, manifest):
    cli("run", manifest, "--out", "evidence")
    manifest.write_text(manifest.read_text() + "# changed\n")
    told = cli("run", "small.yaml", "--allow-drift")
    assert cli(*in_summary(told.out)).code == told.code == 0


def test_the_next_steps_of_a_failed_run_keep_what_it_was_given(cli, manifest):
    gate = ("--set", "gates.admitted.bound=1", "--window", "15")
    told = cli("run", "small.yaml", *SETS, *gate)
    assert told.code == 1
    steps = [words_of(line) for line in re.findall(r"^    (tollgate run .+)$", told.out, re.MULTILINE)]
    assert len(steps) == 2
    for step in steps:
        record = json.loads(cli(*step, "--json", "--quiet").out)
        assert record["plan"]["window_ns"] == 15 * 10**9
        assert record["overrides"]["streams.bob.arrivals.per_second"] == "12"
        assert record["overrides"]["gates.admitted.bound"] == "1"


def test_the_story_of_a_request_out_of_a_trace_is_told_by_the_printed_command(cli, tmp_path):
    (tmp_path / "t.csv").write_text("time,tokens\n0,1\n5,2\n6,3\n")
    cli("trace", "to-manifest", "t.csv", "--time-unit", "s", "-o", "m.yaml")
    told = cli("run", "m.yaml")
    assert cli(*words_of(re.search(r"^    (tollgate explain .+)$", told.out, re.MULTILINE)[1])).code == 0


def test_what_one_run_leaves_open_is_decided_for_its_seed_by_the_printed_command(cli, manifest):
    told = cli("run", "small.yaml", "--set", "gates.admitted.estimand=mean")
    assert told.code == 3
    (step,) = [
        words_of(line) for line in re.findall(r"^    (tollgate run .+estimand.+path.*)$", told.out, re.MULTILINE)
    ]
    assert cli(*step).code == 0
