"""What a record asks to be run again: what the command line gave, and nothing that the manifest says itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.evidence import RerunRequest, pack
from sim.evidence.overrides import given_in, overrides_of
from sim.manifest.model import Phase
from tests.unit.evidence.made_runs import TOOL, made_manifest, made_run
from tollgate.core.units import NS_PER_S

SETS = (("profile.workspace.concurrency", "6"), ("gates.active.bound", "6"))


def record(**changes):
    return pack(made_run(**changes), TOOL).record


def test_a_run_of_the_manifest_as_it_stands_asks_for_no_change():
    request = RerunRequest.of(record(), manifest=Path("small.yaml"), assumptions=None)
    assert request == RerunRequest(Path("small.yaml"), None, "default", None, 10 * NS_PER_S, {})


def test_all_that_was_given_is_asked_for_again():
    changed = made_manifest(
        seed=9, seed_given=9, overrides=SETS, phases=(Phase("load", 0, 5 * NS_PER_S),), window_ns=5 * NS_PER_S
    )
    made = record(manifest=changed, seed=9, discipline="reference")
    request = RerunRequest.of(made, manifest=Path("m"), assumptions=Path("a"))
    assert request == RerunRequest(Path("m"), Path("a"), "reference", 9, 5 * NS_PER_S, dict(SETS))


@pytest.mark.parametrize("seed_given", [None, 9])
def test_what_a_command_line_gave_is_read_back_from_a_record(seed_given):
    manifest = made_manifest(seed=9, seed_given=seed_given, overrides=SETS)
    assert given_in(record(manifest=manifest, seed=9)) == (seed_given, dict(SETS))
    assert len(overrides_of(manifest)) == len(SETS) + (seed_given is not None)
