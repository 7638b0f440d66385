"""Importing the library pulls in none of the lab's dependencies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HEAVY = {"jinja2", "matplotlib", "numpy", "pandas", "pydantic", "rich", "scipy", "sim", "simpy", "typer", "yaml"}
IMPORT_ALL = """
import importlib, pkgutil, sys
import tollgate
for module in pkgutil.walk_packages(tollgate.__path__, "tollgate."):
    if not module.name.startswith(("tollgate.drivers", "tollgate.stores.sql", "tollgate.server")):
        importlib.import_module(module.name)
print(*sys.modules)
"""


def test_every_pure_module_of_the_library_imports_without_the_lab(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, cwd=repository, check=True
    )
    loaded = {name.split(".", 1)[0] for name in done.stdout.split()}
    assert "tollgate" in loaded
    assert loaded & HEAVY == set()
