"""Which retained records answer a question: those of the same manifest, inputs, seed, window, overrides, discipline."""

from __future__ import annotations

import pytest

from sim.evidence import pack, write_bundle
from sim.evidence.retained import retained
from sim.manifest.model import InputFile, Phase
from tests.unit.evidence.made_runs import GATES, TOOL, made_manifest, made_run
from tollgate.core.errors import EvidenceError
from tollgate.core.units import NS_PER_S


def retain(folder, **changes):
    return write_bundle(pack(made_run(**changes), TOOL), folder).folder


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert retained(tmp_path / "absent", made_manifest(), "default") == []


def test_the_record_of_the_same_question_is_found(tmp_path):
    place = retain(tmp_path)
    assert retained(tmp_path, made_manifest(), "default") == [place]


def test_records_by_other_code_or_with_another_answer_are_found_too(tmp_path):
    places = {retain(tmp_path), retain(tmp_path, outcomes_sha256="3" * 64)}
    assert set(retained(tmp_path, made_manifest(), "default")) == places


def test_gates_are_judged_and_not_asked(tmp_path):
    place = retain(tmp_path)
    assert retained(tmp_path, made_manifest(gates=GATES[:1]), "default") == [place]


@pytest.mark.parametrize(
    "change",
    [
        {"raw": b"other bytes"},
        {"seed": 2602},
        {"seed": 2601, "seed_given": 2601},
        {"phases": (Phase("load", 0, 5 * NS_PER_S),)},
        {"overrides": (("profile.workspace.concurrency", "6"),)},
        {"inputs": (InputFile("trace.csv", "4" * 64, 10),)},
    ],
    ids=["bytes", "seed", "seed said again", "window", "override", "input"],
)
def test_another_question_is_not_answered(tmp_path, change):
    retain(tmp_path)
    assert retained(tmp_path, made_manifest(**change), "default") == []


def test_another_discipline_is_another_question(tmp_path):
    retain(tmp_path)
    assert retained(tmp_path, made_manifest(), "reference") == []


def test_a_record_that_cannot_be_read_might_be_the_one(tmp_path):
    file = retain(tmp_path) / "record.json"
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(EvidenceError, match=r"record\.json"):
        retained(tmp_path, made_manifest(), "default")
