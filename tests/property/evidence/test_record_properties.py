"""What holds for any record: every leaf is bound, every byte counts, verdicts follow from what is stored."""

from __future__ import annotations

import copy
import hashlib
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.evidence import encode, pack, verify, write_bundle
from sim.evidence.record import decode, identity, judge, seal
from tests.unit.evidence.made_runs import OBSERVATIONS, TOOL, made_run, row
from tollgate.core.errors import EvidenceError

RECORD = pack(made_run(), TOOL).record
DATA = encode(RECORD)


def leaves(value, path=()):
    """Yield the path of every leaf."""
    if isinstance(value, dict | list) and value:
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path


def at(value, path):
    for key in path:
        value = value[key]
    return value


def changed(path, leaf):
    copied = copy.deepcopy(RECORD)
    at(copied, path[:-1])[path[-1]] = leaf
    return copied


def other(leaf):
    """Return a different value of the same kind."""
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        return leaf + 1
    if isinstance(leaf, str):
        return leaf[:-1] + ("0" if leaf[-1:] != "0" else "1")
    return "x" if leaf is None else None


def canonical(value):
    """RFC 8785 for ASCII keys and no floats, by the standard library."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


PATHS = sorted(leaves(RECORD), key=str)


DIGESTS = [
    ("digest",),
    ("plan_digest",),
    ("observations_digest",),
    ("runs", 0, "observations_digest"),
    ("host", "digest"),
]
"""Sealing works these out from the content, so an edit of one of them alone does not survive it."""


@pytest.mark.parametrize("path", PATHS, ids=lambda path: ".".join(map(str, path)))
def test_ev2_c139_changing_any_leaf_changes_the_digest_and_is_refused(path):
    edited = changed(path, other(at(RECORD, path)))
    assert hashlib.sha256(canonical(edited)).digest() != hashlib.sha256(DATA).digest()
    assert (seal(edited)["digest"] != RECORD["digest"]) is (path not in DIGESTS)
    with pytest.raises(EvidenceError):
        decode(canonical(edited))


def single_byte_edits(data):
    """Yield files that differ from this one at one place by one byte, for every place: replaced, dropped, put in."""
    for place, byte in enumerate(data):
        yield data[:place] + bytes([byte ^ 1]) + data[place + 1 :]
        yield data[:place] + bytes([byte ^ 0x20]) + data[place + 1 :]  # the other case of a letter
        yield data[:place] + data[place + 1 :]
        yield data[:place] + b" " + data[place:]


def test_ev2_ev8_every_single_byte_edit_of_a_records_file_is_refused():
    small = pack(made_run(observations=OBSERVATIONS[:1], checks=(), provenance=(), gates=()), TOOL)
    data = encode(small.record)
    for edited in (*single_byte_edits(data), data + b" "):
        with pytest.raises(EvidenceError):
            decode(edited)
    assert decode(data) == small.record


@pytest.mark.parametrize("name", ["series.json.gz", "slowest.json", "small.yaml"])
def test_ev2_every_single_byte_edit_of_an_artefact_is_a_mismatch(name, tmp_path):
    file = write_bundle(pack(made_run(), TOOL), tmp_path).folder / name
    data = file.read_bytes()
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        assert not verify(file.parent, TOOL).ok
    file.write_bytes(data)
    assert verify(file.parent, TOOL).ok


names = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
decimals = st.builds(lambda whole, part: f"{whole}.{part:06d}", st.integers(-(10**9), 10**9), st.integers(0, 999_999))
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | decimals.filter(lambda text: text != "-0.000000")
rows = st.builds(
    lambda metric, value, unit, labels: {**row(metric, value, unit), "labels": labels},
    st.sampled_from(["arrivals", "completed", "retry.amplification", "queue.wait.p99", "shed.queue-full"]),
    numbers,
    st.sampled_from(["count", "ratio", "ms"]),
    st.dictionaries(st.sampled_from(["class", "principal", "provider", "phase"]), names, max_size=3),
)
tables = st.lists(rows, max_size=12, unique_by=lambda each: (each["metric"], tuple(sorted(each["labels"].items()))))


@given(observations=tables, detail=names, host=st.dictionaries(st.sampled_from(["load", "cpu_model"]), names))
@settings(deadline=None, max_examples=50)
def test_any_run_survives_the_way_to_bytes_and_back(observations, detail, host):
    checks = ({"name": "conservation", "ok": True, "detail": detail},)
    record = pack(made_run(observations=tuple(observations), checks=checks, host=made_run().host | host), TOOL).record
    assert decode(encode(record)) == record
    assert encode(decode(encode(record))) == encode(record)


@given(observations=tables)
@settings(deadline=None, max_examples=25)
def test_the_order_of_measuring_never_shows(observations):
    forward = pack(made_run(observations=tuple(observations)), TOOL)
    backward = pack(made_run(observations=tuple(reversed(observations))), TOOL)
    assert forward.record == backward.record
    assert forward.name == backward.name


@given(cpu=st.integers(0, 799_999), rss=st.integers(1, 511))
@settings(deadline=None, max_examples=50)
def test_ev7_no_figure_of_the_host_moves_observations_or_identity_while_its_gates_hold(cpu, rss):
    host = made_run().host | {"cpu_ratio": f"0.{cpu:06d}", "rss_peak": str(rss)}
    record = pack(made_run(host=host), TOOL).record
    assert record["observations_digest"] == RECORD["observations_digest"]
    assert identity(record) == identity(RECORD)


bounds = decimals | st.integers(-(10**9), 10**9).map(str)


@given(
    observed=decimals,
    bound=bounds.filter(lambda text: not text.startswith("-0.000000")),
    op=st.sampled_from(["<=", ">=", "<", ">"]),
)
@settings(deadline=None, max_examples=200)
def test_ev3_a_verdict_and_its_margin_follow_from_the_stored_numbers(observed, bound, op):
    gate = RECORD["plan"]["gates"][0] | {"op": op, "bound": bound, "guaranteed": None}
    settled = [row("in_flight.end", 0), row("admission.ratio", observed, "ratio", **{"class": "quiet"})]
    (judged,), overall = judge([gate], settled, RECORD["checks"], {})
    left, right = Fraction(observed), Fraction(bound)
    holds = {"<=": left <= right, ">=": left >= right, "<": left < right, ">": left > right}[op]
    assert judged["verdict"] == overall["overall"] == ("PASS" if holds else "FAIL")
    assert Fraction(judged["margin"]) == (right - left if "<" in op else left - right)
