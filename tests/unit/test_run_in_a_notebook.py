"""What a run gives in a notebook: frames of its rows, HTML, one request's story."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import pandas as pd
import pytest

import sim
from sim.manifest import parse, with_overrides
from tollgate.core.errors import CallerError, EvidenceError


@pytest.fixture(scope="module")
def manifest(repository):
    return with_overrides(sim.load(repository / "manifests/noisy-neighbour.yaml"), window_s=72)


@pytest.fixture(scope="module")
def kept(manifest):
    return sim.run(manifest, keep_rows=True)


@pytest.fixture(scope="module")
def plain(manifest):
    return sim.run(manifest)


def test_frames_come_out_the_same_from_rows_kept_and_from_a_second_run(kept, plain):
    pd.testing.assert_frame_equal(plain.requests, kept.requests)
    pd.testing.assert_frame_equal(plain.attempts, kept.attempts)
    assert plain.requests is plain.requests


def test_frames_add_up_to_the_observations(kept):
    requests = kept.requests[kept.requests["is_measured"]]
    attempts = kept.attempts[kept.attempts.index.get_level_values("request").isin(requests.index)]
    assert len(requests) == kept.value("arrivals")
    assert len(attempts) == requests["attempts"].sum() == kept.value("attempts")
    for cls, of in requests.groupby("class", observed=True):
        assert (of["outcome"] == "completed").sum() == kept.value("completed", {"class": cls})
        assert (of["outcome"] == "shed").sum() == kept.value("shed", {"class": cls})
    reasons = requests["reason"].value_counts()
    assert reasons["queue-timeout"] == kept.value("shed.queue-timeout") > 0
    waits = attempts.loc[attempts["outcome"].isin(["completed", "failed", "aborted"]), "wait_ns"].sort_values()
    p99 = waits.iloc[-(-99 * len(waits) // 100) - 1]
    assert p99 == int(float(kept.value("queue.wait.p99")) * 1e6 + 0.5)


def test_series_and_observations_are_frames_too(kept):
    assert kept.series_frame["arrivals"].sum() == len(kept.requests)
    assert len(kept.observations_frame) == len(kept.observations)


def test_what_a_run_does_not_have_is_refused(manifest, kept):
    with pytest.raises(CallerError, match="no series"):
        _ = sim.run(with_overrides(manifest, window_s=11), observations_only=True).series_frame
    with pytest.raises(CallerError, match=r"not made by sim\.run"):
        _ = replace(kept, tables=None).requests


def test_a_run_that_does_not_repeat_itself_gives_no_rows(manifest):
    run = sim.run(with_overrides(manifest, window_s=11), observations_only=True)
    run.observations[0]["value"] = 10**6  # as if another run had been made before
    with pytest.raises(EvidenceError, match="gave other observations"):
        _ = run.requests


def test_a_run_shows_its_verdict_gates_counts_and_load(plain):
    html = plain._repr_html_()
    for said in ("noisy-neighbour 1.0.0", "random seed", "quiet-admitted", "<th>whole run</th>", "<svg role="):
        assert said in html
    assert not re.search(r"<script|@import|src=", html)
    assert set(re.findall(r"https?://[^\"' ]+", html)) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_names_in_what_is_shown_are_only_text(manifest):
    evil = "<img src=x onerror=alert(1)>"
    run = sim.run(replace(with_overrides(manifest, window_s=11), name=evil))
    assert "<img" not in run._repr_html_()
    assert "&lt;img" in run._repr_html_()


def test_series_show_their_totals(plain):
    html = plain.series._repr_html_()
    assert f"<tr><th>arrivals</th><td>{len(plain.requests)}</td></tr>" in html


def test_a_run_tells_one_requests_story(plain):
    story = plain.explain(3)
    assert str(story).startswith("request 3: ")
    assert str(story).count("\n") > 3
    assert story._repr_html_().startswith("<pre")


TRACED = """\
schema: capacity-manifest/v1
name: traced
version: 1.0.0
seed: 1
profile:
  profile_version: t-1
  workspace: {concurrency: 4}
  providers: {p: {}}
  principals: {caller: {}}
phases: [{name: load, seconds: 10}]
streams:
- name: all
  count: 2
  principal: caller
  arrivals: {kind: trace, format: csv, file: t.csv, sha256: SHA, time_column: at, time_unit: s, principal_column: who}
  work: {tokens: 1}
  providers: {p: 1}
providers: [{id: p, service_ms: 100}]
"""


def test_ids_out_of_a_trace_are_numbered(tmp_path):
    rows = b"at,who\n1,alice@example.org\n2,bob\n3,alice@example.org\n"
    (tmp_path / "t.csv").write_bytes(rows)
    text = TRACED.replace("SHA", f"sha256:{hashlib.sha256(rows).hexdigest()}")
    frame = sim.run(parse(text.encode(), path=tmp_path / "m.yaml")).requests
    assert frame["principal"].tolist() == ["caller0001", "caller0002", "caller0001"]


def test_a_path_is_no_manifest_and_is_told_how_to_become_one():
    with pytest.raises(CallerError, match=r"as sim\.load\(path\) returns it, not 'manifests/x\.yaml'"):
        sim.run("manifests/x.yaml")
