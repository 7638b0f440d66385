"""Observations, checks and series of random traces against plain recomputation."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.measure.checks import Checks
from sim.measure.observe import Measure
from sim.measure.recorder import SeriesRecorder
from sim.metrics import BY_NAME
from sim.trace import AttemptOutcome
from tests.unit.measure.naive import FORMULAS, Naive, spelt
from tests.unit.measure.written import MS, Ask, S, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.decision.evidence import Hold
from tollgate.decision.limits import AdmissionLimits

HORIZON = 30 * S
LENGTHS = st.sampled_from([0, 1, 3 * MS, 250 * MS, S, 4 * S])
HOLDS = st.sampled_from([Hold.NONE, Hold.WORKSPACE_CONCURRENCY, Hold.PRINCIPAL_CONCURRENCY, Hold.PROVIDER_TOKENS])
LAST = st.sampled_from(list(AttemptOutcome))
EARLIER = st.sampled_from([AttemptOutcome.FAILED, AttemptOutcome.SHED])
TOKENS = st.sampled_from([0, 1, 3, 200, 2**53 - 1])  # the last is the most a manifest can say; ten of them exceed 2^56
REFUSALS = st.sampled_from([DenyReason.QUEUE_FULL, DenyReason.QUEUE_TIMEOUT])


@st.composite
def attempts(draw, requested: int, outcomes: st.SearchStrategy, tokens: int) -> Try:
    outcome = draw(outcomes)
    admitted = outcome not in {AttemptOutcome.SHED, AttemptOutcome.CANCELLED}
    wait = draw(LENGTHS)
    return Try(
        requested,
        wait=wait,
        service=draw(LENGTHS) if admitted else 0,
        outcome=outcome,
        reason=draw(REFUSALS) if outcome is AttemptOutcome.SHED else None,
        hold=draw(HOLDS) if wait else Hold.NONE,
        eligible=draw(st.integers(0, wait)),
        tokens=tokens,
    )


@st.composite
def asks(draw) -> Ask:
    at = draw(st.one_of(st.integers(0, HORIZON - 1), st.sampled_from([0, 5 * S - 1, 5 * S, 10 * S, 20 * S])))
    tries = []
    tokens = draw(TOKENS)
    for last in [False] * draw(st.integers(0, 2)) + [True]:
        tries.append(draw(attempts(at, LAST if last else EARLIER, tokens)))
        at = tries[-1].ended + draw(LENGTHS)
    ask = Ask(tuple(tries), draw(st.integers(0, 2)), draw(st.integers(0, 1)))
    signal = draw(st.one_of(st.just(-1), st.integers(ask.intended, ask.settled)))
    return Ask(ask.tries, ask.principal, ask.provider, signal, draw(st.none() | TOKENS))


TRACES = st.lists(asks(), max_size=25)
SELECTORS = {"class": ["x", "y"], "principal": ["a", "c"], "provider": ["u", "v"], "phase": ["load", "spike"]}


WHERES = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in SELECTORS.items()})


@given(TRACES, WHERES, st.sampled_from([0, 5 * S]), st.sampled_from([2, 1 << 14]))
def test_every_metric_of_any_selection_is_what_its_words_say(trace, where, warmup, block_rows):
    limits = AdmissionLimits(concurrency=4), AdmissionLimits(concurrency=3)
    of = shape(warmup=warmup, workspace=limits[0], provider_limits=limits[1])
    asked = [
        (metric, {selector: value for selector, value in where.items() if selector in BY_NAME[metric].selectors})
        for metric in FORMULAS
    ]
    measure = Measure(of, asked)
    write(of, trace).read(measure.consumers, block_rows=block_rows)
    ordered = sorted(trace, key=lambda ask: ask.intended)
    expected = {
        metric: spelt(FORMULAS[metric](Naive(of, ordered, chosen)), BY_NAME[metric].unit) for metric, chosen in asked
    }
    assert {metric: measure.value(metric, chosen) for metric, chosen in asked} == expected


@given(TRACES, st.sampled_from([2, 1 << 14]))
def test_a_trace_of_a_correct_world_passes_every_check(trace, block_rows):
    of = shape()
    measure = Measure(of)
    checks = Checks(of, measure.tracker)
    write(of, trace).read([*measure.consumers, checks], block_rows=block_rows)
    assert [result for result in checks.results() if not result["ok"]] == []


@given(TRACES, st.sampled_from([2, 1 << 14]), st.sampled_from([0, 7 * S, 90 * S]))
def test_series_add_up_to_the_observations(trace, block_rows, later):
    of = shape()
    measure = Measure(of)
    recorder = SeriesRecorder(of)
    written = write(of, trace)
    written.end += later
    written.read([*measure.consumers, recorder], block_rows=block_rows)
    view = recorder.view(measure.histograms())
    assert view.bins <= 600
    for metric in ("arrivals", "attempts", "completed", "failed", "cancelled", "shed"):
        assert sum(view.values(metric)) == measure.value(metric, {})
        for label, values in SELECTORS.items():
            if label != "phase":
                for value in values:
                    assert sum(view.values(f"{metric}|{label}={value}")) == measure.value(metric, {label: value})
    naive = Naive(of, trace, {})
    for kind in ("active", "queue"):
        stays = naive.stays(kind)
        for place, area in enumerate(view.values(kind)):
            start, end = place * view.bin_ns, (place + 1) * view.bin_ns
            assert area == sum(max(min(until, end) - max(since, start), 0) for since, until in stays)
    assert view.histograms["queue.wait"].count == len(naive.waits())
    assert view.histograms["sojourn|class=x"].total == sum(Naive(of, trace, {"class": "x"}).sojourns())
