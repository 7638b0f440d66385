"""Traces that are thinned, put on another clock, or drawn from in blocks: by hand, and by what each row keeps."""

from __future__ import annotations

import hashlib
from math import sqrt

import pytest

import sim
from sim.manifest import load, with_overrides
from tests.unit.workload.manifests import rows_of
from tests.unit.workload.test_arrivals import AT, JITTER, PRINCIPAL, SERVICE, STREAM, TOKENS
from tollgate.core.errors import ConfigError

S = 10**9

ROWS = [(k * 37 % 1000 / 10 + 100, f"u{k % 7}", k + 1) for k in range(1000)]
ROWS = sorted(ROWS)


def traced(folder, more="", *, rows=ROWS, seconds=100, duration="", live="per_second: 3"):
    """Return a manifest that replays rows (at s, who, size) and has a second stream of its own."""
    data = "at,who,size\n" + "".join(f"{at},{who},{size}\n" for at, who, size in rows)
    (folder / "rows.csv").write_text(data)
    sha256 = hashlib.sha256(data.encode()).hexdigest()
    path = folder / "m.yaml"
    path.write_text(f"""\
schema: capacity-manifest/v1
name: traced
version: 1.0.0
seed: 1
profile: {{profile_version: t, workspace: {{}}, providers: {{v: {{}}}}, principals: {{p: {{}}, live: {{}}}}}}
phases: [{{name: all, seconds: {seconds}}}]
streams:
- name: recorded
  principal: p
  count: 7
  arrivals: {{kind: trace, file: rows.csv, sha256: {sha256}, format: csv, time_column: at, time_unit: s,
    tokens_columns: [size], principal_column: who{duration}{more}}}
  providers: {{v: 1}}
  client: {{retry: {{kind: fixed, base_ms: 5, jitter: full, max_attempts: 2}}}}
- {{name: live, principal: live, arrivals: {{kind: poisson, {live}}}, work: {{tokens: 5}}, providers: {{v: 1}}}}
providers:
- {{id: v, service_ms: {{kind: uniform, min: 10, max: 20}}}}
""")
    return load(path)


def replayed(manifest, **options):
    return [row for row in rows_of(manifest, **options) if row[STREAM] == 0]


def test_options_at_their_defaults_change_nothing(tmp_path):
    plain = replayed(traced(tmp_path))
    assert len(plain) == len(ROWS)
    for more in (", thin: 1, scale_rate: 1", ", thin: 1, time_warp: [[0, 0], [200, 200]]"):
        assert replayed(traced(tmp_path, more)) == plain


def test_a_thinned_trace_keeps_rows_with_all_that_was_drawn_for_them(tmp_path):
    plain, thinned = replayed(traced(tmp_path)), replayed(traced(tmp_path, ", thin: 0.3"))
    assert set(thinned) < set(plain)
    assert abs(len(thinned) - 300) < 4 * sqrt(1000 * 0.3 * 0.7)
    # A larger share keeps what a smaller one kept: the draw of a row is compared with the share.
    assert set(thinned) < set(replayed(traced(tmp_path, ", thin: 0.6")))
    assert replayed(traced(tmp_path, ", thin: 0.3"), replication=1) != thinned


def test_thinning_shifts_no_other_stream(tmp_path):
    live = [row for row in rows_of(traced(tmp_path)) if row[STREAM] == 1]
    for more in (", thin: 0.3", ", scale_rate: 2", ", bootstrap_seconds: 9"):
        assert [row for row in rows_of(traced(tmp_path, more)) if row[STREAM] == 1] == live


@pytest.mark.parametrize(("rate", "seconds"), [(2, 50), ("0.5", 200), ("1.7", 60)])
def test_a_scaled_trace_comes_so_much_faster(tmp_path, rate, seconds):
    plain = replayed(traced(tmp_path))
    scaled = replayed(traced(tmp_path, f", scale_rate: {rate}", seconds=seconds))
    tenths = round(float(rate) * 10)
    assert [row[AT] for row in scaled] == [row[AT] * 10 // tenths for row in plain]
    assert [row[AT + 1 :] for row in scaled] == [row[AT + 1 :] for row in plain]


def test_a_warped_trace_goes_from_point_to_point(tmp_path):
    rows = [(0, "a", 1), (10, "a", 2), (15, "a", 3), (20, "a", 4), (30, "a", 5)]
    warp = ", time_warp: [[0, 0], [10, 40], [20, 41], [30, 61]]"
    found = replayed(traced(tmp_path, warp, rows=rows))
    assert [row[AT] for row in found] == [0, 40 * S, 40 * S + S // 2, 41 * S, 61 * S]


def block_of(rows, place):
    """Return the rows of one block of 9 s as they stand in it."""
    start = place * 9 * S
    return [(row[AT] - start, row[PRINCIPAL], row[TOKENS]) for row in rows if start <= row[AT] < start + 9 * S]


def test_a_bootstrap_fills_the_run_with_whole_blocks_of_the_trace(tmp_path):
    plain = replayed(traced(tmp_path))
    blocks = [block_of(plain, place) for place in range(11)]
    found = replayed(traced(tmp_path, ", bootstrap_seconds: 9", seconds=900))
    seen = [0] * 11
    for slot in range(100):
        seen[blocks.index(block_of(found, slot))] += 1
    assert len(found) > 8000
    assert min(seen) >= 1
    assert max(seen) < 25  # each of the eleven is drawn 9 times on average


def test_a_bootstrap_belongs_to_its_seed_and_leaves_rows_their_own_draws(tmp_path):
    manifest = traced(tmp_path, ", bootstrap_seconds: 9", seconds=300)
    assert rows_of(manifest) == rows_of(manifest)
    assert replayed(with_overrides(manifest, seed=2)) != replayed(manifest)
    assert replayed(manifest, replication=1) != replayed(manifest)
    found = replayed(manifest)
    # The k-th row has the k-th draws, whichever row of the trace it is.
    assert [row[SERVICE] for row in found][:1000] == [row[SERVICE] for row in replayed(traced(tmp_path))][: len(found)]
    assert len({row[JITTER] for row in found}) == len(found)


def test_thinning_takes_rows_out_of_a_bootstrap_and_draws_no_other_blocks(tmp_path):
    drawn = replayed(traced(tmp_path, ", bootstrap_seconds: 9", seconds=300))
    thinned = replayed(traced(tmp_path, ", bootstrap_seconds: 9, thin: 0.3", seconds=300))
    assert set(thinned) < set(drawn)
    assert abs(len(thinned) - 0.3 * len(drawn)) < 4 * sqrt(len(drawn) * 0.3 * 0.7)


def test_a_window_gives_the_beginning_of_whatever_is_replayed(tmp_path):
    for more in ("", ", thin: 0.3", ", scale_rate: 2", ", bootstrap_seconds: 9", ", time_warp: [[0, 0], [100, 100]]"):
        manifest = traced(tmp_path, more, seconds=101)
        whole = rows_of(manifest)
        assert rows_of(with_overrides(manifest, window_s=31)) == [row for row in whole if row[AT] < 31 * S]


def test_a_thinned_and_drawn_trace_runs_and_holds_its_checks(tmp_path):
    run = sim.run(traced(tmp_path, ", bootstrap_seconds: 9, thin: 0.5, scale_rate: 2", seconds=200))
    assert [check for check in run.checks if not check["ok"]] == []
    assert abs(int(run.value("arrivals", {"class": "recorded"})) - 2000) < 300


BAD = {
    ", thin: 0": "arrivals.thin: got 0; allowed: a decimal above 0, at most 1",
    ", thin: 1.5": "arrivals.thin: got 1.5",
    ", thin: .nan": "arrivals.thin: got '.nan'",
    ", thin: [1]": "arrivals.thin: got a list",
    ", scale_rate: 0": "arrivals.scale_rate: got 0",
    ", scale_rate: -2": "arrivals.scale_rate: got -2",
    ", scale: 2": 'did you mean "scale_rate"?',
    ", time_warp: [[0, 0]]": "arrivals.time_warp: got a list; allowed: at least 2 of them",
    ", time_warp: [[0, 0], [5, 5], [4, 9]]": "arrivals.time_warp[2][0]: got 4; allowed: above 5, that of",
    ", time_warp: [[0, 0], [5, 5], [9, 4]]": "arrivals.time_warp[2][1]: got 4; allowed: above 5, that of",
    ", time_warp: [[1, 0], [5, 5]]": "arrivals.time_warp[0][0]: got 1; allowed: 0: the first point is at the start",
    ", time_warp: [[0, 0], [5, 5, 5]]": "arrivals.time_warp[1]: got a list; allowed: a list of two",
    ", time_warp: [[0, 0], [5, 5]], scale_rate: 2": "arrivals.time_warp: got a second clock; allowed: absent beside",
    ", bootstrap_seconds: 0": "arrivals.bootstrap_seconds: got 0",
    ", bootstrap_seconds: 0.000000001": "got 1E-9; allowed: a number of seconds from 0.001 to a year",
    ", bootstrap: 5": 'did you mean "bootstrap_seconds"?',
}


@pytest.mark.parametrize("more", BAD)
def test_bad_options_are_refused_by_their_key(tmp_path, more):
    with pytest.raises(ConfigError) as caught:
        traced(tmp_path, more)
    assert str(caught.value).startswith(f"{tmp_path / 'm.yaml'}: streams[0].")
    assert BAD[more] in str(caught.value)


LATE = {
    ", time_warp: [[0, 0], [50, 5]]": (
        "streams[0].arrivals.time_warp: got a last point at 50 s of the trace; allowed: points that cover rows.csv"
    ),
    ", bootstrap_seconds: 50": "got blocks of 50 s; allowed: at most half of rows.csv, which lasts 99.9 s",
    ', scale_rate: "0.00000001"': (
        "arrivals.scale_rate: got 0.00000001; allowed: a factor that leaves all rows of rows.csv within 9223372036 s"
    ),
    ", scale_rate: 0.9": "phases: got 'an end at 100000 ms'; allowed: phases that cover rows.csv",
}


@pytest.mark.parametrize("more", LATE)
def test_what_a_trace_does_not_cover_is_refused_when_it_is_read(tmp_path, more):
    with pytest.raises(ConfigError) as caught:
        rows_of(traced(tmp_path, more))
    assert LATE[more] in str(caught.value)
