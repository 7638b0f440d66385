"""Notebooks are committed as they were written: short cells of clean code, and nothing that a run leaves behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

CELL_LINES_MAX = 14
LINE_MAX = 100
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TAGGED = {"tags": ["parameters"]}
# A notebook speaks to its reader, and its assertions are the point of it.
RUFF_IGNORES = "T201,S101,INP001,D"


def faults(book: nbformat.NotebookNode) -> list[str]:
    """Return what a notebook should not carry."""
    found = [] if book.metadata == NOTEBOOK_METADATA else [f"metadata: {dict(book.metadata)}"]
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    found += [f"{cell.id}: outputs" for cell in code if cell.outputs]
    found += [f"{cell.id}: execution count" for cell in code if cell.execution_count is not None]
    tagged = [cell.id for cell in code if cell.metadata == TAGGED]
    found += [] if tagged == [code[0].id] else [f"cells tagged parameters: {tagged}, not the first and it alone"]
    found += [f"{cell.id}: metadata" for cell in book.cells if cell.metadata and cell.metadata != TAGGED]
    for cell in code:
        lines = cell.source.splitlines()
        found += [f"{cell.id}: {len(lines)} lines"] if len(lines) > CELL_LINES_MAX else []
        found += [f"{cell.id}: a line of {len(line)}" for line in lines if len(line) > LINE_MAX]
    headings = [cell.source.splitlines()[0] for cell in book.cells if cell.cell_type == "markdown"]
    found += [] if headings[0].endswith("?") else ["it does not begin with a question"]
    found += [] if headings[-1] == "## Answer" else ["it does not end with its answer"]
    return found


@pytest.fixture
def quickstart(notebooks: Path) -> nbformat.NotebookNode:
    return nbformat.read(notebooks / "quickstart.ipynb", as_version=4)


def test_every_notebook_is_as_it_was_written(notebooks: Path) -> None:
    paths = sorted(notebooks.glob("*.ipynb"))
    assert paths
    for path in paths:
        book = nbformat.read(path, as_version=4)
        nbformat.validate(book)
        assert faults(book) == [], path.name


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (lambda book: book.cells[1].outputs.append(nbformat.v4.new_output("stream", text="x")), "outputs"),
        (lambda book: book.cells[1].update(execution_count=1), "execution count"),
        (lambda book: book.metadata.update(papermill={}), "papermill"),
        (lambda book: book.cells[1].metadata.update(execution={}), "tagged"),
        (lambda book: book.cells[2].metadata.update(tags=["parameters"]), "tagged"),
        (lambda book: book.cells[2].update(source="x = 1\n" * 40), "40 lines"),
        (lambda book: book.cells.pop(), "answer"),
    ],
    ids=["output", "count", "papermill", "mark", "two tags", "long cell", "no answer"],
)
def test_what_a_run_leaves_behind_is_found(quickstart, plant, fault) -> None:
    plant(quickstart)
    if fault == "answer":
        quickstart.cells.pop()
    assert any(fault in found for found in faults(quickstart))


@pytest.mark.parametrize("check", [["check", "--ignore", RUFF_IGNORES], ["format", "--check"]], ids=["lint", "format"])
def test_code_in_notebooks_is_held_to_the_rules_of_the_modules(notebooks: Path, repository: Path, check) -> None:
    paths = [str(path) for path in sorted(notebooks.glob("*.ipynb"))]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *check, "--no-cache", *paths],
        capture_output=True,
        text=True,
        cwd=repository,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
