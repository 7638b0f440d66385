"""Reads every text file of the repository for what must not be published with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each pattern holds one letter in brackets, so that this file does not match itself.
FORBIDDEN = {
    "a path of somebody's machine": r"(?<![\w.~-])/(?:wor[k]|roo[t]|tm[p]|hom[e]|User[s])/\w",
    "a package index": r"https?://[^\s\"']+/simpl[e]\b|--(?:extra-)?index-ur[l]|--find-link[s]|--trusted-hos[t]",
    "a download address in a lock": r"\"resolve[d]\": *\"http",
    "somebody else's distribution": r"pip install [\"']?tollgat[e](?![\w-])(?!-lab)",
    "a merge left half done": r"^(?:<{7}|>{7}) ",
    "work left for later": r"\b(?:FIXM[E]|XX[X])\b",
}
GENERATED = {"__pycache__", "build", "dist", "out"}
HIDDEN_BUT_OURS = {".ci", ".gitignore"}
MADE_TO_MATCH = {"Makefile": {"a package index"}}  # `make lock` names the options that keep such lines out


def text_files(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") and path.name not in HIDDEN_BUT_OURS
        if hidden or path.name in GENERATED:
            continue
        if path.is_dir():
            yield from text_files(path)
            continue
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture or a packed series


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_carries(repository: Path, what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.MULTILINE)
    found = [
        f"{path.relative_to(repository)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for path, text in text_files(repository)
        if what not in MADE_TO_MATCH.get(path.name, ())
        for match in pattern.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of somebody's machine", "see /" + "tmp/x"),
        ("a package index", "https://pypi.example/" + "simple"),
        ("a package index", "--index-" + "url x"),
        ("somebody else's distribution", "pip install " + "tollgate"),
        ("work left for later", "FIX" + "ME"),
    ],
)
def test_the_pattern_matches_what_it_forbids(what: str, text: str) -> None:
    assert re.search(FORBIDDEN[what], text, re.MULTILINE)


def test_our_own_distribution_may_be_installed() -> None:
    assert not re.search(FORBIDDEN["somebody else's distribution"], "pip install 'tollgate-lab[lab]'")
