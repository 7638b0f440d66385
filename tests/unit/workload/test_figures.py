"""What requests use and state, drawn from the words of their own streams, and how an estimate comes about."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import pytest

import sim
from sim.manifest.distributions import Constant, Uniform
from sim.manifest.work import Drawn, MaxTokens, Scaled, Unknown
from sim.workload.blocks import UNKNOWN
from tests.unit.workload.manifests import changed, rows_of
from tests.unit.workload.test_arrivals import FIGURES, SERVICE, STREAM, TOKENS, naive_draw, naive_words
from tollgate.core.errors import ConfigError

QUIET = "work: {tokens: {kind: uniform, min: 100, max: 300}}"
PROMPT, OUTPUT = Uniform(100, 300), Uniform(1, 1000)
APART = "prompt_tokens: {kind: uniform, min: 100, max: 300}, output_tokens: {kind: uniform, min: 1, max: 1000}"


def worked(work, *more):
    return changed((QUIET, f"work: {{{work}}}"), *more)


def quiet(manifest):
    """Return (estimated tokens, figures) of every request of the second stream."""
    return [(row[TOKENS], row[FIGURES]) for row in rows_of(manifest) if row[STREAM] == 1]


def expected(name, law, count):
    words = naive_words(2601, f"quiet/{name}")
    return [naive_draw(law, words) for _ in range(count)]


@pytest.mark.parametrize(
    ("estimate", "guess", "used"),
    [
        ("", lambda output: output, lambda output: output),
        (", output_estimate: {kind: exact}", lambda output: output, lambda output: output),
        (", output_estimate: {kind: max-tokens, value: 400}", lambda _: 400, lambda output: min(output, 400)),
        (
            ", output_estimate: {kind: factor, value: '1.3'}",
            lambda output: ceil(Fraction(13, 10) * output),
            lambda output: output,
        ),
        (", output_estimate: {kind: factor, value: 0.5}", lambda output: (output + 1) // 2, lambda output: output),
    ],
)
def test_prompt_and_output_are_drawn_apart_and_estimated_as_told(estimate, guess, used):
    found = quiet(worked(APART + estimate))
    prompts, outputs = expected("prompt", PROMPT, len(found)), expected("output", OUTPUT, len(found))
    assert [(figures.prompt_tokens, figures.output_tokens) for _, figures in found] == [
        (prompt, used(output)) for prompt, output in zip(prompts, outputs, strict=True)
    ]
    assert [tokens for tokens, _ in found] == [p + guess(o) for p, o in zip(prompts, outputs, strict=True)]


def test_a_guess_that_does_not_look_at_the_output_has_words_of_its_own():
    found = quiet(worked(f"{APART}, output_estimate: {{kind: drawn, tokens: {{kind: uniform, min: 5, max: 50}}}}"))
    guesses = expected("output-estimate", Uniform(5, 50), len(found))
    assert [tokens - figures.prompt_tokens for tokens, figures in found] == guesses
    assert [figures.output_tokens for _, figures in found] == expected("output", OUTPUT, len(found))


def test_tokens_that_nobody_estimates_are_unknown():
    found = quiet(worked(f"{APART}, output_estimate: {{kind: unknown}}"))
    assert {tokens for tokens, _ in found} == {UNKNOWN}
    assert all(figures.actual_tokens > 100 for _, figures in found)


def test_what_is_stated_is_drawn_and_what_is_not_has_the_plain_figure():
    work = "tokens: 70, items: {kind: uniform, min: 2, max: 9}, request_bytes: 2048, retained_work: unknown"
    found = quiet(worked(work))
    assert [figures.items for _, figures in found] == expected("stated/items", Uniform(2, 9), len(found))
    figures = found[0][1]._replace(items=0)
    assert {f._replace(items=0) for _, f in found} == {figures}
    assert figures == (70, 0, 2048, 0, 0, 1, 1, UNKNOWN)
    assert {tokens for tokens, _ in found} == {70}


def test_other_streams_stay_plain_and_no_other_draw_is_shifted():
    plain, special = rows_of(changed()), rows_of(worked(f"{APART}, cost_micros: unknown, batch_size: 3"))
    for before, after in zip(plain, special, strict=True):
        if before[STREAM] == 0:
            assert after == before
        else:
            assert (*after[:TOKENS], *after[TOKENS + 1 : FIGURES]) == (*before[:TOKENS], *before[TOKENS + 1 : FIGURES])
            assert (after[FIGURES].cost_micros, after[FIGURES].batch_size) == (UNKNOWN, 3)


def test_one_figure_more_shifts_none_of_the_others():
    work = f"{APART}, items: {{kind: exponential, mean: 4}}"
    before = quiet(worked(work))
    after = quiet(worked(f"{work}, attempts: {{kind: uniform, min: 1, max: 2}}, request_bytes: 8"))
    assert [(tokens, figures._replace(attempts=1, request_bytes=UNKNOWN)) for tokens, figures in after] == before
    assert {figures.attempts for _, figures in after} == {1, 2}


def test_work_by_size_takes_the_tokens_that_are_really_used():
    service = "service: {kind: tokens, base_ms: 3, ms_per_prompt_token: '0.0123457', ms_per_output_token: 0.5}"
    other = ("service_ms: {kind: exponential, mean: 80}", service)
    manifest = worked(f"{APART}, output_estimate: {{kind: max-tokens, value: 400}}", other)
    for row in rows_of(manifest):
        if row[STREAM] == 1:
            figures = row[FIGURES]
            exact = 3_000_000 + figures.prompt_tokens * Fraction(123457, 10) + figures.output_tokens * 500_000
            assert row[SERVICE] == floor(exact)


def test_the_largest_figures_stay_usable():
    most = 2**53 - 1
    law = f"prompt_tokens: {most}, output_tokens: {{kind: exponential, mean: {most}}}"
    for estimate in ("{kind: exact}", "{kind: factor, value: 1000000000}", f"{{kind: max-tokens, value: {most}}}"):
        found = quiet(worked(f"{law}, output_estimate: {estimate}"))
        assert {tokens for tokens, _ in found} == {most}
        assert max(figures.output_tokens for _, figures in found) <= most


def test_a_run_counts_what_was_estimated_against_the_limits():
    # Eight requests a second, each estimated at 150 tokens or at 1,000, on a bucket of 1,000 tokens a second.
    limits = ("{concurrency: 8}", "{concurrency: 8, tokens_per_second: 1000, max_queue_length: 0}")
    estimates = {}
    for estimate in ("{kind: exact}", "{kind: max-tokens, value: 900}"):
        work = f"prompt_tokens: 100, output_tokens: 50, output_estimate: {estimate}"
        run = sim.run(worked(work, limits))
        assert [check for check in run.checks if not check["ok"]] == []
        estimates[estimate] = int(run.value("completed", {"class": "quiet"}))
    assert estimates["{kind: exact}"] > 2 * estimates["{kind: max-tokens, value: 900}"]


BAD = {
    "tokens: 1, prompt_tokens: 2": "work.prompt_tokens: got 2; allowed: absent beside tokens",
    "output_tokens: 2": "work.output_tokens: got 2; allowed: absent without prompt_tokens",
    "prompt_tokens: 2, output_estimate: {kind: exact}": "work.output_estimate: got a mapping; allowed: absent without",
    "prompt_tokens: 2, output_tokens: -1": "work.output_tokens: got -1; allowed: an integer of at least 0",
    "items: 3": "work.tokens: got nothing; allowed: tokens of a request",
    "tokens: 1, items: several": "work.items: got 'several'; allowed: an integer",
    "tokens: 1, items: -1": "work.items: got -1; allowed: an integer of at least 0",
    "tokens: 1, items: .nan": "work.items: got '.nan'; allowed: an integer",
    "tokens: 1, items: {kind: unknown}": "work.items.kind: got 'unknown'; allowed: one of",
    "tokens: 1, attempts: unknown": "work.attempts: got 'unknown'; allowed: an integer",
    "tokens: 1, cost_micros: 1.5": "work.cost_micros: got 1.5; allowed: an integer",
    "tokens: 1, cost_usd: 1": "work.cost_usd: got the unknown key 'cost_usd'",
    "tokens: 1, item: 1": 'did you mean "items"?',
    "prompt_tokens: 1, output_tokens: 1, output_estimate: 5": "work.output_estimate: got 5",
    "prompt_tokens: 1, output_tokens: 1, output_estimate: {kind: max_tokens, value: 5}": 'did you mean "max-tokens"?',
    "prompt_tokens: 1, output_tokens: 1, output_estimate: {kind: max-tokens, value: 0}": "value: got 0; allowed: an",
    "prompt_tokens: 1, output_tokens: 1, output_estimate: {kind: factor, value: 0}": "value: got 0; allowed: a decimal",
    "prompt_tokens: 1, output_tokens: 1, output_estimate: {kind: factor}": "output_estimate.value: got nothing",
    "prompt_tokens: 1, output_tokens: 1, output_estimate: {kind: drawn, tokens: {kind: gamma, mean: 0, cv: 1}}": (
        "output_estimate.tokens.mean: got 0"
    ),
}


@pytest.mark.parametrize("work", BAD)
def test_bad_work_is_refused_by_its_key(work):
    with pytest.raises(ConfigError) as caught:
        worked(work)
    assert str(caught.value).startswith("two.yaml: streams[1].work")
    assert BAD[work] in str(caught.value)


def test_the_model_says_how_the_output_is_estimated():
    estimates = {
        "{kind: max-tokens, value: 4}": MaxTokens(4),
        "{kind: factor, value: 0.25}": Scaled(Fraction(1, 4)),
        "{kind: unknown}": Unknown(),
        "{kind: drawn, tokens: 9}": Drawn(Constant(9)),
    }
    for text, model in estimates.items():
        work = worked(f"{APART}, output_estimate: {text}").streams[1].work
        assert work is not None
        assert work.output_estimate == model
