"""One witness for each invariant of the controller (docs/reference/invariants.md).

A witness builds its own controller and takes no arguments, so that ``test_planted_bugs.py`` can run it again on broken
code and see it fail. The brute-force comparison covers all of them at once; these say which one is broken.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations, pairwise

from tests.unit.decision.desk import NOTHING, Desk, a_profile, per_ns
from tollgate.core import agenda, lanes
from tollgate.core.breaker import CANCELLED, FAILURE, SUCCESS, BreakerConfig
from tollgate.decision import AdmissionLimits, eligibility


def in_flight(desk):
    """Names of the calls in flight, as seen from outside."""
    return [name for name in desk.admitted() if desk.decisions[name].permit.gauges is not None]


def test_dc1_no_permit_stays_free_while_an_eligible_head_waits():
    """A release, a cancel, a new profile, the end of a pause or an opening, a refill and an admission each let go."""
    one = AdmissionLimits(concurrency=1)
    desk = Desk(workspace=one).ask("a", "A").ask("b", "B").ask("c", "C")
    assert desk.at(5).end("a").admitted() == ["a", "b"]
    assert desk.cancel("c").ask("d", "D").at(9).end("b").admitted() == ["a", "b", "d"]

    desk = Desk(providers={"u": AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=5, max_queue_wait_ns=3)})
    desk.ask("a", "A", tokens=5).ask("big", "B", tokens=5).ask("small", "C", tokens=1)
    assert desk.holds("small")
    assert desk.at(3).poll().log[-2:] == [(3, "big", "queue-timeout"), (3, "small", "queue-timeout")]

    desk = Desk(workspace=one).ask("a", "A").ask("b", "B")
    assert desk.at(4).follow(a_profile(AdmissionLimits(concurrency=2))).log[-1] == (4, "b", "admitted")

    desk = Desk().pause("u", 7).ask("a", "A").at(20)
    assert desk.log == [(7, "a", "admitted")]

    desk = Desk(providers={"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 10, 1))})
    desk.ask("a", "A").end("a", FAILURE).ask("b", "B").ask("c", "C").at(12)
    assert desk.log[-1] == (10, "b", "admitted")
    assert desk.end("b").log[-1] == (12, "c", "admitted")

    desk = Desk(workspace=AdmissionLimits(tokens_per_second=per_ns(1, 3), tokens_burst=2))
    assert desk.ask("a", "A", tokens=2).ask("b", "B", tokens=2).at(99).log[-1] == (6, "b", "admitted")

    # bob's admission at v uses his reservation up, and so frees a permit of u for ann within the same instant.
    reserved = {"A": NOTHING, "B": AdmissionLimits(reserved_concurrency=1)}
    two = {"u": AdmissionLimits(concurrency=1), "v": AdmissionLimits(concurrency=1)}
    desk = Desk(a_profile(NOTHING, two, reserved)).ask("ann", "A", "u").ask("bob", "B", "v")
    assert desk.log == [(0, "bob", "admitted"), (0, "ann", "admitted")]


def test_dc2_k_free_permits_serve_k_lanes():
    """Lanes A B C D with full lines and 4 permits: all four; six lanes and six permits: all six (the seed's Q1)."""
    for lanes_count in (4, 6):
        desk = Desk(workspace=AdmissionLimits(concurrency=lanes_count)).pause("u", 10)
        for turn in range(lanes_count):
            for principal in "ABCDEF"[:lanes_count]:
                desk.ask(f"{principal}{turn}", principal)
        assert desk.at(11).admitted() == [f"{principal}0" for principal in "ABCDEF"[:lanes_count]]


def test_dc3_no_scope_ever_has_more_in_flight_than_its_limit():
    """Counted from outside, after every step of a long random run, on every scope and every share of one."""
    profile = a_profile(
        AdmissionLimits(concurrency=4, max_principal_share=Fraction(3, 4)),
        {"u": AdmissionLimits(concurrency=3, max_principal_share=Fraction(2, 3)), "v": AdmissionLimits(concurrency=2)},
        {"A": AdmissionLimits(concurrency=2), "B": NOTHING, "C": AdmissionLimits(reserved_concurrency=1)},
    )
    choose = random.Random(7)
    desk = Desk(profile)
    for number in range(600):
        desk.at(number)
        live = in_flight(desk)
        if live and choose.random() < 0.45:
            desk.end(choose.choice(live))
        else:
            desk.ask(f"r{number}", choose.choice("ABC"), choose.choice("uv"))
        live = [desk.tickets[name].request for name in in_flight(desk)]
        assert len(live) == desk.controller.active
        assert len(live) <= 4
        by = {(r.principal, r.provider): 0 for r in live}
        for request in live:
            by[request.principal, request.provider] += 1
        assert sum(n for (_, provider), n in by.items() if provider == "u") <= 3
        assert sum(n for (_, provider), n in by.items() if provider == "v") <= 2
        assert sum(n for (principal, _), n in by.items() if principal == "A") <= 2
        assert sum(n for (principal, _), n in by.items() if principal == "B") <= 3
        assert by.get(("B", "u"), 0) <= 2
        has_c = sum(n for (principal, _), n in by.items() if principal == "C")
        assert len(live) - has_c <= 3, "the permit kept back for C was taken"


def test_dc4_a_lane_is_first_in_first_out():
    """Small ones behind a large one wait for it, whoever leaves the middle of the line."""
    desk = Desk(workspace=AdmissionLimits(concurrency=1, tokens_per_second=per_ns(1), tokens_burst=9))
    desk.ask("x", "B", tokens=9)
    for name, tokens in (("a1", 9), ("a2", 1), ("a3", 1), ("a4", 1)):
        desk.ask(name, "A", tokens=tokens)
    desk.at(1).cancel("a3").end("x")
    for _ in range(3):
        desk.at(desk.now_ns + 20).poll()
        desk.end(desk.admitted()[-1])
    assert desk.admitted() == ["x", "a1", "a2", "a4"]


def test_dc5_nothing_is_admitted_from_the_instant_at_which_it_expired():
    """A permit, a refill and the expiry fall on one instant: the expiry wins, for the head and for one behind it."""
    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=10))
    desk.ask("a", "A").ask("head", "B").ask("behind", "B", deadline_ns=10).at(10).end("a")
    assert desk.log[1:] == [(10, "head", "queue-timeout"), (10, "behind", "deadline-exceeded")]

    desk = Desk(workspace=AdmissionLimits(tokens_per_second=per_ns(1), tokens_burst=5))
    desk.ask("a", "A", tokens=5).ask("late", "B", tokens=5, deadline_ns=5).at(50)
    assert desk.log[1:] == [(5, "late", "deadline-exceeded")]

    desk = Desk(workspace=AdmissionLimits(concurrency=1))
    desk.ask("a", "A").ask("head", "B").ask("second", "B", deadline_ns=4).at(30)
    assert desk.log[1:] == [(4, "second", "deadline-exceeded")]


def test_dc6_each_request_gets_exactly_one_decision():
    """Over everything that can end a request, double releases and late cancels included."""
    limits = AdmissionLimits(concurrency=2, max_queue_length=4, max_queue_wait_ns=15)
    desk = Desk(a_profile(limits, {"u": AdmissionLimits(circuit_breaker=BreakerConfig(2, 8, 1))}))
    choose = random.Random(3)
    for number in range(400):
        desk.at(number)
        desk.ask(f"r{number}", choose.choice("ABC"), deadline_ns=choose.choice([None, number, number + 5]))
        done = [name for name, decision in desk.decisions.items() if decision.is_admitted]
        if done:
            desk.end(choose.choice(done), choose.choice([SUCCESS, FAILURE, CANCELLED]))
        desk.cancel(choose.choice(list(desk.tickets)))
    for name in list(desk.tickets):
        desk.cancel(name)
    assert desk.decisions.keys() == desk.tickets.keys()
    assert len(desk.log) == len(desk.tickets)


def test_dc7_cancelling_at_any_instant_leaks_nothing():
    """One request in every state there is, cancelled; the same controller then serves as if it had never been."""
    for cancel_at in range(12):
        desk = Desk(
            a_profile(
                AdmissionLimits(concurrency=2, tokens_per_second=per_ns(1), tokens_burst=6, max_queue_length=6),
                {"u": AdmissionLimits(concurrency=1), "v": NOTHING},
                {"A": NOTHING, "B": AdmissionLimits(reserved_concurrency=1)},
            )
        )
        for name, principal, provider, tokens in (
            *(("a", "A", "u", 4), ("b", "A", "u", 1), ("c", "A", "v", 6)),
            *(("d", "B", "u", 6), ("e", "B", "v", 3), ("f", "A", "v", 2)),
        ):
            desk.ask(name, principal, provider, tokens=tokens)
        desk.at(cancel_at)
        for name in "fedcba":
            if not desk.controller.cancel(desk.tickets[name], desk.now_ns):
                desk.poll().end(name, CANCELLED) if desk.decisions[name].is_admitted else desk.poll()
        desk.poll()
        for name in desk.admitted():
            desk.end(name, CANCELLED)
        assert (desk.controller.active, desk.controller.waiting) == (0, 0)
        assert desk.controller.next_wakeup_ns() is None
        desk.at(100)
        assert desk.controller.is_fresh(100)
        assert desk.ask("g", "B", "u", tokens=6).word("g") == "admitted"


def test_dc8_no_window_admits_more_than_its_bucket_allows():
    """Every window between two admissions, on each bucket, through changes of profile and a clock that steps back."""
    rates = {"workspace": (2, 3, 8), "provider": (1, 2, 6), "principal": (1, 3, 5)}

    def limits(scope):
        units, ns, burst = rates[scope]
        return AdmissionLimits(tokens_per_second=per_ns(units, ns), tokens_burst=burst)

    profile = a_profile(
        limits("workspace"), {"u": limits("provider")}, {"A": limits("principal"), "B": limits("principal")}
    )
    without_b = a_profile(limits("workspace"), {"u": limits("provider")}, {"A": limits("principal")}, version="v2")
    choose = random.Random(11)
    desk = Desk(profile)
    for number in range(150):
        desk.at(max(0, desk.now_ns + choose.choice([0, 0, 1, 2, 3, 7, -4])))
        desk.ask(f"r{number}", choose.choice("AB"), tokens=choose.choice([1, 2, 5]))
        if choose.random() < 0.1:
            desk.follow(without_b).follow(profile)
    drawn = [
        (at_ns, desk.tickets[name].request.principal, desk.tickets[name].tokens)
        for at_ns, name, word in desk.log
        if word == "admitted"
    ]
    assert len(drawn) > 40
    for scope, who in (("workspace", "AB"), ("provider", "AB"), ("principal", "A"), ("principal", "B")):
        units, ns, burst = rates[scope]
        mine = [(at_ns, tokens) for at_ns, principal, tokens in drawn if principal in who]
        for first, last in combinations(range(len(mine)), 2):
            window_ns = mine[last][0] - mine[first][0]
            assert sum(tokens for _, tokens in mine[first : last + 1]) <= burst + Fraction(units * window_ns, ns)


def test_dc9_an_eligible_lane_waits_at_most_n_minus_1_dispatches():
    """Six lanes that never run dry and one permit: between two turns of a lane each other lane has one."""
    desk = Desk(workspace=AdmissionLimits(concurrency=1)).ask("first", "A")
    for principal in "CBADFE":
        for number in range(5):
            desk.ask(f"{principal}{number}", principal)
    for number in range(30):
        desk.at(number + 1).end(desk.admitted()[-1])
    order = [name[0] for name in desk.admitted()[1:]]
    assert len(order) == 30
    for lane in "ABCDEF":
        turns = [-1, *(place for place, name in enumerate(order) if name == lane)]
        assert all(later - earlier <= 6 for earlier, later in pairwise(turns))


def test_dc10_the_same_steps_give_the_same_decisions():
    """Two controllers, one of which is polled far more often than it asks for, decide alike."""

    def play(extra_polls):
        desk = Desk(
            a_profile(
                AdmissionLimits(concurrency=3, tokens_per_second=per_ns(1, 2), tokens_burst=8, max_queue_wait_ns=30),
                {"u": AdmissionLimits(concurrency=2, circuit_breaker=BreakerConfig(2, 9, 1)), "v": NOTHING},
                {"A": AdmissionLimits(concurrency=1), "B": NOTHING, "C": AdmissionLimits(reserved_concurrency=1)},
            )
        )
        choose = random.Random(5)
        for number in range(300):
            for _ in range(choose.choice([0, 1, 4])):
                desk.at(desk.now_ns + 1)
                if extra_polls:
                    desk.poll().poll()
            desk.ask(f"r{number}", choose.choice("ABC"), choose.choice("uv"), tokens=choose.choice([0, 1, 3, 8]))
            desk.poll()
            live = in_flight(desk)
            if live and choose.random() < 0.7:
                desk.end(live[0], choose.choice([SUCCESS, FAILURE]))
        return desk.log

    assert play(extra_polls=False) == play(extra_polls=True)


class Looks:
    """Counts how often a controller looks at an item: reads of a heap's keys, and attempts to pay for a head."""

    def __init__(self):
        self.count = 0
        self.patched = []

    def __enter__(self):
        self._wrap(agenda.Agenda, "__init__", self._counting_key)
        self._wrap(eligibility.Eligibility, "pay", self._counted)
        self._wrap(lanes.Lane, "withdraw", self._counted)
        self._wrap(lanes.Lane, "__iter__", self._iterated)
        return self

    def __exit__(self, *error):
        for owner, name, original in self.patched:
            setattr(owner, name, original)

    def _wrap(self, owner, name, how):
        original = getattr(owner, name)
        self.patched.append((owner, name, original))
        setattr(owner, name, how(original))

    def _counted(self, original):
        def counted(*args, **named):
            self.count += 1
            return original(*args, **named)

        return counted

    def _counting_key(self, original):
        return lambda item, key: original(item, self._counted(key))

    def _iterated(self, original):
        def iterated(lane):
            for item in original(lane):
                self.count += 1
                yield item

        return iterated


def looks_for_a_decision(waiting, lanes_count):
    """Looks a round, over 50 rounds of an end, an admission and an arrival, with so many waiting in so many lanes."""
    with Looks() as looks:
        names = [f"p{number}" for number in range(lanes_count)]
        profile = a_profile(
            AdmissionLimits(concurrency=2, max_queue_wait_ns=10**15), principals=dict.fromkeys(names, NOTHING)
        )
        desk = Desk(profile)
        for number in range(waiting + 2):
            desk.ask(f"r{number}", names[number % lanes_count])
        assert desk.controller.waiting == waiting
        before = looks.count
        for number in range(50):
            desk.at(desk.now_ns + 1).end(f"r{number}" if number < 2 else desk.admitted()[-2])
            desk.ask(f"s{number}", names[number % lanes_count])
        assert len(desk.admitted()) == 52
        return (looks.count - before) / 50


def test_dc11_a_decision_costs_no_more_than_the_logarithm_of_the_waiting():
    """A hundred times as many requests wait, in one lane, in many and in as many lanes; no clock is read for this."""
    for many in (1, 10, None):
        few, lots = (looks_for_a_decision(waiting, many or waiting) for waiting in (100, 10_000))
        assert lots <= 2 * few + 4, "log(10^4) is twice log(10^2)"


def test_dc12_the_lowest_live_claims_due_instant_never_moves():
    """However many small requests keep coming, the large one goes at the instant it was due from the beginning."""
    desk = Desk(workspace=AdmissionLimits(tokens_per_second=per_ns(1, 10), tokens_burst=100))
    desk.ask("all", "A", tokens=100).ask("large", "B", tokens=90)
    for number in range(450):
        desk.at(2 * number + 1).ask(f"small{number}", "CDE"[number % 3], tokens=1)
    assert desk.at(10_000).word("large") == "admitted"
    assert (900, "large", "admitted") in desk.log
    before = [at_ns for at_ns, name, _ in desk.log if name.startswith("small") and at_ns < 900]
    assert before == [], "on one bucket every draw before that would have delayed it"


def test_dc13_whoever_sleeps_until_the_wakeup_decides_at_the_exact_instant():
    """Refills of fractions of a token, a pause, an opening and an expiry, each to the nanosecond and never late."""
    desk = Desk(workspace=AdmissionLimits(tokens_per_second=per_ns(3, 7), tokens_burst=4))
    desk.ask("a", "A", tokens=4).ask("b", "B", tokens=2)
    assert desk.controller.next_wakeup_ns() == 5  # 14/3 ns, rounded up
    assert desk.at(40).log[-1] == (5, "b", "admitted")

    desk = Desk(workspace=AdmissionLimits(requests_per_minute=per_ns(60, 11), requests_burst=1))
    assert desk.ask("a", "A").ask("b", "B").at(40).log[-1] == (11, "b", "admitted")

    desk = Desk().pause("u", 6).ask("a", "A").at(2).pause("u", 7).at(40)
    assert desk.log == [(9, "a", "admitted")]

    desk = Desk(providers={"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 13, 1))})
    assert desk.ask("a", "A").at(3).end("a", FAILURE).ask("b", "B").at(40).log[-1] == (16, "b", "admitted")

    desk = Desk(workspace=AdmissionLimits(concurrency=1, max_queue_wait_ns=17))
    assert desk.ask("a", "A").at(4).ask("b", "B").at(40).log[-1] == (21, "b", "queue-timeout")


def test_dc14_only_a_probes_outcome_moves_a_half_open_breaker():
    """A late success of an older call neither closes it nor frees a probe's place; a cancelled probe frees its own."""
    desk = Desk(providers={"u": AdmissionLimits(circuit_breaker=BreakerConfig(1, 10, 1))})
    desk.ask("old", "A").ask("bad", "A").end("bad", FAILURE)
    desk.at(10).ask("probe", "A").ask("next", "B")
    assert desk.end("old").word("next") == "waits"
    assert desk.end("probe", CANCELLED).word("next") == "admitted"
    assert desk.ask("third", "C").word("third") == "waits"
    assert desk.end("next", SUCCESS).word("third") == "admitted"
