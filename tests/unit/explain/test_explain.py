from __future__ import annotations

import hashlib
import io
from dataclasses import replace

import pytest

from sim.experiment import run
from sim.explain import explain
from sim.explain.watch import Watch
from sim.kernel import Kernel
from sim.manifest import load, parse, with_overrides
from sim.targets.controller import build
from sim.trace import Trace
from sim.workload.arrivals import arrival_blocks
from sim.world import World
from tollgate.core.errors import ConfigError

MS, S = 10**6, 10**9

# One permit, one place in the queue, calls of one second. Three requests: at 0, 100 and 150 ms.
QUEUE = """\
schema: capacity-manifest/v1
name: queue
version: 1.0.0
mode: offline-fake-provider
seed: 1
target: {kind: admission-controller, discipline: default}
profile:
  profile_version: q-1
  workspace: {concurrency: 1, max_queue_length: 1, max_queue_wait_ms: 5000}
  providers: {p: {}}
  principals: {ann: {}}
phases: [{name: load, seconds: 1}]
warmup_seconds: 0
drain_seconds: 30
streams:
- name: ann
  principal: ann
  arrivals: {kind: trace, format: csv, file: t.csv, sha256: SHA, time_column: time, time_unit: ms}
  work: {tokens: 1}
  providers: {p: 1}
  client: CLIENT
providers:
- {id: p, service_ms: 1000, failures: {kind: independent, probability: FAILURES}}
gates: [{id: g, metric: admission.ratio, op: ">=", bound: "0.1", estimand: path}]
"""


@pytest.fixture
def queue(tmp_path):
    """Return a way to make that manifest with another client or failures."""
    rows = b"time\n0\n100\n150\n"
    (tmp_path / "t.csv").write_bytes(rows)

    def made(client="{on_refusal: give-up}", failures="0", outage="service_ms: 1000", **changes):
        text = QUEUE.replace("SHA", f"sha256:{hashlib.sha256(rows).hexdigest()}").replace("CLIENT", client)
        text = text.replace("service_ms: 1000", outage)
        text = text.replace("FAILURES", failures)
        manifest = parse(text.encode(), path=tmp_path / "m.yaml")
        return with_overrides(manifest, changes["sets"]) if changes else manifest

    return made


def told(story):
    return [(step.at_ns // MS, step.what) for step in story.steps]


def held(step):
    return [(check.scope, check.limit, check.figure, check.bound) for check in step.holding]


def test_a_request_that_went_at_once_passed_every_check(queue):
    story = explain(queue(), 0)
    assert story.heading == "request 0: ann to p, 1 token, 1000 ms of service an attempt"
    assert told(story) == [
        (0, "arrived and asked for admission"),
        (0, "was admitted"),
        (1000, "completed, after 1000 ms of service"),
    ]
    assert held(story.steps[0]) == []
    # Before it took its permit: it met none in use, not its own.
    assert [(check.limit, check.figure, check.bound) for check in story.steps[0].checks] == [
        ("concurrency", "0 in use", "1")
    ]


def test_a_request_that_waited_names_the_limit_that_bound_and_from_when_to_when(queue):
    story = explain(queue(), 1)
    assert [at for at, _ in told(story)] == [100, 1000, 2000]
    assert "had to wait because every permit of the workspace was in use" in story.steps[0].what
    assert held(story.steps[0]) == [("workspace", "concurrency", "1 in use", "1")]


def test_a_refused_request_names_the_limit_that_refused_it(queue):
    story = explain(queue(), 2)
    assert [at for at, _ in told(story)] == [150, 150]
    assert story.steps[1].what.startswith("was refused, queue-full: ")
    assert held(story.steps[0]) == [
        ("principal", "place in line", "1 ahead of it", "none ahead"),
        ("workspace", "max_queue_length", "1 waiting", "1"),
    ]


def test_a_refused_request_that_comes_again_is_told_attempt_by_attempt(queue):
    client = "{on_refusal: retry, retry: {kind: fixed, base_ms: 1000, max_attempts: 2}}"
    story = explain(queue(client), 2)
    # Again at 1150 ms behind the second request, which has the permit from 1000 to 2000 ms.
    assert [at for at, _ in told(story)] == [150, 150, 1150, 2000, 3000]
    assert story.steps[2].what.startswith(
        "asked again, attempt 2, after its client had waited 1000 ms, and had to wait"
    )
    assert story.steps[2].holding[0].limit == "concurrency"


def test_failures_and_retries_are_told(queue):
    client = "{on_refusal: give-up, retry: {kind: fixed, base_ms: 250, max_attempts: 2}}"
    story = explain(queue(client, failures="1", sets=[("profile.workspace.concurrency", "3")]), 0)
    assert [at for at, _ in told(story)] == [0, 0, 1000, 1250, 1250, 2250]
    assert story.steps[2].what == "failed, after 1000 ms of service"
    assert story.steps[3].what == "asked again, attempt 2, after its client had waited 250 ms"
    assert story.steps[5].what == "failed, after 1000 ms of service; it was the last attempt of its client"


def test_a_wait_that_was_announced_is_told_as_that(queue):
    # Refused at 150 ms with the advice to come back 250 ms later, which the client honours.
    client = "{on_refusal: retry, retry: {kind: fixed, base_ms: 10, max_attempts: 2}}"
    story = explain(queue(client), 2)
    assert story.steps[1].what.endswith("after 250 ms it would be admitted, alone")
    assert story.steps[2].what.startswith("asked again, attempt 2, after the 250 ms that were announced")


def test_a_call_into_an_outage_and_a_budget_that_is_used_up_are_told(queue):
    # Calls that begin from 0.1 s to 0.3 s fail at once; then the outage fades, to 0.5 s.
    budget = "budget: {kind: tokens, max_tokens: 2, token_ratio: 0.1}"
    client = f"{{on_refusal: give-up, retry: {{kind: fixed, base_ms: 100, max_attempts: 3, {budget}}}}}"
    outage = "service_ms: 1000, outages: [{kind: error, from_seconds: 0.1, for_seconds: 0.2, ramp_seconds: 0.2}]"
    story = explain(queue(client, outage=outage, sets=[("profile.workspace.concurrency", "3")]), 1)
    told_of = [what for _, what in told(story)]
    assert told_of[1] == "was admitted, into an outage of its provider (error, to 0.3 s)"
    assert told_of[2].startswith("failed, after 1 ms of service: the provider had an outage")
    assert told_of[-1].endswith("; its client would have tried again, but its retry budget was used up")


def test_a_caller_that_loses_patience_in_service_is_told(queue):
    story = explain(queue("{on_refusal: give-up, timeout_ms: 400}"), 0)
    assert told(story)[-1] == (
        400,
        "was left by its caller, after 400 ms of service: the caller's time-out was over",
    )


def test_an_attempt_that_an_outage_hit_is_told_so(queue):
    outage = "[{kind: error, from_seconds: 0, for_seconds: 1, answer_ms: 5}]"
    story = explain(queue(sets=[("providers.p.outages", outage)]), 0)
    assert told(story)[-1] == (5, "failed, after 5 ms of service: the provider had an outage")


def test_a_caller_that_cancels_between_two_attempts_is_told(queue):
    client = "{on_refusal: give-up, retry: {kind: fixed, base_ms: 500, max_attempts: 2}, "
    client += "cancellation: {probability: 1, after_ms: 1200}}"
    story = explain(queue(client, failures="1"), 0)
    assert told(story)[-1] == (1200, "was given up by its caller between two attempts")


def test_a_request_in_flight_at_the_end_is_told_so(queue):
    # The run ends at 1500 ms: the second request is in service since 1000 ms, the third waits behind it.
    manifest = queue(sets=[("drain_seconds", "0.5"), ("profile.workspace.max_queue_length", "5")])
    assert told(explain(manifest, 0))[-1] == (1000, "completed, after 1000 ms of service")
    assert told(explain(manifest, 1))[1:] == [
        (1000, "was admitted once concurrency of the workspace let it go"),
        (1500, "had not settled when the run ended"),
    ]
    assert [at for at, _ in told(explain(manifest, 2))] == [150, 1000, 1500]


def test_a_request_at_the_head_of_its_line_is_held_by_its_own_limits(queue):
    story = explain(queue(sets=[("profile.workspace.max_queue_length", "5")]), 2)
    assert held(story.steps[0]) == [("principal", "place in line", "1 ahead of it", "none ahead")]
    assert told(story)[1] == (1000, "came to the head of its line, and was held")
    assert held(story.steps[1]) == [("workspace", "concurrency", "1 in use", "1")]
    assert [at for at, _ in told(story)][2:] == [2000, 3000]


@pytest.mark.parametrize("ordinal", [-1, 3, 10**9])
def test_a_request_that_is_not_there_is_refused_with_how_many_are(queue, ordinal):
    with pytest.raises(ConfigError, match="allowed: 0 to 2, the places of the arrivals"):
        explain(queue(), ordinal)


def test_a_manifest_that_cannot_be_run_tells_no_story(repository):
    with pytest.raises(ConfigError, match="--assume"):
        explain(load(repository / "manifests/load-manifest.v1.json"), 0)


@pytest.fixture(scope="module")
def noisy(repository):
    return with_overrides(load(repository / "manifests/noisy-neighbour.yaml"), window_s=72)


def test_watching_a_request_changes_nothing(noisy):
    written = []
    for watch in (None, "200", "900"):
        controller = build(noisy)
        trace = Trace((), block_rows=10**6)
        kernel = Kernel()
        target = controller if watch is None else Watch(controller, watch)
        World(noisy, arrival_blocks(noisy), target, trace, kernel)
        kernel.run(noisy.horizon_ns + noisy.drain_ns)
        written.append((trace.attempts, trace.requests, trace.levels, trace.transitions))
    assert written[0] == written[1] == written[2]


@pytest.mark.parametrize(("discipline", "stories"), [("default", 8), ("reference", 3)])
def test_a_story_says_what_the_outcomes_say(repository, discipline, stories):
    manifest = load(repository / "tests/conformance/data/07-failures-05-retries-3.json")
    outcomes = io.StringIO()
    run(manifest, discipline=discipline, outcomes_out=outcomes)
    lines = outcomes.getvalue().splitlines()
    interesting = {}
    for line in lines:  # the first request of each way to end and number of attempts
        fields = line.split(" ")
        interesting.setdefault((fields[1], fields[2], fields[5]), fields)
    for ordinal, _outcome, attempts, settled_ms, delays, reason in list(interesting.values())[:stories]:
        story = explain(replace(manifest, discipline=discipline), int(ordinal))
        asked = [step for step in story.steps if " asked " in f" {step.what}"]
        admitted = [step.at_ns for step in story.steps if step.what.startswith("was admitted")]
        assert len(asked) == int(attempts)
        assert story.steps[-1].at_ns == float(settled_ms) * MS
        assert len(admitted) == (0 if delays == "-" else len(delays.split(",")))
        assert (f"was refused, {reason}" in story.steps[-1].what) is (reason != "-")


def test_a_long_way_to_the_request_is_told_as_it_is_gone(repository):
    manifest = load(repository / "manifests/noisy-neighbour.yaml")
    told = []
    explain(manifest, 1000, progress=lambda *step: told.append(step))
    instants, (arrives_ns, *others) = [at for at, _ in told], dict.fromkeys(end for _, end in told)
    assert others == []
    assert instants == sorted(instants)
    # Steps of ten seconds, one for each that began before the request came.
    assert instants[: arrives_ns // (10 * S) + 1] == list(range(0, arrives_ns, 10 * S))


def test_one_that_never_fits_is_told_that_and_not_its_place_in_line(tmp_path):
    """Behind a waiting request of its lane comes one of 9 tokens, for a bucket that holds 5."""
    rows = b"time,size\n0,1\n100,1\n150,9\n"
    (tmp_path / "t.csv").write_bytes(rows)
    text = QUEUE.replace("SHA", f"sha256:{hashlib.sha256(rows).hexdigest()}").replace("CLIENT", "{}")
    text = text.replace("FAILURES", "0").replace("time_unit: ms", "time_unit: ms, tokens_columns: [size]")
    text = text.replace("{concurrency: 1,", "{concurrency: 1, tokens_per_second: 5,").replace(
        "  work: {tokens: 1}\n", ""
    )
    story = explain(parse(text.encode(), path=tmp_path / "m.yaml"), 2)
    first, refused = story.steps[0], story.steps[-1]
    assert ("workspace", "tokens_per_second") in {(check.scope, check.limit) for check in first.holding}
    assert "place in line" not in {check.limit for check in first.holding}
    assert "tokens-per-second" in refused.what
