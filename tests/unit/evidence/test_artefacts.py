"""Files that were edited and bound again: what a run writes is read, anything else is refused by the file's name."""

from __future__ import annotations

import gzip
import json

import pytest

from sim.evidence import pack, read_bundle, verify, write_bundle
from sim.evidence.record import encode, seal
from tests.unit.evidence.made_runs import SLOW, TOOL, Series, made_run
from tollgate.core.canonical import canonical_bytes, sha256_hex
from tollgate.core.errors import EvidenceError


def rebound(folder, name, data):
    """Replace a file of a bundle and bind its new bytes, as a forger would."""
    record = read_bundle(folder).record
    artefacts = [
        each | {"sha256": sha256_hex(data), "bytes": len(data)} if each["name"] == name else each
        for each in record["artefacts"]
    ]
    (folder / name).write_bytes(data)
    (folder / "record.json").write_bytes(encode(seal(record | {"artefacts": artefacts})))
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_bundle(pack(made_run(), TOOL), tmp_path).folder


HISTOGRAM = {"bins": [[1, 2]], "count": 2, "maximum": 1, "minimum": 1, "name": "sojourn", "sub_bits": 7, "total": "2"}
SERIES = Series().to_json() | {"bands": [["phase", "load", "", 0, 10]], "histograms": [HISTOGRAM]}
ROW = SERIES["series"][0]


def test_what_a_run_writes_is_read(folder):
    assert (
        read_bundle(rebound(folder, "series.json.gz", gzip.compress(canonical_bytes(SERIES), mtime=0))).series()
        == SERIES
    )
    assert read_bundle(rebound(folder, "slowest.json", b"[]")).slowest() == []


def histogram(**changes):
    return {"histograms": [HISTOGRAM | changes]}


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        SERIES | {"schema": "capacity-series/v2"},
        SERIES | {"extra": 1},
        SERIES | {"end_ns": 10**15},
        SERIES | {"end_ns": "10"},
        SERIES | {"end_ns": 10.5},
        SERIES | {"bin_ns": 0},
        SERIES | {"bin_ns": True},
        SERIES | {"series": {}},
        SERIES | {"series": [ROW, ROW]},
        SERIES | {"series": [ROW | {"name": 1}]},
        SERIES | {"series": [ROW | {"values": [1]}]},
        SERIES | {"series": [ROW | {"values": 5}]},
        SERIES | {"series": [ROW | {"values": [1.0] * 10}]},
        SERIES | {"series": [ROW | {"values": [True] * 10}]},
        SERIES | {"series": [ROW | {"values": [None] * 10}]},
        SERIES | {"series": [ROW | {"values": ["5"] * 10}]},
        SERIES | {"series": [ROW | {"values": ["0x5"] * 10}]},
        SERIES | {"series": [ROW | {"values": [2**53] * 10}]},
        SERIES | {"bands": [["phase", "load", "", 10, 0]]},
        SERIES | {"bands": [["phase", "load", "", 0]]},
        SERIES | {"bands": [["phase", None, "", 0, 10]]},
        SERIES | {"bands": [["phase", "load", "", 0, 1.5]]},
        SERIES | {"bands": "phase"},
        SERIES | {"histograms": [{}]},
        SERIES | {"histograms": 7},
        SERIES | histogram(sub_bits=8),
        SERIES | histogram(bins=[[10**12, 2]]),
        SERIES | histogram(bins=[[-1, 2]]),
        SERIES | histogram(bins=[[1, 1], [1, 1]]),
        SERIES | histogram(bins=[[1.0, 2]]),
        SERIES | histogram(bins=[[[], 2]]),
        SERIES | histogram(bins=[[1, -2]], count=-2, total="-2"),
        SERIES | histogram(bins=[]),
        SERIES | histogram(count=3),
        SERIES | histogram(count=True),
        SERIES | histogram(maximum=2),
        SERIES | histogram(minimum=0),
        SERIES | histogram(total="3"),
        SERIES | histogram(total="02"),
        SERIES | histogram(total=2),
        SERIES | histogram(extra=2),
    ],
)
def test_series_that_no_run_writes_are_refused_by_name(document, folder):
    rebound(folder, "series.json.gz", gzip.compress(json.dumps(document).encode(), mtime=0))
    with pytest.raises(EvidenceError, match=r"series\.json\.gz: ") as refused:
        read_bundle(folder)
    assert "\n" not in str(refused.value)
    assert verify(folder, TOOL).problems == [str(refused.value)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not gzip",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"\xff", mtime=0),
        gzip.compress(b"[" * 10**6, mtime=0),
        gzip.compress(b'{"schema":NaN}', mtime=0),
        gzip.compress(canonical_bytes(SERIES), mtime=0)[:-9],
        gzip.compress(canonical_bytes(SERIES), mtime=0) + b"more",
        gzip.compress(canonical_bytes(SERIES), mtime=0)[:20]
        + b"\xff\xff"
        + gzip.compress(canonical_bytes(SERIES), mtime=0)[22:],
        gzip.compress(b"0" * (65 * 1024 * 1024), mtime=0),
    ],
    ids=["empty", "no gzip", "nothing", "broken", "bytes", "deep", "nan", "cut", "more", "flipped", "bomb"],
)
def test_series_that_cannot_be_unpacked_or_parsed_are_refused_by_name(data, folder):
    rebound(folder, "series.json.gz", data)
    with pytest.raises(EvidenceError, match=r"series\.json\.gz: "):
        read_bundle(folder)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b"{}",
        b"null",
        b"[1]",
        b"[" * 10**5,
        json.dumps([SLOW | {"sojourn_ns": "1"}]).encode(),
        json.dumps([SLOW | {"sojourn_ns": 1.5}]).encode(),
        json.dumps([SLOW | {"ordinal": -1}]).encode(),
        json.dumps([SLOW | {"attempts": None}]).encode(),
        json.dumps([SLOW | {"attempts": [SLOW["attempts"][0] | {"wait_ns": -5}]}]).encode(),
        json.dumps([SLOW | {"extra": 1}]).encode(),
        json.dumps([{"ordinal": 7}]).encode(),
        json.dumps([SLOW | {"principal": "x" * 10_000}]).encode(),
    ],
)
def test_slowest_requests_that_no_run_writes_are_refused_by_name(data, folder):
    rebound(folder, "slowest.json", data)
    with pytest.raises(EvidenceError, match=r"slowest\.json: "):
        read_bundle(folder)
