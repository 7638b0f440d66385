"""A notebook's parameters are declared, typed and in their place."""

from __future__ import annotations

import re

import pytest

from sim.notebook import Parameters, parameters
from tollgate.core.errors import ConfigError

DECLARED = {"manifest": "manifests/noisy-neighbour.yaml", "seed": None, "window_seconds": None, "evidence": "evidence"}
CELL = "\n".join(f"{name} = {value!r}" for name, value in DECLARED.items())
CALL = "asked = notebook.parameters(globals())"


def namespace(*cells, **values):
    """Return a notebook's globals after these cells: IPython's history begins with an empty text."""
    return {**DECLARED, **values, "In": ["", *cells, CALL], "__name__": "__main__"}


def given(**values):
    return "# Parameters\n" + "\n".join(f"{name} = {value!r}" for name, value in values.items())


def test_what_the_cell_declares_is_what_is_asked():
    assert parameters(namespace(CELL)) == Parameters(**DECLARED)


def test_given_values_replace_declared_ones():
    asked = parameters(namespace(CELL, given(seed=7, window_seconds=30, evidence=None), seed=7, evidence=None))
    assert (asked.seed, asked.evidence, asked.evidence_folder) == (7, None, None)


def test_a_cell_run_again_by_hand_changes_nothing():
    later = ["run = 1", CELL, CALL, "window = 5"]
    assert parameters(namespace(CELL, given(seed=7), CALL, *later, run=1, seed=7)).seed == 7


def test_a_script_without_a_history_of_cells_may_ask():
    assert parameters(DECLARED) == Parameters(**DECLARED)


@pytest.mark.parametrize("value", [0, 2**53 - 1])
def test_a_seed_is_an_integer_from_0(value):
    assert parameters(namespace(CELL, seed=value)).seed == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("seed", "window_seconds") for value in ("7", 7.0, float("nan"), True, -1, [7])),
        ("window_seconds", 0),
        *((name, value) for name in ("manifest", "evidence") for value in ("", 7, 7.5, True, ["evidence"])),
        ("manifest", None),
    ],
)
def test_a_value_of_another_type_or_range_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"^parameters: {name}: got {re.escape(repr(value))}; allowed: "):
        parameters(namespace(CELL, given(**{name: value}), **{name: value}))


def test_an_unknown_parameter_is_refused_with_the_nearest_name():
    with pytest.raises(ConfigError, match=r'window_sec: got 60; allowed: .*did you mean "window_seconds"\?'):
        parameters(namespace(CELL, given(window_sec=60), window_sec=60))


def test_a_parameter_must_not_carry_the_name_of_something_the_notebook_uses():
    with pytest.raises(ConfigError, match="sim: got 1; allowed: one of the parameters manifest, seed"):
        parameters(namespace(CELL, given(seed=7, sim=1), sim=1))


def test_values_on_top_of_the_declaring_cell_were_replaced_by_it():
    with pytest.raises(ConfigError, match="got 'seed'; allowed: values for a notebook with a cell tagged 'parameters'"):
        parameters(namespace(given(seed=7), CELL))


@pytest.mark.parametrize("name", DECLARED)
def test_a_parameter_that_no_cell_declares_is_missing(name):
    declared = {key: value for key, value in namespace(CELL).items() if key != name}
    with pytest.raises(ConfigError, match=f"^parameters: {name}: got None; allowed: a value in the cell tagged"):
        parameters(declared)


def test_a_manifest_is_loaded_from_the_repository_wherever_the_kernel_runs(tmp_path, monkeypatch, repository):
    monkeypatch.chdir(tmp_path)
    asked = Parameters("manifests/noisy-neighbour.yaml", 7, 30, "evidence")
    manifest = asked.load()
    assert (manifest.name, manifest.seed, manifest.horizon_ns) == ("noisy-neighbour", 7, 30 * 10**9)
    assert asked.evidence_folder == repository / "evidence"


def test_without_seed_and_window_the_manifest_stands_as_it_is():
    manifest = Parameters("manifests/noisy-neighbour.yaml", None, None, None).load()
    assert (manifest.seed_given, manifest.window_ns, manifest.overrides) == (None, None, ())


def test_a_manifest_that_is_not_there_is_refused_by_its_path():
    with pytest.raises(ConfigError, match=r"manifests.nosuch\.yaml"):
        Parameters("manifests/nosuch.yaml", None, None, None).load()
