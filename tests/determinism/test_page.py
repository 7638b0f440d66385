"""One bundle gives one page, byte for byte: again in this process, and in fresh ones with other hash seeds."""

from __future__ import annotations

from pathlib import Path

from sim.cli.subject import manifest_of
from sim.evidence import read_bundle
from sim.report.page import render
from sim.report.report import Report
from tests.determinism.fresh import printed
from tollgate.core.canonical import sha256_hex

BUNDLE = next((Path(__file__).parents[2] / "evidence").glob("noisy-neighbour-*"))
TIMES = 4
PROGRAM = "from tests.determinism.test_page import *; print(*pages())"


def pages() -> set[str]:
    """Return the digests of the page, rendered several times; what is kept moves each figure to other addresses."""
    found, kept = set(), []
    for place in range(TIMES):
        bundle = read_bundle(BUNDLE)
        report = Report.of(bundle, manifest_of(bundle), path="bundle", manifest_path="manifest")
        found.add(sha256_hex(render(report).encode()))
        kept.append([object() for _ in range(1000 * place)])
    return found


def test_addresses_and_hash_seeds_do_not_change_a_page(repository):
    (here,) = pages()
    assert printed(PROGRAM, repository, "1", "4242") == {here}
