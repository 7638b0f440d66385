"""What the reference observes of a run, under its own names, worked out from the rows and texts of ours."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from io import StringIO

from sim.baselines.harness import ReferenceOptions, ReferenceRun, run_reference
from sim.manifest import Manifest
from sim.measure import Instruments
from sim.textformats import LineDigest, arrival_lines
from sim.trace import NONE, REASONS, AttemptCol, Consumer, LevelCol, LevelKind, RequestCol, RequestOutcome, Rows, Trace
from sim.workload.seed_family import seed_family_blocks
from tollgate.core.units import NS_PER_MS, decimal_text

OUTCOMES = ("completed", "failed", "shed", "cancelled")


@dataclass
class Figures:
    """The reference's figures of one run; two runs that went the same way have equal ones."""

    observations: dict[str, int | float | dict[str, int]]
    by_principal: dict[str, dict[str, int]]
    outcomes: str
    arrivals_sha256: str
    pumps: int
    judged: int
    run: ReferenceRun = field(compare=False)
    instruments: Instruments = field(compare=False)

    @property
    def outcomes_sha256(self) -> str:
        """Digest of the outcomes without their last column, the reason."""
        short = "".join(f"{line.rpartition(' ')[0]}\n" for line in self.outcomes.splitlines())
        return hashlib.sha256(short.encode()).hexdigest()

    @property
    def outcomes_with_reason_sha256(self) -> str:
        """Digest of the outcomes."""
        return hashlib.sha256(self.outcomes.encode()).hexdigest()


def figures(manifest: Manifest, *, correct_breaker: bool = False) -> Figures:
    """Run the reference on a manifest of the seed's."""
    text = StringIO()
    instruments = Instruments(manifest, text)
    rows = _Tally(manifest)
    trace = Trace((*instruments.consumers, rows))
    run = run_reference(manifest, trace, options=ReferenceOptions(correct_breaker=correct_breaker))
    instruments.outcomes_sha256()  # the last lines reach the text
    return Figures(
        observations=rows.observations(run.end_ms),
        by_principal={info.name: dict(tally) for info, tally in zip(manifest.principals, rows.tallies, strict=True)},
        outcomes=text.getvalue(),
        arrivals_sha256=_arrivals_sha256(manifest),
        pumps=run.controller.pumps,
        judged=run.controller.judged,
        run=run,
        instruments=instruments,
    )


class _Tally(Consumer):
    """Adds the rows up one by one, without the lab's own metrics."""

    def __init__(self, manifest: Manifest) -> None:
        self._classes = [info.cls for info in manifest.principals]
        self.tallies = [dict.fromkeys(("submitted", "admitted", *OUTCOMES), 0) for _ in manifest.principals]
        self._reasons: Counter[str] = Counter()
        self._levels = [0, 0]
        self._level_max = [0, 0]
        self._attempts = self._wait_max = self._cancel_max = 0

    def levels(self, rows: Rows) -> None:
        """Follow calls and queue."""
        for row in rows.tolist():
            kind = row[LevelCol.KIND]
            self._levels[kind] += row[LevelCol.DELTA]
            self._level_max[kind] = max(self._level_max[kind], self._levels[kind])

    def attempts(self, rows: Rows) -> None:
        """Take the wait before each admission."""
        for row in rows.tolist():
            if row[AttemptCol.REASON] == NONE:
                self._wait_max = max(self._wait_max, row[AttemptCol.DECIDED] - row[AttemptCol.REQUESTED])

    def requests(self, rows: Rows) -> None:
        """Count what became of each arrival."""
        for row in rows.tolist():
            tally = self.tallies[row[RequestCol.PRINCIPAL]]
            outcome = RequestOutcome(row[RequestCol.OUTCOME])
            tally["submitted"] += 1
            tally["admitted"] += row[RequestCol.ADMISSIONS] > 0
            tally[outcome.name.lower()] += 1
            self._attempts += row[RequestCol.ATTEMPTS]
            if outcome is RequestOutcome.SHED:
                self._reasons[str(REASONS[row[RequestCol.REASON]])] += 1
            if outcome is RequestOutcome.CANCELLED and row[RequestCol.SIGNAL] != NONE:
                self._cancel_max = max(self._cancel_max, row[RequestCol.SETTLED] - row[RequestCol.SIGNAL])

    def observations(self, end_ms: int) -> dict[str, int | float | dict[str, int]]:
        """Return the observations; times in ms."""
        arrivals = self._total("submitted")
        return {
            "arrivals": arrivals,
            "attempts": self._attempts,
            **{outcome: self._total(outcome) for outcome in OUTCOMES},
            "shedReasons": dict(sorted(self._reasons.items())),
            "maximumActiveCalls": self._level_max[LevelKind.ACTIVE],
            "maximumQueuedCalls": self._level_max[LevelKind.QUEUE],
            "maximumEligibleLaneWaitMs": self._wait_max // NS_PER_MS,
            "retryAmplificationRatio": _ratio(self._attempts, arrivals),
            "maximumCancellationLatencyMs": self._cancel_max // NS_PER_MS,
            "quietPrincipalAdmissionRatio": self._admission_ratio("quiet"),
            "noisyPrincipalAdmissionRatio": self._admission_ratio("noisy"),
            "virtualDurationMs": max(1, end_ms),
        }

    def _total(self, key: str) -> int:
        return sum(tally[key] for tally in self.tallies)

    def _admission_ratio(self, cls: str) -> float:
        tallies = [tally for tally, of in zip(self.tallies, self._classes, strict=True) if of == cls]
        return _ratio(sum(tally["admitted"] for tally in tallies), sum(tally["submitted"] for tally in tallies))


def _ratio(value: int, total: int) -> float:
    """Return ``value / total`` to six decimals, ties upward from the quotient's exact double; 1 for a total of 0."""
    return float(decimal_text(Fraction(value / total), 6)) if total else 1.0


def _arrivals_sha256(manifest: Manifest) -> str:
    principals = [info.name for info in manifest.principals]
    providers = [provider.id for provider in manifest.providers]
    digest = LineDigest()
    ordinal = 0
    assert manifest.seed_family is not None
    for block in seed_family_blocks(manifest.seed_family):
        digest.add_all(arrival_lines(block, ordinal, principals, providers))
        ordinal += len(block)
    return digest.hexdigest()
