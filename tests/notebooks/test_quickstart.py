"""The quickstart runs headless, shows what it promises, and ends non-zero when asked wrongly or when figures differ."""
# ruff: noqa: N802 - the ids are written as their list writes them

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

import sim
from sim.evidence import describe_tool, encode, pack, read_bundle, read_record, write_bundle
from sim.evidence.record import seal
from sim.evidence.retained import retained
from sim.manifest import with_overrides

MANIFEST = "manifests/load-manifest.v2.json"
OLD_COUNT, OLD_INSTANT = 1999, "1999-12-31T23:59:59Z"
OLD_MARKS = {"execution": {"iopub.execute_input": OLD_INSTANT}, "papermill": {"start_time": OLD_INSTANT}}


@pytest.fixture
def quickstart(notebooks: Path) -> Path:
    return notebooks / "quickstart.ipynb"


def shown(path: Path) -> dict[str, str]:
    """Return what each code cell of an executed notebook shows, by the cell's id, in the richest form as text."""
    found = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            parts = [output.get("text") or richest(output.get("data", {})) for output in cell.outputs]
            found[cell.id] = "".join(parts)
    return found


def richest(data: dict[str, str]) -> str:
    forms = ("image/svg+xml", "text/html", "text/markdown", "text/plain")
    return next((data[form] for form in forms if form in data), "")


def window_evidence(folder: Path, repository: Path, seconds: int) -> None:
    """Retain both disciplines' records of the first seconds, as this process runs them."""
    manifest = with_overrides(sim.load(repository / MANIFEST), window_s=seconds)
    for discipline in ("default", "reference"):
        write_bundle(pack(sim.run(manifest, discipline=discipline), describe_tool()), folder)


def test_it_repeats_the_retained_record_and_shows_what_it_promises(quickstart, papermill, repository, tmp_path):
    out = tmp_path / "out.ipynb"
    done = papermill(quickstart, out)
    assert done.returncode == 0, done.stderr
    cells = shown(out)
    assert [name for name, text in cells.items() if not text] == ["parameters"]

    manifest = sim.load(repository / MANIFEST)
    for discipline in ("default", "reference"):
        (place,) = retained(repository / "evidence", manifest, discipline)
        assert f"{discipline}, seed {manifest.seed}: as retained in {place.name}" in cells["run"]
        for row in read_bundle(place).record["observations"]:
            if row["metric"] == "completed" and row["labels"].keys() == {"class"}:
                assert f"<td>{row['value']}</td>" in cells["side-by-side"]

    for figure in ("gates", "load", "queue", "waits", "amplification"):
        assert cells[figure].startswith("<svg ")
        assert len(re.findall(r"<path ", cells[figure])) > 10, f"{figure} is drawn"
        assert re.search(r'aria-label="[^"]{40,}', cells[figure]), f"{figure} can be read aloud"
    assert re.match(r"request \d+: quiet-", cells["refusal"])
    assert "it was refused" in cells["refusal"]
    assert cells["answer"].startswith("**PASS.** ")


def test_another_window_is_held_to_a_record_of_that_window(quickstart, papermill, repository, tmp_path):
    """Another process gave the record; and marks of an earlier run of the notebook do not survive (C136)."""
    window_evidence(tmp_path / "kept", repository, 75)
    book = nbformat.read(quickstart, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.metadata.update(OLD_MARKS)
            cell.execution_count = OLD_COUNT
    marked, out = tmp_path / "marked.ipynb", tmp_path / "out.ipynb"
    nbformat.write(book, marked)

    done = papermill(marked, out, "-p", "window_seconds", "75", "-p", "evidence", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    assert shown(out)["run"].count("as retained in") == 2
    text = out.read_text(encoding="utf-8")
    assert OLD_INSTANT not in text
    assert f'"execution_count": {OLD_COUNT}' not in text


def test_a_retained_figure_that_differs_ends_it(quickstart, papermill, repository, tmp_path):
    kept = tmp_path / "kept"
    window_evidence(kept, repository, 20)
    for file in kept.glob("*/record.json"):
        record = read_record(file)
        row = next(row for row in record["observations"] if row["metric"] == "completed" and not row["labels"])
        row["value"] = int(row["value"]) + 1
        file.write_bytes(encode(seal(record)))  # digested again, so that the bytes alone look sound

    out = tmp_path / "out.ipynb"
    done = papermill(quickstart, out, "-p", "window_seconds", "20", "-p", "evidence", str(kept))
    assert done.returncode != 0
    assert "DOES NOT HOLD" in done.stderr
    assert "completed" in done.stderr
    assert shown(out)["answer"] == ""


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["-p", "window_secnds", "60"], 'window_secnds: got 60; allowed: .*did you mean "window_seconds"'),
        (["-r", "seed", "007"], "seed: got '007'; allowed: an integer of at least 0"),
    ],
    ids=["unknown", "mistyped"],
)
def test_C130_a_parameter_that_is_not_declared_as_given_ends_it(quickstart, papermill, tmp_path, given, complaint):
    out = tmp_path / "out.ipynb"
    done = papermill(quickstart, out, *given)
    assert done.returncode != 0
    assert re.search(complaint, done.stderr)
    assert shown(out)["run"] == ""
