"""Plants the effects that no list of names can express and sees tools/purity.py find each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from tools.purity import check_source

FILES = {
    "open": "open('x')",
    "os": "import os",
    "os.path": "from os.path import exists",
    "temporary file": "import tempfile",
    "read_text": "def f(path):\n    return path.read_text()",
    "write_bytes": "def f(path):\n    path.write_bytes(b'')",
    "path open": "def f(path):\n    return path.open()",
    "numpy file": "import numpy as np\nnp.loadtxt('x')",
}
CONSOLE = {
    "print": "print('x')",
    "input": "input()",
    "breakpoint": "breakpoint()",
    "stream": "import sys\nsys.stderr",
    "stream by name": "from sys import stdout",
}
HIDDEN = {
    "dynamic import": "__import__('time')",
    "importlib": "import importlib\nimportlib.import_module('time')",
    "importlib by name": "from importlib import import_module",
    "eval": "eval('1')",
    "lifted ban": "import time  # noqa: TID251",
}
HASH_ORDER = {
    "hash": "key = hash('x')",
    "order by identity": "def f(xs):\n    return sorted(xs, key=id)",
    "order by hash": "def f(xs):\n    return max(xs, key=hash)",
    "for over a set": "for x in {1, 2}:\n    pass",
    "for over a name": "def f(xs):\n    seen = set(xs)\n    for x in seen:\n        pass",
    "for over an annotated argument": "def f(xs: frozenset[int]):\n    return [x for x in xs]",
    "for over an attribute": "class C:\n    def __init__(self):\n        self.xs: set[int] = set()\n"
    "    def f(self):\n        return [x for x in self.xs]",
    "for over a field": "class C:\n    xs: frozenset[str]\n    def f(self):\n        return tuple(self.xs)",
    "difference of keys": "def f(a, b):\n    for x in a.keys() - b.keys():\n        pass",
    "union": "def f(a):\n    return list({1}.union(a))",
    "join": "', '.join({'a', 'b'})",
    "unpacking": "xs = [*{1, 2}]",
    "pop": "def f():\n    xs = {1, 2}\n    return xs.pop()",
    "sum of a generator": "def f(xs: set[float]):\n    return sum(x * 0.1 for x in xs)",
}
INNOCENT = {
    "membership": "def f(xs: set[int], x: int):\n    return x in xs",
    "sorted set": "for x in sorted({1, 2}):\n    pass",
    "order-free generator": "def f(xs: set[int]):\n    return any(x > 1 for x in xs)",
    "set from a set": "def f(xs: set[int]):\n    return {x + 1 for x in xs}",
    "dict": "for x in {1: 2}:\n    pass",
    "__hash__": "class C:\n    def __hash__(self):\n        return hash((1, 2))",
    "table by identity": "def f(xs):\n    return {id(x): x for x in xs}",
    "str.replace": "'a'.replace('a', 'b')",
    "same name in another function": "def f():\n    xs = {1}\ndef g(xs):\n    return [x for x in xs]",
}


def parametrized(cases: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("source", cases.values(), ids=cases.keys())


@parametrized(FILES | CONSOLE | HIDDEN | HASH_ORDER)
@pytest.mark.parametrize("path", ["tollgate/core/x.py", "sim/world/x.py"])
def test_an_effect_in_a_pure_module_is_found(path: str, source: str) -> None:
    assert check_source(source, PurePath(path))


@parametrized(FILES)
def test_modules_that_own_files_may_touch_them(source: str) -> None:
    assert check_source(source, PurePath("sim/evidence/x.py")) == []


@parametrized(CONSOLE | HIDDEN | HASH_ORDER)
def test_modules_that_own_files_may_do_nothing_more(source: str) -> None:
    assert check_source(source, PurePath("sim/evidence/x.py"))


@parametrized(FILES | CONSOLE)
def test_drivers_may_have_effects(source: str) -> None:
    assert check_source(source, PurePath("tollgate/drivers/x.py")) == []


@parametrized(INNOCENT)
def test_what_has_no_effect_passes(source: str) -> None:
    assert check_source(source, PurePath("tollgate/core/x.py")) == []


@pytest.mark.parametrize("path", ["sim/evidence_tools.py", "sim/manifest/inputs_too.py", "sim/manifest/model.py"])
def test_a_neighbour_of_a_module_that_owns_files_gets_no_licence(path: str) -> None:
    assert check_source("open('x')", PurePath(path))


def test_the_command_fails_and_names_the_place(repository: Path, tmp_path: Path) -> None:
    module = tmp_path / "tollgate" / "core" / "planted.py"
    module.parent.mkdir(parents=True)
    module.write_text("x = 1\ny = open('x')\n", encoding="utf-8")
    command = [sys.executable, str(repository / "tools" / "purity.py"), "tollgate"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (1, "tollgate/core/planted.py:2:5: no file I/O in pure code: open()\n")


def test_the_command_refuses_a_path_that_is_not_there(repository: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(repository / "tools" / "purity.py"), "tolgate"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "tolgate" in done.stderr
