"""Whatever a document tells to type exists: the command, its options, and a name on the package index that is ours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from sim.cli.app import LATER, app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(page for part in ("docs", "notebooks") for page in (ROOT / part).rglob("*.md"))])
BLOCK = re.compile(r"^ *```(?:console|sh|bash)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(tollgate [^`]+)`")
PLACEHOLDER = re.compile(r"[A-Z_|]+|\[.*\]|\.\.\.|…")


def typed(page: Path) -> Iterator[str]:
    """Yield the command lines of ``tollgate`` on a page: in console blocks behind ``$``, and in running text."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if re.match(r"(\$ )?(\S*/)?tollgate ", line):
                yield line.removeprefix("$ ").strip()
    yield from (" ".join(found.split()) for found in INLINE.findall(text))


LINES = sorted({(page.relative_to(ROOT).as_posix(), line) for page in PAGES for line in typed(page)})


@pytest.mark.parametrize(("page", "line"), LINES, ids=[f"{page}: {line}" for page, line in LINES])
def test_a_command_line_names_a_command_and_options_that_exist(page: str, line: str) -> None:
    words = shlex.split(re.sub(r"[\[\]]", " ", line))[1:]
    command = typer.main.get_command(app)
    known = set(command.opts) if hasattr(command, "opts") else set()
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        name = words.pop(0)
        if "|" in name or name in LATER:  # alternatives in a signature, or a command that is said to be missing
            return
        assert name in command.commands, f"{page}: no command {name}"
        command = command.commands[name]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help", "-h", "--debug", "--version"}
    for word in words:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option):
            assert option in known, f"{page}: {line}: no option {option}"


def test_there_are_command_lines_to_check() -> None:
    assert len(LINES) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_page_tells_to_install_somebody_elses_package(page: Path) -> None:
    assert not re.search(r"pip install \"?tollgate(?!-lab)\b", page.read_text(encoding="utf-8"))
