from __future__ import annotations

import pytest

from sim.gates.evaluation import Basis
from sim.gates.verdict import Verdict
from sim.report.result import Result
from sim.report.story import MEANINGS, SPOILT, scope_of_claim, why
from tollgate.core.errors import EvidenceError


def test_every_verdict_has_a_meaning_and_there_is_no_other():
    assert set(MEANINGS) == {verdict.value for verdict in Verdict}


def test_every_basis_that_spoils_a_verdict_is_explained():
    decided = {Basis.SINGLE_RUN, Basis.CONFIGURATION, Basis.HOST}
    assert {basis.value for basis in set(Basis) - decided} == set(SPOILT)


def test_a_pass_names_the_gate_nearest_to_its_bound(passing):
    # Margins as shares of their bounds: 0.0389/0.95 = 4 %, 980/1500 = 65 %, 0.2269/1.25 = 18 %; the implied one, with
    # no margin at all, is not counted.
    said = why(passing.result)
    assert said.startswith("All 3 gates that count hold; nearest to its bound is quiet-admitted:")
    assert "admission.ratio of class quiet came to 98.89 % and should be at least 95 %." in said


def test_a_fail_names_the_gate_the_figure_and_the_bound(failing):
    assert why(failing.result) == (
        "quiet-admitted does not hold: admission.ratio of class quiet came to 94.11 % and should be at least 95 %."
    )


def test_the_worst_miss_comes_first_and_the_others_are_named(make_record):
    changes = {
        "quiet_admitted": {"verdict": "FAIL", "observed": "0.940000", "margin": "-0.010000"},
        "quiet_wait": {"verdict": "FAIL", "observed": "3000.000000", "margin": "-1500.000000"},
    }
    said = why(Result(make_record("FAIL", gate_changes=changes)))
    assert said.startswith(
        "quiet-wait does not hold: queue.wait.p99 of class quiet came to 3000 ms and should be at most 1500 ms"
    )
    assert said.endswith("; quiet-admitted also missed.")


def test_an_undecided_run_says_that_one_run_is_not_enough(inconclusive):
    said = why(inconclusive.result)
    assert said.startswith("quiet-admitted, ")
    assert said.endswith("are not decided: their bounds speak of many runs, and this is one of them.")


def test_what_an_undecided_run_did_decide_is_told(make_record):
    said = why(Result(make_record("INCONCLUSIVE", gate_changes={"quiet_wait": {"verdict": "INCONCLUSIVE"}})))
    assert said == (
        "quiet-wait is not decided: its bound speaks of many runs, and this is one of them; "
        "the other 2 gates that count hold."
    )


def test_a_broken_check_is_told_with_its_detail(invalid):
    assert why(invalid.result) == (
        "The run breaks its own check little: queue of primary: mean length 8.9, arrivals times mean wait 9.7."
    )


def test_unsettled_requests_are_counted(make_record):
    figures = [{"metric": "in_flight.end", "labels": {}, "value": 12, "unit": "count", "n": 1, "half_width": None}]
    said = why(Result(make_record("INVALID", "unsettled", observations=figures)))
    assert said == "12 requests had not settled when the drain ended, so the run has no outcome for them."


@pytest.mark.parametrize(
    ("basis", "said"),
    [
        ("no-deciding-gate", "No gate counts: each is implied by the configuration or only warns."),
        ("no-checks", "The run carries no self-checks, so nothing vouches for its numbers."),
    ],
)
def test_a_run_that_nothing_can_decide_says_so(make_record, basis, said):
    assert why(Result(make_record("INVALID", basis))) == said


def test_a_gate_without_an_observation_is_named(make_record):
    changes = {"quiet_wait": {"verdict": "INVALID", "basis": "missing", "observed": None, "margin": None}}
    said = why(Result(make_record("INVALID", "missing", gate_changes=changes)))
    assert said == "quiet-wait cannot be judged: it has no observation to compare with its bound."


def test_one_seed_speaks_for_itself_only(passing):
    assert scope_of_claim(passing.result) == "On 1 seed; nothing is said of others."


@pytest.mark.parametrize("verdict", ["FAIL", "INCONCLUSIVE"])
def test_a_verdict_that_no_gate_came_to_is_refused(make_record, verdict):
    with pytest.raises(EvidenceError, match=f"verdict.overall: got {verdict}"):
        why(Result(make_record(verdict)))
