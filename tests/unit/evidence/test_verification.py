"""Verification: what holds, what does not, and what only a re-run can tell."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from sim.evidence import pack, read_record, verify, write_bundle
from sim.evidence.record import encode, seal
from sim.evidence.seed_form import export
from sim.evidence.verification import ARRIVALS_DIFFER, DECISIONS_DIFFER, NOT_RERUN
from sim.manifest import load
from tests.unit.evidence.made_runs import GATES, OBSERVATIONS, RAW, SLOW, TOOL, Series, made_manifest, made_run, row
from tests.unit.evidence.test_seed_form import MANIFESTS, digested, expected_of, measured
from tests.unit.evidence.test_seed_form import record_of as seed_record
from tollgate.core.canonical import canonical_bytes
from tollgate.core.errors import ConfigError, EvidenceError

OTHER_CODE = replace(TOOL, source_sha256="99" * 32)


@pytest.fixture
def folder(tmp_path):
    return write_bundle(pack(made_run(), TOOL), tmp_path / "out").folder


def again(**changes):
    """Return a re-run that gives the run of the fixture, with changes."""
    return lambda request: made_run(**changes)  # noqa: ARG005


def rewritten(folder, **changes):
    """Put an edited record, digested again, in the place of a bundle's record."""
    record = read_record(folder)
    (folder / "record.json").write_bytes(encode(seal(record | changes)))
    return folder


# ----------------------------------------------------------------------------------------------------- without a re-run


def test_an_untouched_bundle_holds_and_the_report_says_what_was_not_tried(folder):
    report = verify(folder, TOOL)
    assert (report.ok, report.notes) == (True, [NOT_RERUN])
    assert next(report.lines()) == f"{folder}: holds (bytes and verdict)"


def test_a_record_alone_holds_without_its_artefacts(folder):
    assert verify(folder / "record.json", TOOL).ok


@pytest.mark.parametrize("name", ["record.json", "series.json.gz", "slowest.json", "small.yaml"])
def test_ev2_one_changed_byte_in_any_file_of_a_bundle_is_a_mismatch(name, folder):
    data = bytearray((folder / name).read_bytes())
    data[len(data) // 2] ^= 1
    (folder / name).write_bytes(data)
    report = verify(folder, TOOL)
    assert not report.ok
    assert name in report.problems[0]


def test_ev2_another_manifest_than_the_records_is_a_mismatch(folder, tmp_path):
    (tmp_path / "mine.yaml").write_bytes(RAW + b"#")
    report = verify(folder, TOOL, manifest=tmp_path / "mine.yaml")
    assert report.problems[0].startswith("manifest differs")
    (tmp_path / "mine.yaml").write_bytes(RAW)
    assert verify(folder, TOOL, manifest=tmp_path / "mine.yaml").ok


def test_ev3_a_verdict_that_the_stored_numbers_deny_is_reported_though_digested_again(folder):
    gates = [gate | {"verdict": "FAIL"} if gate["id"] == "memory" else gate for gate in read_record(folder)["gates"]]
    report = verify(rewritten(folder, gates=gates, flags=[]), TOOL)
    assert not report.ok
    assert [str(each) for each in report.differences] == ["gate memory verdict: stored FAIL, fresh PASS"]


def test_ev3_a_pass_over_a_missed_bound_is_reported(folder):
    observations = [each | {"value": "0.940000"} if each["unit"] == "ratio" else each for each in OBSERVATIONS]
    report = verify(rewritten(folder, observations=sorted_rows(observations)), TOOL)
    assert "verdict differs" in report.problems[0]
    assert "verdict overall: stored PASS, fresh FAIL" in [str(each) for each in report.differences]


def test_a_file_that_the_record_does_not_bind_is_named(folder):
    (folder / "page.html").write_text("<p>")
    report = verify(folder, TOOL)
    assert report.ok
    assert "not bound by the record: page.html" in report.notes


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"schema":"other/v1"}', b"\xff", b"[" * 200_000])
def test_a_file_that_is_no_evidence_is_reported_and_never_a_traceback(content, tmp_path):
    (tmp_path / "x.json").write_bytes(content)
    report = verify(tmp_path / "x.json", TOOL)
    assert not report.ok
    assert "x.json" in report.problems[0]


def test_nothing_to_verify_is_an_error_of_its_own(tmp_path):
    with pytest.raises(EvidenceError, match="no such file or folder"):
        verify(tmp_path / "absent", TOOL)


# -------------------------------------------------------------------------------------------------------- with a re-run


def sorted_rows(rows):
    duration = row("duration.virtual", "10000.000000", "ms")
    return sorted([*rows, duration], key=lambda each: (each["metric"], sorted(each["labels"].items())))


def test_ev1_a_re_run_that_gives_the_same_holds(folder):
    report = verify(folder, TOOL, rerun=again())
    assert (report.ok, report.reran, report.notes) == (True, True, [])


def test_a_re_run_is_asked_for_what_the_record_states(folder):
    asked = []

    def rerun(request):
        asked.append(request)
        return made_run()

    verify(folder, TOOL, rerun=rerun)
    (request,) = asked
    assert request.manifest == folder / "small.yaml"
    assert (request.seed, request.discipline, request.window_ns) == (None, "default", 10_000_000_000)
    assert request.overrides == {}


def test_a_re_run_is_asked_for_a_seed_and_values_that_were_given(tmp_path):
    asked = []
    given = {"seed_given": 7, "seed": 7, "overrides": (("profile.workspace.concurrency", "6"),)}
    run = made_run(manifest=made_manifest(**given), seed=7)
    folder = write_bundle(pack(run, TOOL), tmp_path).folder
    assert verify(folder, TOOL, rerun=lambda request: asked.append(request) or run).ok
    assert (asked[0].seed, asked[0].overrides) == (7, {"profile.workspace.concurrency": "6"})


def test_another_memory_and_processor_time_are_no_mismatch(folder):
    slow = made_run().host | {"rss_peak": "300.000000", "cpu_ratio": "0.500000"}
    assert verify(folder, TOOL, rerun=again(host=slow)).ok


def test_a_host_that_misses_its_gate_is_no_mismatch_of_the_run(folder):
    big = made_run().host | {"rss_peak": "900.000000"}
    assert verify(folder, TOOL, rerun=again(host=big)).ok


def test_the_same_observations_by_other_code_hold_and_the_report_says_so(folder):
    report = verify(folder, OTHER_CODE, rerun=again())
    assert (report.ok, report.notes) == (True, ["the code differs, and the observations agree"])


def test_other_decisions_on_the_same_arrivals_are_told_with_each_figure(folder):
    fresh = tuple(row("completed", 17) if each["metric"] == "completed" else each for each in OBSERVATIONS)
    report = verify(folder, TOOL, rerun=again(observations=(*fresh, row("failed", 1)), outcomes_sha256="9" * 64))
    assert not report.ok
    assert report.problems[0].startswith(DECISIONS_DIFFER)
    assert [str(each) for each in report.differences] == [
        "completed: stored 18, fresh 17",
        "failed: stored nothing, fresh 1",
        "failed unit: stored nothing, fresh count",
        "failed n: stored nothing, fresh 1",
    ]


def test_the_report_reads_from_the_finding_down_to_its_figures(folder):
    (folder / "page.html").write_text("<p>")
    fresh = tuple(row("completed", 17) if each["metric"] == "completed" else each for each in OBSERVATIONS)
    lines = list(verify(folder, OTHER_CODE, rerun=again(observations=fresh)).lines())
    assert lines == [
        f"{folder}: DOES NOT HOLD (bytes, verdict and re-run)",
        "  decisions differ: the same arrivals had other outcomes",
        "    completed: stored 18, fresh 17",
        "  note: not bound by the record: page.html",
        "  note: the code differs",
    ]


def test_other_arrivals_are_told_apart_from_other_decisions(folder):
    fresh = tuple(row("arrivals", 21) if each == row("arrivals", 20) else each for each in OBSERVATIONS)
    report = verify(folder, TOOL, rerun=again(arrivals_sha256="9" * 64, observations=fresh))
    assert not report.ok
    assert [each.partition(":")[0] for each in report.problems] == ["arrivals differ"]
    assert report.problems[0].startswith(ARRIVALS_DIFFER)


def test_an_outcome_that_moved_without_moving_a_figure_is_still_a_mismatch(folder):
    report = verify(folder, TOOL, rerun=again(outcomes_sha256="9" * 64))
    assert report.problems[0].startswith(DECISIONS_DIFFER)


def test_a_self_check_that_no_longer_holds_is_a_mismatch(folder):
    broken = ({"name": "conservation", "ok": False, "detail": "one is missing"},)
    report = verify(folder, TOOL, rerun=again(checks=broken))
    assert [each.partition(":")[0] for each in report.problems] == ["checks differ"]
    assert "check conservation ok: stored True, fresh False" in [str(each) for each in report.differences]


FILES = [
    (
        {"series": Series({"active": [1, 2, 4, 0, 0, 0, 0, 0, 0, 0]})},
        "series.json.gz",
        ["series.json.gz series.active.values[2]: stored 3, fresh 4"],
    ),
    (
        {"slowest": (SLOW | {"sojourn_ns": 9},)},
        "slowest.json",
        ["slowest.json [0].sojourn_ns: stored 1500000, fresh 9"],
    ),
    ({"slowest": ()}, "slowest.json", ["slowest.json [0]: stored 12 entries, fresh nothing"]),
]


@pytest.mark.parametrize(("changes", "name", "differences"), FILES, ids=["series", "slowest", "none slow"])
def test_series_and_slowest_requests_that_a_re_run_does_not_repeat_are_a_mismatch(changes, name, differences, folder):
    report = verify(folder, TOOL, rerun=again(**changes))
    assert report.problems == [f"{name} differs from the re-run's"]
    assert [str(each) for each in report.differences] == differences


@pytest.mark.parametrize(("changes", "name", "differences"), FILES, ids=["series", "slowest", "none slow"])
def test_other_code_is_no_excuse_for_them_and_is_named(changes, name, differences, folder):
    report = verify(folder, OTHER_CODE, rerun=again(**changes))
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"{name} differs from the re-run's; the code differs")
    assert [str(each) for each in report.differences] == differences
    assert report.notes == ["the code differs"]


def test_of_many_values_that_differ_some_are_told_and_the_rest_counted(folder):
    report = verify(folder, TOOL, rerun=again(slowest=(SLOW,) * 40))
    assert len(report.differences) == 11
    assert str(report.differences[-1]).startswith("slowest.json: 29 more values")


def test_slowest_requests_are_compared_by_digest_where_a_record_comes_alone(folder, tmp_path):
    shutil.copy(folder / "record.json", tmp_path / "record.json")
    (tmp_path / "small.yaml").write_bytes(RAW)

    def alone(**changes):
        return verify(tmp_path / "record.json", TOOL, manifest=tmp_path / "small.yaml", rerun=again(**changes))

    assert alone().notes == ["series.json.gz was not compared: this is a record without its bundle"]
    assert alone().ok
    assert alone(slowest=()).problems == ["slowest.json differs from the re-run's"]


HERE = {"lock_sha256": TOOL.lock_sha256, "tool_version": TOOL.version}


@pytest.mark.parametrize(("field", "value"), [("lock_sha256", "99" * 32), ("tool_version", "0.0.9")])
def test_another_lock_or_version_beside_other_code_is_told(field, value, folder):
    report = verify(rewritten(folder, **{field: value}), OTHER_CODE, rerun=again())
    assert report.ok
    assert report.notes == [
        "the code differs, and the observations agree",
        f"{field} differs: stored {value}, here {HERE[field]}",
    ]


def test_another_lock_is_told_though_the_sources_are_the_same(folder):
    report = verify(rewritten(folder, lock_sha256=None), TOOL, rerun=again())
    assert (report.ok, report.notes) == (True, [f"lock_sha256 differs: stored nothing, here {TOOL.lock_sha256}"])


def test_a_version_that_contradicts_its_own_sources_is_a_mismatch(folder):
    report = verify(rewritten(folder, tool_version="9.9.9"), TOOL, rerun=again())
    assert report.problems == [
        "tool_version differs: stored 9.9.9, here 0.1.0, though the sources, which hold it, are the same"
    ]


def test_a_check_written_twice_is_refused(folder):
    record = read_record(folder)
    twice = seal(record | {"checks": [*record["checks"], record["checks"][0] | {"detail": "all is well"}]})
    (folder / "record.json").write_bytes(canonical_bytes(twice))
    report = verify(folder, TOOL)
    assert "checks: got" in report.problems[0]
    assert "each name once" in report.problems[0]


def test_checks_in_another_order_are_a_mismatch(tmp_path):
    checks = (*made_run().checks, {"name": "permits", "ok": True, "detail": "none leaked"})
    folder = write_bundle(pack(made_run(checks=checks), TOOL), tmp_path).folder
    report = verify(folder, TOOL, rerun=again(checks=checks[::-1]))
    assert report.problems[0].startswith("checks differ")
    assert [str(each) for each in report.differences] == [
        "order of checks: stored conservation, permits, fresh permits, conservation"
    ]


def test_a_record_edited_and_digested_again_is_caught_by_the_re_run_only(folder):
    edited = [each | {"value": "0.990000"} if each["unit"] == "ratio" else each for each in OBSERVATIONS]
    record = read_record(folder)
    judged = pack(made_run(observations=tuple(edited)), TOOL).record
    forged = rewritten(folder, observations=sorted_rows(edited), gates=judged["gates"])
    assert record["digest"] != read_record(forged)["digest"]
    assert verify(forged, TOOL).ok
    report = verify(forged, TOOL, rerun=again())
    assert report.problems[0].startswith(DECISIONS_DIFFER)
    assert "admission.ratio{class=quiet}: stored 0.990000, fresh 1.000000" in [str(d) for d in report.differences]


def test_a_bound_eased_after_the_results_and_digested_again_is_caught_by_the_re_run(folder):
    eased = made_manifest(gates=(replace(GATES[0], bound="0.5"), *GATES[1:]))
    forged_plan = pack(made_run(manifest=eased), TOOL).record
    forged = rewritten(folder, plan=forged_plan["plan"], gates=forged_plan["gates"])
    assert verify(forged, TOOL).ok
    report = verify(forged, TOOL, rerun=again())
    assert report.problems[0] == "plan differs from the re-run's"
    assert "planned gate quiet-admitted bound: stored 0.5, fresh 0.95" in [str(each) for each in report.differences]


def test_a_flag_that_the_run_did_not_earn_is_caught_by_the_re_run(tmp_path):
    ran = pack(made_run(discipline="reference"), TOOL)
    forged = rewritten(write_bundle(ran, tmp_path).folder, flags=["load-manifest-offline-passed"])
    report = verify(forged, TOOL, rerun=again(discipline="reference"))
    assert report.problems[0].startswith("flags differ")


def test_a_drifted_manifest_keeps_its_flag_through_verification(tmp_path):
    folder = write_bundle(pack(made_run(), TOOL, drifted=True), tmp_path).folder
    assert verify(folder, TOOL, rerun=again()).ok


def test_a_re_run_without_a_manifest_is_refused_by_name(folder):
    with pytest.raises(ConfigError, match="--manifest"):
        verify(folder / "record.json", TOOL, rerun=again())


def test_a_manifest_that_is_not_the_records_is_not_run(folder, tmp_path):
    (tmp_path / "other.yaml").write_bytes(b"other")
    report = verify(folder, TOOL, manifest=tmp_path / "other.yaml", rerun=again())
    assert (report.ok, report.reran) == (False, False)


# -------------------------------------------------------------------------------------------------------------- exports


@pytest.fixture
def exported(tmp_path):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(export(seed_record()), indent=1))
    return path


def seed_again(**changes):
    def rerun(request):
        manifest = load(request.manifest)
        expected = expected_of("v2")["observations"]
        run = {
            "observations": tuple(measured(expected)),
            "end_ns": expected["virtualDurationMs"] * 1_000_000,
            "seed": manifest.seed,
            "discipline": request.discipline,
        }
        return made_run(manifest=manifest, **(run | changes))

    return rerun


def test_an_export_holds_and_repeats(exported):
    assert verify(exported, TOOL).ok
    report = verify(exported, TOOL, manifest=MANIFESTS["v2"], rerun=seed_again())
    assert (report.ok, report.reran) == (True, True)


def test_an_export_names_its_discipline_and_window_for_the_re_run(tmp_path):
    asked = []

    def rerun(request):
        asked.append(request)
        return seed_again()(request)

    path = tmp_path / "reference.json"
    path.write_text(json.dumps(export(seed_record(discipline="reference"))))
    assert verify(path, TOOL, manifest=MANIFESTS["v2"], rerun=rerun).ok
    assert (asked[0].discipline, asked[0].window_ns, asked[0].seed) == ("reference", 990 * 10**9, None)


def test_an_edited_export_is_a_mismatch(exported):
    text = exported.read_text()
    exported.write_text(text.replace("1.047854", "1.047853"))
    assert not verify(exported, TOOL).ok


def test_an_export_edited_and_digested_again_is_caught_by_the_re_run(exported):
    value = json.loads(exported.read_bytes())
    value["observations"]["completed"] = 19_999
    value["comparisons"][-1]["limit"] = 0.5
    exported.write_text(json.dumps(digested(value)))
    assert verify(exported, TOOL).ok
    report = verify(exported, TOOL, manifest=MANIFESTS["v2"], rerun=seed_again())
    assert [str(each) for each in report.differences] == [
        "observation completed: stored 19999, fresh 19541",
        "comparison minimumQuietPrincipalAdmissionRatio limit: stored 0.5, fresh 0.95",
    ]


def test_an_export_with_a_comparison_twice_is_refused(exported):
    value = json.loads(exported.read_bytes())
    value["comparisons"].insert(0, value["comparisons"][0] | {"limit": 10**6})
    exported.write_text(json.dumps(digested(value)))
    assert "each bound once" in verify(exported, TOOL).problems[0]


def test_an_export_of_another_manifest_is_a_mismatch(exported):
    report = verify(exported, TOOL, manifest=MANIFESTS["00-v2-short"], rerun=seed_again())
    assert report.problems[0].startswith("manifest differs")
