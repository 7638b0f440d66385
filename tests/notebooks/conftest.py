"""Runs notebooks as a user would, through papermill's command, on a kernel of this interpreter and no other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

Papermill = Callable[..., subprocess.CompletedProcess[str]]

PER_CELL_S = 240
"""Bound of one cell. The longest takes seconds; a loaded machine takes more, and a hanging cell takes for ever."""


@pytest.fixture
def notebooks(repository: Path) -> Path:
    return repository / "notebooks"


@pytest.fixture
def papermill(repository: Path, tmp_path: Path) -> Papermill:
    """Run a notebook headless; its output is written to ``out``.

    Kernels, configuration and run-time files of whoever runs the tests stay out: the kernel named ``python3`` is then
    the one that is installed beside this interpreter.
    """
    home = tmp_path / "jupyter"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JUPYTER", "IPYTHON"))}
    environment |= {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    environment |= {"JUPYTER_PREFER_ENV_PATH": "1", "IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(repository)}

    def run(notebook: Path, out: Path, *arguments: str, cell_s: int = PER_CELL_S) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "papermill", str(notebook), str(out), *arguments]
        command += ["-k", "python3", "--no-progress-bar", "--execution-timeout", str(cell_s), "--cwd", str(tmp_path)]
        return subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=2 * PER_CELL_S, check=False
        )

    return run


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """Write a notebook of code cells and return its path."""

    def write(*cells: str) -> Path:
        metadata = {"language_info": {"name": "python"}}
        book = nbformat.v4.new_notebook(metadata=metadata, cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        path = tmp_path / "written.ipynb"
        nbformat.write(book, path)
        return path

    return write
