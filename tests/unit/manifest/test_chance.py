from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType, SimpleNamespace

import pytest

from sim.manifest.chance import is_drawn
from sim.manifest.clients import Client, Retry
from sim.manifest.distributions import Constant, Uniform
from sim.manifest.model import Stream, TraceReplay
from sim.manifest.processes import Poisson
from sim.manifest.providers import Bursts, Outage, ProviderModel, TokenService
from sim.manifest.work import Drawn, Work

OWN = TraceReplay(Path("t.csv"), "0" * 64, {"duration_column": "took", "tokens_columns": ["size"]})
BARE = TraceReplay(Path("t.csv"), "0" * 64, {"duration_column": None, "tokens_columns": ()})
STREAM = Stream(0, "trace", "trace", (0,), OWN, Uniform(1, 9), ((0, Fraction(1)),), Client())
PROVIDER = ProviderModel("primary", Uniform(40, 160))


def asked(stream=STREAM, provider=PROVIDER, seed_family=None):
    return is_drawn(SimpleNamespace(streams=(stream,), providers=(provider, provider), seed_family=seed_family))


def test_a_trace_that_brings_sizes_and_services_leaves_nothing_to_chance():
    assert not asked()
    assert not asked(replace(STREAM, arrivals=BARE, tokens=Constant(5)), replace(PROVIDER, service=Constant(5)))


@pytest.mark.parametrize(
    "stream",
    [
        replace(STREAM, arrivals=Poisson(Fraction(1))),
        replace(STREAM, arrivals=BARE),
        replace(STREAM, providers=((0, Fraction(1, 2)), (1, Fraction(1, 2)))),
        replace(STREAM, client=Client(cancel_probability=Fraction(1, 9), cancel_after_ns=1)),
        replace(STREAM, client=Client(layers=(Retry("exponential", 1, 2, "full", 2),))),
    ],
)
def test_whatever_a_stream_draws_makes_the_seed_count(stream):
    assert asked(stream)


def test_services_and_failures_of_the_provider_and_the_seeds_model_count():
    assert asked(provider=replace(PROVIDER, failure_probability=Fraction(1, 100)))
    assert asked(replace(STREAM, arrivals=BARE, tokens=Constant(5)))
    assert asked(seed_family=object())


def test_times_of_a_provider_count_where_they_are_drawn():
    plain = replace(PROVIDER, service=TokenService(5, Fraction(1), Fraction(2)))
    stream = replace(STREAM, arrivals=BARE, tokens=Constant(5))
    assert not asked(stream, plain)
    assert asked(stream, replace(plain, bursts=Bursts(9, 1, Fraction(0), Fraction(1))))
    assert not asked(stream, replace(plain, outages=(Outage("x", 0, "error", 1, 2, 2),)))
    assert asked(stream, replace(plain, outages=(Outage("x", 0, "error", 1, 2, 3),)))
    assert asked(stream, replace(plain, outages=(Outage("x", 0, "throttle", 1, 2, 2, probability=Fraction(1, 2)),)))


def test_a_figure_that_is_drawn_makes_a_run_depend_on_its_seed():
    stream = replace(STREAM, arrivals=OWN)
    for law, is_random in ((Constant(5), False), (None, False), (Uniform(1, 2), True)):
        assert asked(replace(stream, work=Work(stated=MappingProxyType({"items": law})))) is is_random
    assert asked(replace(stream, work=Work(Constant(1), Uniform(1, 2))))
    assert asked(replace(stream, work=Work(Constant(1), Constant(1), Drawn(Uniform(1, 2)))))
    assert not asked(replace(stream, work=Work(Constant(1), Constant(1), Drawn(Constant(2)))))
