"""The harness on small traffic whose course can be worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from sim import manifest as manifests
from sim.baselines.harness import run_reference
from sim.manifest import Manifest
from sim.measure.outcomes import Outcomes
from sim.trace import Trace
from tests.unit.world import lab
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS

DATA = Path(__file__).parents[2] / "conformance/data"


@pytest.fixture(scope="module")
def short() -> Manifest:
    return manifests.load(DATA / "00-v2-short.json")


def outcomes(manifest: Manifest, monkeypatch: pytest.MonkeyPatch, *arrivals: tuple[int, int, int, int]) -> list[str]:
    """Return the outcome lines of arrivals (at ms, service ms, fails, cancel after ms), all of one principal."""
    at, service, fails, cancel = zip(*arrivals, strict=True)
    block = lab.arrivals(at, service, fails=fails, cancel_after=cancel, tokens=0)
    monkeypatch.setattr("sim.baselines.harness.seed_family_blocks", lambda _: iter([block]))
    return outcome_lines(manifest)


def outcome_lines(manifest: Manifest) -> list[str]:
    out = StringIO()
    outcomes = Outcomes(out)
    run_reference(manifest, Trace((outcomes,)))
    outcomes.hexdigest()  # the last lines reach the text
    return out.getvalue().splitlines()


def test_a_failed_first_attempt_is_tried_again_after_the_backoff(short, monkeypatch):
    assert outcomes(short, monkeypatch, (10, 40, 1, -1)) == ["0 completed 2 340 0,0 -"]


def test_a_cancelled_call_ends_at_once(short, monkeypatch):
    assert outcomes(short, monkeypatch, (10, 100, 0, 50)) == ["0 cancelled 1 60 0 -"]


def test_a_cancellation_due_with_the_end_of_the_call_wins(short, monkeypatch):
    assert outcomes(short, monkeypatch, (10, 50, 0, 50)) == ["0 cancelled 1 60 0 -"]


def test_a_cancellation_during_backoff_is_met_by_the_next_attempt(short, monkeypatch):
    assert outcomes(short, monkeypatch, (10, 40, 1, 50)) == ["0 cancelled 2 300 0 cancelled"]


def test_a_cancelled_waiter_leaves_at_once(short, monkeypatch):
    # The workspace has four permits and one principal may hold half of them.
    lines = outcomes(short, monkeypatch, (0, 100, 0, -1), (0, 100, 0, -1), (1, 100, 0, 50))
    assert lines[2] == "2 cancelled 1 51 - cancelled"


def test_a_waiter_goes_when_a_call_ends(short, monkeypatch):
    lines = outcomes(short, monkeypatch, (0, 100, 0, -1), (0, 70, 0, -1), (1, 100, 0, -1))
    assert lines[2] == "2 completed 1 170 69 -"


def test_what_is_unsettled_when_the_drain_ends_is_in_flight(short, monkeypatch):
    endless = replace(short, drain_ns=1_000 * NS_PER_MS)
    # The first one's attempt has not ended, and the wait before an admission is told when it does.
    assert outcomes(endless, monkeypatch, (0, 10_000, 0, -1), (5, 10, 0, -1)) == [
        "0 in-flight 1 1235 - -",
        "1 completed 1 15 0 -",
    ]


def test_a_manifest_with_other_arrivals_is_refused(short):
    with pytest.raises(ConfigError, match=r"target\.discipline"):
        run_reference(replace(short, seed_family=None), Trace(()))


def test_a_shorter_window_has_the_same_first_outcomes(short):
    whole, cut = (outcome_lines(manifests.with_overrides(short, [], window_s=window_s)) for window_s in (20, 10))
    assert len(cut) > 100
    assert whole[: len(cut) - 20] == cut[: len(cut) - 20]
