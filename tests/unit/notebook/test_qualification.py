"""How the notebook for pipelines is asked, and how it ends."""

from __future__ import annotations

import json
import re

import pytest

from sim import notebook
from sim.evidence import read_bundle
from sim.notebook.qualification import NAMES, NotQualifiedError, Qualification, conclude, findings, qualification
from tests.unit.lint.conftest import changed
from tollgate.core.errors import ConfigError

DECLARED = {
    "manifest": "manifests/noisy-neighbour.yaml",
    "seed": None,
    "window_seconds": None,
    "discipline": None,
    "out": "out",
    "allow_inconclusive": False,
}
GATE = {"id": "g", "metric": "admission.ratio", "op": ">=", "bound": "0.1", "estimand": "path"}


@pytest.fixture
def qualified(tmp_path):
    """Run a small manifest with one gate through the notebook's own steps."""

    def made(**gate):
        path = tmp_path / "small.json"
        path.write_text(json.dumps(changed({"gates": [GATE | gate]})))
        asked = Qualification(str(path), None, None, None, str(tmp_path / "out"), allow_inconclusive=False)
        return notebook.qualify(asked)

    return made


def test_the_parameters_are_those_that_are_declared():
    assert list(DECLARED) == list(NAMES)
    assert qualification(DECLARED) == Qualification(**DECLARED)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("allow_inconclusive", value) for value in (0, 1, "True", None)),
        *(("discipline", value) for value in ("", "references", 1)),
        ("out", ""),
        ("out", None),
        ("seed", -1),
        ("window_seconds", 0),
        ("manifest", None),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"^parameters: {name}: got {re.escape(repr(value))}; allowed: "):
        qualification(DECLARED | {name: value})


def test_a_parameter_of_another_notebook_is_unknown_here():
    cell = "\n".join(f"{name} = {value!r}" for name, value in DECLARED.items())
    given = {**DECLARED, "evidence": None, "In": ["", cell, "# Parameters\nevidence = None\n"]}
    with pytest.raises(ConfigError, match="evidence: got None; allowed: one of the parameters manifest, seed"):
        qualification(given)


def test_what_passes_goes_on_and_is_kept(qualified):
    made = qualified()
    assert conclude(made, allow_inconclusive=False).startswith("**PASS.** ")
    assert read_bundle(made.folder).record["verdict"]["overall"] == "PASS"


@pytest.mark.parametrize("allowed", [False, True])
def test_what_fails_never_goes_on(qualified, allowed):
    with pytest.raises(NotQualifiedError, match=r"^FAIL: g does not hold: .* The bundle is kept: "):
        conclude(qualified(op="<="), allow_inconclusive=allowed)


@pytest.mark.parametrize("allowed", [False, True])
def test_what_is_invalid_never_goes_on(qualified, allowed):
    with pytest.raises(NotQualifiedError, match=r"^INVALID: No gate counts"):
        conclude(qualified(bound=0), allow_inconclusive=allowed)


def test_what_is_not_decided_goes_on_only_where_that_is_allowed(qualified):
    made = qualified(estimand="mean")
    assert conclude(made, allow_inconclusive=True).startswith("**INCONCLUSIVE.** ")
    with pytest.raises(NotQualifiedError, match=r"^INCONCLUSIVE: g is not decided"):
        conclude(made, allow_inconclusive=False)


def test_findings_are_a_list_and_their_absence_is_said(qualified):
    assert findings(qualified().run.manifest) == "No findings."
    assert findings(qualified(bound=0).run.manifest).startswith("- `gate-implied` gates\\[0\\]: g cannot fail")
