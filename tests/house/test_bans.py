"""Plants every banned clock, generator, event loop and socket where it must not stand and sees ruff refuse it."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PURE = ["tollgate/core/x.py", "tollgate/decision/x.py", "tollgate/admission/x.py", "tollgate/tenancy/x.py"]
PURE += ["tollgate/control/x.py", "tollgate/stores/memory.py", "sim/kernel/x.py", "sim/world/x.py", "sim/experiment.py"]
PURE += ["sim/manifest/x.py", "sim/evidence/x.py", "sim/workload/traces/x.py", "sim/measure/x.py", "sim/seeds.py"]
WITH_EFFECTS = ["tollgate/drivers/aio.py", "tollgate/stores/sql/x.py", "tollgate/server/x.py"]
WITH_EFFECTS += ["sim/cli/x.py", "sim/host.py"]

# The ways in which a name reaches a module other than the plain one that the next test plants for every entry.
DISGUISES = {
    "alias": "import time as clock",
    "name": "from time import monotonic_ns",
    "name with alias": "from uuid import uuid4 as fresh",
    "inside a function": "def now() -> int:\n    import time\n    return time.time_ns()",
    "class": "from datetime import datetime\nstamp = datetime.now()",
    "module alias": "import datetime as dt\nstamp = dt.datetime.utcnow()",
    "day": "from datetime import date\nday = date.today()",
    "timer": "from threading import Timer",
    "submodule": "import concurrent.futures",
    "numpy by its usual name": "import numpy as np\nrng = np.random.default_rng(7)",
    "numpy's global generator": "from numpy import random as rnd\nx = rnd.rand(3)",
    "operating system": "from os import urandom",
    "event loop": "from asyncio import sleep",
}


def findings(repository: Path, path: str, source: str) -> list[tuple[int, str]]:
    """Return (line, message) of each ban that ruff finds in ``source`` taken as the file ``path``."""
    command = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--output-format", "json"]
    done = subprocess.run(
        [*command, "--no-cache", "--stdin-filename", path, "-"],
        input=source,
        capture_output=True,
        text=True,
        cwd=repository,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return [(found["location"]["row"], found["message"]) for found in json.loads(done.stdout)]


def banned_names(repository: Path) -> list[str]:
    config = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    return list(config["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"])


@pytest.mark.parametrize("path", PURE)
def test_every_banned_name_is_refused_in_a_pure_module(repository: Path, path: str) -> None:
    names = banned_names(repository)
    source = "\n".join(f"import {name.rpartition('.')[0] or name}; {name}" for name in names)
    refused = {line for line, _ in findings(repository, path, source)}
    assert [name for line, name in enumerate(names, start=1) if line not in refused] == []


@pytest.mark.parametrize("source", DISGUISES.values(), ids=DISGUISES.keys())
def test_a_disguised_effect_is_refused(repository: Path, source: str) -> None:
    assert findings(repository, "tollgate/core/x.py", source)


@pytest.mark.parametrize("path", WITH_EFFECTS)
def test_modules_with_effects_may_read_clocks(repository: Path, path: str) -> None:
    assert findings(repository, path, "import time\nimport asyncio\n") == []


def test_seeded_generators_are_allowed_where_they_are_named(repository: Path) -> None:
    source = "import numpy as np\nrng = np.random.Generator(np.random.Philox(np.random.SeedSequence(7)))\n"
    assert findings(repository, "sim/seeds.py", source) == []
