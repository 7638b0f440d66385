"""Two disciplines side by side: the records' own figures, on the same arrivals or not at all."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

import sim
from sim.manifest import with_overrides
from sim.notebook import answer, pairs_of, result_of, side_by_side
from tollgate.core.errors import EvidenceError


@pytest.fixture(scope="module")
def results(pair):
    return {"ours": result_of(pair.ours), "reference": result_of(pair.reference)}


def refused(run, cls, **labels):
    names = {row["metric"] for row in run.observations if row["metric"].startswith("shed.")}
    rows = [row for row in run.observations if row["metric"] in names and row["labels"] == {"class": cls, **labels}]
    return sum(row["value"] for row in rows)


def test_each_class_has_a_column_for_each_discipline_with_its_own_figures(pair, results):
    table = side_by_side(results)
    assert list(table.columns) == [(c, n) for c in ("noisy", "quiet") for n in ("ours", "reference")]
    for name, run in (("ours", pair.ours), ("reference", pair.reference)):
        for cls in ("noisy", "quiet"):
            assert table[cls, name]["completed"] == str(run.value("completed", {"class": cls}))
            admitted = Decimal(run.value("admission.ratio", {"class": cls})) * 100
            shown = Decimal(table[cls, name]["admitted, share of arrivals"].removesuffix(" %"))
            assert abs(shown - admitted) <= Decimal("0.005")


def test_pairs_are_of_principals_and_draw_the_reference_first(results):
    fig = pairs_of(results["ours"], results["reference"])
    values = fig.axes[0]
    marks = {line.get_label(): list(line.get_xdata()) for line in values.lines if line.get_label()[0] != "_"}
    assert list(marks) == ["reference", "default"]
    for name, result in (("reference", results["reference"]), ("default", results["ours"])):
        assert marks[name] == [float(100 * row.exact) for row in result.by("admission.ratio", "principal").values()]
    with pytest.raises(EvidenceError, match="no figure utilisation by principal"):
        pairs_of(results["ours"], results["reference"], "utilisation")


def test_refusals_by_reason_add_up_to_all_refusals(results):
    table = side_by_side(results).map(lambda text: int(text) if text.isdigit() else text)
    reasons = [heading for heading in table.index if heading.startswith("refused: ")]
    assert reasons
    assert (table.loc[reasons].sum() == table.loc["refused"]).all()
    assert table.loc["refused"].sum() > 0


def test_other_arrivals_are_not_compared(pair, results):
    other = result_of(sim.run(with_overrides(pair.manifest, seed=7)))
    with pytest.raises(EvidenceError, match="arrivals differ"):
        side_by_side({**results, "reference": other})


def test_runs_without_a_digest_of_their_arrivals_are_not_compared(pair):
    bare = result_of(replace(pair.ours, arrivals_sha256=""))
    with pytest.raises(EvidenceError, match="arrivals differ, or"):
        side_by_side({"ours": bare, "reference": bare})


def test_the_answer_has_verdict_scope_and_both_sides_figures(pair, results):
    text = answer(results["ours"], results["reference"], "quiet")
    assert text.startswith(f"**{results['ours'].verdict}.** ")
    assert "On 1 seed; nothing is said of others." in text
    for run in (pair.ours, pair.reference):
        assert f"{refused(run, 'quiet')} refusal" in text
        assert f"{refused(run, 'noisy')} refusals" in text
        assert f"{run.value('completed')}" in text
        phases = (
            f"{count} in {name}" for name in ("load", "spike", "soak") if (count := refused(run, "noisy", phase=name))
        )
        assert all(told in text for told in phases)


def test_an_answer_about_a_class_that_is_not_there_is_refused(results):
    with pytest.raises(EvidenceError, match="arrivals for class loud"):
        answer(results["ours"], results["reference"], "loud")
