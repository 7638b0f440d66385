"""Providers of a manifest: what their keys become, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sim.manifest import with_overrides
from sim.manifest.distributions import Constant
from sim.manifest.providers import Bursts, Outage, RateLimit, Slowdown, TokenService
from tests.unit.manifest.test_bad_input import refusal
from tests.unit.manifest.texts import changed, read
from tollgate.core.units import Rate

MS = 10**6
S = 10**9
PROVIDER = (
    "- {id: primary, service_ms: {kind: uniform, min: 40, max: 160}, failures: {kind: independent, probability: 0.05}}"
)


def text_of(*keys):
    """Return the small manifest with one provider of these keys beside its id."""
    return changed((PROVIDER, f"- {{id: primary, {', '.join(keys)}}}"))


def outages(*blocks, more=""):
    return text_of("service_ms: 50", f"outages: [{', '.join(f'{{{block}}}' for block in blocks)}]{more}")


def provider_of(*keys):
    (provider,) = read(text_of(*keys)).providers
    return provider


def test_a_provider_that_only_serves_is_plain():
    provider = provider_of("service_ms: 50", "failures: {kind: independent, probability: 0.5}")
    assert provider.is_plain
    assert not provider.has_chances
    assert (provider.service, provider.failure_probability) == (Constant(50 * MS), Fraction(1, 2))


@pytest.mark.parametrize(
    "key",
    [
        "servers: 2",
        "slowdown: {above: 3, per_call: 0.5}",
        "rate_limit: {concurrency: 1}",
        "failures: {kind: independent, probability: 1, answer_ms: 5}",
        "failures: {kind: bursty, good_mean_seconds: 9, bad_mean_seconds: 1, bad_probability: 1}",
        "outages: [{kind: stall, from_seconds: 1, for_seconds: 1}]",
    ],
)
def test_whatever_makes_time_or_load_matter_makes_it_no_longer_plain(key):
    assert not provider_of("service_ms: 50", key).is_plain


def test_service_by_tokens_is_exact():
    provider = provider_of(
        "service: {kind: tokens, base_ms: 20, ms_per_prompt_token: 0.003, ms_per_output_token: '0.1'}"
    )
    assert provider.service == TokenService(20 * MS, Fraction(3000), Fraction(100_000))
    assert provider.is_plain


def test_load_of_a_provider():
    provider = provider_of("service_ms: 50", "servers: 4", "sharing: processor", "slowdown: {above: 8, per_call: 0.25}")
    assert (provider.servers, provider.sharing, provider.slowdown) == (4, "processor", Slowdown(8, Fraction(1, 4)))


def test_own_limits_of_a_provider():
    provider = provider_of(
        "service_ms: 50",
        "rate_limit: {requests_per_minute: 90.5, tokens_per_minute: 6000, tokens_burst: 500, concurrency: 3}",
    )
    assert provider.rate_limit == RateLimit((Rate.per_minute("90.5"), 90), (Rate.per_minute(6000), 500), 3, MS, S)


def test_bursty_failures():
    provider = provider_of(
        "service_ms: 50",
        "failures: {kind: bursty, good_mean_seconds: 9, bad_mean_seconds: 0.5, bad_probability: 0.9, answer_ms: 5}",
    )
    assert provider.bursts == Bursts(9 * S, S // 2, Fraction(0), Fraction(9, 10))
    assert (provider.failure_probability, provider.failure_ns) == (0, 5 * MS)
    assert provider.has_chances


def test_outages_are_all_there_in_the_order_of_time():
    manifest = read(
        outages(
            "kind: throttle, from_seconds: 30, for_seconds: 5, retry_after_ms: 200, probability: 0.5",
            "kind: error, from_seconds: 10.5, for_seconds: 2, ramp_seconds: 4, ramp_steps: 8, name: blackout",
            "kind: slow, from_seconds: 10, for_seconds: 1, factor: 2.5, ramp_seconds: 1",
            "kind: stall, from_seconds: 60, for_seconds: 9",
        )
    )
    assert manifest.outages == (
        Outage("primary-outage-3", 0, "slow", 10 * S, 11 * S, 12 * S, 10, factor=Fraction(5, 2)),
        Outage("blackout", 0, "error", 10 * S + S // 2, 12 * S + S // 2, 16 * S + S // 2, 8, answer_ns=MS),
        Outage(
            "primary-outage-1",
            0,
            "throttle",
            30 * S,
            35 * S,
            35 * S,
            10,
            probability=Fraction(1, 2),
            answer_ns=MS,
            retry_after_ns=200 * MS,
        ),
        Outage("primary-outage-4", 0, "stall", 60 * S, 69 * S, 69 * S, 10),
    )
    assert manifest.providers[0].has_chances


def test_an_outage_that_always_hits_draws_nothing():
    (provider,) = read(outages("kind: error, from_seconds: 1, for_seconds: 1")).providers
    assert not provider.has_chances
    slow = "kind: slow, from_seconds: 1, for_seconds: 1, factor: 2, ramp_seconds: 1"
    (provider,) = read(outages("kind: error, from_seconds: 1, for_seconds: 1", slow)).providers
    assert not provider.has_chances
    (provider,) = read(outages("kind: error, from_seconds: 1, for_seconds: 1, ramp_seconds: 1")).providers
    assert provider.has_chances


def test_outages_of_two_kinds_may_overlap_and_one_may_follow_another():
    manifest = read(
        outages(
            "kind: error, from_seconds: 1, for_seconds: 3, ramp_seconds: 1",
            "kind: slow, from_seconds: 2, for_seconds: 3, factor: 2",
            "kind: error, from_seconds: 5, for_seconds: 1",
        )
    )
    assert [(outage.kind, outage.start_ns // S) for outage in manifest.outages] == [
        ("error", 1),
        ("slow", 2),
        ("error", 5),
    ]


def test_a_window_leaves_out_the_outages_that_begin_at_its_end_and_shortens_none():
    whole = read(
        outages(
            "kind: slow, from_seconds: 8, for_seconds: 30, factor: 2",
            "kind: slow, from_seconds: 40, for_seconds: 1, factor: 2",
            "kind: stall, from_seconds: 10, for_seconds: 1",
        )
    )
    assert len(whole.outages) == 3
    assert with_overrides(whole, window_s=10).outages == (whole.outages[0],)


BAD = {
    "an outage outside the run": (
        outages("kind: stall, from_seconds: 70, for_seconds: 1"),
        ["providers[0].outages[0].from_seconds: got 70", "before 70 s", "primary-outage-1 lies outside the run"],
    ),
    "an outage that reaches out of the run": (
        outages("kind: stall, from_seconds: 60, for_seconds: 71"),
        ["providers[0].outages[0].for_seconds: got an end at 131 s", "at or before 130 s", "out of the run"],
    ),
    "two of a kind that overlap": (
        outages(
            "kind: error, from_seconds: 1, for_seconds: 3, name: first",
            "kind: error, from_seconds: 3.5, for_seconds: 3, name: second",
        ),
        ["outages[1].from_seconds: got second at 3.5 s", "first (providers[0].outages[0])", "from 1 s to 4 s"],
    ),
    "one of a kind inside the ramp of another": (
        outages(
            "kind: slow, from_seconds: 4, for_seconds: 3, factor: 2",
            "kind: slow, from_seconds: 1, for_seconds: 2, ramp_seconds: 1.5, factor: 2",
        ),
        ["outages[1].from_seconds: got primary-outage-2 at 1 s", "primary-outage-1"],
    ),
    "two outages of one name": (
        outages(
            "kind: error, from_seconds: 1, for_seconds: 1, name: x",
            "kind: slow, from_seconds: 3, for_seconds: 1, factor: 2, name: x",
        ),
        ["providers[0].outages[1].name: got 'x'", "providers[0].outages[0] has it already"],
    ),
    "an outage of no length": (
        outages("kind: stall, from_seconds: 1, for_seconds: 0"),
        ["outages[0].for_seconds: got 0", "above 0"],
    ),
    "an outage before the run": (outages("kind: stall, from_seconds: -1, for_seconds: 1"), ["from_seconds: got -1"]),
    "a kind of outage that is misspelt": (
        outages("kind: stal, from_seconds: 1, for_seconds: 1"),
        ["outages[0].kind: got 'stal'", 'did you mean "stall"?'],
    ),
    "a ramp of no steps": (
        outages("kind: stall, from_seconds: 1, for_seconds: 1, ramp_steps: 0"),
        ["ramp_steps: got 0", "at least 1"],
    ),
    "a ramp of too many steps": (
        outages("kind: stall, from_seconds: 1, for_seconds: 1, ramp_steps: 1001"),
        ["ramp_steps: got 1001", "at most 1000"],
    ),
    "a negative ramp": (
        outages("kind: stall, from_seconds: 1, for_seconds: 1, ramp_seconds: -1"),
        ["ramp_seconds: got -1"],
    ),
    "a factor below one": (
        outages("kind: slow, from_seconds: 1, for_seconds: 1, factor: 0.5"),
        ["outages[0].factor: got 0.5", "at least 1"],
    ),
    "a factor for another kind": (
        outages("kind: error, from_seconds: 1, for_seconds: 1, factor: 2"),
        ["outages[0].factor: got the unknown key 'factor'"],
    ),
    "no factor": (outages("kind: slow, from_seconds: 1, for_seconds: 1"), ["outages[0].factor: got nothing"]),
    "an outage that hits with more than certainty": (
        outages("kind: error, from_seconds: 1, for_seconds: 1, probability: 1.5"),
        ["outages[0].probability: got 1.5", "0 to 1"],
    ),
    "an answer in no time": (
        outages("kind: error, from_seconds: 1, for_seconds: 1, answer_ms: 0"),
        ["outages[0].answer_ms: got 0", "above 0"],
    ),
    "a storm without a wait": (
        outages("kind: throttle, from_seconds: 1, for_seconds: 1"),
        ["outages[0].retry_after_ms: got nothing"],
    ),
    "a wait longer than any that is honoured": (
        outages("kind: throttle, from_seconds: 1, for_seconds: 1, retry_after_ms: 21600001"),
        ["outages[0].retry_after_ms: got 21600001", "six hours"],
    ),
    "no service time": (text_of("servers: 1"), ["providers[0].service_ms: got nothing", "service_ms, or service"]),
    "two service times": (
        text_of("service_ms: 5", "service: {kind: tokens, base_ms: 5}"),
        ["providers[0].service_ms: got a second length", "absent beside service"],
    ),
    "a service of no work": (text_of("service: {kind: tokens}"), ["providers[0].service: got no work at all"]),
    "a negative time a token": (
        text_of("service: {kind: tokens, ms_per_output_token: -1}"),
        ["service.ms_per_output_token: got -1"],
    ),
    "no servers": (text_of("service_ms: 5", "servers: 0"), ["providers[0].servers: got 0", "at least 1"]),
    "sharing nothing": (
        text_of("service_ms: 5", "sharing: processor"),
        ["providers[0].sharing: got 'processor'", "unless servers"],
    ),
    "an unknown sharing": (
        text_of("service_ms: 5", "servers: 1", "sharing: lifo"),
        ["providers[0].sharing: got 'lifo'", "one of fifo, processor"],
    ),
    "a slowdown that is none": (
        text_of("service_ms: 5", "slowdown: {above: 1, per_call: 0}"),
        ["slowdown.per_call: got 0", "above 0"],
    ),
    "a limit of the provider that is none": (
        text_of("service_ms: 5", "rate_limit: {}"),
        ["providers[0].rate_limit: got nothing", "requests_per_minute, tokens_per_minute or concurrency"],
    ),
    "a burst without its rate": (
        text_of("service_ms: 5", "rate_limit: {concurrency: 1, tokens_burst: 5}"),
        ["rate_limit.tokens_burst: got 5", "absent unless tokens_per_minute"],
    ),
    "a wait without concurrency": (
        text_of("service_ms: 5", "rate_limit: {requests_per_minute: 1, retry_after_ms: 5}"),
        ["rate_limit.retry_after_ms", "absent without concurrency"],
    ),
    "a rate of zero": (
        text_of("service_ms: 5", "rate_limit: {requests_per_minute: 0}"),
        ["rate_limit.requests_per_minute: got 0", "above 0"],
    ),
    "a misspelt limit": (
        text_of("service_ms: 5", "rate_limit: {request_per_minute: 5}"),
        ["rate_limit.request_per_minute", 'did you mean "requests_per_minute"?'],
    ),
    "a good time of no length": (
        text_of(
            "service_ms: 5", "failures: {kind: bursty, good_mean_seconds: 0, bad_mean_seconds: 1, bad_probability: 1}"
        ),
        ["failures.good_mean_seconds: got 0", "from 0.001"],
    ),
    "bad times that no call could see, and a run could not count": (
        text_of(
            "service_ms: 5",
            'failures: {kind: bursty, good_mean_seconds: 1, bad_mean_seconds: "0.000000001", bad_probability: 1}',
        ),
        ["failures.bad_mean_seconds: got '0.000000001'", "from 0.001 to a year"],
    ),
    "bursts without a probability": (
        text_of("service_ms: 5", "failures: {kind: bursty, good_mean_seconds: 1, bad_mean_seconds: 1}"),
        ["failures.bad_probability: got nothing"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_provider_is_refused_in_one_sentence(case):
    text, pieces = BAD[case]
    message = refusal(text)
    for piece in pieces:
        assert piece in message
