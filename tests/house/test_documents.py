"""Documents can be followed: links resolve, pages are reachable, decisions are listed, named commands exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOTS = ("README.md", "CONTRIBUTING.md", "docs/README.md")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def documents(repository: Path) -> list[Path]:
    folders = ["docs", "tests", "evidence", "manifests", "notebooks", "benchmarks"]
    below = [page for folder in folders for page in repository.joinpath(folder).rglob("*.md")]
    return sorted([*repository.glob("*.md"), *below])


def links(page: Path) -> list[tuple[Path, str]]:
    """Return the (file, anchor) that each relative link of a page leads to."""
    targets = LINK.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    parts = [target.partition("#") for target in targets if not re.match(r"[a-z]+:", target)]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in parts]


def anchors(page: Path) -> set[str]:
    """Return the anchors that the page's headings get: lower case, punctuation dropped, spaces as hyphens."""
    text = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_resolves(repository: Path) -> None:
    broken = [
        f"{page.relative_to(repository)} -> {target.name}#{anchor}"
        for page in documents(repository)
        for target, anchor in links(page)
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
    ]
    assert broken == []


def test_every_page_is_reachable_by_links(repository: Path) -> None:
    waiting = [repository / root for root in ROOTS]
    reached = set(waiting)
    while waiting:
        for target, _ in links(waiting.pop()):
            page = target / "README.md" if target.is_dir() else target
            if page.suffix == ".md" and page.exists() and page not in reached:
                reached.add(page)
                waiting.append(page)
    lost = [page for page in repository.joinpath("docs").rglob("*.md") if page not in reached]
    assert [str(page.relative_to(repository)) for page in sorted(lost)] == []


def test_every_decision_is_listed_and_numbered_without_a_gap(repository: Path) -> None:
    folder = repository / "docs" / "decisions"
    records = sorted(page.name for page in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(len(records)))
    assert sorted({target.name for target, _ in links(folder / "README.md") if target.parent == folder}) == records


def test_every_make_target_that_a_document_names_exists(repository: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", repository.joinpath("Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        (page.name, name)
        for page in documents(repository)
        for name in re.findall(r"`make ([a-z]+)", page.read_text(encoding="utf-8"))
    }
    assert sorted((page, name) for page, name in named if name not in targets) == []
