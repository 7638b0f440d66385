"""Print how the shipped discipline compares with the reference, as Markdown tables.

The same arrivals, judged once by the controller that ships and once by the reference (docs/explanation/
reference-discipline.md), on v2 and on the eight variants that tests/conformance carries. The tables stand in
docs/explanation/against-the-reference.md, and a short one in the README; a test recomputes rows of them.

Usage: ``python tools/compare_disciplines.py [--write] [NAME ...]``, NAME being ``v2`` or the beginning of a variant's
file name; without one all nine are run. ``--write`` puts the tables of all nine into both pages; the text around them
is to be read again then.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # run as a script, the folder on the path is this file's

import sim  # noqa: E402 - after the path
from sim.baselines.harness import ReferenceOptions, run_reference  # noqa: E402
from sim.kernel import Kernel  # noqa: E402
from sim.manifest import Manifest  # noqa: E402
from sim.measure import Instruments, Observation  # noqa: E402
from sim.targets.controller import build  # noqa: E402
from sim.trace import Consumer, LevelCol, LevelKind, Rows, Trace  # noqa: E402
from sim.workload.arrivals import arrival_blocks  # noqa: E402
from sim.world import World  # noqa: E402

PAGE: Final = ROOT / "docs" / "explanation" / "against-the-reference.md"
README: Final = ROOT / "README.md"

V2: Final = ROOT / "manifests" / "load-manifest.v2.json"
VARIANTS: Final = ROOT / "tests" / "conformance" / "data"

COIN_FLIPS: Final = "07-failures-05-retries-3"
"""The variant on which the reference is run once more, with only its breaker corrected."""

OURS: Final = "ours"
REFERENCE: Final = "reference"
CORRECTED: Final = "reference, breaker corrected"

Where = Mapping[str, str]
QUIET: Final = {"class": "quiet"}
NOISY: Final = {"class": "noisy"}
ALL: Final[Where] = {}

SHORT: Final = "manifest | discipline | quiet admission | completed"
OUTCOMES: Final = (
    "manifest | discipline | admitted, quiet | admitted, noisy | completed | cancelled | shed: queue-full "
    "| queue-timeout | tokens-per-second"
)
WAITS: Final = "manifest | discipline | mean, quiet | mean, noisy | p99, quiet | p99, noisy | p50 | p95 | p99 | longest"
TURNS: Final = "manifest | discipline | admitted after a wait | both classes waited | to noisy | lanes noisy | overtook"


@dataclass(frozen=True)
class Row:
    """What one discipline made of one manifest.

    Attributes:
        manifest: Name of the manifest.
        discipline: ``OURS``, ``REFERENCE`` or ``CORRECTED``.
        figures: Observed values by metric and labels.
    """

    manifest: str
    discipline: str
    figures: dict[tuple[str, tuple[tuple[str, str], ...]], int | str] = field(repr=False)

    @classmethod
    def of(cls, manifest: str, discipline: str, observations: Iterable[Observation]) -> Row:
        """Keep the observations of a run."""
        return cls(manifest, discipline, {_key(row["metric"], row["labels"]): row["value"] for row in observations})

    def value(self, metric: str, where: Where = ALL) -> Fraction:
        """Return a figure, exactly; a reason that never came up counts 0."""
        return Fraction(self.figures.get(_key(metric, where), 0))

    def short(self) -> list[str]:
        """Return the cells of the README's table."""
        name, discipline, quiet, _, completed, *_ = self.outcomes()
        return [name, discipline, quiet, completed]

    def outcomes(self) -> list[str]:
        """Return the cells of the first table."""
        ratios = [f"{float(self.value('admission.ratio', where)):.6f}" for where in (QUIET, NOISY)]
        counts = ("completed", "cancelled", "shed.queue-full", "shed.queue-timeout", "shed.tokens-per-second")
        return [self.manifest, self.discipline, *ratios, *(f"{int(self.value(name)):,}" for name in counts)]

    def waits(self) -> list[str]:
        """Return the cells of the second table: whole milliseconds, rounded down."""
        by_class = [self.value(f"queue.wait.{name}", where) for name in ("mean", "p99") for where in (QUIET, NOISY)]
        overall = [self.value(f"queue.wait.{name}") for name in ("p50", "p95", "p99", "max")]
        return [self.manifest, self.discipline, *(f"{int(value):,}" for value in (*by_class, *overall))]


class Turns(Consumer):
    """Counts whose turn it was when requests that waited were admitted.

    A lane here is a principal at a provider that has waiting requests; whether its head might go is not looked at.

    Attributes:
        admitted: Admissions of requests that had waited.
        contested: Of these, how many fell while lanes of both classes waited.
        to_noisy: Of the contested ones, how many went to a noisy lane.
        noisy_lanes: Sum over the contested ones of the share of the waiting lanes that was noisy.
        overtook: Admissions past a lane that was served longer ago.
    """

    def __init__(self, classes: Sequence[str]) -> None:
        """Start with nobody waiting.

        Args:
            classes: Class of each principal, by index.
        """
        self.admitted = self.contested = self.to_noisy = self.overtook = 0
        self.noisy_lanes = Fraction(0)
        self._classes = classes
        self._waiting: Counter[tuple[int, int]] = Counter()
        self._served: dict[tuple[int, int], int] = {}
        self._tick = 0
        self._left: tuple[int, int] | None = None

    def levels(self, rows: Rows) -> None:
        """Follow the queue: an admission from it is a step down that a call of the same lane follows at once."""
        for row in rows.tolist():
            lane = (row[LevelCol.PRINCIPAL], row[LevelCol.PROVIDER])
            if row[LevelCol.KIND] == LevelKind.ACTIVE:
                if row[LevelCol.DELTA] > 0 and self._left == lane:
                    self._admit(lane)
                self._drop()
                continue
            self._drop()
            if row[LevelCol.DELTA] < 0:
                self._left = lane
                continue
            self._waiting[lane] += 1
            if self._waiting[lane] == 1:
                self._serve(lane)

    def _admit(self, lane: tuple[int, int]) -> None:
        waiting = [other for other, count in self._waiting.items() if count]
        noisy = [other for other in waiting if self._classes[other[0]] == "noisy"]
        self.admitted += 1
        self.overtook += any(self._served[other] < self._served[lane] for other in waiting)
        if noisy and len(noisy) < len(waiting):
            self.contested += 1
            self.to_noisy += lane in noisy
            self.noisy_lanes += Fraction(len(noisy), len(waiting))
        self._serve(lane)

    def _serve(self, lane: tuple[int, int]) -> None:
        self._served[lane] = self._tick
        self._tick += 1

    def _drop(self) -> None:
        if self._left is not None:
            self._waiting[self._left] -= 1
            self._left = None

    def cells(self) -> list[str]:
        """Return the figures of the third table."""
        shares = [Fraction(self.to_noisy, self.contested), self.noisy_lanes / self.contested]
        counts = [f"{self.admitted:,}", f"{self.contested:,}"]
        return [*counts, *(f"{float(share):.1%}" for share in shares), f"{self.overtook:,}"]


def manifests(wanted: Sequence[str] = ()) -> dict[str, Path]:
    """Return the manifests to compare on, by name, in order.

    Args:
        wanted: Beginnings of names; all nine without.
    """
    variants = sorted(path for path in VARIANTS.glob("[0-9]*.json") if not path.name.endswith(".expected.json"))
    known = {"v2": V2, **{path.stem: path for path in variants}}
    return {name: path for name, path in known.items() if not wanted or name.startswith(tuple(wanted))}


def compare(name: str, path: Path) -> list[Row]:
    """Run one manifest through both disciplines and return their rows, ours first."""
    manifest = sim.load(path)
    rows = [
        Row.of(name, OURS, sim.run(manifest, observations_only=True).observations),
        Row.of(name, REFERENCE, sim.run(manifest, discipline="reference", observations_only=True).observations),
    ]
    if name == COIN_FLIPS:
        instruments = Instruments(manifest, observations_only=True)
        run_reference(manifest, Trace(instruments.consumers), options=ReferenceOptions(correct_breaker=True))
        rows.append(Row.of(name, CORRECTED, instruments.observations()))
    return rows


def turns(manifest: Manifest, discipline: str) -> Turns:
    """Run one manifest through one discipline and return whose turn it was."""
    counted = Turns([info.cls for info in manifest.principals])
    trace = Trace((counted,))
    if discipline == REFERENCE:
        run_reference(manifest, trace)
        return counted
    kernel = Kernel()
    world = World(manifest, arrival_blocks(manifest), build(manifest), trace, kernel)
    end_ns = manifest.horizon_ns + manifest.drain_ns
    kernel.run(end_ns)
    world.close(end_ns)
    return counted


def table(header: str, rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table: two columns of words, the rest numbers."""
    names = header.split(" | ")
    rule = ["---", "---", *("--:" for _ in names[2:])]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (names, rule, *rows))


def with_tables(text: str, tables: Iterable[str]) -> str:
    """Return a page with each of its tables replaced by the one of the same header."""
    for made in tables:
        header, _, _ = made.partition("\n")
        before, found, after = text.partition(f"{header}\n")
        if not found:
            raise ValueError(f"the page has no table {header}")
        rest = after.splitlines(keepends=True)
        while rest and rest[0].startswith("|"):
            rest.pop(0)
        text = before + made + "".join(rest)
    return text


def main(arguments: list[str]) -> int:
    """Print the tables of the manifests asked for, or put them where they stand."""
    chosen = manifests([argument for argument in arguments if argument != "--write"])
    rows = [row for name, path in chosen.items() for row in compare(name, path)]
    whose = [
        [name, discipline, *turns(sim.load(path), discipline).cells()]
        for name, path in chosen.items()
        for discipline in (OURS, REFERENCE)
    ]
    tables = [table(OUTCOMES, map(Row.outcomes, rows)), table(WAITS, map(Row.waits, rows)), table(TURNS, whose)]
    if arguments != ["--write"]:
        print(*tables, sep="\n", end="")
        return 0
    short = table(SHORT, map(Row.short, rows))
    for page, made in ((PAGE, tables), (README, [short])):
        page.write_text(with_tables(page.read_text(encoding="utf-8"), made), encoding="utf-8")
    return 0


def _key(metric: str, where: Where) -> tuple[str, tuple[tuple[str, str], ...]]:
    return metric, tuple(sorted(where.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
