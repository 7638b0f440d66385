from __future__ import annotations

from sim.report import commands

S = 10**9


def test_a_run_of_the_manifest_as_it_stands_needs_no_option(passing):
    assert commands.again(passing) == "tollgate run manifests/noisy-neighbour.yaml"


def test_a_run_is_repeated_with_all_that_it_was_given(make_record, make_report):
    record = make_record(
        "PASS",
        overrides={"profile.workspace.concurrency": "6", "seed": "2601"},
        target={"kind": "admission-controller", "discipline": "reference"},
        flags=["manifest-drift"],
    )
    report = make_report(record, window_ns=90 * S + S // 2, assume_path="guess.yaml")
    assert commands.again(report) == (
        "tollgate run manifests/noisy-neighbour.yaml --assume guess.yaml --discipline reference --seed 2601 "
        "--window 90.5 --set profile.workspace.concurrency=6 --allow-drift"
    )


def test_a_discipline_is_named_where_the_manifests_own_is_not_known(passing, make_report):
    assert commands.again(make_report(passing.record, discipline=None)).endswith(" --discipline default")


def test_another_value_takes_the_place_of_the_one_that_was_given(make_record, make_report):
    report = make_report(make_record("PASS", overrides={"a.b": "6", "c.d": "1"}))
    assert commands.again(report, sets={"a.b": 12, "e.f": 3}).endswith(".yaml --set a.b=12 --set c.d=1 --set e.f=3")


def test_paths_and_values_are_quoted(passing, make_record, make_report):
    report = make_report(make_record("PASS", overrides={"a": "{b: 1}"}), path="out/a b", manifest_path="my file.yaml")
    assert commands.again(report) == "tollgate run 'my file.yaml' --set 'a={b: 1}'"
    assert commands.explain(report, 7) == "tollgate explain 'out/a b' --request 7"
    assert commands.verify(report) == "tollgate verify 'out/a b' --rerun"


def test_a_bundle_that_lacks_its_trace_is_told_where_the_manifest_was(make_record, make_report):
    report = make_report(make_record("PASS", inputs=[{"name": "t.csv", "sha256": "9" * 64, "bytes": 5}]), path="out/t")
    original = "--manifest manifests/noisy-neighbour.yaml"
    assert commands.explain(report, 7) == f"tollgate explain out/t --request 7 {original}"
    assert commands.verify(report) == f"tollgate verify out/t --rerun {original}"


def test_assumptions_lie_in_the_bundle(make_record, make_report):
    copy = {"name": "guess.yaml", "sha256": "9" * 64, "bytes": 5}
    record = make_record("PASS", inputs=[copy], artefacts=[copy | {"kind": "assumptions"}])
    assert "--manifest" not in commands.verify(make_report(record))
