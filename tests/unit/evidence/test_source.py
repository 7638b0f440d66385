"""Which code made a record: repeatable by hand, and never somebody else's commit."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import partial

import pytest

import tollgate
from sim.evidence.source import describe_tool, installation_root, source_sha256
from tollgate.core.errors import EvidenceError

git_is_here = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path):
    for name, text in {
        "sim/__init__.py": "",
        "sim/a.py": "A = 1\n",
        "tollgate/__init__.py": "",
        "tollgate/core/b.py": "B = 2\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def git(folder, arguments):
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def commit(folder):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "."), (*identity, "commit", "-q", "-m", "x")):
        assert git(folder, arguments) is not None


def test_the_source_digest_is_that_of_sha256sums_own_listing(root):
    def line(name):
        return f"{hashlib.sha256((root / name).read_bytes()).hexdigest()}  {name}\n"

    names = ["sim/__init__.py", "sim/a.py", "tollgate/__init__.py", "tollgate/core/b.py"]
    assert source_sha256(root) == hashlib.sha256("".join(map(line, names)).encode()).hexdigest()


def test_a_changed_renamed_added_or_removed_source_changes_the_digest(root):
    before = source_sha256(root)
    (root / "sim/a.py").write_text("A = 2\n")
    changed = source_sha256(root)
    (root / "sim/a.py").rename(root / "sim/c.py")
    renamed = source_sha256(root)
    (root / "sim/d.py").write_text("")
    added = source_sha256(root)
    assert len({before, changed, renamed, added}) == 4


def test_caches_and_other_files_do_not_count(root):
    before = source_sha256(root)
    (root / "sim/__pycache__").mkdir()
    (root / "sim/__pycache__/a.cpython-311.pyc").write_bytes(b"x")
    (root / "sim/notes.txt").write_text("x")
    (root / "tests").mkdir()
    (root / "tests/test_a.py").write_text("x")
    assert source_sha256(root) == before


def test_a_place_without_sources_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match="no sources"):
        source_sha256(tmp_path)


def test_without_git_or_a_lock_there_is_no_commit_and_no_lock(root):
    tool = describe_tool(root=root)
    assert (tool.git_commit, tool.dirty, tool.lock_sha256) == (None, None, None)
    assert tool.version == tollgate.__version__


def test_the_lock_is_bound_by_its_bytes(root):
    (root / "requirements").mkdir()
    (root / "requirements/run.txt").write_bytes(b"rfc8785==0.1.4\n")
    assert describe_tool(root=root).lock_sha256 == hashlib.sha256(b"rfc8785==0.1.4\n").hexdigest()


@git_is_here
def test_a_checkout_names_its_commit_and_whether_the_packages_changed(root):
    commit(root)
    head = git(root, ("rev-parse", "HEAD")).strip()
    ask = partial(git, root)
    clean = describe_tool(ask, root=root)
    assert (clean.git_commit, clean.dirty) == (head, False)
    (root / "README.md").write_text("elsewhere")
    assert describe_tool(ask, root=root).dirty is False
    (root / "sim/new.py").write_text("")
    assert describe_tool(ask, root=root).dirty is True


@git_is_here
def test_an_installation_inside_somebody_elses_checkout_does_not_claim_its_commit(tmp_path, root):
    inner = tmp_path / "venv"
    shutil.copytree(root / "sim", inner / "sim")
    shutil.copytree(root / "tollgate", inner / "tollgate")
    (tmp_path / ".gitignore").write_text("venv\n")
    commit(tmp_path)
    tool = describe_tool(partial(git, inner), root=inner)
    assert (tool.git_commit, tool.dirty) == (None, None)


def test_this_installation_describes_itself():
    tool = describe_tool()
    assert tool.source_sha256 == source_sha256(installation_root())
