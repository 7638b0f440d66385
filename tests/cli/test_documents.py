"""The pages on the command: the reference names everything, the tutorial shows what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from sim.cli.app import LATER, app
from sim.cli.exits import Exit

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/cli.md").read_text()
TUTORIAL = (ROOT / "docs/tutorial/first-verdict.md").read_text()
STEP = re.compile(r"^```console\n\$ tollgate (.+)\n((?:.*\n)*?)```$", re.MULTILINE)


def commands(group, path=("tollgate",)):
    """Yield every command that can be called, with its path."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


ALL = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", ALL)
def test_every_command_and_option_is_documented(path):
    section = re.search(rf"^## {path}\n(.*?)(?=^## |\Z)", REFERENCE, re.MULTILINE | re.DOTALL)
    assert section is not None, f"no section on {path}"
    options = [opt for parameter in ALL[path].params for opt in parameter.opts if opt.startswith("-")]
    missing = [option for option in options if option not in {"--help", "-h"} and f"`{option}" not in section.group(1)]
    assert missing == []


@pytest.mark.parametrize("path", ALL)
def test_no_option_is_documented_that_is_not_there(path):
    section = re.search(rf"^## {path}\n(.*?)(?=^## |\Z)", REFERENCE, re.MULTILINE | re.DOTALL).group(1)
    documented = re.findall(r"^\| `(--[a-z-]+)", section, re.MULTILINE)
    known = {opt for parameter in ALL[path].params for opt in parameter.opts}
    assert [option for option in documented if option not in known] == []


def test_every_exit_code_and_every_command_to_come_is_documented():
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", REFERENCE, re.MULTILINE)]
    assert codes == [int(code) for code in Exit]
    assert all(f"`{name}`" in REFERENCE for name in LATER)


def test_the_error_that_the_reference_shows_is_the_error(cli, monkeypatch):
    [(words, shown)] = STEP.findall(REFERENCE)
    monkeypatch.chdir(ROOT)
    told = cli(*shlex.split(words))
    assert told.err == shown


def test_the_tutorial_shows_what_happens(cli, tmp_path):
    (tmp_path / "manifests").symlink_to(ROOT / "manifests")
    answers = {}
    for words, shown in STEP.findall(TUTORIAL):
        if words not in answers:
            answers[words] = plain(cli(*expanded(words, tmp_path)).out)
        # "..." stands for lines left out; the others come in this order.
        parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", plain(shown), flags=re.MULTILINE)]
        assert re.search("(?:.*\n)*?".join(parts), answers[words]), f"{words}\n{answers[words]}"


def plain(text):
    """Return text with columns one space apart: how wide they are depends on the machine's figures among them."""
    return re.sub(r"(?<=\S) +", " ", text)


def expanded(words, folder):
    """Return the words as a shell hands them over: patterns become the one file they match."""
    for word in shlex.split(words):
        yield from [str(path.relative_to(folder)) for path in folder.glob(word)] if "*" in word else [word]
