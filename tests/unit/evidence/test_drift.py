"""A name and version keep their meaning once a record of them is retained."""

from __future__ import annotations

import pytest

from sim.evidence import check_drift, pack, write_bundle
from tests.unit.evidence.made_runs import TOOL, made_manifest, made_run
from tollgate.core.errors import EvidenceError

CHANGED = made_manifest(raw=b"other bytes")


def retain(folder, **changes):
    return write_bundle(pack(made_run(**changes), TOOL), folder).folder


def test_the_retained_bytes_may_run_again_and_so_may_a_manifest_nobody_retained(tmp_path):
    assert check_drift(made_manifest(), tmp_path / "absent") is False
    retain(tmp_path)
    assert check_drift(made_manifest(), tmp_path) is False


def test_changed_bytes_under_a_retained_name_and_version_are_refused(tmp_path):
    folder = retain(tmp_path)
    with pytest.raises(EvidenceError) as refused:
        check_drift(CHANGED, tmp_path)
    for part in ("small 1.0.0", CHANGED.sha256, made_manifest().sha256, str(folder), "--allow-drift"):
        assert part in str(refused.value)


def test_a_new_version_or_another_name_is_no_drift(tmp_path):
    retain(tmp_path)
    assert check_drift(made_manifest(raw=b"other bytes", version="1.0.1"), tmp_path) is False
    assert check_drift(made_manifest(raw=b"other bytes", name="other"), tmp_path) is False


def test_drift_that_is_allowed_is_told(tmp_path):
    retain(tmp_path)
    assert check_drift(CHANGED, tmp_path, allow=True) is True


def test_every_retained_record_counts_not_only_the_first(tmp_path):
    retain(tmp_path, raw=b"other bytes")
    retain(tmp_path)
    with pytest.raises(EvidenceError):
        check_drift(CHANGED, tmp_path)
    with pytest.raises(EvidenceError):
        check_drift(made_manifest(), tmp_path)


def test_evidence_that_cannot_be_read_fails_closed(tmp_path):
    file = retain(tmp_path) / "record.json"
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(EvidenceError, match=r"record\.json"):
        check_drift(made_manifest(), tmp_path)
