"""Which code made a record: the digest of its sources, its checkout, its lock of dependencies.

Owns reading the packages' own files, and what to ask git; it starts no process itself, so whoever may hands in a way to
run git. The commit counts only where the files are tracked, so that a package installed inside somebody else's checkout
never claims that checkout's commit. It must not know records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import sim
import tollgate
from tollgate.core.canonical import sha256_hex
from tollgate.core.errors import EvidenceError

PACKAGES: Final = ("sim", "tollgate")
LOCK: Final = "requirements/run.txt"

Git = Callable[[tuple[str, ...]], str | None]
"""Runs git with these arguments in the folder that holds the packages; its output, or None if it failed or is not
there."""


@dataclass(frozen=True, slots=True)
class Tool:
    """The code that makes a record.

    Attributes:
        version: Version of the distribution.
        source_sha256: Hex digest of the Python files of ``tollgate`` and ``sim``.
        git_commit: Commit of the checkout the files are tracked in, or None.
        dirty: Whether those packages differ from that commit, or None without one.
        lock_sha256: Hex digest of the lock of the run's dependencies, or None where there is none (an installed wheel).
    """

    version: str
    source_sha256: str
    git_commit: str | None
    dirty: bool | None
    lock_sha256: str | None


def describe_tool(git: Git | None = None, *, root: Path | None = None) -> Tool:
    """Return what identifies the code of this installation.

    Args:
        git: How to run git, or None not to ask: the record then names no commit.
        root: Folder that holds ``tollgate`` and ``sim``; by default the one they were imported from.

    Raises:
        EvidenceError: If the sources cannot be read.
    """
    root = installation_root() if root is None else root
    commit, dirty = (None, None) if git is None else _checkout(git)
    lock = root / LOCK
    return Tool(
        version=tollgate.__version__,
        source_sha256=source_sha256(root),
        git_commit=commit,
        dirty=dirty,
        lock_sha256=sha256_hex(lock.read_bytes()) if lock.is_file() else None,
    )


def installation_root() -> Path:
    """Return the folder that holds both packages."""
    return Path(sim.__file__).resolve().parent.parent


def source_sha256(root: Path) -> str:
    """Return the hex digest of all Python files of both packages.

    It is the digest of what ``sha256sum`` prints for the files in the byte order of their relative paths, so that
    anybody can repeat it: ``find sim tollgate -name '*.py' | LC_ALL=C sort | xargs sha256sum | sha256sum``.

    Raises:
        EvidenceError: If there is no such file.
    """
    files = sorted(path.relative_to(root).as_posix() for package in PACKAGES for path in (root / package).rglob("*.py"))
    if not files:
        raise EvidenceError(
            f"{root}: no sources of {' and '.join(PACKAGES)}; a record has to name the code that made it"
        )
    return sha256_hex("".join(f"{sha256_hex((root / name).read_bytes())}  {name}\n" for name in files).encode())


def _checkout(git: Git) -> tuple[str | None, bool | None]:
    """Return the commit of the checkout and whether the packages differ from it; (None, None) outside of one."""
    if git(("ls-files", "--error-unmatch", "--", "sim/__init__.py")) is None:
        return None, None
    commit = git(("rev-parse", "--verify", "HEAD"))
    changes = git(("status", "--porcelain", "--untracked-files=all", "--", *PACKAGES))
    return (None, None) if commit is None or changes is None else (commit.strip(), bool(changes.strip()))
