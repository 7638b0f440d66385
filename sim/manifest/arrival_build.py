"""From the shape of arrivals to the process that they describe.

This module owns the rules that span several keys of one block, and the length of a run. It must not know streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from sim.manifest import arrival_blocks as shape
from sim.manifest.distribution_build import amounts, lengths
from sim.manifest.inputs import Inputs
from sim.manifest.model import Arrivals, TraceReplay
from sim.manifest.processes import (
    Batches,
    BurstyPoisson,
    Closed,
    ModulatedPoisson,
    Poisson,
    RateCurve,
    Renewal,
    Reshape,
    State,
)
from sim.manifest.scalars import plain_decimal
from sim.manifest.source import seconds_text
from sim.manifest.traffic import ArrivalBlock, TraceArrivals
from sim.manifest.wording import NOTHING, Said
from tollgate.core.errors import ConfigError
from tollgate.core.units import NS_PER_MS, NS_PER_S

RESHAPING: Final = ("scale_rate", "time_warp", "bootstrap_seconds", "thin")
"""Keys of a trace's block that change what is replayed; the others say how the file is read."""

STATE_MIN_NS: Final = NS_PER_MS
"""Shortest mean length of a state. Below a millisecond no queue of calls sees the states, and each change costs a run
as much as an arrival."""


def arrivals(block: ArrivalBlock, path: str, inputs: Inputs, horizon_ns: int) -> Arrivals:
    """Return the process that a block of arrivals describes.

    Args:
        block: The block.
        path: Its key path, for complaints.
        inputs: Where its files are read and noted.
        horizon_ns: End of the last phase before any window, ns.

    Raises:
        ConfigError: For keys that do not go together, or a curve that ends before the phases do.
    """
    match block:
        case shape.ClosedArrivals():
            return Closed(block.population, lengths(block.think_ms, f"{path}.think_ms", inputs))
        case shape.PoissonArrivals():
            return Poisson(block.per_second)
        case shape.BurstyPoissonArrivals():
            return BurstyPoisson(
                block.per_second, block.multiplier, block.first_seconds, block.burst_seconds, block.every_seconds
            )
        case shape.CurveArrivals():
            return _curve(block, f"{path}.curve", horizon_ns)
        case shape.ModulatedArrivals():
            return _modulated(block, path)
        case shape.RenewalArrivals():
            return Renewal(block.per_second, block.gaps, block.cv)
        case shape.BatchArrivals():
            return Batches(block.per_second, amounts(block.size, f"{path}.size", inputs), block.within_ms)
        case TraceArrivals():
            return _trace(block, path, inputs)


def _curve(block: shape.CurveArrivals, path: str, horizon_ns: int) -> RateCurve:
    _rising([seconds for seconds, _ in block.curve], path, "[0]")
    last = block.curve[-1][0]
    if last < horizon_ns:
        raise ConfigError(
            path,
            Said(f"a last point at {seconds_text(last)} s"),
            f"a curve that reaches the end of the phases at {seconds_text(horizon_ns)} s",
        )
    rates = [rate for _, rate in block.curve]
    if not any(rates if block.between == "linear" else rates[:-1]):
        raise ConfigError(path, Said("a rate of 0 throughout"), "a rate above 0 somewhere")
    return RateCurve(tuple(block.curve), block.between == "linear")


def _rising(instants_ns: Sequence[int], path: str, place: str) -> None:
    """Refuse instants that do not rise from 0."""
    if instants_ns[0] != 0:
        raise ConfigError(f"{path}[0]{place}", Said(seconds_text(instants_ns[0])), "0: the first point is at the start")
    for index, (before, after) in enumerate(pairwise(instants_ns), start=1):
        if after <= before:
            allowed = f"above {seconds_text(before)}, that of the point before"
            raise ConfigError(f"{path}[{index}]{place}", Said(seconds_text(after)), allowed)


def _modulated(block: shape.ModulatedArrivals, path: str) -> ModulatedPoisson:
    count = len(block.per_second)
    if block.initial >= count:
        raise ConfigError(f"{path}.initial", block.initial, f"a state from 0 to {count - 1}")
    if not any(block.per_second):
        raise ConfigError(f"{path}.per_second", Said("a rate of 0 in every state"), "a rate above 0 in some state")
    if block.generator is not None:
        if block.mean_seconds is not None:
            raise ConfigError(f"{path}.generator", Said("a second account of the states"), "absent beside mean_seconds")
        rows = _generator(block.generator, count, f"{path}.generator")
    elif block.mean_seconds is None:
        raise ConfigError(f"{path}.mean_seconds", NOTHING, "mean_seconds, or a generator")
    else:
        if len(block.mean_seconds) != count:
            got = Said(f"{len(block.mean_seconds)} lengths")
            raise ConfigError(f"{path}.mean_seconds", got, f"{count}, as many as per_second has states")
        rows = [_alike(state, Fraction(mean), count) for state, mean in enumerate(block.mean_seconds)]
    for state, (mean_ns, _) in enumerate(rows):
        if mean_ns is not None and mean_ns < STATE_MIN_NS:
            key = f"{path}.{'mean_seconds' if block.generator is None else 'generator'}[{state}]"
            got = Said(f"a mean length of {float(mean_ns):g} ns")
            raise ConfigError(key, got, "states of at least a millisecond on average")
    states = zip(block.per_second, rows, strict=True)
    return ModulatedPoisson(tuple(State(rate, *row) for rate, row in states), block.initial)


_Row = tuple[Fraction | None, tuple[tuple[int, Fraction], ...]]
"""Mean length of a state, ns, and what follows it."""


def _alike(state: int, mean_ns: Fraction, count: int) -> _Row:
    return mean_ns, tuple((other, Fraction(1, count - 1)) for other in range(count) if other != state)


def _generator(rows: Sequence[Sequence[Fraction]], count: int, path: str) -> list[_Row]:
    if len(rows) != count:
        raise ConfigError(path, Said(f"{len(rows)} rows"), f"{count}, as many as per_second has states")
    found: list[_Row] = []
    for state, row in enumerate(rows):
        if len(row) != count:
            raise ConfigError(f"{path}[{state}]", Said(f"{len(row)} rates"), f"{count}, one to each state")
        for other, rate in enumerate(row):
            if other != state and rate < 0:
                raise ConfigError(f"{path}[{state}][{other}]", Said(plain_decimal(rate)), "0 or more, off the diagonal")
        if sum(row) != 0:
            got = Said(f"a sum of {plain_decimal(Fraction(sum(row)))}")
            raise ConfigError(f"{path}[{state}]", got, "a sum of exactly 0: the diagonal is less what leaves the state")
        leaves = -row[state]
        if not leaves:
            found.append((None, ()))
        else:
            then = tuple((other, rate / leaves) for other, rate in enumerate(row) if other != state and rate)
            found.append((NS_PER_S / leaves, then))
    return found


def _trace(block: TraceArrivals, path: str, inputs: Inputs) -> TraceReplay:
    keys = block.entries().items()
    options = {key: value for key, value in keys if key not in {"kind", *RESHAPING} and value is not None}
    if block.ms_per_token is not None:
        options["ms_per_token"] = plain_decimal(block.ms_per_token)
    if block.segment_gap_seconds is not None:
        options["segment_gap_seconds"] = plain_decimal(Fraction(block.segment_gap_seconds, NS_PER_S))
    file = inputs.bind(block.file, block.sha256, path, "a trace")
    digest = block.sha256.removeprefix("sha256:")
    return TraceReplay(file, digest, MappingProxyType(options), _reshape(block, path))


def _reshape(block: TraceArrivals, path: str) -> Reshape:
    if block.time_warp is not None:
        if block.scale_rate != 1:
            raise ConfigError(f"{path}.time_warp", Said("a second clock"), "absent beside scale_rate: it can do both")
        _rising([trace for trace, _ in block.time_warp], f"{path}.time_warp", "[0]")
        _rising([run for _, run in block.time_warp], f"{path}.time_warp", "[1]")
    return Reshape(block.scale_rate, tuple(block.time_warp or ()), block.bootstrap_seconds, block.thin)
