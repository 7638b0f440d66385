"""Bring ``evidence/`` up to date: one bundle for each manifest that is kept and each discipline that can run it.

Nothing else writes there. A retained record whose observations the present code repeats stays as it is, whichever code
wrote it, so that a second call changes nothing. One that it does not repeat ends the command with exit code 4 and what
differs; ``--renew`` is how somebody who meant the change replaces it, and the replacement is then there to be reviewed.

Every record that is written gets an entry in ``chain.json``; entries are added and never changed. A record which the
chain does not have is added to it; one that it has otherwise ends the command with 4 as well, unless it is renewed.

Usage: ``python tools/make_evidence.py [--manifests DIR] [--out DIR] [--renew]``. Exit codes: 0 up to date, 2 input,
4 a retained record differs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sim.cli.checkout import this_tool
from sim.cli.exits import Exit, of_error
from sim.evidence import Tool, check_drift, pack, read_record, verify, write_bundle
from sim.evidence.bundle import RECORD_NAME
from sim.evidence.chain import CHAIN_NAME, in_force, next_entry, question, read_chain, write_chain
from sim.evidence.retained import retained
from sim.experiment import run
from sim.manifest import Manifest, load
from sim.manifest.model import Discipline
from tollgate.core.errors import ConfigError, EvidenceError

SUFFIXES: Final = frozenset({".json", ".yaml"})
ASSUMPTIONS: Final = ".assumptions.yaml"
"""Ending of the file that completes ``NAME.json`` or ``NAME.yaml``, in place of theirs."""


def manifests(folder: Path) -> Iterator[Manifest]:
    """Yield the manifests of a folder that can run, and print why the others cannot."""
    files = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)
    for file in files:
        if file.name.endswith(ASSUMPTIONS):
            continue
        assumed = file.with_suffix(ASSUMPTIONS)
        manifest = load(file, assume=assumed if assumed in files else None)
        if manifest.lacks:
            print(f"{file}: skipped: it does not state {', '.join(manifest.lacks)}, and there is no {assumed.name}")
        else:
            yield manifest


def disciplines(manifest: Manifest) -> tuple[Discipline, ...]:
    """Return the disciplines that can run a manifest: the reference takes traffic of the seed's own generator only."""
    return ("default",) if manifest.seed_family is None else ("default", "reference")


def bring_up_to_date(manifest: Manifest, discipline: Discipline, tool: Tool, out: Path, *, renew: bool) -> bool:
    """Run a manifest and keep, write or refuse to replace its record; print which.

    Returns:
        Whether what is retained now is what the present code gives.
    """
    check_drift(manifest, out)
    done = run(manifest, discipline=discipline)
    places = retained(out, done.manifest, discipline)
    if places and not renew:
        reports = [verify(place, tool, rerun=lambda _: done) for place in places]
        print(*(line for report in reports for line in report.lines()), sep="\n")
        return all(report.ok for report in reports) and all(chained(place, out, renew=False) for place in places)
    written = write_bundle(pack(done, tool), out)
    print(f"{written.folder}: {'written' if written.is_new else 'this very record was there'}")
    chained(written.folder, out, renew=True)
    for place in places:
        if place != written.folder:
            shutil.rmtree(place)
            print(f"{place}: removed, replaced by {written.folder.name}")
    return True


def chained(place: Path, out: Path, *, renew: bool) -> bool:
    """Give a retained record its entry in the chain, unless it is the one in force there; print what happens.

    Args:
        place: Folder of its bundle.
        out: Folder of the chain.
        renew: Whether it may supersede another record.

    Returns:
        Whether the chain now ends with it on its question.
    """
    chain = out / CHAIN_NAME
    entries = read_chain(chain) if chain.exists() else []
    entry = next_entry(entries, read_record(place), f"{place.name}/{RECORD_NAME}")
    before = in_force(entries).get(question(entry))
    if before is not None and (before["record"], before["record_digest"]) == (entry["record"], entry["record_digest"]):
        return True
    if before is not None and not renew:
        said = f"entry {before['sequence']} of {chain} retains {before['record']}, {before['record_digest']}"
        print(f"{place}: DOES NOT HOLD: its digest is {entry['record_digest']}, and {said}")
        return False
    write_chain(chain, [*entries, entry])
    print(f"{chain}: entry {entry['sequence']} retains {place.name}")
    return True


def main(arguments: list[str]) -> int:
    """Bring a folder of evidence up to date and return the exit code."""
    parser = argparse.ArgumentParser(prog="make_evidence", description="Write the retained records of all manifests.")
    parser.add_argument("--manifests", type=Path, default=Path("manifests"), metavar="DIR")
    parser.add_argument("--out", type=Path, default=Path("evidence"), metavar="DIR")
    parser.add_argument("--renew", action="store_true", help="replace retained records by those of the present code")
    asked = parser.parse_args(arguments)
    tool = this_tool()
    try:
        holds = [
            bring_up_to_date(manifest, discipline, tool, asked.out, renew=asked.renew)
            for manifest in manifests(asked.manifests)
            for discipline in disciplines(manifest)
        ]
    except (ConfigError, EvidenceError) as error:
        print(error, file=sys.stderr)
        return of_error(error)
    if all(holds):
        return Exit.PASS
    print("evidence differs from what this code gives; if that is meant: make evidence RENEW=1", file=sys.stderr)
    return Exit.EVIDENCE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
