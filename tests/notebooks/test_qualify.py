"""The notebook for pipelines: it keeps what it ran, and papermill's exit code says whether to go on."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
import yaml

import sim
from sim.evidence import read_bundle


@pytest.fixture
def qualify(notebooks: Path) -> Path:
    return notebooks / "qualify.ipynb"


@pytest.fixture
def manifest(repository: Path, tmp_path: Path):
    """Write a manifest beside the repository's, with other gates, and return its path."""

    def write(*gates: dict) -> Path:
        document = yaml.safe_load((repository / "manifests/noisy-neighbour.yaml").read_text(encoding="utf-8"))
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(document | {"name": "mine", "gates": list(gates)}), encoding="utf-8")
        return path

    return write


def shown(path: Path) -> dict[str, str]:
    """Return what each code cell shows, as text or by the kinds of its pictures."""
    book = nbformat.read(path, as_version=4)
    return {
        cell.id: "".join(str(output.get("text") or output.get("data") or "") for output in cell.outputs)
        for cell in book.cells
        if cell.cell_type == "code" and "id" in cell
    }


def test_a_manifest_that_holds_passes_and_its_bundle_is_kept(qualify, papermill, repository, tmp_path):
    out = tmp_path / "out.ipynb"
    done = papermill(qualify, out, "-p", "out", str(tmp_path / "kept"), "-p", "window_seconds", "60")
    assert done.returncode == 0, done.stderr
    cells = shown(out)
    (bundle,) = (tmp_path / "kept").iterdir()
    assert str(bundle) in cells["run"]
    assert read_bundle(bundle).record["verdict"]["overall"] == "PASS"
    assert "## PASS: noisy-neighbour 1.0.0, seed 2601" in cells["verdict"]
    assert "limit-cannot-bind" in cells["lint"]
    assert all("image/svg+xml" in cells[name] for name in ("gates", "load", "queue", "waits"))
    assert "**PASS.**" in cells["answer"]
    other = sim.load(repository / "manifests/noisy-neighbour.yaml")
    assert read_bundle(bundle).record["manifest"]["sha256"] == other.sha256


def test_a_gate_that_is_missed_ends_it_with_the_verdict_behind_a_kept_bundle(qualify, papermill, manifest, tmp_path):
    gate = {"id": "all", "metric": "admission.ratio", "op": ">=", "bound": "1", "estimand": "path"}
    out = tmp_path / "out.ipynb"
    done = papermill(qualify, out, "-p", "manifest", str(manifest(gate)), "-p", "out", str(tmp_path / "kept"))
    assert done.returncode != 0
    assert re.search(r"NotQualifiedError: FAIL: all does not hold: admission\.ratio came to \d+\.\d+ %", done.stderr)
    (bundle,) = (tmp_path / "kept").iterdir()
    assert read_bundle(bundle).record["verdict"]["overall"] == "FAIL"
    assert "## FAIL" in shown(out)["verdict"]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["-p", "sed", "7"], 'sed: got 7; allowed: .*did you mean "seed"'),
        (["-r", "allow_inconclusive", "yes"], "allow_inconclusive: got 'yes'; allowed: True or False"),
    ],
    ids=["unknown", "mistyped"],
)
def test_a_parameter_that_is_not_declared_as_given_ends_it_before_anything_runs(
    qualify, papermill, tmp_path, given, complaint
):
    out = tmp_path / "out.ipynb"
    done = papermill(qualify, out, *given, "-p", "out", str(tmp_path / "kept"))
    assert done.returncode != 0
    assert re.search(complaint, done.stderr)
    assert shown(out)["run"] == ""
    assert not (tmp_path / "kept").exists()
