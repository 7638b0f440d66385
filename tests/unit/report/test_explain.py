from __future__ import annotations

import pytest

from sim.report.explain import ExplainCheck, ExplainStep, render

S, MS = 10**9, 10**6
FREE = ExplainCheck("principal noisy", "concurrency", "2 calls", "8 calls", ok=True)
FULL = ExplainCheck("workspace", "concurrency", "4 calls", "4 calls", ok=False)
DRY = ExplainCheck("provider jev", "tokens_per_second", "150 tokens", "200 tokens", ok=False)


def test_a_story_names_every_check_the_limit_that_bound_and_each_wait():
    story = render(
        "request 7",
        [
            ExplainStep(61 * S, "arrived", (FREE, FULL)),
            ExplainStep(61 * S + 200 * MS, "was looked at again", (FREE, DRY)),
            ExplainStep(61 * S + 231 * MS, "was admitted", (FREE,)),
            ExplainStep(61 * S + 331 * MS, "completed"),
        ],
    )
    assert story.startswith("request 7\n")
    assert "at 61 s: it arrived." in story
    assert "HOLDS   workspace, concurrency: 4 calls, allowed 4 calls" in story
    assert "passes  principal noisy, concurrency: 2 calls, allowed 8 calls" in story
    assert "at 61.2 s  (+200 ms): it was looked at again." in story
    # By hand: 200 ms for the workspace, 31 ms for the bucket, 100 ms of service.
    assert "From first to last step: 331 ms." in story
    assert "waited 231 ms in 2 spells: 200 ms for concurrency of the workspace" in story
    assert "31 ms for tokens_per_second of the provider jev" in story


def test_a_request_that_nothing_held_did_not_wait():
    story = render("request 1", [ExplainStep(0, "arrived", (FREE,)), ExplainStep(0, "was admitted")])
    assert "No limit made it wait." in story
    assert "HOLDS" not in story


def test_the_check_that_refused_is_no_wait():
    story = render("request 2", [ExplainStep(5 * MS, "arrived and was refused: queue-full", (FULL,))])
    assert "HOLDS   workspace" in story
    assert "waited" not in story
    assert "No limit made it wait, but concurrency of the workspace refused it on the spot." in story


def test_a_full_queue_is_named_and_not_the_limit_that_sent_the_request_there():
    share = ExplainCheck("workspace", "max_principal_share", "64 waiting", "64", ok=False)
    steps = [
        ExplainStep(0, "arrived and asked for admission", (FULL, share)),
        ExplainStep(0, "was refused, queue-full"),
    ]
    assert render("request 5", steps).endswith(
        "No limit made it wait, but max_principal_share of the workspace refused it on the spot.\n"
    )


def test_a_request_that_was_held_and_let_go_within_an_instant_was_refused_by_nothing():
    steps = [ExplainStep(0, "arrived and asked for admission", (FULL,)), ExplainStep(0, "was admitted")]
    assert render("request 6", steps).endswith("No limit made it wait.\n")


def test_a_refusal_on_the_spot_is_no_wait_though_the_request_comes_again():
    story = render(
        "request 4",
        [
            ExplainStep(0, "asked for admission", (FULL,)),
            ExplainStep(0, "was refused, queue-full"),
            ExplainStep(250 * MS, "asked again, attempt 2", (FREE,)),
            ExplainStep(250 * MS, "was admitted"),
        ],
    )
    assert "HOLDS   workspace" in story
    assert "(+250 ms): it asked again" in story
    assert "No limit made it wait, but concurrency of the workspace refused it on the spot." in story


def test_steps_that_go_back_in_time_are_refused():
    with pytest.raises(ValueError, match="forward in time"):
        render("request 3", [ExplainStep(2, "arrived"), ExplainStep(1, "was admitted")])
    with pytest.raises(ValueError, match="at least one step"):
        render("request 3", [])
