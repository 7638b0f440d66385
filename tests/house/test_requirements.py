"""The pins, the ranges that they were made from, and the metadata agree."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCKS = ["run", "test", "bench"]


def project(repository: Path) -> dict[str, object]:
    config: dict[str, dict[str, object]] = tomllib.loads(repository.joinpath("pyproject.toml").read_text("utf-8"))
    return config["project"]


def ranges(repository: Path, lock: str) -> list[Requirement]:
    """What a lock was compiled from."""
    names = {"run": ["run"], "test": ["run", "test"], "bench": ["bench"]}[lock]
    lines = [line for name in names for line in repository.joinpath(f"requirements/{name}.in").read_text().splitlines()]
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    if lock != "bench":
        meta = project(repository)
        wanted += map(Requirement, [*meta["dependencies"], *meta["optional-dependencies"]["lab"]])
    return wanted


def pins(repository: Path, lock: str) -> dict[str, Version]:
    text = repository.joinpath(f"requirements/{lock}.txt").read_text(encoding="utf-8")
    return {canonicalize_name(n): Version(v) for n, v in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_range_is_met_by_its_pin(repository: Path, lock: str) -> None:
    pinned = pins(repository, lock)
    unmet = [
        f"{wanted} against {pinned.get(canonicalize_name(wanted.name))}"
        for wanted in ranges(repository, lock)
        if canonicalize_name(wanted.name) not in pinned
        or not wanted.specifier.contains(pinned[canonicalize_name(wanted.name)])
    ]
    assert unmet == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_line_of_a_lock_is_a_pin_with_hashes_or_a_comment(repository: Path, lock: str) -> None:
    text = repository.joinpath(f"requirements/{lock}.txt").read_text(encoding="utf-8")
    entries = re.sub(r"\\\n", "", text).splitlines()
    pin = re.compile(r"[\w.-]+==\S+(?: ; [^-]+)?(?:\s+--hash=sha256:[0-9a-f]{64})+")
    assert [entry for entry in entries if not (pin.fullmatch(entry) or entry.lstrip().startswith("#"))] == []


@pytest.mark.parametrize("lock", ["test", "bench"])
def test_locks_agree_on_what_they_share_with_run(repository: Path, lock: str) -> None:
    run, other = pins(repository, "run"), pins(repository, lock)
    assert {name: run[name] for name in run.keys() & other.keys()} == {n: other[n] for n in run.keys() & other.keys()}


def test_the_test_lock_holds_the_run_lock(repository: Path) -> None:
    assert pins(repository, "run").items() <= pins(repository, "test").items()


def test_the_extra_all_is_the_union_of_the_others(repository: Path) -> None:
    extras: dict[str, list[str]] = project(repository)["optional-dependencies"]
    assert set(extras["all"]) == {wanted for name, extra in extras.items() if name != "all" for wanted in extra}


def test_no_extra_refers_to_the_name_that_belongs_to_somebody_else(repository: Path) -> None:
    extras: dict[str, list[str]] = project(repository)["optional-dependencies"]
    assert [w for extra in extras.values() for w in extra if Requirement(w).name == "tollgate"] == []


def test_the_base_install_needs_canonical_json_alone(repository: Path) -> None:
    assert [Requirement(wanted).name for wanted in project(repository)["dependencies"]] == ["rfc8785"]
