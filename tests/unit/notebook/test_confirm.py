"""A notebook's run is believed when it is sound in itself and repeats what was retained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sim.evidence import describe_tool, encode, pack, read_record, write_bundle
from sim.evidence.record import seal
from sim.notebook import confirm, result_of
from tollgate.core.errors import EvidenceError


@pytest.fixture
def retained(pair, tmp_path):
    return write_bundle(pack(pair.ours, describe_tool()), tmp_path).folder


def change(folder, edit):
    """Edit a record and digest it again: its bytes look sound afterwards."""
    record = read_record(folder)
    edit(record)
    (folder / "record.json").write_bytes(encode(seal(record)))


def plus_one(metric):
    def edit(record):
        row = next(row for row in record["observations"] if row["metric"] == metric and not row["labels"])
        row["value"] = int(row["value"]) + 1

    return edit


def test_a_run_that_repeats_the_record_names_it(pair, retained, tmp_path):
    assert confirm(pair.ours, tmp_path) == f"decision-load 2.0.0, default, seed 2601: as retained in {retained.name}."


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (plus_one("completed"), "decisions differ"),
        (plus_one("arrivals"), "completed|arrivals"),
        (lambda record: record["runs"][0].update(arrivals_sha256="0" * 64), "arrivals differ"),
        (lambda record: record["runs"][0].update(outcomes_sha256="0" * 64), "decisions differ"),
        (lambda record: (record["plan"]["gates"].pop(0), record["gates"].pop(0)), "plan differs"),
    ],
    ids=["completed", "arrivals", "digest of arrivals", "digest of outcomes", "gates"],
)
def test_a_record_that_differs_is_no_confirmation(pair, retained, tmp_path, edit, told):
    change(retained, edit)
    with pytest.raises(EvidenceError, match=told):
        confirm(pair.ours, tmp_path)


def test_an_altered_artefact_is_no_confirmation(pair, retained, tmp_path):
    (retained / "slowest.json").write_bytes(b"[]")
    with pytest.raises(EvidenceError, match="altered"):
        confirm(pair.ours, tmp_path)


@pytest.mark.parametrize("folder", [".", "absent"])
def test_no_record_of_this_question_is_no_confirmation(pair, tmp_path, folder):
    with pytest.raises(EvidenceError, match=r"holds no record of decision-load 2\.0\.0, default, seed 2601 over 72 s"):
        confirm(pair.ours, tmp_path / folder)


def test_comparing_with_nothing_is_said(pair):
    assert confirm(pair.ours, None).endswith("compared with nothing, for evidence is None.")


def test_an_empty_run_says_nothing(pair):
    rows = [{**row, "value": 0} if row["metric"] == "arrivals" else row for row in pair.ours.observations]
    with pytest.raises(EvidenceError, match="no arrivals"):
        confirm(replace(pair.ours, observations=rows), None)


@pytest.mark.parametrize("ok", [False, None], ids=["broken", "absent"])
def test_a_run_has_to_pass_its_own_checks(pair, ok):
    checks = [] if ok is None else [{**pair.ours.checks[0], "ok": ok}]
    with pytest.raises(EvidenceError, match="requests-conserved" if checks else "it has none"):
        confirm(replace(pair.ours, checks=checks), None)


def test_the_result_has_the_figures_of_the_run_and_a_verdict(pair):
    result = result_of(pair.ours)
    assert result.exact("completed") == pair.ours.value("completed")
    assert result.verdict in {"PASS", "FAIL"}
