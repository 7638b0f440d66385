"""A notebook that cannot go on ends, in bounded time and with a non-zero exit code."""
# ruff: noqa: N802 - the ids are written as their list writes them

from __future__ import annotations

from pathlib import Path

import nbformat

PARAMETERS = 'manifest = "manifests/load-manifest.v2.json"\nseed = None\nwindow_seconds = None\nevidence = "evidence"'
CHECK = "from sim import notebook\nasked = notebook.parameters(globals())"
MARK = "print('went on')"
OLD = "2001-02-03T04:05:06.789Z"


def went_on(out: Path) -> bool:
    book = nbformat.read(out, as_version=4)
    return any("went on" in str(output) for cell in book.cells if cell.cell_type == "code" for output in cell.outputs)


def test_C131_values_for_a_notebook_without_a_parameters_cell_end_it(papermill, written, tmp_path):
    out = tmp_path / "out.ipynb"
    done = papermill(written(PARAMETERS, CHECK, MARK), out, "-p", "window_seconds", "60")
    assert done.returncode != 0
    assert "got 'window_seconds'; allowed: values for a notebook with a cell tagged 'parameters'" in done.stderr
    assert not went_on(out)


def test_C133_a_killed_kernel_ends_the_run(papermill, written, tmp_path):
    out = tmp_path / "out.ipynb"
    done = papermill(written("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", MARK), out)
    assert done.returncode != 0
    assert "DeadKernelError" in done.stderr


def test_C134_no_cell_is_judged_behind_one_that_ran_out_of_time(papermill, written, tmp_path):
    out = tmp_path / "out.ipynb"
    done = papermill(written("while True:\n    pass", MARK), out, cell_s=2)
    assert done.returncode != 0
    assert "CellTimeoutError" in done.stderr
    assert not went_on(out)


def test_C136_marks_of_an_earlier_run_do_not_outlast_the_next_one(papermill, written, tmp_path):
    path, out = written(MARK, MARK), tmp_path / "out.ipynb"
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        cell.metadata["execution"] = {"iopub.status.busy": OLD, "shell.execute_reply": OLD, "shell.earlier": OLD}
    nbformat.write(book, path)
    assert papermill(path, out).returncode == 0
    assert went_on(out)
    assert OLD not in out.read_text(encoding="utf-8")
