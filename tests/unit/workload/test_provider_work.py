"""Work that follows from the size of a request, and the word that an arrival brings for its provider."""

from __future__ import annotations

from math import floor

import pytest

from tests.unit.workload.manifests import changed, rows_of
from tests.unit.workload.test_arrivals import FAILS, JITTER, PROVIDER, SERVICE, STREAM, TOKENS
from tollgate.core.errors import ConfigError

UNIFORM = "service_ms: {kind: uniform, min: 40, max: 160}"
BY_SIZE = "service: {kind: tokens, base_ms: 20, ms_per_prompt_token: '0.0123457', ms_per_output_token: 0.5}"


def test_work_by_size_is_the_base_and_a_time_a_token_rounded_down_and_shifts_no_other_draw():
    before, after = rows_of(changed()), rows_of(changed((UNIFORM, BY_SIZE)))
    assert {row[PROVIDER] for row in after} == {0, 1}
    for old, new in zip(before, after, strict=True):
        # A plain request has all of its tokens in its prompt.
        own = floor(20_000_000 + new[TOKENS] * 12345.7) if new[PROVIDER] == 0 else old[SERVICE]
        assert new == (*old[:SERVICE], own, *old[FAILS:])


def test_a_call_of_more_than_a_year_is_refused():
    slow = changed((UNIFORM, "service: {kind: tokens, ms_per_prompt_token: 1000000000}"))
    with pytest.raises(ConfigError, match=r"providers\[0\]\.service: got \d+ ns for one call"):
        rows_of(slow)


def test_a_provider_with_chances_gives_every_arrival_a_word_and_leaves_all_else():
    before = rows_of(changed())
    outage = "outages: [{kind: error, from_seconds: 3, for_seconds: 9, probability: 0.5}]"
    after = rows_of(changed(("{id: b,", f"{{id: b, {outage},")))
    assert [row[:JITTER] for row in before] == [row[:JITTER] for row in after]
    assert [row[JITTER] for row in before if row[STREAM] == 0] == [row[JITTER] for row in after if row[STREAM] == 0]
    assert {row[JITTER] for row in before if row[STREAM] == 1} == {0}
    words = [row[JITTER] for row in after if row[STREAM] == 1]
    assert len(set(words)) == len(words) > 100
