"""Breaches each import contract in a small tree under the real configuration and sees import-linter say so."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# contract id -> breaches, each as {module: what it imports}
BREACHES: dict[str, list[dict[str, str]]] = {
    "lab-above-library": [{"tollgate.core.units": "sim.seeds"}, {"tollgate.drivers.aio": "sim.baselines.reference"}],
    "library-layers": [
        {"tollgate.core.units": "tollgate.decision.limits"},
        {"tollgate.core.units": "tollgate.stores.memory"},
        {"tollgate.stores.memory": "tollgate.admission.engine"},
        {"tollgate.decision.limits": "tollgate.drivers.aio"},
        {"tollgate.decision.limits": "tollgate.tenancy.queue"},
        {"tollgate.admission.engine": "tollgate.control.leases"},
        {"tollgate.control.leases": "tollgate.server.app"},
    ],
    "sql-behind-drivers": [
        {"tollgate.control.leases": "tollgate.stores.sql.ledger"},
        {"tollgate.stores.memory": "tollgate.stores.sql.ledger"},
    ],
    "library-is-light": [{"tollgate.core.bucket": "numpy"}, {"tollgate.drivers.aio": "simpy"}],
    "one-kernel": [{"sim.world.providers": "simpy"}, {"sim.experiment": "simpy.events"}],
    "verdicts-from-records": [
        {"sim.gates.evaluate": "sim.experiment"},
        {"sim.report.page": "sim.evidence.record", "sim.evidence.record": "sim.world.providers"},
    ],
    "meet-in-trace": [{"sim.measure.waits": "sim.world.providers"}, {"sim.trace": "sim.measure.waits"}],
    "no-cycles": [{"sim.evidence.record": "sim.manifest.model", "sim.manifest.model": "sim.evidence.bundle"}],
}

CLEAN = {
    "tollgate.core.units": "rfc8785",
    "tollgate.decision.limits": "tollgate.core.units",
    "tollgate.drivers.aio": "tollgate.decision.limits",
    "sim.kernel.clock": "simpy",
    "sim.world.providers": "sim.kernel.clock",
    "sim.experiment": "sim.world.providers",
    "sim.gates.evaluate": "sim.evidence.record",
}


def lint(repository: Path, tree: Path, imports: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Write a tree in which each module imports what ``imports`` says and check the project's contracts in it."""
    tree.joinpath("pyproject.toml").write_bytes(repository.joinpath("pyproject.toml").read_bytes())
    for name in ("tollgate", "sim", *imports, *imports.values()):
        if name.split(".", 1)[0] in {"tollgate", "sim"}:
            write_module(tree, name, "")
    for name, imported in imports.items():
        write_module(tree, name, f"import {imported}\n")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    return subprocess.run(
        [*command, "--no-cache"], capture_output=True, text=True, cwd=tree, env=environment, check=False
    )


def write_module(tree: Path, name: str, source: str) -> None:
    """Write module ``a.b.c`` as ``a/b/c.py`` with its packages; one part, a package itself, is left as it is."""
    *packages, module = name.split(".")
    folder = tree
    for package in packages or [module]:
        folder /= package
        folder.mkdir(exist_ok=True)
        folder.joinpath("__init__.py").touch()
    if packages:
        folder.joinpath(f"{module}.py").write_text(source, encoding="utf-8")


def contracts(repository: Path) -> dict[str, str]:
    config = tomllib.loads(repository.joinpath("pyproject.toml").read_text(encoding="utf-8"))
    return {contract["id"]: contract["name"] for contract in config["tool"]["importlinter"]["contracts"]}


def test_every_contract_has_a_breach_here(repository: Path) -> None:
    assert sorted(contracts(repository)) == sorted(BREACHES)


@pytest.mark.parametrize(
    ("contract", "imports"),
    [
        pytest.param(contract, imports, id=f"{contract}: {' '.join(imports)}")
        for contract, breaches in BREACHES.items()
        for imports in breaches
    ],
)
def test_a_breach_is_reported(repository: Path, tmp_path: Path, contract: str, imports: dict[str, str]) -> None:
    done = lint(repository, tmp_path, imports)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contracts(repository)[contract]} BROKEN" in done.stdout


@pytest.mark.parametrize("imports", [{}, CLEAN], ids=["packages that are not there yet", "the allowed directions"])
def test_an_orderly_tree_passes(repository: Path, tmp_path: Path, imports: dict[str, str]) -> None:
    done = lint(repository, tmp_path, imports)
    assert done.returncode == 0, done.stdout + done.stderr
