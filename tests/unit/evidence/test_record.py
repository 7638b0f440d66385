"""Records: what a run becomes, and how little it takes for a record not to be read."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace

import pytest

from sim.evidence.build import build_record, plan_of
from sim.evidence.record import decode, encode, identity, seal
from sim.evidence.schema import DRIFT, OFFLINE_PASSED
from tests.unit.evidence.made_runs import GATES, HOST, OBSERVATIONS, TOOL, made_manifest, made_run, row
from tollgate.core.errors import EvidenceError

MANIFEST = {"name": "small.yaml", "kind": "manifest", "sha256": made_manifest().sha256, "bytes": 49}


def record_of(drifted=False, **changes):
    return build_record(made_run(**changes), TOOL, [MANIFEST], drifted=drifted)


def canonical(value):
    """RFC 8785 for ASCII keys and no floats, by the standard library."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha(value):
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


# ------------------------------------------------------------------------------------------------------------- content


FIELDS = """
    schema tool_version manifest inputs target overrides code lock_sha256 plan plan_digest runs observations checks
    gates verdict flags provenance artefacts observations_digest host digest
    manifest: name version schema sha256
    target: kind discipline
    code: source_sha256 git_commit dirty
    plan: n seeds window_ns warmup_ns gates method confidence
    runs: seed observations_digest arrivals_sha256 outcomes_sha256
    observations: metric labels value unit n half_width
    checks: name ok detail
    gates: id metric op bound observed margin verdict implied basis n method
    verdict: overall basis
"""


def test_a_record_has_exactly_the_fields_of_the_contract():
    record = record_of()
    whole, *parts = FIELDS.strip().split("\n    manifest:")[0], *re.findall(r"(\w+): (.*)", FIELDS)
    assert sorted(record) == sorted(whole.split())
    for name, fields in parts:
        part = record[name][0] if isinstance(record[name], list) else record[name]
        assert sorted(part) == sorted(fields.split()), name


def test_a_record_says_what_was_run_by_what_and_what_came_out():
    record = record_of()
    assert record["manifest"] == {
        "name": "small",
        "version": "1.0.0",
        "schema": "capacity-manifest/v1",
        "sha256": MANIFEST["sha256"],
    }
    assert (record["plan"]["n"], record["plan"]["seeds"], record["plan"]["window_ns"]) == (1, [2601], 10_000_000_000)
    assert record["target"] == {"kind": "admission-controller", "discipline": "default"}
    assert {gate["id"]: (gate["verdict"], gate["implied"], gate["basis"]) for gate in record["gates"]} == {
        "quiet-admitted": ("PASS", False, "single-run"),
        "active": ("PASS", True, "configuration"),  # the provider's concurrency of 3 keeps it at or below 4
        "memory": ("PASS", False, "host"),
        "amplification": ("PASS", False, "single-run"),
    }
    assert record["verdict"] == {"overall": "PASS", "basis": "single-run"}


def test_the_four_digests_are_sha256_of_the_canonical_parts():
    record = record_of()
    host = {key: value for key, value in record["host"].items() if key != "digest"}
    whole = {key: value for key, value in record.items() if key != "digest"}
    assert record["observations_digest"] == record["runs"][0]["observations_digest"] == sha(record["observations"])
    assert record["plan_digest"] == sha(record["plan"])
    assert record["host"]["digest"] == sha(host)
    assert record["digest"] == sha(whole)


def test_ev8_encoding_and_reading_give_the_same_record_and_the_same_bytes():
    record = record_of()
    data = encode(record)
    assert data == canonical(record)
    assert decode(data) == record
    assert encode(decode(data)) == data


def test_observations_are_sorted_so_that_the_order_of_measuring_does_not_show():
    assert record_of(observations=tuple(reversed(OBSERVATIONS)))["digest"] == record_of()["digest"]


def test_every_record_says_how_long_the_run_went_on():
    (duration,) = [each for each in record_of()["observations"] if each["metric"] == "duration.virtual"]
    assert (duration["value"], duration["unit"]) == ("10000.000000", "ms")


def test_ev7_figures_of_the_host_do_not_reach_the_digest_of_observations():
    quick, slow = record_of(), record_of(host=HOST | {"cpu_ratio": "0.400000"})
    assert quick["observations_digest"] == slow["observations_digest"]
    assert quick["digest"] != slow["digest"]
    assert identity(quick) == identity(slow)


def test_ev7_a_verdict_that_the_host_changed_is_another_identity():
    big = record_of(host=HOST | {"rss_peak": "600.000000"})
    assert big["verdict"] == {"overall": "FAIL", "basis": "host"}
    assert identity(big) != identity(record_of())


def test_ev7_a_figure_of_the_host_among_the_observations_is_refused():
    with pytest.raises(EvidenceError, match=r"observations: got \['host.rss_peak'\]; allowed: no figures of the host"):
        encode(record_of(observations=(*OBSERVATIONS, row("host.rss_peak", 80, "mib"))))


def test_ev9_the_plan_and_its_digest_exist_before_any_result():
    before = plan_of(made_manifest(), seed=2601)
    with_results = record_of()
    without = record_of(observations=(), checks=())
    assert with_results["plan"] == without["plan"] == before
    assert with_results["plan_digest"] == without["plan_digest"] == sha(before)
    assert [gate["bound"] for gate in before["gates"]] == ["0.95", "4", "512", "1.25"]


# --------------------------------------------------------------------------------------------------------------- flags


def test_a_passing_offline_run_of_the_manifest_as_written_earns_the_offline_flag_and_never_the_qualified_one():
    assert record_of()["flags"] == [OFFLINE_PASSED]


@pytest.mark.parametrize(
    "changes",
    [
        {"observations": ()},
        {"overrides": (("profile.workspace.concurrency", "6"),)},
        {"manifest": made_manifest(seed_given=7, seed=7), "seed": 7},
        {"declared_horizon_ns": 20_000_000_000},
        {"discipline": "reference"},
    ],
)
def test_a_run_that_does_not_pass_or_is_not_of_the_manifest_as_written_earns_no_flag(changes):
    assert record_of(**changes)["flags"] == []


def test_a_drifted_manifest_is_flagged_and_earns_nothing():
    assert record_of(drifted=True)["flags"] == [DRIFT]


@pytest.mark.parametrize("flag", ["load-manifest-qualified", "anything"])
def test_a_record_that_claims_another_flag_is_refused(flag):
    with pytest.raises(EvidenceError, match="flags"):
        encode(seal(record_of() | {"flags": [flag]}))


def test_the_offline_flag_on_a_record_that_does_not_pass_is_refused():
    failed = record_of(observations=())
    with pytest.raises(EvidenceError, match=f"{OFFLINE_PASSED} on a PASS only"):
        encode(seal(failed | {"flags": [OFFLINE_PASSED]}))


def test_another_mode_than_offline_is_refused_by_name():
    with pytest.raises(EvidenceError, match="staged-provider"):
        record_of(mode="staged-provider")


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"surprise": 1}, "surprise: got 1; allowed: the keys"),
        ({"flag": []}, 'did you mean "flags"'),
        ({"tool_version": 1.5}, "no canonical form: tool_version: got 1.5"),
        ({"tool_version": True}, "tool_version: got True; allowed: a text"),
        ({"tool_version": "x" * 5000}, "at most 4096 characters"),
        ({"lock_sha256": "AB" * 32}, "lock_sha256"),
        ({"code": {"source_sha256": "ab" * 32, "git_commit": None, "dirty": 0}}, "code.dirty: got 0"),
        ({"verdict": {"overall": "pass", "basis": "single-run"}}, "verdict.overall: got 'pass'; allowed: one of"),
        ({"overrides": {"a\nb": "1"}}, "overrides: key"),
        ({"host": {"python": "3.11.7"}}, "at least python, platform, arch"),
        ({"host": HOST | {"Load": "1"}}, "host: key: got 'Load'"),
        ({"runs": []}, "one run for each seed"),
        ({"plan": plan_of(made_manifest(), seed=2601) | {"n": 30}}, "plan.n: got 30"),
        ({"plan": plan_of(made_manifest(), seed=-1)}, "plan.seeds[0]: got -1"),
        ({"gates": []}, "the gates of the plan"),
        ({"artefacts": []}, "one manifest, of manifest.sha256"),
        ({"artefacts": [MANIFEST | {"name": "../evil"}]}, "a file name of plain ASCII"),
        ({"artefacts": [MANIFEST | {"name": ".hidden"}]}, "a file name of plain ASCII"),
        ({"observations": [row("arrivals", 20), row("arrivals", 20)]}, "sorted by metric and labels, each once"),
        ({"observations": [row("arrivals", 2**53)]}, "got 9007199254740992"),
        ({"observations": [row("arrivals", "NaN")]}, "observations[0].value: got 'NaN'"),
        ({"observations": [row("arrivals", 20, colour="red")]}, "observations[0].labels: key: got 'colour'"),
    ],
)
def test_a_record_that_breaks_the_contract_is_not_written(changes, message):
    with pytest.raises(EvidenceError) as refused:
        encode(seal(record_of() | changes))
    assert message in str(refused.value)


def test_a_missing_key_is_named():
    record = dict(record_of())
    del record["checks"]
    with pytest.raises(EvidenceError, match="checks: got 'nothing'; allowed: a list"):
        encode(record)


def test_a_record_with_a_float_is_not_encoded_even_if_nobody_sealed_it():
    with pytest.raises(EvidenceError, match=r"tool_version: got 1\.5"):
        encode(record_of() | {"tool_version": 1.5})


def test_a_float_in_a_run_is_refused_before_anything_is_written():
    with pytest.raises(EvidenceError, match="no floats"):
        record_of(observations=(row("arrivals", 20.0),))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data + b"\n",
        lambda data: b" " + data,
        lambda data: data.replace(b'":', b'": ', 1),
        lambda data: json.dumps(json.loads(data), indent=1).encode(),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data[:-1],
        lambda data: data[:-1] + b',"schema":"capacity-result/v1"}',
        lambda data: data.replace(b"small", b"sm\\u0061ll", 1),
        lambda _: b"",
        lambda _: b"[" * 200_000,
        lambda _: b"null",
        lambda _: b'{"schema":"decision-load-result/v1"}',
    ],
)
def test_ev8_bytes_that_are_not_the_one_encoding_are_refused(spoil):
    with pytest.raises(EvidenceError):
        decode(spoil(encode(record_of())))


def test_c142_a_record_is_judged_by_the_bytes_as_they_are_stored():
    # The same JSON with spaces behind its separators: the values and their digest agree, the bytes are others.
    spaced = json.dumps(json.loads(encode(record_of())), ensure_ascii=False, separators=(", ", ": ")).encode()
    with pytest.raises(EvidenceError, match="RFC 8785"):
        decode(spaced)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        (b'"value":20', b'"value":21', "in observations"),
        (b'"window_ns":10', b'"window_ns":11', "in plan"),
        (b'"rss_peak":"80', b'"rss_peak":"81', "in host"),
        (b'"tool_version":"0.1.0"', b'"tool_version":"0.1.1"', "a part outside"),
        (b'"overall":"PASS"', b'"overall":"FAIL"', "altered after it was written"),
    ],
)
def test_ev2_an_altered_value_is_reported_with_the_part_that_differs(old, new, part):
    data = encode(record_of(observations=OBSERVATIONS))
    assert data.count(old) >= 1
    with pytest.raises(EvidenceError) as refused:
        decode(data.replace(old, new))
    assert part in str(refused.value)


def test_more_gates_than_one_with_an_id_are_refused():
    twice = made_manifest(gates=(GATES[0], GATES[0]))
    with pytest.raises(EvidenceError, match="each id once"):
        encode(build_record(replace(made_run(), manifest=twice), TOOL, [MANIFEST]))
