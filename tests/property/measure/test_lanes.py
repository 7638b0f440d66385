"""Lag and starvation of lanes under a scheduler that does anything, against loops over all that happened."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from sim.measure.lanes import LaneTracker
from sim.trace import LevelKind, Trace
from tests.unit.measure.written import shape

LANES = [(principal, provider) for principal in range(3) for provider in range(2)]
STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["ask", "ask", "go", "go", "serve", "refuse", "leave", "hold", "free"]),
        st.sampled_from([*LANES, (0, 0), (0, 0), (1, 0), (1, 0)]),  # most of it in two lanes that are rivals
    ),
    min_size=10,
    max_size=60,
)
RESERVED = st.sampled_from(["", "a", "bc", "abc"])


class Desk:
    """Queues of lanes, worked at random. A head is owed service from when it became head, or was freed."""

    def __init__(self):
        self.rows = []
        self.queues = {lane: deque() for lane in LANES}
        self.since = dict.fromkeys(LANES)
        self.held = dict.fromkeys(LANES, False)
        self.admissions = []  # (row, at, lane)
        self.stretches = []  # (row, since, until, lane, over)

    def step(self, at, what, lane):
        queue = self.queues[lane]
        if what == "ask" or (what == "go" and queue):
            queue.append(at)
            self.level(at, 1, LevelKind.QUEUE, lane, 0)
            if len(queue) == 1:
                self.head(at, lane)
        elif what == "go":
            self.admit(at, lane)
        elif what in {"serve", "refuse"} and queue:
            queue.popleft()
            since = self.since[lane]
            owed = 0 if since is None else at - since
            self.level(at, -1, LevelKind.QUEUE, lane, owed)
            if what == "serve" or owed or not queue:
                self.stretches.append((len(self.rows), at - owed, at, lane, what == "serve" or not queue))
            if what == "serve":
                self.admit(at, lane)
            self.head(at, lane)
        elif what == "leave" and len(queue) > 1:
            queue.pop()
            self.level(at, -1, LevelKind.QUEUE, lane, 0)
        elif what in {"hold", "free"}:
            self.held[lane] = what == "hold"
            if what == "hold":
                self.since[lane] = None
            elif queue and self.since[lane] is None:
                self.since[lane] = at

    def head(self, at, lane):
        self.since[lane] = at if self.queues[lane] and not self.held[lane] else None

    def admit(self, at, lane):
        self.admissions.append((len(self.rows), at, lane))
        self.level(at, 1, LevelKind.ACTIVE, lane, 1)

    def level(self, at, delta, kind, lane, amount):
        self.rows.append((at, delta, kind, *lane, amount))


def expected(desk, of, end):
    """Return lag and starvation by lane, from the definitions."""
    lags, starved = dict.fromkeys(LANES, 0), dict.fromkeys(LANES, 0)
    heads = [(10**9, since, end, lane, False) for lane, since in desk.since.items() if since is not None]
    latest = {}  # stretch that a refusal ended last: since, until
    for row, since, until, lane, is_over in [*desk.stretches, *heads]:
        begin, refused_at = latest.get(lane, (since, -1))
        if since > refused_at:
            begin = since
        latest[lane] = (begin, -1 if is_over else until)
        begin = max(begin, of.warmup_ns)
        starved[lane] = max(starved[lane], until - begin)
        reserved = {name for name, limits in of.profile.principals.items() if limits.reserved_concurrency}
        for rival in LANES:
            is_rival = rival[1] == lane[1] and (
                of.principals[lane[0]] in reserved or of.principals[rival[0]] not in reserved
            )
            turns = [1 for place, at, who in desk.admissions if who == rival and begin < at and place < row]
            if is_rival:
                lags[lane] = max(lags[lane], len(turns))
    return lags, starved


@given(STEPS, RESERVED, st.sampled_from([0, 6]), st.integers(1, 9), st.integers(0, 5))
def test_figures_of_lanes_are_those_of_loops_over_everything(steps, reserved, warmup, block_rows, rest):
    of = shape(phases=[("load", 0, 1000)], warmup=warmup, reserved=reserved)
    desk, at = Desk(), 0
    for gap, what, lane in steps:
        at += gap
        desk.step(at, what, lane)
    trackers = LaneTracker(of), LaneTracker(of, dispatches_kept=2)
    trace = Trace(trackers, block_rows=block_rows)
    for row in desk.rows:
        trace.levels.extend(row)
        trace.flush_if_full()
    trace.heads.extend((*lane, since) for lane, since in desk.since.items() if since is not None)
    trace.close(at + rest, 0)

    tracker, forgetful = trackers
    lags, starved = expected(desk, of, at + rest)
    for principal, provider in LANES:
        selected = principal, None, provider
        assert tracker.service_lag(*selected) == lags[principal, provider]
        assert tracker.starvation_ns(*selected) == max(starved[principal, provider], 0)
        # What is forgotten makes a lag of more than what is kept look smaller, and no other.
        assert min(lags[principal, provider], 2) == min(forgetful.service_lag(*selected), 2)
        assert forgetful.service_lag(*selected) <= lags[principal, provider]
    for cls, members in enumerate(([0], [1, 2])):
        for provider in (None, 0, 1):
            own = [lane for lane in LANES if lane[0] in members and provider in {None, lane[1]}]
            assert tracker.service_lag(None, cls, provider) == max(lags[lane] for lane in own)
            assert tracker.starvation_ns(None, cls, provider) == max(0, *(starved[lane] for lane in own))
    assert tracker.service_lag(1, 0, None) == 0  # nobody is of both
