"""Each defence taken away on purpose, and the test that must notice."""

from __future__ import annotations

import pytest

from sim.evidence import build, bundle, chain, drift, record, verification, write_bundle
from sim.evidence.bundle import Written, pack
from sim.evidence.verification import _Verification
from tests.unit.evidence import (
    test_artefacts,
    test_bundle,
    test_chain,
    test_drift,
    test_record,
    test_seed_form,
    test_verification,
)
from tests.unit.evidence.made_runs import TOOL, made_run


def bundle_in(folder):
    return write_bundle(pack(made_run(), TOOL), folder / "out").folder


def with_a_patch(test):
    def witness(folder):
        with pytest.MonkeyPatch.context() as patch:
            test(folder, patch)

    return witness


def digests_not_checked(patch):
    patch.setattr(record, "_check_digests", lambda *_: None)


def other_encodings_accepted(patch):
    patch.setattr(record, "_check_bytes", lambda *_: None)


def parts_not_compared(patch):
    patch.setattr(record, "_check_parts", lambda *_: None)


def host_in_the_identity(patch):
    kept = record.identity
    patch.setattr(test_record, "identity", lambda one: kept(one) + one["host"]["digest"])


def observations_left_in_the_order_measured(patch):
    patch.setattr(build, "observation_key", lambda _: "")


def plan_made_of_results(patch):
    kept = build.build_record

    def peeking(run, tool, artefacts, **options):
        made = kept(run, tool, artefacts, **options)
        return record.seal(made | {"plan": made["plan"] | {"window_ns": len(run.observations)}})

    patch.setattr(test_record, "build_record", peeking)


def every_run_flagged(patch):
    patch.setattr(build, "_flags", lambda *_, **__: ["load-manifest-offline-passed"])


def artefacts_taken_on_trust(patch):
    patch.setattr(bundle, "_artefact", lambda path, _: path.read_bytes())


def written_over(patch):
    patch.setattr(bundle, "_already_there", lambda _, place: Written(place, is_new=False))


def stage_left_behind(patch):
    patch.setattr(bundle.shutil, "rmtree", lambda *_, **__: None)


def verdict_taken_on_trust(patch):
    patch.setattr(_Verification, "_check_verdict", lambda *_: None)


def gates_not_compared_with_the_manifest(patch):
    patch.setattr(_Verification, "_compare_asked", lambda *_: None)


def outcomes_not_compared(patch):
    patch.setattr(_Verification, "_compare_outcomes", lambda *_: None)


def files_not_compared(patch):
    patch.setattr(_Verification, "_compare_files", lambda *_: None)


def other_code_excuses_files(patch):
    kept = _Verification._compare_files

    def lenient(self, record, bundle, fresh):
        if record["code"]["source_sha256"] == self.tool.source_sha256:
            kept(self, record, bundle, fresh)

    patch.setattr(_Verification, "_compare_files", lenient)


def tools_taken_on_trust(patch):
    patch.setattr(_Verification, "_compare_tools", lambda *_: None)


def files_not_looked_into(patch):
    patch.setattr(bundle, "check_artefact", lambda *_: None)


def chain_taken_on_trust(patch):
    patch.setattr(chain, "_problems", lambda _: iter(()))


def folder_not_compared_with_its_chain(patch):
    patch.setattr(verification, "compare", lambda *_: iter(()))


def chain_written_over(patch):
    patch.setattr(chain, "read_chain", lambda _: [])


def chain_not_asked_for_drift(patch):
    patch.setattr(drift, "read_chain", lambda _: [])


def platform_taken_for_decisions(patch):
    patch.setattr(verification, "ARRIVALS_DIFFER", verification.DECISIONS_DIFFER)


def drift_never_seen(patch):
    patch.setattr(drift, "_records", lambda _: iter(()))


def exports_not_judged(patch):
    patch.setattr(test_seed_form, "read_export", lambda data, **_: data)


@pytest.mark.parametrize(
    ("plant", "witness"),
    [
        (
            digests_not_checked,
            lambda _: test_record.test_ev2_an_altered_value_is_reported_with_the_part_that_differs(
                b'"value":20', b'"value":21', "in observations"
            ),
        ),
        (
            other_encodings_accepted,
            lambda _: test_record.test_ev8_bytes_that_are_not_the_one_encoding_are_refused(lambda data: data + b"\n"),
        ),
        (parts_not_compared, lambda _: test_record.test_more_gates_than_one_with_an_id_are_refused()),
        (
            host_in_the_identity,
            lambda _: test_record.test_ev7_figures_of_the_host_do_not_reach_the_digest_of_observations(),
        ),
        (
            observations_left_in_the_order_measured,
            lambda _: test_record.test_observations_are_sorted_so_that_the_order_of_measuring_does_not_show(),
        ),
        (plan_made_of_results, lambda _: test_record.test_ev9_the_plan_and_its_digest_exist_before_any_result()),
        (
            every_run_flagged,
            lambda _: test_record.test_a_run_that_does_not_pass_or_is_not_of_the_manifest_as_written_earns_no_flag(
                {"discipline": "reference"}
            ),
        ),
        (
            artefacts_taken_on_trust,
            lambda folder: test_bundle.test_ev2_a_changed_missing_or_longer_file_is_reported_by_name(
                "slowest.json", folder
            ),
        ),
        (written_over, test_bundle.test_a_damaged_bundle_is_neither_accepted_nor_written_over),
        (
            stage_left_behind,
            with_a_patch(test_bundle.test_a_failure_on_the_way_leaves_nothing_behind),
        ),
        (
            verdict_taken_on_trust,
            lambda folder: test_verification.test_ev3_a_pass_over_a_missed_bound_is_reported(bundle_in(folder)),
        ),
        (
            gates_not_compared_with_the_manifest,
            lambda folder: (
                test_verification.test_a_bound_eased_after_the_results_and_digested_again_is_caught_by_the_re_run(
                    bundle_in(folder)
                )
            ),
        ),
        (
            outcomes_not_compared,
            lambda folder: test_verification.test_a_record_edited_and_digested_again_is_caught_by_the_re_run_only(
                bundle_in(folder)
            ),
        ),
        (
            files_not_compared,
            lambda folder: (
                test_verification.test_series_and_slowest_requests_that_a_re_run_does_not_repeat_are_a_mismatch(
                    *test_verification.FILES[0], bundle_in(folder)
                )
            ),
        ),
        (
            other_code_excuses_files,
            lambda folder: test_verification.test_other_code_is_no_excuse_for_them_and_is_named(
                *test_verification.FILES[1], bundle_in(folder)
            ),
        ),
        (
            tools_taken_on_trust,
            lambda folder: test_verification.test_a_version_that_contradicts_its_own_sources_is_a_mismatch(
                bundle_in(folder)
            ),
        ),
        (
            files_not_looked_into,
            lambda folder: test_artefacts.test_slowest_requests_that_no_run_writes_are_refused_by_name(
                b"{", bundle_in(folder)
            ),
        ),
        (chain_taken_on_trust, lambda _: test_chain.test_a_removed_entry_is_named(1)),
        (
            folder_not_compared_with_its_chain,
            lambda folder: test_chain.test_a_record_that_nobody_retained_is_named(test_chain.evidence_in(folder)),
        ),
        (
            chain_written_over,
            lambda folder: test_chain.test_a_chain_grows_and_is_never_rewritten(test_chain.evidence_in(folder)),
        ),
        (chain_not_asked_for_drift, test_chain.test_a_record_that_is_gone_still_fixed_what_its_version_means),
        (
            platform_taken_for_decisions,
            lambda folder: test_verification.test_other_arrivals_are_told_apart_from_other_decisions(bundle_in(folder)),
        ),
        (drift_never_seen, test_drift.test_changed_bytes_under_a_retained_name_and_version_are_refused),
        (
            exports_not_judged,
            lambda _: test_seed_form.test_ev3_a_pass_that_its_own_numbers_deny_is_reported_though_digested_again(),
        ),
    ],
)
def test_each_planted_bug_turns_its_witness_red(plant, witness, tmp_path, monkeypatch):
    plant(monkeypatch)
    # pytest.raises fails with an exception of pytest's own; a missing message or figure is an AssertionError.
    with pytest.raises((AssertionError, IndexError, pytest.fail.Exception)):
        witness(tmp_path)
