"""The arrivals of the seed's manifests, the same to the bit as its own generator makes them, and vectorised.

Every arrival takes seven draws of mulberry32 in a fixed order. All of them depend on their number alone, so a whole
block is drawn at once; what is sequential is the clock, since each gap is divided by the rate at the arrival before it.
The rate has two edges, the spike's start and end, so the times of a block are at most three running sums
(``np.add.accumulate`` adds one after another, as the original does).

This module owns that arrival model. It must not know limits, clients' retries or what is done with an arrival.

Source:
    The seed's reference (REFERENCE 8.1) for the draws and their order; the logarithm is its runtime's
    (``sim.workload.fdlibm``).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sim.manifest.model import SeedFamilyModel
from sim.workload import fdlibm, mulberry32
from sim.workload.blocks import BLOCK_ROWS, ArrivalBlock
from tollgate.core.units import NS_PER_MS

DRAWS: Final = 7
"""Draws an arrival: gap, principal, provider, size, service time, failure, cancellation."""


def seed_family_blocks(model: SeedFamilyModel) -> Iterator[ArrivalBlock]:
    """Yield the arrivals of a seed manifest in order, a block at a time; memory is one block.

    Args:
        model: The arrival model. Its times are whole milliseconds, and so are all times that come out, as nanoseconds.
    """
    at = 0.0
    first = 0
    while at < model.end_ms:
        rows = _rows_ahead(model, at)
        draws = mulberry32.uniforms(model.seed, first * DRAWS, rows * DRAWS).reshape(rows, DRAWS).T
        times = _times(model, at, -fdlibm.log(1.0 - draws[0]))
        arrived = int(np.searchsorted(times, model.end_ms))
        if arrived:
            yield _block(model, times[:arrived], draws[:, :arrived])
        at = float(times[-1]) if len(times) == rows else inf
        first += rows


def _rate_at(model: SeedFamilyModel, at: float) -> tuple[float, float]:
    """Return the rate at an instant, arrivals a ms, and the instant at which it changes next."""
    spike_end = model.spike_start_ms + model.spike_ms
    if model.spike_start_ms <= at < spike_end:
        return model.spike_multiplier * model.rate / 1000, spike_end
    return model.rate / 1000, model.spike_start_ms if at < model.spike_start_ms else inf


def _times(model: SeedFamilyModel, at: float, units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unrounded times of the arrivals after ``at``, ms.

    Args:
        model: The arrival model.
        at: Time of the arrival before, ms.
        units: Gaps at a rate of one, shape ``(n,)``.

    Returns:
        The times, shape ``(n,)``, or fewer where the rate has fallen to zero for good.
    """
    times = np.empty(len(units))
    done = 0
    while done < len(units):
        rate, until = _rate_at(model, at)
        if rate == 0:
            return times[:done]
        gaps = units[done:] / rate
        gaps[0] += at  # the first sum; the others follow in the order in which the original adds
        run = np.add.accumulate(gaps)
        # The first arrival at or past the edge still took the old rate: the rate is that of the arrival before.
        count = min(int(np.searchsorted(run, until)) + 1, len(run))
        times[done : done + count] = run[:count]
        at = float(run[count - 1])
        done += count
    return times


def _rows_ahead(model: SeedFamilyModel, at: float) -> int:
    """Return how many arrivals to draw next: about as many as are left, at most a block.

    Eight standard deviations above the mean, so that a second, nearly empty block is drawn once in 10^15 runs.
    """
    base, spike = model.rate / 1000, model.spike_multiplier * model.rate / 1000
    in_spike = max(0.0, min(model.end_ms, model.spike_start_ms + model.spike_ms) - max(at, model.spike_start_ms))
    expected = int((model.end_ms - at - in_spike) * base + in_spike * spike)
    return int(min(BLOCK_ROWS, expected + 8 * isqrt(expected) + 64))


def _block(model: SeedFamilyModel, times: NDArray[np.float64], draws: NDArray[np.float64]) -> ArrivalBlock:
    """Turn times and draws into the columns of a block.

    Args:
        model: The arrival model.
        times: Unrounded times, ms, shape ``(n,)``.
        draws: Uniform numbers by draw and arrival, shape ``(7, n)``.
    """
    count = len(times)
    at_ms = np.floor(times)
    at_ms += (
        times - at_ms >= 0.5
    )  # half up; adding a half before the floor would round the largest number below one half up too
    principal = np.array([index for index, _ in model.principals])[
        _weighted(draws[1], [w for _, w in model.principals])
    ]
    provider = np.array(model.providers)[(draws[2] * len(model.providers)).astype(np.int64)]
    service_ms = model.service_min_ms + (draws[4] * (model.service_max_ms - model.service_min_ms + 1)).astype(np.int64)
    return ArrivalBlock(
        at_ns=(at_ms.astype(np.int64) * NS_PER_MS).tolist(),
        stream=[0] * count,
        principal=principal.tolist(),
        provider=provider.tolist(),
        tokens=np.where(draws[3] < model.huge_share, model.huge_tokens, model.small_tokens).tolist(),
        service_ns=(service_ms * NS_PER_MS).tolist(),
        fails=(draws[5] < model.failure_rate).astype(np.int64).tolist(),
        cancel_after_ns=np.where(draws[6] < model.cancellation_rate, model.cancel_after_ms * NS_PER_MS, -1).tolist(),
        jitter=[0] * count,
    )


def _weighted(draws: NDArray[np.float64], weights: list[float]) -> NDArray[np.int64]:
    """Return which weight each draw falls on: the first that takes the rest below zero, else the last.

    Args:
        draws: Uniform numbers, shape ``(n,)``.
        weights: In the order of the manifest; summed and subtracted in that order, as doubles.
    """
    total = 0.0
    for weight in weights:
        total += weight
    rest = draws * total
    chosen = np.full(len(draws), len(weights) - 1, dtype=np.int64)
    undecided = np.ones(len(draws), dtype=np.bool_)
    for index, weight in enumerate(weights):
        rest -= weight
        falls = undecided & (rest < 0)
        chosen[falls] = index
        undecided &= ~falls
    return chosen
