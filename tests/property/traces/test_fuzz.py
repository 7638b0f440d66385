"""Whatever bytes a file holds, reading it ends with its figures or with one complaint that names the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.workload.traces.columns import TraceOptions
from sim.workload.traces.inspect import inspect
from sim.workload.traces.to_manifest import ManifestOptions, to_manifest
from tollgate.core.errors import ConfigError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "traces"
SOUND = {path.name: path.read_bytes() for path in sorted(FIXTURES.glob("*.*")) if path.suffix != ".md"}

pieces = st.one_of(
    st.binary(max_size=8),
    st.sampled_from(
        [
            b"\x00",
            b"\r",
            b"\r\n",
            b"\n",
            b'"',
            b",",
            b"\\",
            b"\xef\xbb\xbf",
            b"\xff\xfe",
            b"{",
            b"}",
            b"[",
            b"]",
            b"9" * 60,
            b"-1",
            b"1e99",
            b"1e400",
            b"NaN",
            b"Infinity",
            b"1_000",
            b"\xc2\xb2",
            b"\xe2\x80\xa8",
            b"null",
            b"9223372036854775807",
            b"4611686018427387904",
            b"9007199254740991",
            b"2262-01-01T00:00:00Z",
            b"31/Dec/2199:23:59:59 +0000",
            b"0000-00-00 00:00:00",
            b" -0500",
            b'"0"',
            b"true",
        ]
    ),
)
damage = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 20), pieces), max_size=5)
options = st.fixed_dictionaries(
    {"drop_invalid": st.booleans()},
    optional={
        "missing_size": st.sampled_from([0, 2**53 - 1]),
        "time_unit": st.sampled_from(["s", "ns", "date-time"]),
        "format": st.sampled_from(["csv", "jsonl", "clf"]),
        "tokens_columns": st.just(()),
    },
)
order = st.sampled_from([{}, {"sort": True}, {"split_on_step_back": True}, {"split_on_step_back": True, "segment": 2}])
same_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def outcome_of(path, asked):
    """Return the complaint about a file, or None if there is none; anything but a complaint goes on up."""
    try:
        inspect(path, TraceOptions(**asked)).render()
        to_manifest(path, TraceOptions(**asked), ManifestOptions(folder=path.parent))
    except ConfigError as error:
        return error
    return None


@same_folder
@given(name=st.sampled_from(sorted(SOUND)), damage=damage, asked=options, order=order, cut=st.floats(0, 1))
def test_a_damaged_file_is_read_or_refused_in_one_sentence(tmp_path, name, damage, asked, order, cut):
    content = bytearray(SOUND[name])
    for place, lost, piece in damage:
        start = int(place * len(content))
        content[start : start + lost] = piece
    if cut < 0.3:
        del content[int(cut / 0.3 * len(content)) :]
    path = tmp_path / name
    path.write_bytes(content)
    error = outcome_of(path, asked | order)
    if error is not None and not error.path.startswith("--") and error.path != "segment":
        assert error.file == str(path)
        assert "\n" not in str(error)
        assert len(str(error)) < 1_000


@same_folder
@given(content=st.binary(max_size=400), suffix=st.sampled_from([".csv", ".jsonl", ".log", ""]))
def test_random_bytes_are_refused_by_file(tmp_path, content, suffix):
    path = tmp_path / f"trace{suffix}"
    path.write_bytes(content)
    error = outcome_of(path, {})
    assert error is not None
    assert error.file == str(path)


DIGITS = b"9" * 10**6


@pytest.mark.parametrize(
    ("name", "content", "row"),
    [
        ("t.csv", b"ts,tokens\n1,2\n2," + DIGITS + b"\n", "row 3"),
        ("t.csv", b"ts,tokens\n" + DIGITS + b",2\n", "row 2"),
        ("t.csv", b"ts_ns,tokens\n1e" + b"9" * 400 + b",2\n", "row 2"),
        ("t.jsonl", b'{"ts": 1, "tokens": 2}\n{"ts": 2, "tokens": ' + DIGITS + b"}\n", "row 2"),
        ("t.jsonl", b'{"ts": ' + DIGITS + b', "tokens": 2}\n', "row 1"),
        ("t.jsonl", b'{"ts": 1.' + DIGITS + b', "tokens": 2}\n', "row 1"),
        ("t.jsonl", b'{"ts": 1, "who": ' + b'{"a":' * 10**5 + b"1" + b"}" * 10**5 + b"}\n", "row 1"),
        ("t.log", b'h - u [01/Mar/2024:00:00:02 +0100] "GET /" 200 ' + DIGITS + b"\n", "row 1"),
        ("t.log", b'h - u [01/Mar/2024:00:00:02 +0100] "GET /' + b'\\"' * 10**5 + b" 200 1\n", "row 1"),
        ("t.csv", b"\xef\xbb\xbfts,tokens\r\n1,2\n3,4\r5,6\r\n", "row 3"),
        ("t.csv", b"\xef\xbb\xbfts,tokens\r\n1,2\r\n\x00,4\r\n", "row 3"),
        ("t.csv", b"ts,tokens\n1,2\n3\x00,4\n", "row 3"),
        ("t.jsonl", b'\xef\xbb\xbf{"ts": 1}\r\n\r\n{"ts": "2\x00"}\n', "row 3"),
        ("t.csv", b'ts,tokens\n1,2\n2,3\n3,"4', "row 4"),
        ("t.jsonl", b'{"ts": 1}\n{"ts": 2', "row 2"),
        ("t.csv", b"ts,tokens\n" + b"1,2\n" * 3 + b'"' + b"1,2\n" * 10**5, "row 5"),
    ],
)
def test_what_breaks_readers_is_named_by_its_row(tmp_path, name, content, row):
    path = tmp_path / name
    path.write_bytes(content)
    format_ = "clf" if name == "t.log" else None
    error = outcome_of(path, {"format": format_, "tokens_columns": None})
    assert error is not None
    assert error.file == str(path)
    assert error.path.split(",")[0] == row
    assert len(str(error)) < 1_000
