"""The table of verdicts for one run, by hand-made numbers (contracts, "Gates: one run and many")."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sim.cli.exits import of_verdict
from sim.gates import Basis, Gate, Verdict, evaluate, evaluation, overall
from tollgate.core.errors import ConfigError

SOUND = [{"name": "conservation", "ok": True, "detail": "10 = 10"}]


def gate(metric="retry.amplification", op="<=", bound="1.25", **changes):
    given = {
        "id": "g",
        "metric": metric,
        "where": {},
        "op": op,
        "bound": bound,
        "unit": "ratio",
        "estimand": "path",
        "confidence": "0.95",
        "min_probability": None,
        "severity": "block",
        "guaranteed": None,
    }
    return Gate.from_row(given | changes)


def seen(metric, value, *, unit="ratio", n=1, **labels):
    return {"metric": metric, "labels": labels, "value": value, "unit": unit, "n": n, "half_width": None}


SETTLED = seen("in_flight.end", 0, unit="count")


def judge(one, *observations, checks=SOUND, settled=SETTLED):
    rows = [*observations, settled] if settled else list(observations)
    (result,) = evaluate([one], rows, checks=checks)
    return result


# ------------------------------------------------------------------------------------------------- the table for n = 1


@pytest.mark.parametrize(
    ("op", "bound", "observed", "verdict", "margin"),
    [
        ("<=", "1.25", "1.047854", Verdict.PASS, "0.202146"),
        ("<=", "1.25", "1.25", Verdict.PASS, "0.00"),
        ("<=", "1.25", "1.250001", Verdict.FAIL, "-0.000001"),
        ("<", "1.25", "1.25", Verdict.FAIL, "0.00"),
        ("<", "1.25", "1.249999", Verdict.PASS, "0.000001"),
        (">=", "0.95", "0.991454", Verdict.PASS, "0.041454"),
        (">=", "0.95", "0.95", Verdict.PASS, "0.00"),
        (">=", "0.95", "0.949999", Verdict.FAIL, "-0.000001"),
        (">", "0.95", "0.950000", Verdict.FAIL, "0.000000"),
        (">", "3", 4, Verdict.PASS, "1"),
        ("<=", "-1", -2, Verdict.PASS, "1"),
    ],
)
def test_a_path_gate_decides_on_its_one_run_by_exact_comparison(op, bound, observed, verdict, margin):
    result = judge(gate(op=op, bound=bound), seen("retry.amplification", observed))
    assert (result.verdict, result.margin, result.basis, result.n) == (verdict, margin, Basis.SINGLE_RUN, 1)
    assert result.observed == observed


def test_a_comparison_that_doubles_would_blur_is_exact():
    # 0.1 + 0.2 <= 0.3 is false in doubles; as decimals 0.3 is 0.3, and one part in 10^30 above it is a miss.
    assert judge(gate(bound="0.3"), seen("retry.amplification", "0.3")).verdict is Verdict.PASS
    above = judge(gate(bound="0.3"), seen("retry.amplification", "0." + "3" + "0" * 28 + "1"))
    assert above.verdict is Verdict.FAIL
    assert above.margin == "-0." + "0" * 29 + "1"


@pytest.mark.parametrize("estimand", ["mean", "hold"])
@pytest.mark.parametrize("observed", ["1.0", "9.0"])
def test_a_gate_on_a_mean_or_a_share_of_runs_shows_its_point_and_stays_inconclusive(estimand, observed):
    result = judge(gate(estimand=estimand, min_probability="0.9"), seen("retry.amplification", observed))
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.observed == observed
    assert result.margin is not None


def test_several_replications_are_refused_by_name():
    with pytest.raises(ConfigError, match="not built yet"):
        evaluate([gate()], [seen("retry.amplification", "1.0"), SETTLED], checks=SOUND, n=30)


# ----------------------------------------------------------------------------------- EV5: no PASS out of missing data


@pytest.mark.parametrize(
    ("rows", "basis"),
    [
        ([], Basis.MISSING),
        ([seen("retry.amplification", None)], Basis.UNREADABLE),
        ([seen("retry.amplification", "1.0"), seen("retry.amplification", "1.0")], Basis.MISSING),
        ([seen("retry.amplification", "1.0", phase="spike")], Basis.MISSING),
        ([seen("retry.amplification", "NaN")], Basis.UNREADABLE),
        ([seen("retry.amplification", "Infinity")], Basis.UNREADABLE),
        ([seen("retry.amplification", "1e400")], Basis.UNREADABLE),
        ([seen("retry.amplification", "1e-3")], Basis.UNREADABLE),
        ([seen("retry.amplification", "")], Basis.UNREADABLE),
        ([seen("retry.amplification", 1.0)], Basis.UNREADABLE),
        ([seen("retry.amplification", float("nan"))], Basis.UNREADABLE),
        ([seen("retry.amplification", True)], Basis.UNREADABLE),
        ([seen("retry.amplification", "1.0", unit="ms")], Basis.WRONG_UNIT),
        ([seen("retry.amplification", "1.0"), seen("arrivals", 0, unit="count")], Basis.NO_ARRIVALS),
    ],
)
def test_ev5_a_number_that_is_absent_or_unreadable_is_invalid_and_never_a_pass(rows, basis):
    result = judge(gate(), *rows)
    assert (result.verdict, result.basis) == (Verdict.INVALID, basis)


def test_ev5_a_ratio_over_no_arrivals_of_its_class_is_invalid_though_it_is_one_by_convention():
    rows = [
        seen("admission.ratio", "1.000000", **{"class": "quiet"}),
        seen("arrivals", 0, unit="count", **{"class": "quiet"}),
        seen("arrivals", 50, unit="count"),
    ]
    result = judge(gate("admission.ratio", ">=", "0.95", where={"class": "quiet"}), *rows)
    assert (result.verdict, result.basis) == (Verdict.INVALID, Basis.NO_ARRIVALS)


def test_a_gate_that_asks_for_no_arrivals_can_still_be_met():
    result = judge(
        gate("arrivals", "<=", "0", unit="count", where={"phase": "idle"}),
        seen("arrivals", 0, unit="count", phase="idle"),
    )
    assert result.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("checks", "settled", "basis"),
    [
        ([], SETTLED, Basis.NO_CHECKS),
        ([*SOUND, {"name": "little", "ok": False, "detail": "off by 3"}], SETTLED, Basis.CHECKS_FAILED),
        (SOUND, seen("in_flight.end", 1, unit="count"), Basis.UNSETTLED),
        (SOUND, seen("in_flight.end", None, unit="count"), Basis.UNSETTLED),
        (SOUND, None, Basis.UNSETTLED),
    ],
)
def test_ev5_a_run_that_breaks_its_own_checks_or_leaves_requests_unsettled_is_invalid(checks, settled, basis):
    result = judge(gate(), seen("retry.amplification", "1.0"), checks=checks, settled=settled)
    assert (result.verdict, result.basis) == (Verdict.INVALID, basis)
    assert overall([result]) == (Verdict.INVALID, basis)


# ------------------------------------------------------------------------------------------------------ implied gates


def test_an_implied_gate_passes_on_the_configuration_and_is_not_counted():
    implied = gate("active.max", bound="4", unit="count", guaranteed="4")
    result = judge(implied, seen("active.max", 4, unit="count"))
    assert (result.verdict, result.basis) == (Verdict.PASS, Basis.CONFIGURATION)
    assert result.to_row()["implied"] is True
    assert overall([result]) == (Verdict.INVALID, Basis.NO_DECIDING_GATE)


def test_an_implied_gate_that_does_not_hold_is_a_fault_of_the_code_and_invalid():
    result = judge(gate("active.max", bound="4", unit="count", guaranteed="4"), seen("active.max", 5, unit="count"))
    decided = judge(gate(), seen("retry.amplification", "1.0"))
    assert (result.verdict, result.basis) == (Verdict.INVALID, Basis.IMPLIED_BROKEN)
    assert overall([decided, result]) == (Verdict.INVALID, Basis.IMPLIED_BROKEN)


@pytest.mark.parametrize(
    ("op", "guaranteed", "implied"),
    [("<=", "4", True), ("<=", "4.000001", False), ("<", "4", False), (">=", "4", True), (">", "4", False)],
)
def test_a_gate_is_implied_when_the_guaranteed_value_itself_keeps_the_bound(op, guaranteed, implied):
    assert gate(op=op, bound="4", guaranteed=guaranteed).is_implied is implied


# --------------------------------------------------------------------------------------------------- overall verdicts


def result_of(verdict, *, severity="block"):
    bounds = {Verdict.PASS: "2", Verdict.FAIL: "0.5"}
    if verdict is Verdict.INVALID:
        return judge(gate(severity=severity))
    if verdict is Verdict.INCONCLUSIVE:
        return judge(gate(severity=severity, estimand="mean"), seen("retry.amplification", "1"))
    return judge(gate(severity=severity, bound=bounds[verdict]), seen("retry.amplification", "1"))


@pytest.mark.parametrize(
    ("verdicts", "worst", "code"),
    [
        ("PASS", "PASS", 0),
        ("PASS INCONCLUSIVE", "INCONCLUSIVE", 3),
        ("INCONCLUSIVE FAIL PASS", "FAIL", 1),
        ("FAIL INVALID INCONCLUSIVE", "INVALID", 4),
    ],
)
def test_the_worst_blocking_gate_decides_and_sets_the_exit_code(verdicts, worst, code):
    results = [result_of(Verdict(word)) for word in verdicts.split()]
    assert overall(results).verdict == worst
    assert of_verdict(overall(results).verdict) == code


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_gate_that_only_warns_never_changes_the_verdict(verdict):
    assert overall([result_of(Verdict.PASS), result_of(verdict, severity="warn")]).verdict is Verdict.PASS


@pytest.mark.parametrize("results", [[], [result_of(Verdict.PASS, severity="warn")]])
def test_ev5_without_a_gate_that_decides_there_is_no_pass(results):
    assert overall(results) == (Verdict.INVALID, Basis.NO_DECIDING_GATE)


# --------------------------------------------------------------------------------------------------------- host gates


def test_a_host_gate_is_compared_and_marked():
    host = gate("host.rss_peak", "<=", "512", unit="mib")
    result = judge(host, seen("host.rss_peak", "80.5", unit="mib"))
    assert host.is_host
    assert (result.verdict, result.basis, result.margin) == (Verdict.PASS, Basis.HOST, "431.5")


def test_an_overall_pass_rests_on_the_run_where_a_gate_of_the_run_decides():
    host = judge(gate("host.rss_peak", "<=", "512", unit="mib"), seen("host.rss_peak", 80, unit="mib"))
    assert overall([host, result_of(Verdict.PASS)]) == (Verdict.PASS, Basis.SINGLE_RUN)
    assert overall([host]) == (Verdict.PASS, Basis.HOST)


# ------------------------------------------------------------------------------------------------------- planted bugs


def planted_pass_on_missing(monkeypatch):
    kept = evaluation._evaluate_one

    def lenient(one, numbers, fault):
        result = kept(one, numbers, fault)
        return replace(result, verdict=Verdict.PASS) if result.basis is Basis.MISSING else result

    monkeypatch.setattr(evaluation, "_evaluate_one", lenient)


def planted_checks_ignored(monkeypatch):
    monkeypatch.setattr(evaluation, "_fault_of_run", lambda *_: None)


def planted_implied_ignored(monkeypatch):
    monkeypatch.setattr(Gate, "is_implied", property(lambda _: False))


def planted_floats(monkeypatch):
    monkeypatch.setattr(Gate, "holds", lambda self, observed: float(observed) <= float(self.bound))


@pytest.mark.parametrize(
    ("plant", "witness"),
    [
        (
            planted_pass_on_missing,
            lambda: test_ev5_a_number_that_is_absent_or_unreadable_is_invalid_and_never_a_pass([], Basis.MISSING),
        ),
        (
            planted_checks_ignored,
            lambda: test_ev5_a_run_that_breaks_its_own_checks_or_leaves_requests_unsettled_is_invalid(
                [], SETTLED, Basis.NO_CHECKS
            ),
        ),
        (planted_implied_ignored, test_an_implied_gate_passes_on_the_configuration_and_is_not_counted),
        (planted_floats, test_a_comparison_that_doubles_would_blur_is_exact),
    ],
)
def test_each_planted_bug_turns_its_witness_red(plant, witness, monkeypatch):
    witness()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        witness()
