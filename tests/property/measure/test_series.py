"""Series of random runs, however long they last, against a plain walk through their rows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from sim.measure.recorder import SeriesRecorder, bin_length
from sim.measure.series import BINS_MAX
from sim.trace import AttemptOutcome
from tests.unit.measure.written import Ask, Try, shape, write
from tollgate.core.deny import DenyReason
from tollgate.core.units import MAX_SAFE_INTEGER

HORIZON_NS = 588  # bins of 1 ns, so that a drain of 13 ns joins them
OF = shape(phases=[("load", 0, HORIZON_NS)])

SHED = {"outcome": AttemptOutcome.SHED, "reason": DenyReason.QUEUE_TIMEOUT, "service": 0}
LENGTHS = st.one_of(st.integers(0, 12), st.integers(0, 3000), st.integers(0, 10**6))
ASKS = st.lists(
    st.tuples(
        st.integers(0, HORIZON_NS - 1),
        LENGTHS,
        LENGTHS,
        st.booleans(),
        st.integers(0, 2),
        st.integers(0, 1),
        st.sampled_from([0, 7, MAX_SAFE_INTEGER]),
    ),
    max_size=12,
)


def asked(at, wait, service, is_shed, principal, provider, tokens):
    attempt = Try(at, wait=wait, tokens=tokens, **(SHED if is_shed else {"service": service}))
    return Ask((attempt,), principal=principal, provider=provider)


def bin_for(last_ns):
    """The first of 1, 2, 4, ... times the bin of the horizon of which 600 reach the last instant."""
    width = bin_length(HORIZON_NS)
    while last_ns > BINS_MAX * width:
        width *= 2
    return width


def counted(instants, width, bins):
    """Events by bin; what happens at the very end is in the last one."""
    found = [0] * bins
    for at, weight in instants:
        found[min(at // width, bins - 1)] += weight
    return found


def covered(stays, width, bins, end):
    edges = [min(place * width, end) for place in range(bins + 1)]
    return [
        sum(max(min(until, right) - max(since, left), 0) for since, until in stays) for left, right in pairwise(edges)
    ]


def own(asks, label):
    key, _, value = label.partition("=")
    if not key:
        return asks
    member = {"class": OF.classes, "principal": OF.principals, "provider": OF.providers}[key].index(value)
    of = {
        "class": lambda ask: OF.class_of[ask.principal],
        "principal": lambda ask: ask.principal,
        "provider": lambda ask: ask.provider,
    }[key]
    return [ask for ask in asks if of(ask) == member]


LABELS = (
    "",
    *(f"class={name}" for name in OF.classes),
    *(f"principal={name}" for name in OF.principals),
    *(f"provider={name}" for name in OF.providers),
)


@example([(0, 0, 600 - 1, False, 0, 0, 1), (1, 0, 599, False, 0, 0, 1)], 0, 1)  # ends the instant the last bin ends
@example([(0, 0, 10**6, False, 0, 0, 7), (587, 10**6, 1, False, 1, 1, MAX_SAFE_INTEGER)], 0, 3)
@given(ASKS, st.integers(0, 2000), st.integers(1, 9))
def test_series_are_those_of_a_plain_walk_whatever_the_drain_and_the_blocks(rows, rest, block_rows):
    asks = [asked(*row) for row in rows]
    written = write(OF, asks)
    written.end += rest
    recorder = SeriesRecorder(OF)
    written.read([recorder], block_rows=block_rows)
    view = recorder.view({})

    width = bin_for(written.end)
    bins = -(-written.end // width)
    assert (view.bin_ns, view.bins, view.end_ns) == (width, bins, written.end)
    assert bins <= BINS_MAX
    for label in LABELS:
        tries = [ask.tries[0] for ask in own(asks, label)]
        name = f"|{label}" if label else ""
        expected = {
            "arrivals": counted([(each.requested, 1) for each in tries], width, bins),
            "tokens": counted([(each.requested, each.tokens) for each in tries], width, bins),
            "admitted": counted([(each.decided, 1) for each in tries if each.admitted], width, bins),
            "completed": counted([(each.ended, 1) for each in tries if each.admitted], width, bins),
            "shed": counted([(each.ended, 1) for each in tries if not each.admitted], width, bins),
            "queue": covered([(each.requested, each.decided) for each in tries], width, bins, written.end),
            "active": covered(
                [(each.decided, each.ended) for each in tries if each.admitted], width, bins, written.end
            ),
        }
        for metric, values in expected.items():
            assert view.values(f"{metric}{name}") == values, (metric, label)
