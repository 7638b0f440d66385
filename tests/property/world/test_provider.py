"""The provider, step by step, beside a model that keeps the remaining work of each call as a fraction."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import SimpleNamespace

from hypothesis import note, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sim.manifest.distributions import Constant
from sim.manifest.providers import Outage, ProviderModel, RateLimit, Slowdown
from sim.trace import NONE, Cause
from sim.world.provider import Provider, Reply
from sim.world.provider_station import Visit
from tollgate.core.units import Rate


def share(outage, now):
    """What is left of an outage, by counting the steps that have begun."""
    if not outage.start_ns <= now < outage.ramp_end_ns:
        return Fraction(0)
    if now < outage.end_ns:
        return Fraction(1)
    steps, ramp = outage.ramp_steps, outage.ramp_end_ns - outage.end_ns
    begun = sum(now - outage.end_ns >= k * ramp // steps for k in range(steps))
    return 1 - Fraction(2 * begun - 1, 2 * steps)


@dataclass(eq=False)
class Held:
    """A call in the model's provider."""

    visit: Visit
    left: Fraction


class Model:
    """The provider of a few lines: it looks at every nanosecond."""

    def __init__(self, model):
        self.model = model
        self.now = 0
        self.serving: list[Held] = []
        self.waiting: list[Held] = []
        self.requests = (
            Fraction(model.rate_limit.requests[1]) if model.rate_limit and model.rate_limit.requests else None
        )

    def rate(self, now):
        model, calls = self.model, len(self.serving)
        rate = Fraction(1)
        for outage in model.outages:
            if outage.kind == "stall":
                rate -= share(outage, now)
        if model.servers is not None:
            rate *= min(Fraction(1), Fraction(model.servers, max(calls, 1)))
        if model.slowdown is not None:
            rate /= 1 + model.slowdown.per_call * max(0, calls - model.slowdown.above)
        return rate

    def tick(self):
        """Let a nanosecond pass; nothing ends in it, only at its end."""
        rate = self.rate(self.now)
        for held in self.serving:
            held.left -= rate
        self.now += 1
        if self.requests is not None:
            rate, burst = self.model.rate_limit.requests
            self.requests = min(Fraction(burst), self.requests + Fraction(rate.units, rate.per_ns))

    def over(self):
        """Return those whose work is done, in the order in which it was, then in which they began."""
        done = [held for held in self.serving if held.left <= 0]
        return sorted(done, key=lambda held: held.left)

    def take_out(self, held):
        if held in self.waiting:
            self.waiting.remove(held)
        else:
            self.serving.remove(held)
        self.fill()

    def fill(self):
        seats = self.model.servers if self.model.sharing == "fifo" else None
        while self.waiting and (seats is None or len(self.serving) < seats):
            self.serving.append(self.waiting.pop(0))

    def begin(self, work):
        """Return (cause, wait) of an answer, or the work to serve."""
        for kind, cause in (("error", Cause.OUTAGE), ("throttle", Cause.THROTTLE_STORM)):
            for outage in self.model.outages:
                if outage.kind == kind and outage.start_ns <= self.now < outage.end_ns:
                    return cause, outage.retry_after_ns, outage.answer_ns
        rate_limit = self.model.rate_limit
        if rate_limit is not None:
            if rate_limit.concurrency is not None and len(self.serving) + len(self.waiting) >= rate_limit.concurrency:
                return Cause.RATE_LIMIT, rate_limit.retry_after_ns, rate_limit.answer_ns
            if self.requests is not None:
                if self.requests < 1:
                    rate, _ = rate_limit.requests
                    wait = ceil((1 - self.requests) * rate.per_ns / rate.units)
                    return Cause.RATE_LIMIT, max(0, wait - rate_limit.answer_ns), rate_limit.answer_ns
                self.requests -= 1
        for outage in self.model.outages:
            if outage.kind == "slow":
                work *= 1 + (outage.factor - 1) * share(outage, self.now)
        return ceil(work)


fractions = st.fractions(min_value=Fraction(1, 9), max_value=3, max_denominator=9)


@st.composite
def outages(draw):
    """One outage of a kind at most; those that hit without a ramp, so that no chance is drawn."""
    found = []
    for kind in draw(st.lists(st.sampled_from(["error", "stall", "slow", "throttle"]), unique=True, max_size=3)):
        start, length = draw(st.integers(0, 60)), draw(st.integers(1, 40))
        ramp = draw(st.integers(0, 30)) if kind in {"stall", "slow"} else 0
        found.append(
            Outage(
                kind,
                0,
                kind,
                start,
                start + length,
                start + length + ramp,
                draw(st.integers(1, 5)),
                answer_ns=draw(st.integers(1, 4)),
                factor=1 + draw(fractions),
                retry_after_ns=draw(st.integers(0, 9)) if kind == "throttle" else 0,
            )
        )
    return tuple(sorted(found, key=lambda outage: outage.start_ns))


rate_limits = st.builds(
    RateLimit,
    requests=st.none() | st.tuples(st.builds(Rate, st.integers(1, 3), st.integers(1, 20)), st.integers(1, 3)),
    tokens=st.none(),
    concurrency=st.none() | st.integers(1, 4),
    answer_ns=st.integers(1, 4),
    retry_after_ns=st.integers(0, 9),
)
models = st.builds(
    ProviderModel,
    id=st.just("p"),
    service=st.just(Constant(1)),
    servers=st.integers(1, 3),
    sharing=st.sampled_from(["fifo", "processor"]),
    slowdown=st.none() | st.builds(Slowdown, st.integers(0, 1), fractions),
    rate_limit=st.none() | rate_limits,
    outages=outages(),
)


class ProviderBesideModel(RuleBasedStateMachine):
    """Time moves a nanosecond at a time in the model, and from one thing to do to the next in the provider."""

    @initialize(model=models)
    def make(self, model):
        self.provider = Provider(model, lambda count: (_ for _ in ()).throw(AssertionError(count)))
        self.model = Model(model)
        self.held: list[Held] = []

    @rule(work=st.integers(1, 40), fails=st.booleans())
    def begin(self, work, fails):
        now = self.model.now
        call = SimpleNamespace(
            estimate=SimpleNamespace(draw=1), service_ns=work, fails=int(fails), jitter=0, attempts=1
        )
        expected = self.model.begin(work)
        found = self.provider.begin(call, now)
        note(f"{now} begins {work}: {found}, expected {expected}")
        if isinstance(expected, tuple):
            cause, wait, answer_ns = expected
            assert found == Reply(now + answer_ns, cause, wait)
            return
        assert isinstance(found, Visit)
        assert found.cause == (Cause.PROVIDER_ERROR if fails else NONE)
        held = Held(found, Fraction(expected))
        self.held.append(held)
        self.model.waiting.append(held)
        self.model.fill()

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def leave(self, data):
        held = self.held.pop(data.draw(st.integers(0, len(self.held) - 1), label="who"))
        self.provider.leave(held.visit, self.model.now)
        self.model.take_out(held)

    @rule(ns=st.integers(1, 30))
    def pass_time(self, ns):
        for _ in range(ns):
            next_ns = self.provider.next_ns()
            self.model.tick()
            now = self.model.now
            over = self.model.over()
            if next_ns is not None and next_ns <= now:
                assert next_ns == now
                assert self.provider.finished(now) == [held.visit for held in over]
            else:
                assert over == [], f"{len(over)} calls end at {now} ns unseen; the next look is at {next_ns}"
            for held in over:
                self.held.remove(held)
                self.model.serving.remove(held)
            self.model.fill()

    @invariant()
    def counts_agree(self):
        assert self.provider.in_progress == len(self.model.serving) + len(self.model.waiting) == len(self.held)


TestProviderBesideModel = ProviderBesideModel.TestCase
TestProviderBesideModel.settings = settings(max_examples=120, stateful_step_count=30)
