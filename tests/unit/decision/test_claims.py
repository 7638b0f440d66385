"""Large requests: no starvation, no deadlock, and nothing held back that would not delay them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.unit.decision.desk import MS, NOTHING, Desk, a_profile, per_ns
from tollgate.core.breaker import SUCCESS
from tollgate.decision import AdmissionLimits, Hold


def two_providers(**scheduling):
    hundred = AdmissionLimits(tokens_per_second=Fraction(100))
    return Desk(
        a_profile(
            AdmissionLimits(tokens_per_second=Fraction(150)),
            {"u": hundred, "v": hundred},
            dict.fromkeys("ACD", NOTHING),
            **scheduling,
        )
    )


def test_requests_that_block_each_other_in_the_reference_all_go():
    """Workspace 150 tokens/s, two providers of 100: three of these five never go there (Q3); here all do.

    v has to earn the last three's 240 tokens from 100 ms on, so that nobody could be done before 2.5 s.
    """
    desk = two_providers()
    for at_ms, name, principal, provider, tokens in (
        (100, "a1", "A", "v", 100),
        (200, "a2", "A", "v", 70),
        (300, "a3", "A", "v", 100),
        (400, "d", "D", "u", 80),
        (400, "c", "C", "v", 70),
    ):
        desk.at(at_ms * MS).ask(name, principal, provider, tokens=tokens)
    desk.at(60_000 * MS)
    assert sorted(desk.admitted()) == ["a1", "a2", "a3", "c", "d"]
    assert max(at_ns for at_ns, _, _ in desk.log) == 2_500 * MS
    asked = {"a1": 100, "a2": 200, "a3": 300, "d": 400, "c": 400}
    assert all(at_ns - asked[name] * MS <= 2_200 * MS for at_ns, name, _ in desk.log)


def test_small_requests_that_would_delay_a_claim_wait_and_others_do_not():
    """v has no bucket of its own, and what the workspace can earn again by the due instant may be drawn from it."""
    profile = a_profile(
        AdmissionLimits(tokens_per_second=per_ns(2), tokens_burst=20),
        {"u": AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10), "v": NOTHING},
    )
    desk = Desk(profile).ask("a", "A", "u", tokens=10).ask("large", "B", "u", tokens=10)
    assert desk.ask("s1", "C", "v", tokens=10).word("s1") == "admitted", "the workspace has refilled by the 10th ns"
    assert desk.ask("s2", "D", "u", tokens=0).word("s2") == "admitted", "no tokens, no delay"
    assert desk.at(100).log[-1] == (10, "large", "admitted")


def test_a_claim_yields_to_lower_numbers_only():
    desk = Desk(workspace=AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10)).ask("x", "A", tokens=10)
    desk.ask("first", "B", tokens=10).ask("second", "C", tokens=2)
    assert [name for _, name, _ in desk.at(100).log] == ["x", "first", "second"]
    assert desk.log == [(0, "x", "admitted"), (10, "first", "admitted"), (12, "second", "admitted")]


def test_draw_on_a_shared_bucket_may_delay_no_holder_of_another():
    """The workspace is held by a claim that is due late; another claim holds v and needs the workspace much earlier."""
    profile = a_profile(
        AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10),
        {
            "u": AdmissionLimits(tokens_per_second=per_ns(1, 50), tokens_burst=4),
            "v": AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=12),
        },
        dict.fromkeys(("ann", "bob", "cid"), NOTHING),
    )
    desk = Desk(profile).ask("e1", "cid", "u", tokens=2).ask("e2", "cid", "u", tokens=2)
    desk.ask("far", "ann", "u", tokens=2).ask("near", "bob", "v", tokens=10)
    assert desk.at(1).ask("small", "cid", "v", tokens=1).holds("small") == [Hold.LARGER_REQUEST_FIRST]
    assert desk.at(50).log[2:] == [(4, "near", "admitted"), (5, "small", "admitted")]


@pytest.mark.parametrize("suspended_by", ["pause", "concurrency"])
def test_a_claim_held_by_something_else_keeps_nothing_back(suspended_by):
    """(Q4) While its provider is paused or full the claim is not live; afterwards it is, with the same number."""
    profile = a_profile(
        AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10),
        {"u": AdmissionLimits(concurrency=2), "v": NOTHING},
        dict.fromkeys("ABCD", NOTHING),
    )
    desk = Desk(profile).ask("x", "A", "u", tokens=8).ask("large", "B", "u", tokens=10)
    assert desk.ask("s1", "C", "v", tokens=1).word("s1") == "waits"
    if suspended_by == "pause":
        desk.pause("u", 50)
    else:
        desk.ask("y", "D", "u", tokens=0)
    assert desk.word("s1") == "admitted"
    if suspended_by == "concurrency":
        desk.at(50).end("y", SUCCESS)
    assert desk.at(200).word("large") == "admitted"


def test_a_claim_held_by_its_own_principals_cap_stays_live():
    profile = a_profile(
        AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10),
        {"u": NOTHING, "v": NOTHING},
        {"A": AdmissionLimits(concurrency=2), "B": NOTHING},
    )
    desk = Desk(profile).ask("x", "A", tokens=10).ask("large", "A", tokens=10)
    desk.ask("y", "A", "v", tokens=0).ask("small", "B", tokens=1)
    assert desk.word("small") == "waits"
    assert desk.at(50).holds("small") == [Hold.LARGER_REQUEST_FIRST], "the bucket is full, and still kept"
    assert desk.end("y").log[-1] == (50, "large", "admitted")


def test_a_claim_ends_with_its_request():
    for end in ("cancel", "expire"):
        profile = a_profile(AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10))
        desk = Desk(profile).ask("x", "A", tokens=9).ask("large", "B", tokens=10, deadline_ns=3)
        assert desk.ask("small", "C", tokens=1).word("small") == "waits"
        if end == "cancel":
            desk.cancel("large")
            assert desk.log[-1] == (0, "small", "admitted")
        else:
            assert desk.at(30).log[-2:] == [(3, "large", "deadline-exceeded"), (3, "small", "admitted")]


def stream_of_small_ones(desk):
    desk.ask("x", "A", tokens=10).ask("large", "B", tokens=10, deadline_ns=300)
    for number in range(400):
        desk.at(number + 1).ask(f"s{number}", "CD"[number % 2], tokens=1)
    return desk.at(2_000)


def test_without_protection_a_stream_of_small_ones_starves_it_until_it_expires():
    limits = AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10)
    unprotected = stream_of_small_ones(Desk(a_profile(limits, protect_large_requests=False)))
    assert (300, "large", "deadline-exceeded") in unprotected.log
    protected = stream_of_small_ones(Desk(a_profile(limits)))
    assert (10, "large", "admitted") in protected.log


def test_protection_can_be_turned_off_while_a_claim_holds():
    limits = AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=10)
    desk = Desk(a_profile(limits)).ask("x", "A", tokens=9).ask("large", "B", tokens=10).ask("small", "C", tokens=1)
    assert desk.word("small") == "waits"
    assert desk.follow(a_profile(limits, version="v2", protect_large_requests=False)).word("small") == "admitted"
