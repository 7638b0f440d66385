"""The vectorised arrivals against a plain loop written from the description of the generator, draw by draw."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from sim.manifest.model import SeedFamilyModel
from sim.workload import seed_family
from sim.workload.seed_family import seed_family_blocks

MODEL = SeedFamilyModel(
    seed=2601,
    rate=20.0,
    spike_multiplier=4.0,
    spike_start_ms=6_000,
    spike_ms=1_000,
    end_ms=20_000,
    principals=((0, 0.6), (1, 0.1), (2, 0.3)),
    providers=(1, 0),
    small_tokens=200,
    huge_tokens=6000,
    huge_share=0.02,
    service_min_ms=40,
    service_max_ms=160,
    failure_rate=0.05,
    max_retries=1,
    backoff_ms=250,
    cancellation_rate=0.01,
    cancel_after_ms=50,
)

MODELS = {
    "as it is": MODEL,
    "another seed": replace(MODEL, seed=4294967295),
    "spike from the start": replace(MODEL, spike_start_ms=0),
    "spike beyond the end": replace(MODEL, spike_start_ms=19_500, spike_ms=60_000),
    "spike after the end": replace(MODEL, spike_start_ms=30_000),
    "no spike": replace(MODEL, spike_ms=0),
    "spike shorter than a gap": replace(MODEL, spike_ms=3),
    "silence in the spike": replace(MODEL, spike_multiplier=0.0),
    "rare arrivals": replace(MODEL, rate=0.05),
    "none at all": replace(MODEL, rate=0.0),
    "hundreds a ms": replace(MODEL, rate=300_000.0, end_ms=30, spike_start_ms=10, spike_ms=10),
    "weights that sum to no round number": replace(MODEL, principals=((2, 0.1), (0, 0.2), (1, 0.7000001))),
    "one provider, one service time": replace(MODEL, providers=(0,), service_min_ms=50, service_max_ms=50),
    "everything happens": replace(MODEL, failure_rate=1.0, cancellation_rate=1.0, huge_share=1.0),
}

Row = tuple[int, int, int, int, int, int, int]


def draws(seed: int) -> Iterator[float]:
    state = seed
    while True:
        state = (state + 0x6D2B79F5) % 2**32
        value = (state ^ state >> 15) * (1 | state) % 2**32
        value = ((value + (value ^ value >> 7) * (61 | value)) ^ value) % 2**32
        yield (value ^ value >> 14) / 2**32


def plainly(model: SeedFamilyModel) -> list[Row]:
    draw = draws(model.seed).__next__
    total = 0.0
    for _, weight in model.principals:
        total += weight
    rows: list[Row] = []
    at = 0.0
    while True:
        in_spike = model.spike_start_ms <= at < model.spike_start_ms + model.spike_ms
        rate = (model.spike_multiplier if in_spike else 1) * model.rate / 1000
        gap = -math.log(1 - draw())
        at = at + gap / rate if rate else math.inf
        if at >= model.end_ms:
            return rows
        pick = draw() * total
        principal = model.principals[-1][0]
        for index, weight in model.principals:
            pick -= weight
            if pick < 0:
                principal = index
                break
        provider = model.providers[math.floor(draw() * len(model.providers))]
        tokens = model.huge_tokens if draw() < model.huge_share else model.small_tokens
        service = model.service_min_ms + math.floor(draw() * (model.service_max_ms - model.service_min_ms + 1))
        fails = int(draw() < model.failure_rate)
        cancel_after = model.cancel_after_ms if draw() < model.cancellation_rate else None
        at_ms = math.floor(at) + (at - math.floor(at) >= 0.5)
        cancel_ns = -1 if cancel_after is None else cancel_after * 10**6
        rows.append((at_ms * 10**6, principal, provider, tokens, service * 10**6, fails, cancel_ns))


def generated(model: SeedFamilyModel) -> list[Row]:
    rows: list[Row] = []
    for block in seed_family_blocks(model):
        rows += zip(
            block.at_ns,
            block.principal,
            block.provider,
            block.tokens,
            block.service_ns,
            block.fails,
            block.cancel_after_ns,
            strict=True,
        )
    return rows


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_blocks_hold_the_arrivals_of_the_plain_loop(model):
    assert generated(model) == plainly(model)


@pytest.mark.parametrize("rows", [1, 2, 7, 100])
def test_arrivals_do_not_depend_on_the_size_of_a_block(monkeypatch, rows):
    whole = generated(MODEL)
    monkeypatch.setattr(seed_family, "BLOCK_ROWS", rows)
    assert generated(MODEL) == whole
    assert all(len(block.at_ns) <= rows for block in seed_family_blocks(MODEL))


def test_a_running_sum_adds_one_after_another():
    gaps = np.array(list(zip(range(20_000), draws(7), strict=False)))[:, 1]
    total, sums = 0.0, []
    for gap in gaps.tolist():
        total += gap
        sums.append(total)
    assert np.add.accumulate(gaps).tolist() == sums


def test_columns_hold_plain_integers():
    block = next(seed_family_blocks(MODEL))
    for name in (name for name in block.__slots__ if name != "figures"):
        column = getattr(block, name)
        assert len(column) == len(block)
        assert {type(value) for value in column} == {int}
    assert block.figures is None
