from __future__ import annotations

import shlex

from sim.report.advice import next_steps

MISSED = {"quiet_admitted": {"verdict": "FAIL", "observed": "0.900000", "margin": "-0.050000"}}


def commands(report):
    return [step.command for step in next_steps(report) if step.command]


def test_a_fail_offers_the_smallest_limits_that_carry_the_peak(failing):
    # By hand: the spike brings 44 attempts a second against 17.7 on average, so 4.361 / 0.940270 calls become 11.53.
    first, *_ = commands(failing)
    words = shlex.split(first)
    assert words[:3] == ["tollgate", "run", "manifests/noisy-neighbour.yaml"]
    assert "profile.workspace.concurrency=12" in words
    # 2640 requests a minute over 30 s are 1320, which 2400 a minute and a full bucket of 2400 carry.
    assert not any("requests_per_minute" in word for word in words)
    assert not any("principals" in word or "queue" in word for word in words)


def test_the_seeds_manifests_get_key_paths_of_their_own_spelling(make_record, make_report):
    manifest = {"name": "v2", "version": "2.0.0", "schema": "decision-load-manifest/v2", "sha256": "a" * 64}
    profile = {
        "workspace": {"concurrency": 8, "requests_per_minute": 1000},
        "providers": {"second": {"concurrency": 3}},
    }
    report = make_report(make_record("FAIL", manifest=manifest, gate_changes=MISSED), profile=profile)
    words = shlex.split(commands(report)[0])
    assert "workspace.concurrency=12" in words
    assert "workspace.requestsPerMinute=1062" in words  # 5310 attempts in five minutes
    assert "providers.second.concurrency=4" in words


def test_another_seed_is_offered(passing):
    assert "tollgate run manifests/noisy-neighbour.yaml --seed 2602" in commands(passing)


def test_no_other_seed_is_offered_where_nothing_is_drawn(make_record, make_report):
    report = make_report(make_record("PASS"), is_drawn=False)
    assert not any("--seed" in command for command in commands(report))
    assert any("another random seed gives the same" in step.text for step in next_steps(report))


def test_what_a_run_was_given_stays_in_what_is_offered_next(make_record, make_report):
    overrides = {"profile.workspace.concurrency": "9", "streams.noisy.client.timeout_ms": "700", "seed": "2601"}
    record = make_record("FAIL", gate_changes=MISSED, overrides=overrides)
    room, _, seed = commands(make_report(record, window_ns=90 * 10**9))
    for words in (shlex.split(room), shlex.split(seed)):
        assert "streams.noisy.client.timeout_ms=700" in words
        assert words[words.index("--window") + 1] == "90"
    assert "--seed 2601" in room
    assert "--seed 2602" in seed
    assert "profile.workspace.concurrency=9" in seed
    assert room.count("profile.workspace.concurrency=") == 1


def test_what_one_run_leaves_open_can_be_asked_of_this_seed_alone(inconclusive, make_record, make_report):
    words = shlex.split(commands(inconclusive)[0])
    assert [word for word in words if "estimand" in word] == [f"gates.{place}.estimand=path" for place in range(3)]
    # A hold gate states a probability, which a gate on the path must not.
    holds = {"quiet_wait": {"verdict": "INCONCLUSIVE", "estimand": "hold"}}
    other = make_report(make_record("INCONCLUSIVE", gate_changes=holds))
    assert not any("estimand" in command for command in commands(other))


def test_runs_are_told_apart_from_proof(passing):
    assert "tollgate replicate" in next_steps(passing)[-1].text


def test_an_invalid_run_is_run_again_and_no_limit_is_suggested(invalid):
    assert commands(invalid) == ["tollgate verify out/noisy-neighbour-ffffffffffff --rerun"]


def test_an_invalid_run_without_a_fault_says_what_is_missing(make_record, make_report):
    for basis, word in (
        ("unsettled", "drain_seconds"),
        ("no-deciding-gate", "Add a gate"),
        ("missing", "Correct the gate"),
    ):
        (step,) = next_steps(make_report(make_record("INVALID", basis)))
        assert word in step.text


def test_paths_are_quoted(failing, make_report):
    report = make_report(failing.record, path="out/a b", manifest_path="my file.yaml")
    assert all("'my file.yaml'" in command for command in commands(report) if command.startswith("tollgate run"))


def test_retries_are_no_matter_of_room(make_record, make_report):
    changes = {"amplification": {"verdict": "FAIL", "observed": "1.425691", "margin": "-0.175691"}}
    steps = next_steps(make_report(make_record("FAIL", gate_changes=changes)))
    assert "max_attempts" in steps[0].text
    assert not any("--set" in (step.command or "") for step in steps)
